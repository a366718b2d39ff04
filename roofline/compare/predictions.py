"""Whether predictions held: BEFORE's floors, and what the user expected or claimed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf

from roofline.compare.change import (
    SAME,
    SHORT_NOISE,
    busy_ratio,
    cause_gone,
    measured_alike,
    precision_moved,
    precisions_gone,
)
from roofline.compare.model import Judgement, KernelPair, Prediction, Side, note
from roofline.errors import UsageError
from roofline.kernel_names import few
from roofline.model import PROMISED, Bound, Cause, Family, Note, Verdict, exceeds
from roofline.patterns import select
from roofline.playbook import Play, entry_of, play, plays
from roofline.text import numbers
from roofline.units import UNITS, relieved_with, unit_of_precision
from roofline.wall_time import outcome_of

# A unit's work within this is unchanged, so that its floor still stands.
UNCHANGED = 0.05
# A bound is confirmed by a gain near it: so much of the time that it leaves to be won.
NEAR = 0.75
# Points by which occupancy must rise to count as the cause claimed.
_POINTS = 5.0
CAUSES = ("bandwidth", "compute", "latency", "bytes", "operations", "occupancy", "precision")

Held = tuple[bool | None, Note]  # None: it cannot be told
_UNKNOWN = note("limit_unknown")


# --- the floors of BEFORE -----------------------------------------------------------------------


def bounds_held(pair: KernelPair) -> Iterator[Prediction]:
    """What BEFORE's floors said would be the most, against what came.

    Only a speed-up tests a bound; a pair without one gets none of these.
    """
    verdict, timing = pair.before.verdict, pair.timing
    unit, then = verdict.nearest or verdict.limiter, verdict.next_limiter
    took_s = pair.before.measured.duration_s
    if pair.outcome != "faster" or timing is None or pair.doubt or not unit or not took_s:
        return
    speedup = timing.judged[0]
    work, next_work = (busy_ratio(pair.before, pair.after, one) for one in (unit, then))
    facts = {"speedup": speedup, "unit": unit, "then": then, "now": pair.after.busiest}
    facts |= {"work": work, "next_work": next_work}
    if speedup != timing.speedup:
        facts["measured"] = timing.speedup
    for bounds in (_floors(pair, took_s, work, next_work), _wastes(pair, took_s), _warps(pair)):
        for claim, most, codes, more in bounds:
            shown = {**facts, **more, "most": most}
            far = most > 1 and (1 - 1 / speedup) / (1 - 1 / most) < NEAR
            passed = speedup > most * (1 + timing.noise)
            code = codes[0 if passed else 1 if far else 2]
            near = _JUDGED.get(code) == "confirmed" and not passed
            if near and most < speedup and _printed(most) != _printed(speedup):
                code, shown["noise"] = "bound_passed_within_noise", timing.noise
            yield Prediction(
                by="floor",
                claim=note(claim, **shown),
                judgement=_JUDGED.get(code, "not_testable"),
                reason=note(code, **shown),
            )


# A bound: its claim, how many times faster at most, what is said of a gain beyond it, not near it
# and near it, and more facts.
_Bound = tuple[str, float, tuple[str, str, str], Mapping[str, object]]


def _floors(
    pair: KernelPair, took_s: float, work: float | None, next_work: float | None
) -> Iterator[_Bound]:
    """The nearest ceiling at the same work; the next one with less work for the nearest."""
    verdict, now = pair.before.verdict, pair.after.busiest
    if verdict.floor_s:
        codes = ("bound_exceeded_at_same_work", "bound_not_neared", "bound_reached")
        if work is None or abs(work - 1) > UNCHANGED:
            codes = ("unit_not_measured" if work is None else "work_changed",) * 3
        yield "bound_at_same_work", took_s / verdict.floor_s, codes, {}
    told = any(c.promise == "plain" and _counts_fell(pair, c) for c in verdict.causes)
    if not verdict.next_limiter or not verdict.next_floor_s or (told and verdict.gain_by == "work"):
        return
    fell = next_work is not None and next_work < 1 - UNCHANGED
    held = "next_work_fell_and_another_is_nearest" if fell else "another_is_nearest"
    if now == verdict.next_limiter:
        held = "bound_reached" if pair.after.verdict.limiter else "nearest_but_not_near"
    elif now == (nearest := verdict.nearest or verdict.limiter):
        held = "still_nearest"
    elif now and not measured_alike(pair.before, pair.after, now):
        held = "nearest_not_measured_before"
    elif _relieved_with(pair, nearest, now):
        held = "relieved_is_nearest"
    codes = ("next_work_fell_too" if fell else "bound_exceeded", held, held)
    if work is None or next_work is None:
        codes = ("units_not_measured",) * 3
    elif work > 1 - UNCHANGED:
        codes = ("work_did_not_fall",) * 3
    yield "bound_relieved", took_s / verdict.next_floor_s, codes, {}


def _relieved_with(pair: KernelPair, nearest: str | None, now: str | None) -> bool:
    """Whether less work for the unit that was nearest was to relieve the one that is so now."""
    one, other = ({use.unit: use for use in s.measured.units} for s in (pair.before, pair.after))
    top, use = one.get(nearest or ""), other.get(now or "")
    return top is not None and use is not None and relieved_with(top, use)


def _wastes(pair: KernelPair, took_s: float) -> Iterator[_Bound]:
    """Each waste or work that BEFORE named, judged by the count that had to fall for it."""
    verdict = pair.before.verdict
    most = took_s / verdict.waste_floor_s if verdict.waste_floor_s else 0.0
    of, then = "waste", verdict.waste_limiter
    if verdict.gain_by == "work" and verdict.gain:
        of, then, most = "plain", verdict.next_limiter, verdict.gain
    for cause in verdict.causes if most else ():
        entry = play(entry_of(cause))
        old, new = _counts(pair, cause)
        beyond = _beyond(pair, then, "count_fell_beyond")
        # "More than 10x" has no upper end.
        beyond = "count_fell" if most > PROMISED else beyond
        held = pair.after.busiest in (None, then)
        fell = "count_fell" if held else "count_fell_and_another_is_nearest"
        codes = (beyond, "count_fell_not_neared", fell)
        if not old or new is None:
            codes = ("count_not_measured",) * 3
        elif not _counts_fell(pair, cause):
            codes = ("count_did_not_fall",) * 3
        elif of == "plain":  # another algorithm: no number must hold
            codes = ("work_count_fell",) * 3
        more = {"then": then, **_count_facts(entry, old, new)}
        if cause.promise == of and entry.count:
            yield "bound_without_waste", min(PROMISED, most), codes, more


def _counts(pair: KernelPair, cause: Cause) -> tuple[float | None, float | None]:
    """Before and after, what must fall with a cause."""
    count = play(entry_of(cause)).count
    old, new = (side.verdict.evidence.get(count) for side in (pair.before, pair.after))
    return old, new


def _count_facts(entry: Play, old: float | None, new: float | None) -> dict[str, object]:
    """What a sentence needs of a count that must fall; some are percentages."""
    of_peak = entry.count in UNITS or entry.count.endswith("_percent")
    sign = " %" if of_peak else ""
    return {"counted": entry.counted, "before": old, "after": new, "sign": sign}


def _counts_fell(pair: KernelPair, cause: Cause) -> bool:
    old, new = _counts(pair, cause)
    return bool(old) and new is not None and new <= (old or 0.0) * (1 - UNCHANGED)


def _warps(pair: KernelPair) -> Iterator[_Bound]:
    """Where BEFORE lacked warps: no more than the warps that came, nor than the busiest unit."""
    verdict = pair.before.verdict
    old, new = (side.measured.occupancy_percent for side in (pair.before, pair.after))
    lacked = any(cause.promise == "occupancy" for cause in verdict.causes)
    if lacked and old and new is not None and new >= old * (1 + UNCHANGED):
        most = min(new / old, verdict.evidence.get("most", PROMISED), PROMISED)
        beyond = _beyond(pair, verdict.nearest, "warps_beyond")
        codes = (beyond, "warps_not_neared", "bound_reached")
        yield "bound_with_more_warps", most, codes, {"before": old, "after": new}


# What is neither confirmed nor refuted was not put to the test.
_JUDGED: dict[str, Judgement] = {
    **dict.fromkeys(("bound_reached", "count_fell"), "confirmed"),
    "count_fell_and_another_is_nearest": "confirmed",
    **dict.fromkeys(("bound_exceeded", "bound_exceeded_at_same_work"), "refuted"),
    **dict.fromkeys(("another_is_nearest", "count_fell_beyond", "warps_beyond"), "refuted"),
}


def _beyond(pair: KernelPair, limit: str | None, code: str) -> str:
    """A bound that was passed is refuted, but where the unit that was to hold got less to do."""
    work = busy_ratio(pair.before, pair.after, limit)
    return f"{code}_with_less_work" if work is not None and work < 1 - UNCHANGED else code


# --- the user -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the user expects of kernels; ``pattern`` of ``None`` is all that got faster.

    Either a claimed ``cause``, or what becomes of ``what``, a key of ``EXPECTED``: one or two
    ``ends``, each a kind ("x" a factor, "%" and "by" what is added, "to" an amount) and a number.
    One end alone is meant as at least that, and a third more of the change, or any with ``open``.
    """

    pattern: str | None
    text: str
    cause: str | None = None
    what: str = "time"
    ends: tuple[tuple[str, float], ...] = ()
    open: bool = False

    @property
    def claim(self) -> Note:
        """It as it was typed."""
        return note("stated", option="--because" if self.cause else "--expect", text=self.text)

    @property
    def proven_cause(self) -> str | None:
        """The cause of the knowledge base that it claims, which BEFORE's evidence must prove."""
        return None if self.cause in (*CAUSES, *UNITS) else self.cause

    def ratios(self, before: float) -> tuple[float, float]:
        """The least and the most of after / before that it allows."""
        low, high = (self._ratio(before, *end) for end in (self.ends[0], self.ends[-1]))
        if len(self.ends) == 1:
            most = (inf if high > 1 else 0.0) if self.open else 1 + (high - 1) * _BEYOND
            low, high = high, max(0.0, most)
        return min(low, high), max(low, high)

    def _ratio(self, before: float, kind: str, number: float) -> float:
        """After / before at an end."""
        if kind == "x":
            return 1 / number if self.what in _TIMES else number
        part = number / 100 if kind == "%" else number / before
        return part if kind == "to" else max(0.0, 1 + part)


_TIMES = ("time", "step")
_BEYOND = 4 / 3
# What can be expected of -> its field and the unit in which an amount is typed.
EXPECTED = {
    "time": ("duration_s", "s"),
    "step": ("", "s"),
    "bytes": ("dram_bytes", "B"),
    "operations": ("total_operations", "FLOP"),
    "occupancy": ("occupancy_percent", ""),
    "registers": ("registers_per_thread", ""),
}
EXPECT_FORMS = "gemm=1.3x..1.5x, gemm=25us..30us, gemm=same, gemm:bytes=-40%, step=-10ms"


def parse_expect(text: str) -> Expectation:
    """Read "KERNEL[:WHAT]=VALUE" or "WHAT=VALUE" as in ``EXPECT_FORMS``, else a ``UsageError``."""
    left, _, value = text.rpartition("=")
    pattern, colon, what = left.strip().rpartition(":")
    if not colon or what not in EXPECTED:
        known = left.strip() in EXPECTED
        pattern, what = ("", left.strip()) if known else (left.strip(), "time")
    first, dots, last = value.strip().partition("..")
    typed = [first, last] if last else [first]
    ends = [("x", 1.0) if one == "same" else _end(one.strip(), EXPECTED[what][1]) for one in typed]
    named = pattern or (not colon and what in EXPECTED and left.strip() == what)
    if not named or None in ends or (dots and "same" in typed):
        unit = EXPECTED[what][1]
        # An occupancy with its sign of per cent, else a factor without its x, a share without "-".
        meant = re.sub(r" ?%", "", value.strip())
        if what != "occupancy":
            meant = re.sub(r"(?<![\w+-])\d(?:\.\d+)?(?=\.\.|$)", r"\g<0>x", value.strip())
            meant = f"-{meant}" if re.fullmatch(r"\d+(\.\d+)? ?%", meant) else meant
        fits = named and all(_end(one, unit and "s") for one in meant.split("..") if one)
        hint = f"--expect {shlex.quote(f'{left}={meant}')}" if fits and meant else EXPECT_FORMS
        raise UsageError(f"--expect {text!r} is not understood", hint=hint)
    low, high = ends[0], ends[-1]
    if low and high and low[0] == high[0] in ("x", "to") and low[1] > high[1]:
        typed_right = f"{text[: len(text) - len(value)]}{last.strip()}..{first.strip()}"
        raise UsageError(
            f"--expect {text!r} ends below its beginning",
            hint=f"--expect {shlex.quote(typed_right)}",
        )
    return Expectation(
        pattern=pattern or None,
        text=text,
        what=what,
        ends=tuple(end for end in ends if end),
        open=bool(dots and not last),
    )


def _end(text: str, unit: str) -> tuple[str, float] | None:
    """One end of an expectation: "1.3x", "-40%", "-10ms", "25us"."""
    if factor := re.fullmatch(r"(\d+(?:\.\d+)?)x", text):
        return ("x", float(factor[1])) if float(factor[1]) > 0 else None
    if part := re.fullmatch(r"([-+]\d+(?:\.\d+)?) ?%", text):
        return ("%", float(part[1])) if float(part[1]) > -100 else None
    sign, amount = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    # A bare number could be meant in any unit.
    known = unit == "" or re.search(r"[a-zµμ]", amount, re.IGNORECASE)
    value = numbers.read(amount, unit or "FLOP") if known else None
    if value is None:
        return None
    return ("by", -value if sign == "-" else value) if sign else ("to", value)


def parse_claim(text: str) -> Expectation:
    """Read "bandwidth" or "KERNEL=bandwidth", else a UsageError.

    A cause is one of ``CAUSES``, a unit, or one of the knowledge base ("bank_conflicts").
    """
    pattern, sign, cause = text.rpartition("=")
    known_causes = (*CAUSES, *UNITS, *(code for code, _ in plays().causes))
    if cause not in known_causes:
        near = get_close_matches(cause, known_causes, n=1)
        known = ", ".join(known_causes)
        raise UsageError(
            f"--because: no cause {cause!r} is known",
            why=f"did you mean {near[0]}?" if near else None,
            hint=f"one of {known}",
        )
    return Expectation(pattern=pattern if sign else None, text=text, cause=cause)


def expected(
    pairs: Sequence[KernelPair], wanted: Sequence[Expectation]
) -> dict[int, list[Prediction]]:
    """The user's expectations judged, by position of the pair; -1 holds those without a kernel."""
    found: dict[int, list[Prediction]] = {}
    for item in wanted:
        if item.what == "step":
            continue  # of no kernel
        if item.pattern is None:
            positions = tuple(i for i, p in enumerate(pairs) if p.outcome == "faster")
            positions = positions or (tuple(range(len(pairs))) if item.ends else ())
        else:
            before, after = [p.before.names for p in pairs], [p.after.names for p in pairs]
            positions = select(item.pattern, before) or select(item.pattern, after)
        claim = item.claim
        judged = [(position, *_judge(pairs[position], item)) for position in positions]
        nobody = note("nothing_faster")
        if item.pattern:
            named = few(dict.fromkeys(p.after.measured.name for p in pairs))
            nobody = note("no_pair_named", names=named)
        for position, judgement, reason in judged or [(-1, "not_testable", nobody)]:
            prediction = Prediction(by="user", claim=claim, judgement=judgement, reason=reason)
            found.setdefault(position, []).append(prediction)
    return found


def _judge(pair: KernelPair, item: Expectation) -> tuple[Judgement, Note]:
    if pair.timing is None or pair.doubt is not None:
        return "not_testable", pair.doubt or note("no_duration")
    noise, speedup = pair.timing.noise, pair.timing.speedup
    if item.cause is not None:
        if pair.outcome != "faster":
            return "not_testable", note("no_speedup", outcome=pair.outcome)
        held, reason = cause_held(pair, item.cause)
        if held is False:
            return "refuted", note("other_reason", speedup=speedup, why=reason)
        most = None if item.cause in ("latency", "occupancy") else _explained(pair)
        if held and most and pair.timing.judged[0] > most * (1 + noise):
            return "exceeded", note("explains_part", what=reason, most=most, speedup=speedup)
        return "confirmed" if held else "not_testable", reason
    if item.what != "time":
        field = EXPECTED[item.what][0]
        one, other = pair.before.figure(field), pair.after.figure(field)
        if one is None or other is None or not one:
            return "not_testable", note("amount_not_measured", measure=field)
        return judge_change(item, one, other, SAME, field=field)
    sure, maybe = pair.timing.judged, (pair.timing.equal_low, pair.timing.equal_high)
    one, other = (side.measured.duration_s or 0.0 for side in (pair.before, pair.after))
    reason = _reached(item, speedup, one / speedup)
    if sure != (speedup, speedup):
        reason = note("and", what=reason, why=note("equal_clocks", low=sure[0], high=sure[1]))
    stated = pair.timing.noise_how == "--noise"
    return _two_sided(item, one, sure, maybe, noise, reason, stated=stated)


def _explained(pair: KernelPair) -> float | None:
    """What less work for BEFORE's limiter, where it has that, can have gained at most."""
    verdict, took_s = pair.before.verdict, pair.before.measured.duration_s
    work = busy_ratio(pair.before, pair.after, verdict.limiter)
    if not took_s or not verdict.next_floor_s or work is None or work >= 1 - UNCHANGED:
        return None
    families = pair.before.families
    # Bytes that are not moved relieve the other levels of memory, too.
    if {families.get(u or "") for u in (verdict.limiter, verdict.next_limiter)} == {
        Family.BANDWIDTH
    }:
        return None
    return took_s / verdict.next_floor_s


def judge_change(
    item: Expectation, before: float, after: float, noise: float, *, field: str = ""
) -> tuple[Judgement, Note]:
    """Whether an amount changed as expected, where differences up to ``noise`` are none.

    Without a ``field`` the amounts are times of the step.
    """
    change = before / after if after else inf
    reason = _reached(item, change, after)
    if field:
        reason = note("amount_changed", measure=field, before=before, after=after)
    span = change / (1 + noise), change * (1 + noise)
    return _two_sided(item, before, (change, change), span, noise, reason)


def _reached(item: Expectation, speedup: float, after_s: float) -> Note:
    """The speed-up reached, with the time where a time is expected."""
    if any(kind in ("to", "by") for kind, _ in item.ends):
        return note("reached_time", after=after_s, speedup=speedup)
    return note("reached", speedup=speedup)


def _two_sided(
    item: Expectation,
    before: float,
    sure: tuple[float, float],
    maybe: tuple[float, float],
    noise: float,
    reason: Note,
    *,
    stated: bool = False,
) -> tuple[Judgement, Note]:
    """A change (before / after) against what after / before was to be.

    Confirmed is what lies in the range, as it is printed, and is a change beyond the noise where
    one was expected. What noise alone may have put outside is neither short nor exceeded.
    ``maybe`` spans what the change could be at all, ``sure`` what it is but for noise, of which
    much proves no change unless it is ``stated`` to be none.
    """
    low, high = item.ratios(before)
    least, most = (1 / end if end else inf for end in (high, low))
    amounts = any(kind == "to" for kind, _ in item.ends)
    as_shown = numbers.percent if amounts and item.what == "occupancy" else _printed

    def printed(ratio: float) -> str:
        return as_shown(before / ratio if amounts else ratio)

    outcome = outcome_of(*maybe)
    none = outcome == "no_change"
    if least == most == 1 and none:
        least, most = 1 / (1 + noise), 1 + noise
        if any(exceeds(one, most) or exceeds(least, one) for one in sure):
            return "not_testable", note("left_open", what=reason)
        if exceeds(1 + noise, 1 + SHORT_NOISE) and not stated:
            return "not_testable", note("noise_hides", what=reason, noise=noise)
        return "confirmed", note("no_more_than_noise", what=reason, noise=noise)
    if (high <= 1 and outcome == "slower") or (low > 1 and outcome == "faster"):
        return "refuted", note("no_longer_same" if low == high == 1 else "other_way", what=reason)
    inside = [
        least <= one <= most or printed(one) in (printed(least), printed(most)) for one in sure
    ]
    if all(inside) and not (none and (least > 1 or most < 1)):
        return "confirmed", reason
    below = exceeds(least, maybe[1])
    if below or exceeds(maybe[0], most):
        rises = high > 1 and low >= 1
        if below is rises:
            return "exceeded", note("beyond_expected", what=reason)
        return "short", reason
    if any(inside) and not all(inside):
        return "not_testable", note("left_open", what=reason)
    code = "no_change_beyond_noise" if all(inside) else "outside_within_noise"
    return "not_testable", note(code, what=reason, noise=noise)


def _printed(ratio: float) -> str:
    return f"{ratio:.3g}"


# --- a claimed cause: it must have been the limit, and relieved ---------------------------------


def cause_held(pair: KernelPair, cause: str) -> Held:
    """Whether ``cause`` (one of ``CAUSES`` or a unit) made ``pair`` faster, and the figures."""
    before, after, bound = pair.before, pair.after, pair.before.verdict.bound
    if cause in EXPECTED:
        return _amount_held(pair, cause)
    if cause == "precision":
        return _precision(before, after)
    if bound is Bound.UNKNOWN:
        return None, _UNKNOWN
    if cause not in CAUSES and cause not in UNITS:
        return _named_held(pair, cause)
    if cause != "latency":
        return _unit_relieved(pair, cause)
    if bound is not Bound.LATENCY:
        return False, note("was_limited_by", limiter=before.verdict.limiter)
    return pair.cause.code == "busier", note("latency_before", cause=pair.cause.code)


def excludes(verdict: Verdict, code: str) -> bool:
    """Whether a cause that ``verdict`` does not name is none, rather than not measured."""
    return plays()[f"cause.{code}"].decided(verdict.evidence)


def _named_held(pair: KernelPair, code: str) -> Held:
    """A cause that BEFORE names is gone, its count fell, or its warps came."""
    cause = next((one for one in pair.before.verdict.causes if one.code == code), None)
    if cause is None:
        if excludes(pair.before.verdict, code):
            return False, note("cause_not_named", cause=code)
        return None, note("cause_not_measured_before", cause=code)
    if cause.promise == "occupancy":
        one, other = (s.figure("occupancy_percent") for s in (pair.before, pair.after))
        if one is None or other is None:
            return None, note("amount_not_measured", measure="occupancy_percent")
        facts = {"measure": "occupancy_percent", "before": one, "after": other}
        return other > one + _POINTS, note("amount_changed", **facts)
    entry = play(entry_of(cause))
    if not entry.count:
        gone = cause_gone(cause, pair.before, pair.after)
        said = {True: "cause_gone", False: "cause_stays", None: "cause_not_measured"}
        return gone, note(said[gone], cause=code)
    old, new = _counts(pair, cause)
    if old is None or new is None:
        return None, note("count_not_measured", counted=entry.counted)
    changed = note("count_changed", **_count_facts(entry, old, new))
    return _counts_fell(pair, cause), changed


def _amount_held(pair: KernelPair, cause: str) -> Held:
    """Fewer bytes speed up what DRAM limited, fewer operations what a compute unit limited.

    More occupancy speeds up what latency bound.
    """
    before, after, measure = pair.before, pair.after, EXPECTED[cause][0]
    one, other = before.figure(measure), after.figure(measure)
    if one is None or other is None:
        return None, note("amount_not_measured", measure=measure)
    reason = note("amount_changed", measure=measure, before=one, after=other)
    if cause == "occupancy":
        if before.verdict.bound is Bound.LATENCY:
            return _enough(other > one + _POINTS, other > one), reason
        why = note("limit_was_and", limiter=before.verdict.limiter)
        return False, note("and", what=reason, why=why)
    if other >= one * (1 - SAME):
        return _enough(False, other < one), reason
    if cause == "bytes":
        held, why = _limited_by(before, "dram")
        return held, reason if held else note("but", what=reason, why=why)
    held, why = _unit_relieved(pair, Family.COMPUTE)
    return held, note("with" if held else "but", what=reason, why=why)


def _enough(enough: bool, some: bool) -> bool | None:
    """Whether an amount changed as claimed; ``None`` where by less than counts as a change."""
    return enough or (None if some else False)


def _precision(before: Side, after: Side) -> Held:
    """Most operations moved to another type, or those of the pipe that was the limit are gone."""
    one, other = before.measured, after.measured
    if not one.operations or not other.operations or other.unmeasured:
        return None, note("precisions_not_measured")
    if moved := precision_moved(before, after):
        return True, note("operations_moved", old=moved[0], new=moved[1])
    said = None
    for key in precisions_gone(before, after):
        unit = unit_of_precision(key)
        counts = [side.measured.operations.get(key, 0.0) for side in (before, after)]
        gone = note("precision_gone", precision=key, before=counts[0], after=counts[1])
        limited, was = _limited_by(before, unit)
        if limited:
            was = note("was_busy", unit=unit, percent=before.utilization[unit])
            return True, note("and", what=gone, why=was)
        said = said or note("but", what=gone, why=was)
    return False, said or note("no_precision_changed")


def _limited_by(before: Side, unit: str) -> Held:
    """Whether ``unit`` was the limit or as near to it, and what was."""
    verdict, use = before.verdict, before.utilization.get(unit)
    if verdict.bound is Bound.UNKNOWN:
        return None, _UNKNOWN
    if use is None:
        return None, note("unit_not_measured_before", unit=unit)
    limited = unit == verdict.limiter or (verdict.co_limited and use >= verdict.rule.latency)
    return limited, note("limit_was", limiter=verdict.limiter, unit=unit, percent=use)


def _unit_relieved(pair: KernelPair, cause: str) -> Held:
    """A unit (or the busiest of a family) was the limiter and got less to do or was used better.

    What the pair's own sentence names as the cause is one, however small.
    """
    before, after, unit = pair.before, pair.after, cause
    if cause in (Family.BANDWIDTH, Family.COMPUTE):
        members = [u for u, family in before.families.items() if family == cause]
        if not members:
            return None, note("family_not_measured", family=str(cause))
        unit = max(members, key=lambda u: before.utilization[u])
    limited, was = _limited_by(before, unit)
    if not limited:
        return limited, was
    work = busy_ratio(before, after, unit)
    if work is None:
        return None, note("unit_not_measured_after", unit=unit)
    use, used = before.utilization[unit], after.utilization[unit]
    facts = {"unit": unit, "before": use, "after": used, "work": work}
    told = pair.cause.code if pair.cause.unit == unit else None
    if work < 1 - UNCHANGED or told in ("less_work", "fewer_bytes"):
        return True, note("unit_has_less_work", **facts)
    if used > use + SAME * 100 or told == "busier":
        rule = before.verdict.rule.latency
        for other, near in before.utilization.items():
            least = busy_ratio(before, after, other)
            apart = other != unit and before.families[other] != cause
            if apart and near >= rule and least is not None and least < 1 - UNCHANGED:
                more = {"other": other, "use": near, "work": least}
                return False, note("another_unit_relieved", **(facts | more))
        return True, note("unit_is_busier", **facts)
    # A gain is less work or better use: here both are less than counts as a change.
    return None, note("unit_has_as_much_work", **facts)
