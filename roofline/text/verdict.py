"""A verdict in sentences: its codes and numbers said, and the advice that ``advice.toml`` has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import islice
from math import ceil, inf
from typing import Any, TypeVar

from roofline.model import (
    MATTERS,
    PROMISED,
    Bound,
    Cause,
    Family,
    Measurement,
    Note,
    Result,
    Verdict,
)
from roofline.playbook import Play, Plays, entry_of, play, plays, told
from roofline.text.names import library_name, operation, unit, words
from roofline.text.notes import TOLD, Sentence, sentence
from roofline.text.numbers import at_most, exact, fall, percent, plural, ratio, waves
from roofline.text.outlook import above_peak
from roofline.units import PARTS, UNITS, the_unit

_T = TypeVar("_T")
_Said = TypeVar("_Said")
# Under this share of its peak a unit is no concern of a kernel that waits.
_FAR = 40.0
_REACHED = 0.8  # of the possible occupancy: what comes short of it rules nothing out
_ALL = 0.995  # of the time: what is left rounds to none
# What is less is no count, but a share, a percentage or a ratio.
_COUNT = 1000.0
_STEPS = 6

NEITHER = "neither DRAM nor arithmetic"
OTHERS = "a cache, shared memory, issue slots or latency"

# Why not to be sure, or why nothing can be said.
DOUBTS: Mapping[str, Sentence] = {
    **TOLD["doubts"],
    "other_unit_near": lambda f: (
        f"the next unit, {the_unit(f['other'] or '')}, is {f['points']:.0f} points away"
    ),
    "caches_not_measured": lambda f: (
        f"{' and '.join(map(unit, f['units']))} {'was' if len(f['units']) == 1 else 'were'} "
        "not measured"
    ),
    "side_not_measured": lambda f: f"the {' and '.join(f['sides'])} side was not measured in full",
    "short_kernel": lambda f: (
        f"the kernel is shorter than {f['under_s'] * 1e6:.0f} µs: start and end weigh heavily"
    ),
    "above_peak": above_peak,
    "counters_nan": lambda f: (
        f"{plural(len(f['names']), 'counter')} without a number (NaN)"
        if "names" in f
        else "the counters hold no numbers: profiling of this launch failed"
    ),
}


def _kept(said: Callable[[_T], _Said]) -> Callable[[_T], _Said]:
    """Keep the last answer, as several sentences about one launch ask for it."""
    last: tuple[Any, Plays, _Said] | None = None

    def kept(about: _T) -> _Said:
        nonlocal last
        known, found = plays(), last
        if found is None or found[0] is not about or found[1] is not known:
            last = found = about, known, said(about)
        return found[2]

    return wraps(said)(kept)


def limited_by(verdict: Verdict) -> str:
    """The unit or the cause: "issue slots", "grid too small"; empty where neither is known."""
    if verdict.limiter is not None:
        return unit(verdict.limiter)
    if verdict.cause is not None:
        return words(verdict.cause)
    if verdict.two_roofs:
        return "neither roof"
    return "cause unknown" if verdict.bound is Bound.LATENCY else ""


def kind(judged: Verdict) -> str:
    """The verdict in a word; of stated figures below both roofs no more than that."""
    return limited_by(judged) if judged.two_roofs else str(judged.bound)


def bounds(result: Result) -> str:
    """What relief could buy at most, by the ceilings; for the work that was measured.

    "without 65,011,712 bank conflicts: up to 1.62x (880 µs), then DRAM; headroom: up to ...".
    """
    parts = dict.fromkeys((_ranked(result), _without_waste, _promises, _ceilings))
    return "; ".join(text for part in parts if (text := part(result)))


def gain(result: Result) -> str:
    """The part of ``bounds`` that kernels are ranked by, which comes first there."""
    if result.verdict.bound is Bound.UNKNOWN:
        return f"not known: {_why_unknown(result)}"
    return _ranked(result)(result) or "not known: no counter predicts what hiding latency saves"


def _ranked(result: Result) -> Callable[[Result], str]:
    by = {"waste": _without_waste, "occupancy": _promises, "idle": _promises}
    return by.get(result.verdict.gain_by or "", _ceilings)


def _without_waste(result: Result) -> str:
    """The bound of what can go, with the counts that must fall for it."""
    v = result.verdict
    if v.waste_limiter is None or v.gain is None:
        return ""
    gone = " and ".join(wasted(result))
    factor = up_to(v.gain) if v.waste_floor_s is None else _up_to(result, v.waste_floor_s)
    alone = max((c.gain or 1.0 for c in _only_together(v)), default=None)
    one = "" if alone is None else f" (one alone: {up_to(alone)})"
    return f"without {gone}: {factor}, then {unit(v.waste_limiter)}{one}"


def _only_together(v: Verdict) -> list[Cause]:
    """Several wastes of which none gives anything without the others."""
    wastes = [one for one in v.causes if one.promise == "waste"]
    alone = v.callers or any((one.gain or inf) >= MATTERS for one in wastes)
    return [] if alone or len(wastes) < 2 else wastes


def wasted(result: Result) -> Iterator[str]:
    """What must fall for the waste bound: "65,011,712 bank conflicts"."""
    amounts = _amounts(result)
    for cause in result.verdict.causes:
        entry = play(entry_of(cause))
        if cause.promise == "waste":
            value = amounts.get(entry.count)
            if value is None or value < _COUNT:  # a share, a percentage or a ratio
                yield f"the {entry.counted}"
            else:
                yield f"{exact(round(value))} {entry.counted}"


def wasted_kinds(result: Result) -> Iterator[str]:
    """The same without the amounts: "the bank conflicts"."""
    for cause in result.verdict.causes:
        if cause.promise == "waste":
            yield f"the {play(entry_of(cause)).counted}"


def _amounts(result: Result) -> Mapping[str, float]:
    """The evidence, its counts summed over the launches, as times are; cycles are of a launch."""
    m, each = result.measurement, result.verdict.evidence
    if m.count == 1:
        return each
    counted = {*m.counts, "fp32_pairs", "fp64_pairs"} - {"elapsed_cycles"}
    return {name: value * m.count if name in counted else value for name, value in each.items()}


def up_to(gain: float) -> str:
    """A bound: "up to 1.62x"; what is too far away to be promised is "more than 10x"."""
    beyond = gain >= PROMISED
    return at_most(f"{PROMISED:.0f}x" if beyond else ratio(gain), beyond=beyond)


def _first_hint(v: Verdict, promise: str) -> str:
    """What to do of the first cause that promises this; empty where a user's own entry has none."""
    return next((play(entry_of(one)).hint for one in v.causes if one.promise == promise), "")


def _up_to(result: Result, floor_s: float) -> str:
    took_s = result.measurement.duration_s
    gain = took_s / floor_s if took_s and floor_s else inf
    return up_to(gain) + (f" ({fall(took_s, floor_s)})" if gain < PROMISED else "")


def _promises(result: Result) -> str:
    """What more warps or a full GPU could give, each by itself."""
    said = []
    alone = " alone" if result.verdict.gain_by == "unbounded" else ""
    for promise, what in (("occupancy", "with more warps"), ("idle", "without idle SMs")):
        gains = (c.gain for c in result.verdict.causes if c.promise == promise and c.gain)
        if gain := max(gains, default=None):
            said.append(f"{what}{alone}: {up_to(gain)}")
    return "; ".join(said)


def _ceilings(result: Result) -> str:
    """Headroom: of the busiest unit, then of the next one, which needs less work for the first."""
    v, took_s = result.verdict, result.measurement.duration_s
    if v.held_back:
        return f"not known: first {first}" if (first := _first_hint(v, "first")) else "not known"
    if v.gain_by == "unbounded":
        helps = _first_hint(v, "unbounded")
        return "no bound: no counter says what it saves" + (f" to {helps}" if helps else "")
    nearest = unit(v.nearest) or "its limit"
    if v.floor_s is None:
        if v.gain is None or v.gain_by not in ("headroom", "work"):
            return ""
        if v.gain_by == "work":
            less = f"with less work for {the_unit(v.nearest or '')}"
            return f"{less}: {up_to(v.gain)}, then {unit(v.next_limiter)}"
        if v.limiter is None:
            return f"if latency were hidden: {up_to(v.gain)}, then {nearest}"
        return f"headroom: {up_to(v.gain)} until {full(v.limiter)}"
    if v.bound is Bound.LATENCY:
        if v.gain is None or (took_s and v.floor_s and took_s / v.floor_s > PROMISED):
            every = "both roofs are" if v.two_roofs else "every unit is"
            least = 10 * ceil(((v.limiter_percent or 0.0) + 0.1) / 10)
            return "" if v.gain else f"no useful bound: {every} below {least} %"
        so = "if nothing else held it back" if v.two_roofs else "if latency were hidden"
        return f"{so}: {_up_to(result, v.floor_s)}, then {nearest}"
    limit = full(v.nearest or "its limit")
    factor = _up_to(result, v.floor_s)
    text = f"no headroom: {limit}" if is_full(result) else f"headroom: {factor} until {limit}"
    # What a known waste leaves is the better answer to less work.
    if v.next_floor_s is not None and v.waste_floor_s is None:
        factor = _up_to(result, v.next_floor_s)
        too = v.co_limiter if v.co_limiter != v.next_limiter else None
        less = "it" if too is None else f"it and {the_unit(too)}"
        text += f"; with less work for {less}: {factor}, then {unit(v.next_limiter)}"
    return text


def is_full(result: Result) -> bool:
    """Whether what is left until the ceiling rounds to nothing."""
    floor_s, took_s = result.verdict.floor_s, result.measurement.duration_s
    return bool(floor_s and took_s and floor_s > _ALL * took_s)


def full(key: str) -> str:
    """A unit at its limit: "DRAM is full", "the issue slots are full"."""
    name = the_unit(key)
    return f"{name} {'are' if name.endswith('s') else 'is'} full"


def claim(result: Result) -> str:
    """What is claimed, in a sentence: "Limited by DRAM: busy 91 % of the elapsed time."."""
    v, name = result.verdict, the_unit(result.verdict.nearest or "")
    if v.bound is Bound.UNKNOWN:
        return f"Unknown: {_why_unknown(result)}."
    if v.bound is Bound.LATENCY:
        least = v.evidence.get("threshold", v.rule.latency)
        if v.two_roofs:
            return (
                f"Limited by {NEITHER}: {name} reaches {percent(v.limiter_percent)} (under "
                f"{percent(least)}), the other less; it is {OTHERS}."
            )
        return (
            f"Latency: nothing is near its limit. The busiest, {name}, reaches "
            f"{percent(v.limiter_percent)} (under {percent(least)}); {cause(result)}."
        )
    busy = f"busy {percent(v.limiter_percent)} of the elapsed time{_above(v)}"
    if any(doubt.code == "datasheet_peaks" for doubt in v.doubts):
        busy = f"at {percent(v.limiter_percent)} of the datasheet's peak"
    why = cause(result)
    text = f"Limited by {name}{_part(result)}: {busy}{_bytes_reached(result)}."
    if why is None:
        return text
    return f"{text} {'Why' if _inside(v, v.causes[0]) else 'What keeps it from more'}: {why}."


def hint(result: Result) -> str:
    """The claim and what to do, in the few words of a line."""
    v = result.verdict
    if v.bound is Bound.UNKNOWN:
        return _why_unknown(result) + _remedy(result)
    why = cause(result)
    if v.bound is Bound.LATENCY:
        said = f"{'' if v.two_roofs else 'latency: '}{why}"
    else:
        at = percent(v.limiter_percent)
        said = f"{unit(v.nearest)}{_part(result)} at {at}{_above(v)}{_bytes_reached(result)}"
        if why is not None and _inside(v, v.causes[0]):
            said += f"; {why}"
    what = entries(v)[0].hint
    if v.action_reason == "initialisation":
        what = "random initialisation or fill, hardly what was meant to be profiled"
    elif v.action_reason == "near_ceiling" and what:
        what = f"near its ceiling, only less work helps: {what}"
    return f"{said}: {what}" if what else said


def why(result: Result) -> str:
    """Why it takes so long, or why it is left alone, for one line; the claim says the rest."""
    return _why(result) + _above(result.verdict)


def _why(result: Result) -> str:
    v = result.verdict
    if v.action_reason == "initialisation":
        return "random initialisation or fill: hardly what was meant"
    made_by = library_name(result.measurement.demangled or result.measurement.name)
    by = f" ({made_by})" if made_by else ""
    if v.action_reason == "near_ceiling":
        helps = entries(v)[0].hint
        if not v.callers and (nearest := UNITS.get(v.nearest or "")) and nearest.lowerable:
            return f"near its ceiling: only less work helps: {helps}"
        less = "" if v.callers else f", or {helps}"
        return f"near its ceiling{by}: leave it{less}"
    if said := cause(result):
        return (keeps(v, v.causes[0]) if v.causes else "") + said
    follows = _next(result)
    if v.action_reason == "library":
        return f"a library's kernel{by}{follows}"
    return f"no waste is proven{follows}"


def _next(result: Result) -> str:
    """The second unit that limits, or else the one that would limit next."""
    v = result.verdict
    second = v.co_limiter or v.next_limiter
    uses = (use for use in result.measurement.units if use.unit == second)
    said = "as near" if v.co_limited else "next"
    return next((f"; {said}: {unit(use.unit)} {percent(use.percent)}" for use in uses), "")


def step(result: Result) -> str:
    """What to try first, for one line; what to collect where nothing can be said."""
    first = "; ".join(try_first(result)[:2])
    return first or _remedy(result).removeprefix("; ") or entries(result.verdict)[0].hint


def refute(result: Result) -> str:
    """The experiment that would prove the verdict wrong; empty for an unknown one."""
    if both := [play(entry_of(one)).counted for one in _only_together(result.verdict)]:
        return (
            f"Take out {' and '.join(both)}, not one alone: these counts and the time must fall "
            "together. If the time stays, they were not the cause."
        )
    return next((e.refute for e in entries(result.verdict) if e.refute), "")


def try_first(result: Result) -> tuple[str, ...]:
    """What to try, the best first: by cause, what gives most first, then by unit.

    Where a second unit is as near, and less work for the first does not relieve it, its first step
    is the second one.
    """
    v = result.verdict
    first = [next(play(entry_of(one)).steps(v.evidence), "") for one in _only_together(v)]
    lines = [line for entry in entries(v) for line in entry.steps(v.evidence)]
    known = {unit for one in v.causes for unit in play(entry_of(one)).units}
    if v.co_limiter and v.co_limiter == v.next_limiter and not v.callers | (v.co_limiter in known):
        lines[1:1] = islice(play(f"unit.{v.co_limiter}").steps(v.evidence), 1)
    return tuple(filter(None, dict.fromkeys((*first, *lines))))[:_STEPS]


def avoid(result: Result) -> tuple[str, ...]:
    """What is not worth the time."""
    far: tuple[str, ...] = ()
    v = result.verdict
    if v.bound is Bound.LATENCY and not v.held_back:
        units = result.measurement.units
        stated = v.two_roofs
        kinds = (
            (Family.COMPUTE, "operations"),
            (Family.BANDWIDTH, "DRAM bytes" if stated else "bytes"),
        )
        busy, comma = ("", "") if stated else ("the busiest, ", ",")
        busiest = [(next((u for u in units if u.family is f), None), what) for f, what in kinds]
        far = tuple(
            f"fewer {what}: {busy}{the_unit(use.unit)}{comma} is at {percent(use.percent)}"
            for use, what in busiest
            if use and use.percent < _FAR  # only what is really far from a limit
        )
    lines = (line for entry in entries(v) for line in told(entry.avoid, v.evidence))
    return tuple(dict.fromkeys((*far, *lines)))


@_kept
def cause(result: Result) -> str | None:
    """Why a unit is busy, a kernel waits or nothing can be said; ``None`` where nothing tells."""
    v, m = result.verdict, result.measurement
    if v.bound is Bound.UNKNOWN:
        return _why_unknown(result)
    proven = [one for one in v.causes if not one.code.startswith("stall_")]
    if not v.causes:
        if v.two_roofs:
            return f"{OTHERS}; {NEITHER}"
        ruled_out = _ruled_out(m) if v.cause is None else words(v.cause)
        return ruled_out if v.bound is Bound.LATENCY else None
    if not proven:
        return cause_text(result, v.causes[0])
    texts = [cause_text(result, one) for one in proven[:2]]
    waits = v.bound is Bound.LATENCY and not v.held_back
    return "; ".join(texts) + (_top_stall(m) if waits else "")


def cause_text(result: Result, one: Cause) -> str:
    """One cause with its counts, and its unit where that is another one than the limiter."""
    v, m, entry = result.verdict, result.measurement, play(entry_of(one))
    kind, _, reason = one.code.partition("_")
    if kind == "stall":
        of = (f" ({percent(100 * s.share)} of stalls)" for s in m.stalls if s.reason == reason)
        return f"warps stall on {words(reason)}{next(of, '')}: {entry.meaning}"
    limited = {"limited_by": m.occupancy_limiter} if m.occupancy_limiter else {}
    claimed = entry.said({**v.evidence, **limited})
    text = sentence(claimed, {**_amounts(result), **limited}) if claimed else words(one.code)
    return _unit_of(result, entry) + text


def _unit_of(result: Result, entry: Play) -> str:
    """The unit that a cause loads, where causes are not of the limiter alone: "ADU 96 %: "."""
    v, units = result.verdict, entry.units
    loaded = (play(entry_of(one)).units for one in v.causes)
    if v.limiter is None or not units or all(v.limiter in some for some in loaded if some):
        return ""
    own = next((use for use in result.measurement.units if use.unit in units), None)
    if own is None:
        return ""
    near = own.unit != v.limiter and f"near_{own.unit}" in v.evidence
    return f"{'as near: ' if near else ''}{unit(own.unit)} {percent(own.percent)}: "


@_kept
def entries(v: Verdict) -> list[Play]:
    """The entries that speak of a verdict, the most important first.

    Causes inside a unit, and those that the saving rests on, come before the unit's own entry; what
    else keeps it from more comes after that.
    """
    if v.callers:
        return [play(v.advice)]
    known, causes = plays(), {entry_of(one): one for one in v.causes}
    own = [] if v.advice is None or v.advice in causes or v.held_back else [v.advice]
    before = [key for key, one in causes.items() if _inside(v, one) or one.promise == v.gain_by]
    keys = (*before, *own, *(key for key in causes if key not in before))
    return [known.of(key) for key in keys or (None,)]


def keeps(v: Verdict, one: Cause) -> str:
    """The words between a limiter and a cause that is not its own work."""
    first = next((cause for cause in v.causes if not _inside(v, cause)), None)
    return "what keeps it from more: " if one is first else ""


def _inside(v: Verdict, one: Cause) -> bool:
    """Whether a cause is work inside of the unit that limits, and not what keeps it from more."""
    return v.bound is Bound.LATENCY or one.promise in ("first", "waste", "plain")


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


def _top_stall(m: Measurement) -> str:
    if not m.stalls:
        return ""
    return f"; top stall {words(m.stalls[0].reason)} ({percent(100 * m.stalls[0].share)} of stalls)"


def _ruled_out(m: Measurement) -> str:
    """What the evidence excludes where no cause was found, and what would tell."""
    text = ""
    if m.waves is not None:
        text = f"not the grid ({waves(m.waves)} waves)"
    most, came = m.theoretical_occupancy_percent, m.occupancy_percent
    if most is not None and came is not None and came < _REACHED * most:
        text += ("; " if text else "") + f"occupancy reaches {percent(came)} of {percent(most)}"
    elif most is not None:
        text += (" and " if text else "") + f"not occupancy (up to {percent(most)})"
    stalls = "no stall reason stands out" if m.stalls else "stall reasons were not collected"
    return f"{text}; {stalls}" if text else stalls


# --- parts of sentences -----------------------------------------------------------------------


def _why_unknown(result: Result) -> str:
    return _doubt(result, 0) if result.verdict.doubts else "too little was measured"


def _doubt(result: Result, place: int) -> str:
    doubt, v = result.verdict.doubts[place], result.verdict
    busiest = {"unit": the_unit(v.nearest or ""), "percent": v.limiter_percent}
    return sentence(DOUBTS[doubt.code], busiest | doubt.facts)


def _remedy(result: Result) -> str:
    if any(doubt == Note(code="counters_nan") for doubt in result.verdict.doubts):
        return "; profile it again"
    gaps = (gap.flag for gap in result.verdict.missing if gap.quantity == "utilization")
    flag = next(gaps, None)
    return "" if flag is None else f"; collect it: ncu {flag} -o REPORT PROGRAM"


def _above(v: Verdict) -> str:
    """The remark on what cannot be."""
    codes = {doubt.code for doubt in v.doubts}
    above = v.limiter_percent is not None and v.limiter_percent > 100.0
    if above and "above_100" in codes:
        return " (above 100 %: counters of different passes differ)"
    return " (above the datasheet's peak)" if above and "above_datasheet" in codes else ""


def _part(result: Result) -> str:
    """The part of the nearest unit that is so busy, where it is known: " (L1's path to L2)"."""
    uses = (use for use in result.measurement.units if use.unit == result.verdict.nearest)
    part = next((use.part for use in uses), None)
    return "" if part is None else f" ({PARTS[part]})"


def _bytes_reached(result: Result) -> str:
    """Achieved and peak bandwidth, where DRAM is spoken of and both are known."""
    rate, peak = result.measurement.dram_bytes_per_s, result.peaks.report.dram_bytes_per_s
    if result.verdict.nearest != "dram" or rate is None or peak is None:
        return ""
    return f" ({rate / 1e9:.0f} of {peak / 1e9:.0f} GB/s in bytes)"
