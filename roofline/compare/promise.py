"""What BEFORE's floors promised, against what came: a speed-up tests the bounds."""

from __future__ import annotations

from roofline.compare.cause import busy_ratio
from roofline.compare.model import Judgement, Outcome, Pair, Prediction
from roofline.compare.words import less, named, times
from roofline.text.numbers import percent

# A unit's work within this is unchanged, so that its floor still stands.
UNCHANGED = 0.05
# A bound is confirmed by a gain near it: so much of the time that it leaves to be won.
NEAR = 0.75


def promised(pair: Pair) -> tuple[Prediction, ...]:
    """What BEFORE's floors said would be the most, against what came.

    Only a speed-up tests a bound; a pair without one gets none of these.
    """
    if (
        pair.outcome is not Outcome.FASTER
        or pair.timing is None
        or not pair.before.duration_s
        or pair.work.status == "different"
    ):
        return ()
    found = []
    before, speedup = pair.before, pair.timing.speedup_low
    tolerance = 1 + pair.timing.noise
    key = before.nearest or before.limiter
    work = busy_ratio(before, pair.after, key)
    if before.floor_s and key:
        most = pair.before.duration_s / before.floor_s
        claim = f"at most {times(most)} at the same work for {named(key)}"
        found.append(_at_most(claim, key, work, speedup, most, tolerance))
    if before.next_floor_s and before.next_limiter and key:
        found.append(_next(pair, key, work, speedup, tolerance))
    return tuple(found)


def _at_most(
    claim: str, key: str, work: float | None, speedup: float, most: float, tolerance: float
) -> Prediction:
    if work is None:
        judged, reason = Judgement.NOT_TESTABLE, f"{named(key)}: not measured on both sides"
    elif abs(work - 1) > UNCHANGED:
        change = less(work) if work < 1 else f"{times(work)} more work"
        judged, reason = Judgement.NOT_TESTABLE, f"{change} for {named(key)}"
    elif speedup <= most * tolerance:
        judged, reason = _held(speedup, most)
    else:
        judged, reason = Judgement.REFUTED, f"{times(speedup)} came at the same work of that unit"
    return Prediction(by="floor", claim=claim, judgement=judged, reason=reason)


def _held(speedup: float, most: float) -> tuple[Judgement, str]:
    """A bound that was not exceeded: confirmed by a gain near it, else not put to the test."""
    won = (1 - 1 / speedup) / (1 - 1 / most) if most > 1 else 1.0
    came = f"{times(speedup)} came at the same work, {percent(100 * won)} of the time to be won"
    if won >= NEAR:
        return Judgement.CONFIRMED, came
    return Judgement.NOT_TESTABLE, f"held, but {came}"


def _next(pair: Pair, key: str, work: float | None, speedup: float, tolerance: float) -> Prediction:
    """With the limiter relieved, the next one was to hold at ``next_floor_s``."""
    before, after = pair.before, pair.after
    new = before.next_limiter
    most = (before.duration_s or 0.0) / (before.next_floor_s or 1.0)
    claim = f"at most {times(most)} with {named(key)} relieved, then limited by {named(new)}"
    next_work = busy_ratio(before, after, new)
    now = after.limiter or after.nearest
    if work is None or next_work is None:
        judged, reason = Judgement.NOT_TESTABLE, "a unit of it was not measured on both sides"
    elif work > 1 - UNCHANGED:
        judged, reason = Judgement.NOT_TESTABLE, f"the work of {named(key)} did not fall"
    elif speedup > most * tolerance:
        if next_work < 1 - UNCHANGED:
            judged, reason = Judgement.NOT_TESTABLE, f"also {less(next_work)} for {named(new)}"
        else:
            judged, reason = Judgement.REFUTED, f"{times(speedup)} came, beyond that bound"
    elif now == new and after.limiter is None:
        judged = Judgement.NOT_TESTABLE
        reason = f"{times(speedup)} came; {named(new)} is nearest, but nothing is near its peak"
    elif now == new:
        part = percent(100 * speedup / most)
        judged, reason = Judgement.CONFIRMED, f"{times(speedup)} came, {part} of it"
    elif now == key:
        judged, reason = Judgement.NOT_TESTABLE, f"the nearest ceiling is still {named(key)}"
    elif next_work < 1 - UNCHANGED:
        judged = Judgement.NOT_TESTABLE
        reason = f"also {less(next_work)} for {named(new)}; the nearest ceiling now is {named(now)}"
    else:
        judged, reason = Judgement.REFUTED, f"the nearest ceiling now is {named(now)}"
    return Prediction(by="floor", claim=claim, judgement=judged, reason=reason)
