"""What a capture is asked to do: everything that the ncu command line depends on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

# Enough launches to see a spread, few enough that an autotuner cannot cost an hour.
DEFAULT_LAUNCH_COUNT = 10


class CaptureLevel(StrEnum):
    """How much to collect; ``FULL`` is NVIDIA's set of that name and all of ``STANDARD``."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


class NameBase(StrEnum):
    """Which spelling of a kernel's name is matched."""

    FUNCTION = "function"
    DEMANGLED = "demangled"
    MANGLED = "mangled"


class Replay(StrEnum):
    """How metrics that need several passes are collected: what is run again for each pass."""

    KERNEL = "kernel"
    APPLICATION = "application"
    RANGE = "range"
    APP_RANGE = "app-range"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """One profiling run of ``program``.

    ``kernel_regex`` is searched in the name of ``name_base``; ``kernels`` are whole names. Both
    empty means every kernel, collectives left out unless ``collectives``. ``launch_count`` of
    ``None`` means no limit; ``per_config`` counts for each grid and block by itself. ``nvtx``
    holds range names in ncu's syntax or plain. ``devices`` is ncu's comma-separated list.
    ``sections``, ``section_set`` and ``metrics`` are collected on top of ``level``.
    """

    program: tuple[str, ...]
    level: CaptureLevel = CaptureLevel.STANDARD
    kernel_regex: str | None = None
    kernels: tuple[str, ...] = ()
    name_base: NameBase | None = None
    collectives: bool = False
    launch_skip: int = 0
    launch_count: int | None = DEFAULT_LAUNCH_COUNT
    per_config: bool = False
    nvtx: tuple[str, ...] = ()
    from_start: bool = True
    devices: str | None = None
    metrics: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    section_set: str | None = None
    replay: Replay = Replay.KERNEL
    lock_clocks: bool = True
    flush_caches: bool = True
    graphs: str = "node"
    ncu_options: tuple[str, ...] = ()

    @property
    def by_range(self) -> bool:
        """Whether ranges of calls are profiled, in which ncu sees no single kernel."""
        return self.replay in (Replay.RANGE, Replay.APP_RANGE)

    @property
    def patched(self) -> bool:
        """Whether ncu can patch counters into the code: not for ranges and whole graphs."""
        return not self.by_range and self.graphs != "graph"

    @property
    def omits_collectives(self) -> bool:
        """Whether kernels that wait for other GPUs are filtered away; ranges have no filter."""
        return not (self.collectives or self.kernels or self.by_range)


class Version(NamedTuple):
    """A version of ncu, 2024.1.1 for instance; ``text`` is as ncu printed it."""

    year: int
    minor: int
    text: str = ""

    def at_least(self, year: int, minor: int) -> bool:
        """Whether this is ``year.minor`` or newer."""
        return self[:2] >= (year, minor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ncu:
    """An ncu that answered ``--version``; ``how`` says where it was found."""

    path: Path
    version: Version
    how: str
