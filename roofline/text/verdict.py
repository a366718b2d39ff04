"""A verdict in sentences: its codes and numbers said, and the advice that ``advice.toml`` has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from roofline.model import Bound, Family, Measurement, Result, Verdict
from roofline.text.names import operation, unit, words
from roofline.text.notes import Sentence, sentence
from roofline.text.numbers import duration, percent, plural, ratio
from roofline.units import the_unit

# Under this share of its peak a unit is no concern of a kernel that waits.
_FAR = 40.0
_PROMISED = 10.0  # further away than that a ceiling says nothing about what a fix buys

# Why not to be sure, or why nothing can be said.
DOUBTS: Mapping[str, Sentence] = {
    "near_threshold": (
        "{percent:percent} is within {points:.0f} points of the threshold {threshold:percent}"
    ),
    "other_family_near": "the other family is {points:.0f} points away",
    "side_not_measured": lambda f: f"the {' and '.join(f['sides'])} side was not measured in full",
    "above_100": "a utilisation is above 100 %: counters of different passes differ",
    "no_duration": "the duration was not measured",
    "short_kernel": lambda f: (
        f"the kernel is shorter than {f['under_s'] * 1e6:.0f} us: start and end weigh heavily"
    ),
    "sm_throughput_only": "only the SM's throughput was measured, which LSU and texture are in",
    "computed": "the utilisation is computed, not counted",
    "counters_unreadable": "some counters could not be read",
    "launches_differ": "launches of this kernel were judged differently",
    "counters_nan": "the counters hold no numbers: profiling of this launch failed",
    "all_zero": "every utilisation reads 0 %: the counters did not count",
    "no_utilization": "no utilisation was measured",
    "too_little_measured": (
        "the busiest of what was measured is {unit} at {percent:percent}, and too little was "
        "measured to call that latency"
    ),
    "dram_not_countable": (
        "the busiest of what was measured is {unit} at {percent:percent}, and ncu cannot measure "
        "the DRAM of this GPU, which may be busier"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Advice on one limiter or cause; ``hint`` ends the hint line."""

    hint: str = ""
    refute: str = ""
    try_first: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    meaning: str = ""


@cache
def plays() -> Mapping[str, Play]:
    """All advice by kind and key: "unit.dram", "cause.tail_effect", "stall.wait"."""
    import msgspec

    advice = msgspec.toml.decode(Path(__file__).with_name("advice.toml").read_bytes())
    common = advice.pop("common")
    found = {}
    for kind, entries in advice.items():
        for key, entry in entries.items():
            whole = msgspec.convert(entries.get("other", {}) | entry, Play)
            avoid = tuple(common.get(line, line) for line in whole.avoid)
            found[f"{kind}.{key}"] = replace(whole, avoid=avoid)
    return found


def play(key: str | None) -> Play:
    """The advice of a verdict's ``advice``; that on others where there is none on the key."""
    if key is None:
        return Play()
    return plays().get(key) or plays()[f"{key.partition('.')[0]}.other"]


def limited_by(verdict: Verdict) -> str:
    """The unit or the cause: "issue slots", "grid too small"; empty where neither is known."""
    if verdict.limiter is not None:
        return unit(verdict.limiter)
    if verdict.cause is not None:
        return words(verdict.cause)
    return "cause unknown" if verdict.bound is Bound.LATENCY else ""


def bounds(result: Result) -> str:
    """What relief could buy at most, by the ceilings; for the work that was measured.

    "headroom: up to 1.29x (2.48 ms) at 100 % of issue slots; with less work for it: up to ...".
    """
    v, took_s = result.verdict, result.measurement.duration_s

    def at(floor_s: float) -> str:
        return f"{ratio(took_s / floor_s if took_s and floor_s else None)} ({duration(floor_s)})"

    if v.floor_s is None:
        return ""
    nearest = unit(v.nearest) or "its limit"
    if v.bound is Bound.LATENCY:
        if took_s and v.floor_s and took_s / v.floor_s > _PROMISED:
            return f"no useful bound: every unit is below {100 / _PROMISED:.0f} %"
        return f"if latency were hidden: up to {at(v.floor_s)}, then {nearest}"
    text = f"headroom: up to {at(v.floor_s)} at 100 % of {nearest}"
    if v.next_floor_s is not None:
        following = unit(v.next_limiter) or "the next limit"
        text += f"; with less work for it: up to {at(v.next_floor_s)}, then {following}"
    return text


def claim(result: Result) -> str:
    """What is claimed, in a sentence: "Limited by DRAM: busy 91 % of the elapsed time."."""
    v, name = result.verdict, the_unit(result.verdict.nearest or "")
    if v.bound is Bound.UNKNOWN:
        return f"Unknown: {_why_unknown(result)}."
    if v.bound is Bound.LATENCY:
        return (
            f"Latency: nothing is near its limit. The busiest, {name}, reaches "
            f"{percent(v.limiter_percent)} (under {percent(v.rule.latency)}); {cause(result)}."
        )
    busy = f"busy {percent(v.limiter_percent)} of the elapsed time"
    return f"Limited by {name}: {busy}{_bytes_reached(result)}."


def hint(result: Result) -> str:
    """The claim and what to do, in the few words of a line."""
    v = result.verdict
    if v.bound is Bound.UNKNOWN:
        return _why_unknown(result) + _remedy(result)
    if v.bound is Bound.LATENCY:
        said = f"latency: {cause(result)}"
    else:
        at = percent(v.limiter_percent)
        said = f"{unit(v.nearest)} at {at}{_bytes_reached(result)}"
    what = play(v.advice).hint
    return f"{said}: {what}" if what else said


def refute(result: Result) -> str:
    """The experiment that would prove the verdict wrong; empty for an unknown one."""
    return play(result.verdict.advice).refute


def try_first(result: Result) -> tuple[str, ...]:
    """What to try, the best first."""
    return play(result.verdict.advice).try_first


def avoid(result: Result) -> tuple[str, ...]:
    """What is not worth the time."""
    far: tuple[str, ...] = ()
    if result.verdict.bound is Bound.LATENCY:
        units = result.measurement.units
        kinds = ((Family.COMPUTE, "operations"), (Family.BANDWIDTH, "bytes"))
        busiest = [(next((u for u in units if u.family is f), None), what) for f, what in kinds]
        far = tuple(
            f"fewer {what}: {the_unit(use.unit)}, the busiest, is at {percent(use.percent)}"
            for use, what in busiest
            if use and use.percent < _FAR  # only what is really far from a limit
        )
    return (*far, *play(result.verdict.advice).avoid)


def cause(result: Result) -> str | None:
    """Why a kernel waits or nothing can be said; ``None`` where a unit limits."""
    v, m = result.verdict, result.measurement
    if v.bound is Bound.UNKNOWN:
        return _why_unknown(result)
    if v.bound is not Bound.LATENCY:
        return None
    if v.cause is None:
        return _ruled_out(m)
    kind, _, reason = v.cause.partition("_")
    if kind == "stall":
        of = (f" ({percent(100 * s.share)} of stalls)" for s in m.stalls if s.reason == reason)
        return f"warps stall on {reason}{next(of, '')}: {play(f'stall.{reason}').meaning}"
    if not v.cause_facts:
        return words(v.cause)
    facts = {"sms": m.device.sm_count, **v.cause_facts}
    return sentence(CAUSES[v.cause], facts) + (_top_stall(m) if v.cause in _WAITS else "")


def context(result: Result) -> str | None:
    """One sentence where the classic roofline would say something else."""
    v, m, said = result.verdict, result.measurement, result.verdict.context
    if said is None:
        return None
    name = the_unit(v.nearest or "")
    if said.code == "pipe_above_roof":
        return (
            f"{name[:1].upper()}{name[1:]} is busy {percent(v.limiter_percent)} of the time at "
            f"{percent(said.facts['percent'])} of the {operation(said.facts['precision'])} roof: "
            "not every instruction is an FMA of a full warp, which counts most."
        )
    where = f"{m.arithmetic_intensity:.3g} operations a byte, ridge {v.ridge:.3g}"
    share = v.roof_percent.get(v.dominant or "")
    known = "unknown share" if share is None else percent(share)
    at = f"{known} of the {operation(v.dominant or '')} roof"
    return {
        "left_of_ridge": f"Left of the ridge ({where}; {at}), yet limited by {name}, not by DRAM.",
        "right_of_ridge": (
            f"Right of the ridge ({where}; {at}), yet limited by {name}, not by arithmetic."
        ),
        "left_but_not_dram": f"Left of the ridge ({where}), yet limited by {name}, not by DRAM.",
        "below_roofs": (
            f"Below both roofs ({where}; {at}): the roofline does not explain its time."
        ),
    }[said.code]


def confidence_reasons(result: Result) -> tuple[str, ...]:
    """Why not to be sure, or why nothing can be said."""
    return tuple(_doubt(result, place) for place in range(len(result.verdict.doubts)))


# --- causes -----------------------------------------------------------------------------------


def _grid_too_small(facts: Mapping[str, Any]) -> str:
    text, blocks, sms = "the grid is too small: ", facts["blocks"], facts["sms"]
    if blocks is not None:
        text += f"{plural(int(blocks), 'block')} {'is' if blocks == 1 else 'are'} "
    text += f"{waves(facts['waves'])} waves"
    return text if sms is None else f"{text} on {sms} SMs"


CAUSES: Mapping[str, Sentence] = {
    "grid_too_small": _grid_too_small,
    "partial_warps": lambda f: (
        f"blocks of {plural(int(f['threads']), 'thread')} fill {f['threads']} of the "
        f"{f['lanes']} lanes they occupy"
    ),
    "tail_effect": (
        "a tail: {waves:.2f} waves need the time of {whole_waves}, {idle_percent:percent} of it "
        "idle"
    ),
    "imbalance": "work is uneven: the average SM has work for {active_percent:percent} of the time",
    "occupancy_limited": lambda f: (
        f"few warps to hide latency: occupancy at most {percent(f['most_percent'])}"
        + ("" if f["limiter"] is None else f", limited by {f['limiter']}")
    ),
    "occupancy_not_reached": (
        "occupancy is {achieved_percent:percent} of {most_percent:percent} possible: blocks are "
        "short or uneven"
    ),
}
# Those that speak of warps that have to wait, and so name what for.
_WAITS = ("partial_warps", "tail_effect", "imbalance", "occupancy_limited")


def _top_stall(m: Measurement) -> str:
    if not m.stalls:
        return ""
    return f"; top stall {m.stalls[0].reason} ({percent(100 * m.stalls[0].share)} of stalls)"


def _ruled_out(m: Measurement) -> str:
    """What the evidence excludes where no cause was found, and what would tell."""
    text = ""
    if m.waves is not None:
        text = f"not the grid ({waves(m.waves)} waves)"
    if m.theoretical_occupancy_percent is not None:
        text += " and " if text else ""
        text += f"not occupancy (up to {percent(m.theoretical_occupancy_percent)})"
    stalls = "no stall reason stands out" if m.stalls else "stall reasons were not collected"
    return f"{text}; {stalls}" if text else stalls


def waves(value: float) -> str:
    """Waves by their size: "0.19", "3.4", "1,158"."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"


# --- parts of sentences -----------------------------------------------------------------------


def _why_unknown(result: Result) -> str:
    return _doubt(result, 0) if result.verdict.doubts else "too little was measured"


def _doubt(result: Result, place: int) -> str:
    doubt, v = result.verdict.doubts[place], result.verdict
    busiest = {"unit": the_unit(v.nearest or ""), "percent": v.limiter_percent}
    return sentence(DOUBTS[doubt.code], busiest | doubt.facts)


def _remedy(result: Result) -> str:
    if any(note.code == "counters_nan" for note in result.measurement.notes):
        return "; profile it again"
    gaps = (gap.flag for gap in result.verdict.missing if gap.quantity == "utilization")
    flag = next(gaps, None)
    return "" if flag is None else f"; collect it with ncu {flag}"


def _bytes_reached(result: Result) -> str:
    """Achieved and peak bandwidth, where DRAM is spoken of and both are known."""
    rate, peak = result.measurement.dram_bytes_per_s, result.peaks.report.dram_bytes_per_s
    if result.verdict.nearest != "dram" or rate is None or peak is None:
        return ""
    return f" ({rate / 1e9:.0f} of {peak / 1e9:.0f} GB/s in bytes)"
