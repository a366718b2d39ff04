"""Why warps waited: stall reasons by share, from warp-state ratios or from samples."""

from __future__ import annotations

from roofline.counters.recipes import planned, there
from roofline.model import Metrics, Stall

# "selected" and "not_selected" are warps that issued or could have: no stalls.
REASONS = (
    "allocation_stall", "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma",
    "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle",
    "misc", "no_instruction", "no_instructions", "short_scoreboard", "sleeping", "tex_throttle",
    "tile_allocation_stall", "wait", "warpgroup_arrive",
)  # fmt: skip
# The samples spell some reasons differently from the ratios.
SAME = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}
# The most trusted first: cycles counted by hardware, then the old spelling, then samples.
_SPELLINGS = (
    ("warp-state ratios", "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"),
    ("warp-state ratios", "smsp__average_warp_latency_issue_stalled_{}.ratio"),
    ("warp samples", "smsp__pcsamp_warps_issue_stalled_{}"),
)
# Per spelling: how it is said, and metrics with the reason that each counts.
_TABLES = tuple(
    (how, tuple((spelling.format(reason), SAME.get(reason, reason)) for reason in REASONS))
    for how, spelling in _SPELLINGS
)
SAMPLE_GROUP = "group:smsp__pcsamp_warp_stall_reasons"


def stalls(metrics: Metrics) -> tuple[tuple[Stall, ...], str | None]:
    """Stall reasons with their shares of all stalls, largest first, and how they were read."""
    for how, rows in _TABLES:
        if not (counted := planned(metrics, rows, there)):
            continue
        found: dict[str, float] = {}
        for metric, reason in counted:
            value = metrics.number(metric)
            if value is not None:
                found[reason] = found.get(reason, 0.0) + value
        if how == "warp samples":
            found |= _unknown_samples(metrics)
        total = sum(found.values())
        if total > 0:
            shares = (Stall(reason=r, share=v / total) for r, v in found.items() if v > 0)
            return tuple(sorted(shares, key=lambda stall: (-stall.share, stall.reason))), how
    return (), None


def _unknown_samples(metrics: Metrics) -> dict[str, float]:
    """Reasons that the report lists and we do not know: kept under their own names."""
    beginning = "smsp__pcsamp_warps_issue_stalled_"
    listed = (metrics.text(SAMPLE_GROUP) or "").split(",")
    reasons = {name.strip().removeprefix(beginning) for name in listed if beginning in name}
    unknown = sorted(reasons - set(REASONS) - {"selected", "not_selected"})
    values = {reason: metrics.number(beginning + reason) for reason in unknown}
    return {reason: value for reason, value in values.items() if value is not None}
