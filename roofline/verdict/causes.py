"""Why a unit is busy or a kernel waits: the entries of the knowledge base that fire, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from roofline.model import MATTERS, PROMISED, Bound, Cause, Measurement, UnitUse
from roofline.playbook import Play, entry_of, plays
from roofline.playbook.condition import Evidence, amount
from roofline.units import queue_of_fp64

# Latency without a cause has no bound where the busiest unit is under this.
NO_BOUND = 33.0
# Above this the unit itself is the answer, and no waiting keeps it from more.
_FULL = 80.0
# The dominant stall must be more than one among many.
_STALL_SHARE = 0.2
_PROMISING = ("occupancy", "idle")
_WAITING = (*_PROMISING, "wait", "unbounded")
# What no compiler changes: shapes, and where the data is.
_OF_LAUNCH = ("host_memory", "grid_too_small", "partial_warps")
_TENSOR = ("tensor", "tensor_fp64", "shared_pipe")


def causes_of(
    m: Measurement, bound: Bound, uses: Sequence[UnitUse], evidence: Evidence
) -> tuple[Cause, ...]:
    """What the evidence proves and what matters, what gives most first.

    Waste that gives too little alone is named where the rest gives more only with it, as of two
    units that are as near. A debug build holds back all but what the launch alone decides. Below
    80 % of peak the reasons to wait are there, too, last of all the top stall reason.
    """
    if bound is Bound.UNKNOWN:
        return ()
    fired = [
        (Cause(code=key, promise=play.promise, gain=_gain(play, uses, evidence)), play)
        for key, play in plays().causes
        if play.fires(evidence) and (bound is Bound.LATENCY or _of_limit(play, evidence))
    ]
    wastes = [play for cause, play in fired if play.promise == "waste" and cause.gain is not None]
    found = []
    for cause, play in fired:
        small = cause.gain is not None and cause.gain < MATTERS
        if small and play in wastes:
            rest = [one for one in wastes if one is not play]
            kept, left = (_floor_without(some, uses, evidence)[0] for some in (rest, wastes))
            if small := kept < MATTERS * left:
                wastes = rest
        unneeded = play.promise in _WAITING and uses[0].near >= _FULL
        if not (small or unneeded or (play.promise == "waste" and cause.gain is None)):
            found.append(cause)
    first = [cause for cause in found if cause.promise == "first"]
    if first:
        return (first[0], *(cause for cause in found if cause.code in _OF_LAUNCH))
    # What has no number is proven all the same; only a stall reason proves nothing.
    found.sort(key=lambda cause: -(cause.gain or inf))
    # Warps of a tensor kernel that sleep or wait for products have just these roles.
    roles = uses[0].unit in _TENSOR and bound is not Bound.LATENCY
    stalled = m.stalls and m.stalls[0].share >= _STALL_SHARE
    if stalled and uses[0].near < _FULL and not roles:
        found.append(Cause(code=f"stall_{m.stalls[0].reason}", promise="wait"))
    return tuple(found)


def _of_limit(play: Play, evidence: Evidence) -> bool:
    """Whether a fix relieves a unit that limits or is near: elsewhere it saves nothing.

    FP64 counts from half of the busiest: it is full long before its peak.
    """
    scarce = evidence.get("fp64", 0.0) >= evidence["busiest"] / 2
    near = (f"near_{unit}" in evidence or (unit == "fp64" and scarce) for unit in play.units)
    return not play.units or any(near)


def _gain(play: Play, uses: Sequence[UnitUse], evidence: Evidence) -> float | None:
    if play.promise == "waste":
        floor, _ = _floor_without([play], uses, evidence)
        # Of a kernel that waits for something else it is a bound all the same.
        return None if not floor else 1 / floor
    gain = amount(play.gain, evidence) if play.gain else None
    # Less work inside of a unit helps however full it is.
    most = inf if play.promise == "plain" else evidence.get("most", inf)
    return None if gain is None else max(1.0, min(gain, most))


def waste_floor(
    causes: Sequence[Cause], uses: Sequence[UnitUse], evidence: Evidence
) -> tuple[float, str] | None:
    """The share of the time that is left without what can go, and the unit that limits then.

    ``None`` where no waste is named. What can go but is not named stays: a bound must say what has
    to fall for it.
    """
    named = [plays()[entry_of(cause)] for cause in causes if cause.promise == "waste"]
    return _floor_without(named, uses, evidence) if named else None


def gain_of(
    causes: Sequence[Cause],
    waste: tuple[float, str] | None,
    bound: Bound,
    uses: tuple[float, float | None],
) -> tuple[float | None, str | None]:
    """How many times faster a kernel gets at most, and by what.

    ``uses`` are in percent of what they reach: the nearest unit and the one that limits next.
    Nothing predicts what hides latency of which the cause is not known, or far from any ceiling.
    """
    percent, following = uses
    if waste is not None:
        return min(PROMISED, 1 / max(waste[0], 1 / PROMISED)), "waste"
    # Work inside of the unit that has no number: at most until the next one limits.
    inside = bound is not Bound.LATENCY and any(one.promise == "plain" for one in causes)
    if inside and following is not None:
        return max(1.0, min(PROMISED, 100 / max(following, PROMISED))), "work"
    # With more warps alone it gains less than without the work that can go.
    if bound is Bound.LATENCY and any(one.promise == "unbounded" for one in causes):
        return None, "unbounded"
    by = next((one for one in causes if one.promise in _PROMISING and one.gain), None)
    if by is not None and by.gain is not None:
        return min(PROMISED, by.gain), by.promise
    held_back = any(one.promise == "first" for one in causes)
    if held_back or percent <= 0 or (bound is Bound.LATENCY and percent < NO_BOUND):
        return None, None
    return max(1.0, min(PROMISED, 100 / percent)), "headroom"


def _floor_without(
    entries: Sequence[Play], uses: Sequence[UnitUse], evidence: Evidence
) -> tuple[float, str]:
    """The largest over units of U x (1 - w), as a share of the time, and that unit."""
    left = []
    for use in uses:
        part = min(use.near, 100.0) / 100
        unit = "fp64" if evidence.get("few_fp64") and queue_of_fp64(use) else use.unit
        for removed in (entry.removes[unit] for entry in entries if unit in entry.removes):
            part *= 1 - min(1.0, max(0.0, amount(removed, evidence) or 0.0))
        left.append((part, use.unit))
    return max(left, key=lambda one: one[0])
