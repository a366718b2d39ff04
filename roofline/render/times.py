"""Timings of a program for people: a row a figure, how two programs compare, and the clocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import to_builtins
from rich.console import RenderableType
from rich.text import Text

from roofline.compare.model import GateResult
from roofline.render.comparison import gate
from roofline.render.comparison_json import plain
from roofline.render.documents import text
from roofline.text import console
from roofline.text.console import to_text
from roofline.text.numbers import ABSENT, clock, duration, plural, share
from roofline.wall_time import PairedRatio, ProgramTimes

_WIDTH = 110  # the table is written to a file or a pipe, too
_UNITS = {"sm_clock_hz": ("SM clock", clock), "power_w": ("power", "{:.0f} W".format)}


def render(times: ProgramTimes, gates: Sequence[GateResult] = ()) -> str:
    """``times`` as text, with what became of conditions on them."""
    return to_text(_parts(times, gates), width=_WIDTH, color=False)


def to_json(times: ProgramTimes, gates: Sequence[GateResult] = ()) -> str:
    """The document that ``roofline time --json`` prints; ``read_times`` needs no gates."""
    return text(to_builtins(times) | {"gates": [plain(gate) for gate in gates]}, indent=1) + "\n"


def _parts(times: ProgramTimes, gates: Sequence[GateResult]) -> Iterator[RenderableType]:
    around, against = times.environment, times.against
    how = "without a profiler"
    if times.instrumented:
        how = f"INSTRUMENTED ({', '.join(times.instrumented)}): no times to compare"
    called = times.program if against is None else f"B {times.program}, A {against.program}"
    runs = f"{plural(times.repeats, 'run')} after {times.warmup} for warming up"
    gpus = ", ".join(dict.fromkeys(around.gpus)) or "no GPU"
    yield Text(f"{called}: {runs}, {how}; {gpus}")
    made = console.table("", "-median", "-p95", "-p99", "-min", "-max", "-spread")
    for mark, side in (("", times),) if against is None else (("A ", against), ("B ", times)):
        for name, s, show in (
            ("wall time", side.wall_s, duration),
            *((one.name, one, "{:.6g}".format) for one in side.metrics),
        ):
            values = (s.median, s.p95, s.p99, s.min, s.max)
            cells = (ABSENT if value is None else show(value) for value in values)
            made.add_row(mark + name, *cells, share(s.spread))
    yield made
    for one in () if times.instrumented else times.paired:
        yield console.hanging(f"{one.name}: ", Text(turns(one)))
    for field, (what, write) in _UNITS.items():
        if span := getattr(around, field):
            yield Text(f"{what} {write(span[0])} to {write(span[1])} meanwhile")
    if times.repeats == 1:
        yield Text("One run has no spread: whether another would differ is not known.")
    yield from (console.hanging("gate: ", Text(gate(result))) for result in gates)


def turns(one: PairedRatio) -> str:
    """How B, which took turns with A, compares: "B is 1.256x faster than A (...)"."""
    ends = [end for end in (one.low, one.high) if end is not None]
    words = ("faster", "slower") if one.name == "wall time" else ("better", "worse")
    invert = one.outcome == "slower"
    said = {"faster": f"B is {{}} {words[0]} than A", "slower": f"B is {{}} {words[1]} than A"}
    form = said.get(
        one.outcome, "no change, {}" if one.outcome == "no_change" else "not judged, {}"
    )
    if one.better is None:
        form = f"B / A is {{}}; '{one.name}<=RE' or '{one.name}>=RE' says which way is better"
    values = [1 / r if invert else r for r in (one.ratio, *ends)]
    ratio, *span = (f"{r:.3f}x" for r in (values[0], *sorted(values[1:])))
    interval = f"{' to '.join(span)} with 95 %" if span else "no interval"
    return f"{form.format(ratio)} ({interval}, {plural(one.pairs, 'pair')})"
