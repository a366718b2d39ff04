"""What is said about captures: what one would cost, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from roofline.capture.levels import cost
from roofline.capture.request import CaptureLevel, CaptureRequest, Ncu
from roofline.model import Analysis
from roofline.text.numbers import duration, plural, share
from roofline.wall_time import ProgramTimes

_REPLAYS = {
    "kernel": "each kernel was run again for every pass",
    "application": "the whole program was run again for every pass",
    "range": "ranges of calls were run again for every pass",
    "app-range": "the whole program was run again for every pass over a range",
}


def ending(request: CaptureRequest, linger_s: float, *, counted: bool) -> str:
    """How much a run profiles and when that ends the program, for before it starts.

    The number of launches is ``counted`` where somebody may not change it.
    """
    noun = "range" if request.by_range else "launch"
    most = f"every {noun}"
    if request.launch_count is not None:
        most = f"at most {plural(request.launch_count, noun)}"
        most += " of each grid and block" * request.per_config
        most += "" if counted else " (--launch-count N)"
    if request.last is None or linger_s == math.inf:
        return f"Profiling {most}; the program runs to its end"
    last = f"{request.last} of them" if request.per_config else "the last"
    when = f"{linger_s:g} s after {last}" if linger_s else f"with {last}"
    return f"Profiling {most}; the program is ended {when} (--until program: never)"


def costs(request: CaptureRequest, chips: Iterable[str]) -> Iterator[str]:
    """The passes over a kernel, chip by chip."""
    # NVIDIA's full set costs the same, whichever option names it.
    level = CaptureLevel.FULL if request.section_set == "full" else request.level
    added = {
        "--metrics": request.metrics,
        "--section": request.sections,
        "--set": request.section_set if level is not CaptureLevel.FULL else None,
    }
    names = " and ".join(option for option, given in added.items() if given)
    yield f"Passes over each {'kernel' if request.patched else 'range or graph'} at level {level}:"
    yield f"  {'chip':8} {'hardware':>8}  in all"
    parts = ["patched code"] * request.patched + ["sampling"] * (level is not CaptureLevel.QUICK)
    how = f"with {' and '.join(parts)}" if parts else "nothing else"
    if level is CaptureLevel.FULL:
        how = "seen in public reports"
    for chip in chips:
        hardware, total = cost(level, chip, patched=request.patched)
        said = "not known"
        if total is not None:
            said = f"{' to '.join(map(str, dict.fromkeys(total)))} ({how})"
        yield f"  {chip:8} {'-' if hardware is None else hardware:>8}  {said}"
    if names:
        yield f"  and what {names} may add, which is not in this table"


def measured(request: CaptureRequest, ncu: Ncu, analysis: Analysis, logged: Iterable[int]) -> str:
    """One sentence on how the numbers came to be.

    ``logged`` are passes of ncu's log, for reports that do not hold them.
    """
    counts = [r.measurement.passes for r in analysis.results if r.measurement.passes]
    counts = counts or [float(n) for n in logged if n]
    low, high = min(counts, default=0), max(counts, default=0)
    clocks = request.users("--clock-control", request.clock_control)
    caches = request.users("--cache-control", request.cache_control)
    passes = f"{low:.0f} passes" if low == high else f"{low:.0f} to {high:.0f} passes"
    parts = [
        f"{ncu}, level {request.level}",
        _REPLAYS[request.replay] + (f" ({passes})" if counts else ""),
        "caches left warm" if caches == "none" else "caches flushed before every pass",
        "clocks not locked" if clocks == "none" else f"clocks locked to {clocks}",
    ]
    if request.omits_collectives:
        parts.append("collectives left out (--collectives takes them)")
    return (
        f"Measured: {'; '.join(parts)}. Times are measured under ncu; 'roofline time' measures "
        "without it."
    )


def beside(times: ProgramTimes, analysis: Analysis) -> str:
    """The time of the program without ncu, and that of what was profiled, each by itself."""
    wall, how = times.wall_s, plural(times.repeats, "run")
    how += "" if wall.spread is None else f", spread {share(wall.spread)}"
    how += f", INSTRUMENTED: {', '.join(times.instrumented)}" if times.instrumented else ""
    lasted = [r.measurement.duration_s for r in analysis.results]
    known = [each for each in lasted if each is not None]
    under = f"{duration(sum(known))} in {plural(len(known), 'launch')}" if known else "not measured"
    return (
        f"Time without ncu: {duration(wall.median)}, the whole program (median of {how}). Time "
        f"under ncu: {under}. Not to be mixed: ncu locks clocks and runs each launch alone."
    )
