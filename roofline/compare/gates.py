"""Gates for CI: conditions on a comparison, judged with noise, none passed for want of a number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from roofline.compare.model import (
    Comparison,
    GateResult,
    GateStatus,
    KernelPair,
    ProgramChange,
    Side,
    note,
)
from roofline.errors import UsageError
from roofline.model import QUANTITIES, Bound, Note, exceeds
from roofline.patterns import select
from roofline.text import numbers
from roofline.units import UNITS

_Judged = tuple[str | None, GateStatus, Note]

FORMS = "regression=5%, program=5%, 'gemm: time>120us', 'dram<70%', bound=latency, gone"
# What of AFTER can be gated besides units.
_QUANTITIES = {
    "time": "duration_s",
    "bytes": "dram_bytes",
    "registers": "registers_per_thread",
    "occupancy": "occupancy_percent",
    "waves": "waves",
}
_LOSSES = ("regression", "program")  # what may get slower by at most a share
_CLOCKS_ALIKE = 0.0005  # a loss that differs by less without them prints as the same
_VERDICTS = {"bound": [bound.value for bound in Bound], "limiter": list(UNITS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """``[KERNEL:] WHAT OPERATOR VALUE``: true means failed. ``value`` in SI, or in percent."""

    text: str
    what: str
    operator: str
    value: float | str
    pattern: str | None = None

    @property
    def limit(self) -> float | None:
        """The number that must not be passed, in ``unit``; ``None`` where a word decides."""
        return self.value if isinstance(self.value, float) and self.what != "gone" else None


_FORM = re.compile(r"\A(?P<what>[a-z_0-9]+)\s*(?P<operator>[<>=])\s*(?P<value>\S.*)")


def parse_gate(text: str) -> Gate:
    """Read one condition of --fail-on; a ``UsageError`` where form or unit is not known."""
    left, colon, right = text.rpartition(":")
    pattern, condition = (left.strip(), right.strip()) if colon else (None, text.strip())
    if condition in ("gone", "regression"):
        return Gate(text=text, what=condition, operator="=", value=0.0, pattern=pattern)
    form = _FORM.fullmatch(condition)
    if form is None or pattern == "":
        raise _unknown(text)
    what, operator, value = form["what"], form["operator"], form["value"]
    wanted: float | str = value
    if what in _VERDICTS and operator == "=":
        if value not in _VERDICTS[what]:
            hint = f"one of {', '.join(_VERDICTS[what])}"
            raise UsageError(f"--fail-on {text!r}: no {what} {value!r}", hint=hint)
    elif (operator == "=") != (what in _LOSSES) or what not in (*_LOSSES, *_QUANTITIES, *UNITS):
        raise _unknown(text, what)
    else:
        wanted = _limit(text, what, value)
        if not math.isfinite(wanted) or (operator == "<" and not wanted):
            hint = "a number that can be exceeded, or one over 0 after <"
            raise UsageError(f"--fail-on {text!r} can never fail", hint=hint)
    return Gate(text=text, what=what, operator=operator, value=wanted, pattern=pattern)


def _limit(text: str, what: str, value: str) -> float:
    """A limit in SI, or in percent: times and bytes need a unit, others take none."""
    unit = _unit(what)
    number = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-zA-Zµ%]*)", value)
    if number is None:
        raise _unknown(text, what)
    example = {"s": "us", "B": "MB"}.get(unit, "")
    if example and not number[2]:
        raise UsageError(f"--fail-on {text!r}: {what} needs a unit: {what}>{number[1]}{example}",
                         hint="s, ms, us, ns; B, kB, MB, GB, or KiB, MiB, GiB")  # fmt: skip
    found = numbers.read(value, unit) if example else float(number[1])
    if found is None and numbers.read(f"1{number[2]}", unit):
        return math.inf  # the unit fits, the number does not
    if found is None or (not example and number[2] not in ("", unit)):
        hint = f"{number[1]}{example or '%' * (unit == '%')}"
        raise UsageError(f"--fail-on {text!r}: {number[2]} does not fit {what}", hint=hint)
    if unit == "%" and not number[2] and 0 < found < 1:
        why = "a share or a percentage?"
        hint = f"{100 * found:g}%, or {found:g}%"
        raise UsageError(f"--fail-on {text!r}: {what} is in percent", why=why, hint=hint)
    return found


def _unit(what: str) -> str:
    return QUANTITIES[_QUANTITIES[what]].unit if what in _QUANTITIES else "%"


def _unknown(text: str, what: str = "") -> UsageError:
    known = (*_QUANTITIES, *UNITS)
    near = get_close_matches(what, (*_LOSSES, "gone", *_VERDICTS, *known), n=1)
    return UsageError(
        f"--fail-on {text!r} is not understood",
        why=f"did you mean {near[0]}?" if near and near[0] != what else None,
        hint=f"{FORMS}; quantities: {', '.join(known)}; the condition says what fails",
    )


def judge(of: Comparison | ProgramChange, gates: Sequence[Gate]) -> tuple[GateResult, ...]:
    """Every gate at every kernel it means, or at the program, where no kernel was measured.

    A gate that meets none is "not_judged".
    """
    return tuple(
        GateResult(
            gate=gate.text,
            kernel=kernel,
            status=status,
            value=text.facts.get("value"),
            limit=gate.limit,
            unit=None if gate.limit is None else _unit(gate.what),
            text=text,
        )
        for gate in dict.fromkeys(gates)
        for kernel, status, text in _of_one(of, gate)
    )


def _of_one(of: Comparison | ProgramChange, gate: Gate) -> Iterator[_Judged]:
    if isinstance(of, ProgramChange) or gate.what == "program":
        yield from _program(of if isinstance(of, ProgramChange) else of.program, gate)
    elif of.alone and gate.what in ("regression", "gone"):
        yield None, "skipped", note("no_baseline")
    else:
        yield from (_gone if gate.what == "gone" else _judge)(of, gate)


def failed(results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """What must end in exit code 1."""
    return tuple(r for r in results if r.failing)


def _judge(comparison: Comparison, gate: Gate) -> Iterator[_Judged]:
    """Of AFTER, all kernels that the condition is about; a regression takes a pair."""
    pairs = comparison.pairs
    kernels: list[tuple[Side, KernelPair | None]] = [(p.after, p) for p in pairs]
    if gate.what != "regression":
        kernels += [(k.side, None) for k in comparison.new]
    if gate.pattern is not None:
        chosen = {*select(gate.pattern, [side.names for side, _ in kernels])}
        chosen |= {*select(gate.pattern, [p.before.names for p in pairs])}
        kernels = [kernels[i] for i in sorted(chosen)]
    if not kernels:
        yield None, "not_judged", _none_named(comparison, gate)
    for side, pair in kernels:
        if pair is not None and gate.what == "regression":
            status, text = _regression(pair, gate)
        else:
            status, text = _figure(side, pair, gate)
        if pair is None and not comparison.alone:
            text = note("gate_new_kernel", said=text, value=text.facts.get("value"))
        yield side.measured.name, status, text


def _none_named(comparison: Comparison, gate: Gate) -> Note:
    """Why a condition is about no kernel."""
    if gate.what != "regression":
        every = [p.after for p in comparison.pairs] + [k.side for k in comparison.new]
        return _not_named("gate_no_kernel", gate, every)
    sides = [k.side for k in comparison.new]
    found = select(gate.pattern or "", [s.names for s in sides])
    if found:
        return note("gate_nothing_before", kernel=sides[found[0]].measured.name)
    return _not_named("gate_no_pair", gate, [p.after for p in comparison.pairs])


def _not_named(code: str, gate: Gate, sides: Sequence[Side]) -> Note:
    """That no kernel of these is named so, with the one that looks most like it."""
    near = get_close_matches(gate.pattern or "", [s.measured.name for s in sides], n=1)
    return note(code, pattern=gate.pattern, near=near[0] if near else None)


def _gone(comparison: Comparison, gate: Gate) -> Iterator[_Judged]:
    gone = comparison.gone
    if gate.pattern is not None:
        # All names of BEFORE, so that an exact one means its kernel and no other.
        sides = [*(k.side for k in gone), *(p.before for p in comparison.pairs)]
        meant = select(gate.pattern, [side.names for side in sides])
        if not meant:
            yield None, "not_judged", _not_named("gate_none_before", gate, sides)
            return
        gone = tuple(gone[i] for i in meant if i < len(gone))
    for kernel in gone:
        if comparison.after.unread:
            yield kernel.side.measured.name, "not_judged", note("gate_unread")
        else:
            yield kernel.side.measured.name, "failed", note("gate_gone")
    if not gone:
        yield None, "passed", note("gate_none_gone")


def _program(change: ProgramChange | None, gate: Gate) -> Iterator[_Judged]:
    """The program's wall time without a profiler, or the figure of its own that is named."""
    if change is None:
        yield None, "not_judged", note("no_step_time")
        return
    name = gate.pattern or change.whole.name
    found = next((one for one in (change.whole, *change.figures) if one.name == name), None)
    if found is None:
        yield None, "not_judged", note("gate_not_measured", what=name)
    elif (noise := found.noise) is None:
        few = note("gate_few_pairs") if found.pairs else note("gate_one_run")
        yield name, "not_judged", few
    elif found.better is None:
        yield name, "not_judged", note("gate_no_direction", what=name)
    else:
        code = "gate_worse" if found in change.figures else "gate_slower"
        yield name, *_loss(gate, found.outcome, found.ratio, noise, code)


def _figure(side: Side, pair: KernelPair | None, gate: Gate) -> tuple[GateStatus, Note]:
    if gate.what in _VERDICTS:
        found = str(getattr(side.verdict, gate.what) or "none")
        if side.verdict.bound is Bound.UNKNOWN and gate.value != Bound.UNKNOWN:
            return "not_judged", note("limit_unknown_now")
        status: GateStatus = "failed" if found == gate.value else "passed"
        return status, note("gate_verdict", what=gate.what, found=found)
    value = side.utilization.get(gate.what)
    if gate.what in _QUANTITIES:
        value = side.figure(_QUANTITIES[gate.what])
    if value is None:
        return "not_judged", note("gate_not_measured", what=gate.what)
    facts = {"value": value, "limit": gate.limit, "unit": _unit(gate.what)}
    over = _over(gate, value)
    times_s = side.durations_s if pair is None or pair.per == "launch" else ()
    spread = gate.what == "time" and not all(_over(gate, time_s) for time_s in times_s)
    if over and spread:  # the mean alone decides nothing
        return "passed", note("gate_within_spread", **facts)
    return "failed" if over else "passed", note("gate_figure", **facts)


def _over(gate: Gate, value: float) -> bool:
    """Whether ``value`` is on the side of the limit that fails; the limit itself is not."""
    limit = float(gate.value)
    return exceeds(value, limit) if gate.operator == ">" else exceeds(limit, value)


def _regression(pair: KernelPair, gate: Gate) -> tuple[GateStatus, Note]:
    """Slower beyond noise and by more than the limit, without what the clocks alone explain."""
    timing, work = pair.timing, pair.work
    if timing is None or pair.outcome == "unknown":
        return "not_judged", pair.doubt or note("no_duration")
    if work.differs and work.ratio:
        ratio, code = timing.speedup_high * work.ratio, "gate_slower_equal_work"
    else:
        ratio = timing.speedup_high
        alike = math.isclose(ratio, timing.speedup, rel_tol=_CLOCKS_ALIKE)
        code = "gate_slower" if alike else "gate_slower_equal_clocks"
    status, text = _loss(gate, pair.outcome, ratio, timing.noise, code)
    low, high = timing.judged
    if pair.outcome == "no_change" and low != high:
        text = note("gate_left_open", low=low, high=high, **text.facts)
    return status, text


def _loss(
    gate: Gate, outcome: str, ratio: float, noise: float, code: str
) -> tuple[GateStatus, Note]:
    """Failed where it got worse beyond the noise, and the loss as measured is over the limit."""
    limit = float(gate.value)
    facts = {"value": 100 * (1 / ratio - 1), "limit": limit, "unit": "%"}
    if outcome == "no_change":
        hides = limit > 0 and exceeds(noise, limit / 100)
        within = "gate_noise_hides" if hides else "gate_within_noise"
        return "passed", note(within, noise=noise, speedup=ratio, **facts)
    if outcome != "slower":
        return "passed", note("gate_gain", outcome=outcome, speedup=ratio, by=code, **facts)
    over = exceeds(1 / ratio, 1 + limit / 100)
    return "failed" if over else "passed", note(code, **facts)
