"""What the user expected, against what came: a speed-up, no change, or a claimed cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.compare.because import BECAUSE, cause_held
from roofline.compare.model import Judgement, Outcome, Pair, Prediction
from roofline.compare.names import select
from roofline.compare.words import times
from roofline.errors import UsageError
from roofline.model import Rule
from roofline.text.numbers import percent
from roofline.units import UNITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the user expects of kernels; ``pattern`` of ``None`` is all that got faster.

    A ``speedup`` of at least so many times, ``same`` for no change, or a claimed cause.
    """

    pattern: str | None
    text: str
    speedup: float | None = None
    same: bool = False
    because: str | None = None


def parse_expect(text: str) -> Expectation:
    """Read "KERNEL=1.4x" or "KERNEL=same".

    Raises:
        UsageError: it is neither.

    """
    pattern, sign, value = text.rpartition("=")
    value = value.strip()
    if sign and pattern and value == "same":
        return Expectation(pattern=pattern, text=text, same=True)
    factor = re.fullmatch(r"(\d+(?:\.\d+)?)x", value)
    if not sign or not pattern or factor is None or float(factor.group(1)) <= 0:
        raise UsageError(
            f"--expect {text!r} is not understood", hint="--expect 'gemm=1.4x' or 'gemm=same'"
        )
    return Expectation(pattern=pattern, text=text, speedup=float(factor.group(1)))


def parse_because(text: str) -> Expectation:
    """Read "bandwidth" or "KERNEL=bandwidth": a family, a unit key, or a word of ``BECAUSE``.

    Raises:
        UsageError: the cause is none of them.

    """
    pattern, sign, cause = text.rpartition("=")
    if cause not in BECAUSE and cause not in UNITS:
        known = ", ".join((*BECAUSE, *UNITS))
        raise UsageError(f"--because: no cause {cause!r} is known", hint=f"one of {known}")
    return Expectation(pattern=pattern if sign else None, text=text, because=cause)


def expected(
    pairs: Sequence[Pair], wanted: Sequence[Expectation], rule: Rule
) -> dict[int, list[Prediction]]:
    """The user's expectations judged, by position of the pair; -1 holds those without a kernel.

    ``rule`` is what BEFORE was judged by.
    """
    names = [(p.before.name, p.before.demangled) for p in pairs]
    names_after = [(p.after.name, p.after.demangled) for p in pairs]
    found: dict[int, list[Prediction]] = {}
    for item in wanted:
        if item.pattern is None:
            positions = tuple(i for i, p in enumerate(pairs) if p.outcome is Outcome.FASTER)
        else:
            positions = select(item.pattern, names) or select(item.pattern, names_after)
        for position in positions:
            found.setdefault(position, []).append(_judge(pairs[position], item, rule))
        if not positions:
            reason = "no paired kernel has that name" if item.pattern else "nothing got faster"
            found.setdefault(-1, []).append(_said(item, Judgement.NOT_TESTABLE, reason))
    return found


def _said(item: Expectation, judgement: Judgement, reason: str) -> Prediction:
    option = "because" if item.because else "expect"
    return Prediction(
        by="user", claim=f"--{option} {item.text}", judgement=judgement, reason=reason
    )


def _judge(pair: Pair, item: Expectation, rule: Rule) -> Prediction:
    if pair.timing is None:
        return _said(item, Judgement.NOT_TESTABLE, "no duration was measured on both sides")
    if pair.work.status == "different":
        return _said(item, Judgement.NOT_TESTABLE, "the problem size differs")
    if item.because is not None:
        return _judge_cause(pair, item, rule)
    if item.same:
        held = pair.outcome is Outcome.NO_CHANGE
        return _said(
            item,
            Judgement.CONFIRMED if held else Judgement.REFUTED,
            f"{times(pair.timing.speedup)}, {str(pair.outcome).replace('_', ' ')}",
        )
    wanted, came, noise = item.speedup or 1.0, times(pair.timing.speedup), pair.timing.noise
    if 1 / (1 + noise) < wanted < 1 + noise:
        reason = f"that is within the noise of {percent(noise * 100, places=1)}; {came} came"
        return _said(item, Judgement.NOT_TESTABLE, reason)
    if pair.timing.speedup_low * (1 + noise) >= wanted:
        return _said(item, Judgement.CONFIRMED, f"{came} came")
    if pair.timing.equal_high < wanted:
        return _said(item, Judgement.REFUTED, f"{came} came")
    return _said(item, Judgement.NOT_TESTABLE, f"{came} came; the clocks leave it open")


def _judge_cause(pair: Pair, item: Expectation, rule: Rule) -> Prediction:
    if pair.outcome is not Outcome.FASTER:
        reason = f"there is no speed-up to explain ({str(pair.outcome).replace('_', ' ')})"
        return _said(item, Judgement.NOT_TESTABLE, reason)
    held, reason = cause_held(pair, item.because or "", rule)
    if held is None:
        return _said(item, Judgement.NOT_TESTABLE, reason)
    if held:
        return _said(item, Judgement.CONFIRMED, reason)
    gained = times(pair.timing.speedup) if pair.timing else ""
    return _said(item, Judgement.REFUTED, f"{gained} faster, but not for that reason: {reason}")
