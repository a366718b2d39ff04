"""The answer in a sentence or two: where the time is, what can be left alone, what is to gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from roofline.kernel_names import family, foreign
from roofline.model import PROMISED, Action, Bound, Group, Note
from roofline.view import SMALL, Chosen, beyond, gain_s, less_work, promise, unbounded

_MOST = 0.5  # of the time
_MORE = 0.05  # of the time: less with less work is not said


def outlook(part: Chosen) -> tuple[Note, ...]:
    """What is worth doing about the kernels that are shown, of all that was profiled."""
    groups = [g for g in part.analysis.groups if g.total_s]
    total_s = part.total_s
    if not groups or not total_s:
        return (Note(code="no_times"),) if part.analysis.groups else ()
    groups.sort(key=lambda g: -(g.total_s or 0.0))
    alike = _groups_of(groups, "initialisation")
    if _time_s(alike) >= _MOST * total_s:
        facts = {"share": _time_s(alike) / total_s, "kernel": _name(alike[0])}
        return (Note(code="initialisation", facts=facts),)
    near = _groups_of(groups, "near_ceiling")
    # The kernels of one library's kind, where they are most of the time.
    kinds = Counter[tuple[bool, str | None]]()
    for group in near:
        kinds[_kind(group)] += round(1e12 * (group.total_s or 0.0))
    some = [g for g in near if _kind(g) == kinds.most_common(1)[0][0]]
    near = some if _time_s(some) >= _MOST * total_s else near
    if _time_s(near) >= _MOST * total_s:
        less = any(less_work(g.result) for g in near)
        facts = _alike(near) | {"share": _time_s(near) / total_s, "less_work": less}
        lead = Note(code="near_ceilings", facts=facts)
    else:
        lead = _longest(groups, total_s)
    return (lead, *_saving(groups, total_s))


def _longest(groups: Sequence[Group], total_s: float) -> Note:
    """The kernel with most time, and what limits it."""
    longest = groups[0]
    v = longest.result.verdict
    facts = {
        "kernel": _name(longest),
        "share": (longest.total_s or 0.0) / total_s,
        "kernels": len(groups),
        "unit": v.nearest,
        "percent": v.limiter_percent,
    }
    if v.cause == "above_peak":
        return Note(code="longest_above_peak", facts=facts | v.doubts[0].facts)
    if v.held_back:
        return Note(code="longest_held_back", facts=facts | {"cause": v.causes[0].code})
    if v.two_roofs:
        return Note(code="longest_below_roofs", facts=facts)
    known = {Bound.LATENCY: "waits", Bound.UNKNOWN: "not_judged"}
    return Note(code=f"longest_{known.get(v.bound, 'limited')}", facts=facts)


def _alike(groups: Sequence[Group]) -> dict[str, Any]:
    """What kernels have in common: a library, a kind of work, the unit that limits them."""
    units, kinds = Counter[str](), {_kind(g) for g in groups}
    for group in groups:
        units[group.result.verdict.nearest or ""] += round(1e12 * (group.total_s or 0.0))
    percents = [g.result.verdict.limiter_percent or 0.0 for g in groups]
    return {
        "library": all(_kind(g)[0] for g in groups),
        "family": kinds.pop()[1] if len(kinds) == 1 else None,
        "kernels": len(groups),
        "kernel": _name(groups[0]),
        "units": [unit for unit, _ in units.most_common()],
        "low": min(percents),
        "high": max(percents),
    }


def _saving(groups: Sequence[Group], total_s: float) -> Iterator[Note]:
    """The largest saving, proven before promised by a ceiling, of what is not best left alone."""
    open_ = [g for g in groups if g.result.verdict.action is not Action.LEAVE]
    promised = [(saved, g) for g in open_ if (saved := gain_s(g.result))]
    large = [(saved, g) for saved, g in promised if saved >= SMALL * total_s]
    full = [g for g in groups if g.result.verdict.action is Action.LEAVE]
    less_s, fullest = max(
        (((less_work(g.result) or 0.0) * (g.total_s or 0.0), g) for g in full),
        key=lambda one: one[0],
        default=(0.0, groups[0]),
    )
    endless = next((g for g in groups if unbounded(g.result)), None)
    if endless is not None and (endless.total_s or 0.0) >= max((s for s, _ in large), default=0.0):
        causes = endless.result.verdict.causes
        code = next(cause.code for cause in causes if cause.promise == "unbounded")
        yield Note(
            code="saving_unbounded",
            facts={"kernel": _name(endless), "only": endless is groups[0], "cause": code},
        )
    if large:
        saved, best = min(large, key=lambda one: promise(one[1].result, one[1].share))
        facts = {
            "kernel": _name(best),
            "saved_s": saved,
            "share": saved / total_s,
            "only": len(groups) == 1,
            "most": saved == max(saving for saving, _ in large),
            "beyond": beyond(best.result),
        }
        if less := less_work(best.result):
            facts |= {"less": less * (best.total_s or 0.0) / total_s, "less_for": _nearest(best)}
            facts["less_beyond"] = less >= 1 - 1 / PROMISED
        of = "saving_by_callers" if best.result.verdict.action is Action.CALLER else "saving"
        yield Note(code=of, facts=facts)
    elif promised:
        yield Note(code="no_saving")
    elif any(
        v.bound is Bound.LATENCY and not (v.two_roofs or v.held_back or v.gain_by)
        for v in (g.result.verdict for g in open_)
    ):
        yield Note(code="saving_not_known")
    if less_s >= _MORE * total_s and less_s >= max((saved for saved, _ in large), default=0.0):
        facts = {
            "kernel": _name(fullest),
            "saved_s": less_s,
            "share": less_s / total_s,
            "beyond": (less_work(fullest.result) or 0.0) >= 1 - 1 / PROMISED,
            "only": len(groups) == 1,
            "less_for": _nearest(fullest),
        }
        yield Note(code="saving_with_less_work", facts=facts)


def _nearest(group: Group) -> list[str | None]:
    """The units whose work that is: the limiter, and a second one unless that is what follows."""
    v = group.result.verdict
    return [v.nearest] + [v.co_limiter] * (v.co_limiter not in (None, v.next_limiter))


def _groups_of(groups: Sequence[Group], reason: str) -> list[Group]:
    return [g for g in groups if g.result.verdict.action_reason == reason]


def _time_s(groups: Sequence[Group]) -> float:
    return sum(g.total_s or 0.0 for g in groups)


def _kind(group: Group) -> tuple[bool, str | None]:
    """Whether it is a library's, and the kind of work."""
    return foreign(_name(group)), family(_name(group))


def _name(group: Group) -> str:
    return group.result.measurement.demangled or group.result.measurement.name
