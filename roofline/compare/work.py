"""Did both sides solve the same problem: operations first, then bytes against threads."""

from __future__ import annotations

from roofline.compare.model import Side, Timing, Work
from roofline.render.numbers import plain

# Counts of operations are exact; predicated tails move them by a little.
SAME_OPERATIONS = 0.02
# Bytes depend on the caches: this far they are the same.
SAME_BYTES = 0.10
# Two ratios this near are taken for one factor of the problem's size.
PROPORTIONAL = 0.10


def work_of(before: Side, after: Side, timing: Timing | None) -> Work:
    """Compare the work of two sides.

    "different" is only said where two independent signs agree: operations (or bytes) and threads
    grew by the same factor. Fewer operations on the same grid are an optimisation, not another
    problem.
    """
    threads = _ratio(before.threads, after.threads)
    bytes_ = _ratio(before.dram_bytes, after.dram_bytes)
    operations = _ratio(before.total_operations, after.total_operations)
    if operations is not None:
        return _by_operations(operations, bytes_, threads, timing)
    if threads is None or _near(threads, 1.0, 1e-9):
        known = threads is not None
        return Work(status="same" if known else "unknown", text="same grid and block" * known)
    if bytes_ is None:
        text = (
            "the grid or block differs and neither operations nor bytes were measured on both "
            "sides: another launch configuration cannot be told from another problem size"
        )
        return Work(status="unknown", text=text)
    if _near(bytes_, 1.0, SAME_BYTES):
        return Work(status="same", measure="dram_bytes", ratio=bytes_, text="same DRAM bytes")
    if _near(bytes_, threads, PROPORTIONAL):
        return _different("dram_bytes", bytes_, timing)
    return Work(status="unknown", measure="dram_bytes", ratio=bytes_)


def _by_operations(
    operations: float, bytes_: float | None, threads: float | None, timing: Timing | None
) -> Work:
    if _near(operations, 1.0, SAME_OPERATIONS):
        return Work(
            status="same", measure="operations", ratio=operations, text="same number of operations"
        )
    grown = threads is not None and not _near(threads, 1.0, SAME_OPERATIONS)
    alike = bytes_ is None or _near(bytes_, operations, 2 * PROPORTIONAL)
    if grown and alike and _near(operations, threads or 0.0, PROPORTIONAL):
        return _different("operations", operations, timing)
    if not grown and threads is not None:
        return Work(
            status="same",
            measure="operations",
            ratio=operations,
            text=f"{plain(operations)}x the operations on the same number of threads",
        )
    return Work(status="unknown", measure="operations", ratio=operations)


def _different(measure: str, ratio: float, timing: Timing | None) -> Work:
    noun = {"operations": "operations", "dram_bytes": "DRAM bytes"}[measure]
    return Work(
        status="different",
        measure=measure,
        ratio=ratio,
        speedup=None if timing is None else timing.speedup * ratio,
        text=f"another problem size: {plain(ratio)}x the {noun} on as many times the threads",
    )


def _ratio(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))
