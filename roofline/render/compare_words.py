"""Lines about a comparison that the table, Markdown and the record share; no markup."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.compare.model import Capture, Comparison, GateResult, Outcome, Pair, Side
from roofline.compare.words import times
from roofline.model import Bound
from roofline.render.sentences import plural
from roofline.text import names, numbers
from roofline.text.notes import note_text

FOOT = (
    "Times are under the profiler (its clocks, its cache flushes); a change within the noise or "
    "within what the clocks explain is no change."
)


def title(comparison: Comparison) -> str:
    """What was compared: "before.ncu-rep -> after.ncu-rep on NVIDIA A100"."""
    where = names.printable(", ".join(comparison.after.devices)) or "an unknown GPU"
    return f"{capture(comparison.before)} -> {capture(comparison.after)} on {where}"


def capture(side: Capture) -> str:
    """The files of a side: one by its name, more by their number."""
    if len(side.sources) == 1:
        return names.printable(side.sources[0])
    return f"{len(side.sources)} files"


def totals(comparison: Comparison) -> str:
    """How many pairs got faster or slower, and the time of all of them."""
    order = (Outcome.FASTER, Outcome.SLOWER, Outcome.NO_CHANGE, Outcome.UNKNOWN)
    said = [
        f"{count} {names.words(o).replace('unknown', 'not judged')}"
        for o in order
        if (count := comparison.counts.get(o, 0))
    ]
    text = f"{plural(len(comparison.pairs), 'kernel')} paired: {', '.join(said)}"
    before, after = comparison.before_paired_s, comparison.after_paired_s
    if before and after:
        text += (
            f"; {numbers.duration(before)} to {numbers.duration(after)} in all "
            f"({times(before / after)})"
        )
    return text


def change(pair: Pair) -> str:
    """The outcome in a cell: "1.42x faster", "no change"."""
    if pair.timing is None:
        return "not judged"
    if pair.outcome is Outcome.NO_CHANGE:
        return "no change"
    worked = pair.work.status == "different" and pair.work.speedup
    speedup = pair.work.speedup if worked and pair.work.speedup else pair.timing.speedup
    text = times(speedup if pair.outcome is Outcome.FASTER else 1 / speedup)
    return f"{text} {pair.outcome}" + (" per work" if worked else "")


def limit(side: Side) -> str:
    """The limiter in a cell: "DRAM 89 %", "latency"."""
    if side.limiter is None:
        return "unknown" if side.bound is Bound.UNKNOWN else str(side.bound)
    return f"{names.unit(side.limiter)} {numbers.percent(side.limiter_percent)}"


def ratio(before: float | None, after: float | None) -> str:
    """A change in a cell: "same", "0.75x", "-" where a side is missing."""
    if before is None or after is None or (not before and after):
        return numbers.ABSENT
    if not before or abs(after / before - 1) <= 0.03:
        return "same"
    return f"{after / before:.2f}x" if after / before < 10 else numbers.ratio(after / before)


def details(pair: Pair) -> Iterator[str]:
    """Everything about a pair but its sentence: notes, predictions, the step's gain."""
    spread = _spread(pair)
    if spread:
        yield spread
    for note in pair.notes:
        yield note_text(note)
    for prediction in pair.predictions:
        who = "predicted" if prediction.by == "floor" else "expected"
        judged = names.words(prediction.judgement)
        yield f"{who}: {prediction.claim}: {judged} ({prediction.reason})"
    if pair.step is not None:
        share = numbers.share(pair.step.share)
        low = pair.step.gain if pair.step.gain_low is None else pair.step.gain_low
        gain = _span(low, pair.step.gain)
        yield f"the step: at {share} of it, {gain} if nothing else changes"


def _spread(pair: Pair) -> str:
    """The range that repeated launches span; empty where the noise is assumed."""
    timing = pair.timing
    if timing is None or timing.spread_low is None or timing.spread_high is None:
        return ""
    count = pair.before.launches
    launches = f"{count} launches" if count == pair.after.launches else "the launches"
    return f"before / after is {_span(timing.spread_low, timing.spread_high)} over {launches}"


def _span(low: float, high: float) -> str:
    """A range of speed-ups: "0.98x to 1.02x", or one where both read alike."""
    return " to ".join(dict.fromkeys((times(low), times(high))))


def side_effects(pair: Pair) -> Iterator[str]:
    """What else moved: registers, shared memory, occupancy, grid and block."""
    one, other = pair.before, pair.after
    for what, old, new in (
        ("registers per thread", one.registers_per_thread, other.registers_per_thread),
        ("shared memory per block", one.shared_memory_bytes, other.shared_memory_bytes),
        ("achieved occupancy, %", one.occupancy_percent, other.occupancy_percent),
        ("waves", one.waves, other.waves),
    ):
        if old is not None and new is not None and ratio(old, new) != "same":
            yield f"{what}: {_short(old)} to {_short(new)}"
    for what, shape, new_shape in (
        ("grid", one.grid, other.grid),
        ("block", one.block, other.block),
    ):
        if shape != new_shape:
            yield f"{what}: {names.dims(shape)} to {names.dims(new_shape)}"


def _short(value: float) -> str:
    return numbers.exact(value) if value.is_integer() else numbers.plain(value)


def unpaired(comparison: Comparison) -> Iterator[str]:
    """The kernels that only one side has."""
    for what, kernels in (("gone", comparison.gone), ("new", comparison.new)):
        if kernels:
            shown = [
                f"{names.short(k.name)} ({numbers.duration(k.total_s)})"
                for k in sorted(kernels, key=lambda k: -(k.total_s or 0.0))[:10]
            ]
            more = f" and {len(kernels) - 10} more" if len(kernels) > 10 else ""
            yield f"{what}: {', '.join(shown)}{more}"


def extras(comparison: Comparison) -> Iterator[str]:
    """The check of correctness, the program's own time, expectations without a kernel."""
    done = comparison.correctness
    if done is not None:
        result = "passed" if done.passed else f"failed ({_code(done.code)})"
        yield f"correctness: {names.printable(done.command)}: {result}, {done.seconds:.1f} s"
    if comparison.program is not None:
        yield comparison.program.text
    for note in comparison.notes:
        yield note_text(note)


def _code(code: int | None) -> str:
    if code is None:
        return "it could not be started"
    return "killed or out of time" if code < 0 else f"exit code {code}"


def gate(result: GateResult) -> str:
    """One gate at one kernel: "FAILED regression=5% at gemm: 7.0 % slower (limit 5.0 %)"."""
    status = {"failed": "FAILED", "not_judged": "NOT JUDGED"}.get(result.status, "passed")
    where = f" at {names.short(result.kernel, 60)}" if result.kernel else ""
    return f"{status} {result.gate}{where}: {result.text}"
