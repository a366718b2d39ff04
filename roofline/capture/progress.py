"""How far ncu has come, read from its log."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# ==PROF== Profiling "sobel" - 0 (1/2): 0%....50%....100% - 9 passes      (counts vary by version)
_PROFILING = re.compile(r'^==PROF== Profiling "(?P<name>.*?)"[^:]*:(?P<rest>.*)$', re.MULTILINE)
_PASSES = re.compile(r"100% - (\d+) pass")
_CONNECTED = "==PROF== Connected to process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Kernels done as (name, passes), the one under way, and the processes that ncu is in.

    Names are as ncu prints them here: cut in the middle when long, good for people only.
    """

    done: tuple[tuple[str, int], ...] = ()
    current: str | None = None
    processes: int = 0

    @property
    def passes(self) -> tuple[int, int] | None:
        """Fewest and most passes that a kernel took."""
        counts = [count for _, count in self.done]
        return (min(counts), max(counts)) if counts else None


def parse(text: str) -> Progress:
    """The progress that a log tells; the last kernel without its passes is the one under way."""
    done, current = [], None
    for match in _PROFILING.finditer(text):
        passes = _PASSES.search(match["rest"])
        if passes:
            done.append((match["name"], int(passes[1])))
        current = None if passes else match["name"]
    return Progress(done=tuple(done), current=current, processes=text.count(_CONNECTED))


class Watch:
    """Follows a log: tells of kernels as they are done, and of a run that must be ended.

    Calling it answers ``None``, "stall" (no sign of life for ``stall_s`` while a kernel is
    replayed: a program may be silent for hours by itself) or "timeout" (``limit_s`` is over).
    """

    def __init__(
        self,
        log: Path,
        *,
        stall_s: float | None,
        limit_s: float | None,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log, self._tell, self._clock = log, tell, clock
        self._stall_s, self._limit_s = stall_s, limit_s
        self._started = self._alive = clock()
        self._size = 0
        self.progress = Progress()

    def __call__(self) -> str | None:
        """Read what is new; a reason to end the run, or ``None``."""
        now = self._clock()
        self._read(now)
        if self._limit_s is not None and now - self._started >= self._limit_s:
            return "timeout"
        silent = now - self._alive
        if self.progress.current is not None and self._stall_s is not None:
            return "stall" if silent >= self._stall_s else None
        return None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the watch began."""
        return self._clock() - self._started

    def _read(self, now: float) -> None:
        try:
            data = self._log.read_bytes()
        except OSError:
            return
        if len(data) == self._size:
            return
        self._size, self._alive = len(data), now
        before, self.progress = self.progress, parse(data.decode("utf-8", errors="replace"))
        for number, (name, passes) in enumerate(self.progress.done, start=1):
            if number > len(before.done):
                self._tell(f"profiled {number}: {name} ({passes} passes)")
