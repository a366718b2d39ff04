"""Did both sides solve the same problem: operations first, then bytes, threads and every unit."""

from __future__ import annotations

from roofline.compare.cause import busy_ratio
from roofline.compare.model import Side, Timing, Work
from roofline.text.numbers import plain

# Counts of operations are exact; predicated tails move them by a little.
SAME_OPERATIONS = 0.02
# Bytes depend on the caches: this far they are the same.
SAME_BYTES = 0.10
# Two ratios this near are taken for one factor of the problem's size.
PROPORTIONAL = 0.10
# Units less busy than this are left out where all units are compared, in percent.
_BUSY = 5.0
_NOUNS = {"operations": "operations", "dram_bytes": "DRAM bytes"}


def work_of(before: Side, after: Side, timing: Timing | None) -> Work:
    """Compare the work of two sides.

    "different" is only said where two independent signs agree: operations, bytes and threads
    changed by the same factor. Fewer operations at the same bytes are an optimisation, not
    another problem.
    """
    threads = _ratio(before.threads, after.threads)
    bytes_ = _ratio(before.dram_bytes, after.dram_bytes)
    operations = _ratio(before.total_operations, after.total_operations)
    if operations is not None:
        return _by_operations(operations, bytes_, threads, timing)
    if bytes_ is not None:
        return _by_bytes(before, after, bytes_, threads, timing)
    return _by_threads(before, after, threads)


def _by_operations(
    operations: float, bytes_: float | None, threads: float | None, timing: Timing | None
) -> Work:
    if _near(operations, 1.0, SAME_OPERATIONS):
        return Work(
            status="same", measure="operations", ratio=operations, text="same number of operations"
        )
    witnesses = [r for r in (bytes_, threads) if r is not None]
    agreeing = [r for r in witnesses if _near(r, operations, PROPORTIONAL)]
    same_size = [r for r in witnesses if _near(r, 1.0, SAME_OPERATIONS)]
    if agreeing and (bytes_ is None or bytes_ in agreeing) and not _near(operations, 1.0, 0.05):
        return _different("operations", operations, timing)
    if same_size:
        text = f"{plain(operations)}x the operations on the same number of threads or bytes"
        return Work(status="same", measure="operations", ratio=operations, text=text)
    text = (
        f"{plain(operations)}x the operations, and bytes and threads do not agree with that: "
        "another algorithm or another problem size"
    )
    return Work(status="unknown", measure="operations", ratio=operations, text=text)


def _by_bytes(
    before: Side, after: Side, bytes_: float, threads: float | None, timing: Timing | None
) -> Work:
    if _near(bytes_, 1.0, SAME_BYTES):
        return Work(status="same", measure="dram_bytes", ratio=bytes_, text="same DRAM bytes")
    grown = threads is not None and not _near(threads, 1.0, SAME_OPERATIONS)
    if grown and threads is not None and _near(bytes_, threads, PROPORTIONAL):
        return _different("dram_bytes", bytes_, timing)
    if not grown and threads is not None:
        return _unless_uniform(before, after)
    text = f"{plain(bytes_)}x the DRAM bytes on another grid, and operations were not measured"
    return Work(status="unknown", measure="dram_bytes", ratio=bytes_, text=text)


def _by_threads(before: Side, after: Side, threads: float | None) -> Work:
    if threads is None:
        return Work(status="unknown")
    if _near(threads, 1.0, 1e-9):
        return _unless_uniform(before, after)
    text = (
        "the grid or block differs and neither operations nor bytes were measured on both "
        "sides: another launch configuration cannot be told from another problem size"
    )
    return Work(status="unknown", measure="threads", ratio=threads, text=text)


def _unless_uniform(before: Side, after: Side) -> Work:
    """Same threads, but if every unit's work changed by one factor, the problem's size may have.

    A grid-stride loop or a persistent kernel has the same grid for any size.
    """
    keys = [k for k, percent in before.utilization.items() if percent >= _BUSY]
    ratios = [r for k in keys if (r := busy_ratio(before, after, k)) is not None]
    if len(ratios) > 2:
        middle = sorted(ratios)[len(ratios) // 2]
        uniform = all(_near(r, middle, PROPORTIONAL) for r in ratios)
        if uniform and not _near(middle, 1.0, 2 * PROPORTIONAL):
            text = (
                f"every unit has {plain(middle)}x the work: perhaps another problem size "
                "(operations were not measured)"
            )
            return Work(status="unknown", measure="units", ratio=middle, text=text)
    return Work(status="same", measure="threads", ratio=1.0, text="same number of threads")


def _different(measure: str, ratio: float, timing: Timing | None) -> Work:
    return Work(
        status="different",
        measure=measure,
        ratio=ratio,
        speedup=None if timing is None else timing.speedup * ratio,
        text=f"another problem size: {plain(ratio)}x the {_NOUNS[measure]}",
    )


def _ratio(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))
