"""Gates for CI: conditions on a comparison, judged with noise, none passed for want of a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from roofline.compare.model import Comparison, GateResult, Outcome, Pair, Side
from roofline.compare.names import select
from roofline.compare.words import times
from roofline.errors import UsageError
from roofline.model import Bound
from roofline.text.numbers import duration, percent, plain, size
from roofline.units import UNITS

FORMS = "regression=5%, 'gemm: time>120us', 'dram<70%', bound=latency, gone"
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_PERCENT = {"%": 1.0, "": 1.0}
_COUNT = {"": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """``[KERNEL:] WHAT OPERATOR VALUE``: true means failed. ``value`` in SI, or in percent."""

    text: str
    what: str
    operator: str
    value: float | str
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quantity:
    """A figure of AFTER that can be gated, its units and how it is shown."""

    units: dict[str, float]
    get: Callable[[Side], float | None]
    show: Callable[[float | None], str]


_QUANTITIES = {
    "time": _Quantity(units=_TIME, get=lambda s: s.duration_s, show=duration),
    "bytes": _Quantity(units=_BYTES, get=lambda s: s.dram_bytes, show=size),
    "registers": _Quantity(units=_COUNT, get=lambda s: s.registers_per_thread, show=plain),
    "occupancy": _Quantity(units=_PERCENT, get=lambda s: s.occupancy_percent, show=percent),
    "waves": _Quantity(units=_COUNT, get=lambda s: s.waves, show=plain),
}
_FORM = re.compile(r"\s*(?P<what>[a-z_0-9]+)\s*(?P<operator>[<>=])\s*(?P<value>.+?)\s*")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-zA-Zµ%]*)")


def parse_gate(text: str) -> Gate:
    """Read one condition of --fail-on.

    Raises:
        UsageError: it is not of a known form, or its unit does not fit.

    """
    left, colon, right = text.rpartition(":")
    pattern, condition = (left.strip(), right) if colon else (None, text)
    if condition.strip() in ("gone", "regression"):
        return Gate(text=text, what=condition.strip(), operator="=", value=0.0, pattern=pattern)
    form = _FORM.fullmatch(condition)
    if form is None or pattern == "":
        raise _unknown(text)
    what, operator, value = form["what"], form["operator"], form["value"]
    if what in ("bound", "limiter") and operator == "=":
        known = [b.value for b in Bound] if what == "bound" else list(UNITS)
        if value not in known:
            raise UsageError(
                f"--fail-on {text!r}: no {what} {value!r}", hint=f"one of {', '.join(known)}"
            )
        return Gate(text=text, what=what, operator="=", value=value, pattern=pattern)
    number = _number(text, what, operator, value)
    return Gate(text=text, what=what, operator=operator, value=number, pattern=pattern)


def _number(text: str, what: str, operator: str, value: str) -> float:
    units = _PERCENT if what in UNITS or what == "regression" else None
    if what in _QUANTITIES:
        units = _QUANTITIES[what].units
    number = _NUMBER.fullmatch(value)
    if units is None or number is None or (operator == "=") != (what == "regression"):
        raise _unknown(text)
    if number[2] not in units:
        raise UsageError(
            f"--fail-on {text!r}: {number[2] or 'no unit'} does not fit {what}",
            hint=f"one of {', '.join(u or '(none)' for u in units)}",
        )
    return float(number[1]) * units[number[2]]


def _unknown(text: str) -> UsageError:
    names = ", ".join((*_QUANTITIES, *UNITS))
    return UsageError(
        f"--fail-on {text!r} is not understood",
        hint=f"{FORMS}; quantities: {names}; the condition says what fails",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kernel:
    """A kernel of AFTER, and the pair that it is in; ``None`` for one that BEFORE lacks."""

    side: Side
    pair: Pair | None = None


def judge(comparison: Comparison, gates: Sequence[Gate]) -> tuple[GateResult, ...]:
    """Every gate at every kernel it means; a gate that meets none is "not_judged"."""
    return tuple(result for gate in gates for result in _judge(comparison, gate))


def failed(results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """What must end in exit code 1: failed, and not judged, as silence is no pass."""
    return tuple(r for r in results if r.status != "passed")


def _judge(comparison: Comparison, gate: Gate) -> Iterator[GateResult]:
    if gate.what == "gone":
        yield from _gone(comparison, gate)
        return
    kernels = tuple(_meant(comparison, gate))
    if not kernels:
        text = _none_named(comparison, gate)
        yield GateResult(gate=gate.text, kernel=None, status="not_judged", text=text)
    for kernel in kernels:
        status, text = _at(kernel, gate)
        new = "" if kernel.pair else "; new in AFTER"
        yield GateResult(
            gate=gate.text, kernel=kernel.side.name, status=status, text=f"{text}{new}"
        )


def _meant(comparison: Comparison, gate: Gate) -> Iterator[_Kernel]:
    """The kernels that a condition is about: of AFTER, all; a regression takes a pair."""
    kernels = [_Kernel(side=p.after, pair=p) for p in comparison.pairs]
    if gate.what != "regression":
        kernels += [_Kernel(side=k.side) for k in comparison.new if k.side is not None]
    if gate.pattern is None:
        yield from kernels
        return
    names = [(k.side.name, k.side.demangled) for k in kernels]
    before = [(p.before.name, p.before.demangled) for p in comparison.pairs]
    chosen = set(select(gate.pattern, names)) | set(select(gate.pattern, before))
    yield from (kernels[i] for i in sorted(chosen))


def _none_named(comparison: Comparison, gate: Gate) -> str:
    """Why a condition is about no kernel."""
    if gate.what != "regression":
        return f"no kernel of AFTER is named {gate.pattern!r}"
    sides = [k.side for k in comparison.new if k.side is not None]
    found = select(gate.pattern or "", [(s.name, s.demangled) for s in sides])
    if found:
        name = sides[found[0]].name
        return f"{name} is new in AFTER, so there is nothing to compare it with"
    return f"no paired kernel is named {gate.pattern!r}"


def _gone(comparison: Comparison, gate: Gate) -> Iterator[GateResult]:
    gone = comparison.gone
    if gate.pattern is not None:
        # All names of BEFORE, so that an exact one means its kernel and no other.
        names = [(k.name, k.name) for k in gone]
        names += [(p.before.name, p.before.demangled) for p in comparison.pairs]
        gone = tuple(gone[i] for i in select(gate.pattern, names) if i < len(gone))
    for kernel in gone:
        text = "not in AFTER"
        yield GateResult(gate=gate.text, kernel=kernel.name, status="failed", text=text)
    if not gone:
        yield GateResult(gate=gate.text, kernel=None, status="passed", text="no kernel is gone")


def _at(kernel: _Kernel, gate: Gate) -> tuple[str, str]:
    side, pair = kernel.side, kernel.pair
    if gate.what == "regression" and pair is not None:
        return _regression(pair, gate)
    if gate.what in ("bound", "limiter"):
        found = str(getattr(side, gate.what) or "none")
        if gate.what == "bound" and found == Bound.UNKNOWN != gate.value:
            return "not_judged", "what limits it is not known"
        return ("failed" if found == gate.value else "passed"), f"{gate.what} is {found}"
    if gate.what in _QUANTITIES:
        quantity = _QUANTITIES[gate.what]
        value, show = quantity.get(side), quantity.show
    else:
        value, show = side.utilization.get(gate.what), percent
    if value is None:
        return "not_judged", f"{gate.what} was not measured"
    limit = float(gate.value)
    over = value > limit if gate.operator == ">" else value < limit
    if over and gate.what == "time" and _within_spread(kernel, gate.operator, limit):
        return "passed", f"{show(value)}, within the spread of its launches"
    return ("failed" if over else "passed"), f"{show(value)} (limit {show(limit)})"


def _within_spread(kernel: _Kernel, operator: str, limit: float) -> bool:
    """Whether some launch of AFTER keeps the limit, so that the mean alone decides nothing."""
    times_s = kernel.side.durations_s
    if (kernel.pair and kernel.pair.per != "launch") or len(times_s) < 2:
        return False
    return min(times_s) <= limit if operator == ">" else max(times_s) >= limit


def _regression(pair: Pair, gate: Gate) -> tuple[str, str]:
    """Slower by more than the limit: beyond noise, and more than the clocks alone explain."""
    if pair.timing is None or pair.outcome is Outcome.UNKNOWN:
        return "not_judged", "no duration was measured on both sides"
    best, shown = pair.timing.speedup_high, pair.timing.speedup
    if pair.work.status == "different" and pair.work.ratio and pair.work.speedup:
        best, shown = best * pair.work.ratio, pair.work.speedup
    if pair.outcome is not Outcome.SLOWER:
        return "passed", f"{times(shown)}, {str(pair.outcome).replace('_', ' ')}"
    loss = (1 / best - 1) * 100
    text = f"{percent(loss, places=1)} slower (limit {percent(float(gate.value), places=1)})"
    return ("failed" if loss > float(gate.value) else "passed"), text
