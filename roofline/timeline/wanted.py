"""What the user asks of a selection."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roofline.errors import UsageError
from roofline.timeline.names import COMMUNICATION
from roofline.typed import Typed

INNER, ALL = "inner", "all"
Keep = str | tuple[int, int]
Patterns = tuple[Typed, ...]

SHORT_S = 2e-6  # such kernels are over before a change in them could be seen
TOP = 5
MIN_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Thresholds and choices of a selection.

    ``min_share`` is a fraction of the wall time. ``keep`` says which steps count: "inner" (all
    but the first and the last), "all", or a pair of numbers from 1. ``start`` and ``end`` ask for
    a stretch of time instead, in ns since the timeline's origin. ``communication`` is a regular
    expression for kernels that wait for other ranks, beside those known by name. ``warmup_steps``
    are skipped where it is not known which launch of the process the timeline saw.
    """

    top: int = TOP
    min_share: float = MIN_SHARE
    device: int | None = None
    keep: Keep = INNER
    start: int | None = None
    end: int | None = None
    by_name: bool = False
    communication: str | None = None
    warmup_steps: int = 2

    def __post_init__(self) -> None:
        """Refuse a share that is none.

        Raises:
            UsageError: ``min_share`` is not from 0 to 1.

        """
        if not 0 <= self.min_share <= 1:
            raise UsageError(f"min_share is {self.min_share}", why="a share is from 0 to 1")

    @property
    def window(self) -> bool:
        """Whether a stretch of time is asked for instead of steps."""
        return self.start is not None or self.end is not None

    def communicates(self) -> Patterns:
        """What collectives are called: each to be matched within a limit.

        Raises:
            UsageError: it is not a regular expression.

        """
        asked = () if self.communication is None else (self.communication,)
        return tuple(
            Typed(pattern, flags=re.IGNORECASE, option="--communication")
            for pattern in (COMMUNICATION, *asked)
        )
