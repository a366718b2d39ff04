"""What a capture is asked to do: everything that the ncu command line depends on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

# Enough launches to see a spread, few enough that an autotuner cannot cost an hour.
DEFAULT_LAUNCH_COUNT = 10


class CaptureLevel(StrEnum):
    """How much to collect; ``FULL`` is NVIDIA's set of that name and all of ``STANDARD``."""

    QUICK = "quick"
    LEAN = "lean"
    STANDARD = "standard"
    FULL = "full"


# Which spelling of a kernel's name is matched, and what is run again for each pass.
NAME_BASES = ("function", "demangled", "mangled")
REPLAYS = ("kernel", "application", "range", "app-range")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """One profiling run of ``program``.

    ``kernel_regex`` is searched in the name of ``name_base``, ``families`` are kinds of kernels
    (``kernel_names.families``), ``kernels`` whole names. All empty means every
    kernel, collectives left out unless ``collectives``. ``launch_count`` of ``None`` is no limit;
    ``per_config`` counts for each grid and block by itself, of which ``configs`` are known to come.
    ``nvtx`` holds range names in ncu's syntax or plain. ``devices`` is ncu's comma-separated list.
    ``sections``, ``section_set`` and ``metrics`` are collected on top of ``level`` (once fitted to
    a machine, ``metrics`` are all of them); ``rules`` are
    NVIDIA's, ``source`` puts the program's source into the report. Words of ``ncu_options`` replace
    what would be passed for the same option.
    """

    program: tuple[str, ...]
    level: CaptureLevel = CaptureLevel.STANDARD
    kernel_regex: str | None = None
    families: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    name_base: str | None = None
    collectives: bool = False
    launch_skip: int = 0
    launch_count: int | None = DEFAULT_LAUNCH_COUNT
    per_config: bool = False
    configs: int | None = None
    nvtx: tuple[str, ...] = ()
    from_start: bool = True
    devices: str | None = None
    metrics: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    section_set: str | None = None
    replay: str = REPLAYS[0]
    clock_control: str = "base"
    cache_control: str = "all"
    graphs: str = "node"
    rules: bool = False
    source: bool = False
    ncu_options: tuple[str, ...] = ()

    @property
    def by_range(self) -> bool:
        """Whether ranges of calls are profiled, in which ncu sees no single kernel."""
        return self.replay in REPLAYS[2:]

    @property
    def patched(self) -> bool:
        """Whether ncu can patch counters into the code: not for ranges and whole graphs."""
        return not self.by_range and self.graphs != "graph"

    @property
    def last(self) -> int | None:
        """Which launch is the last that is wanted; ``None`` where no number says that."""
        configs, count = self.configs if self.per_config else 1, self.launch_count
        if self.replay != REPLAYS[0] or configs is None or count is None:
            return None
        return configs * count

    @property
    def omits_collectives(self) -> bool:
        """Whether kernels that wait for other GPUs are filtered away; ranges have no filter."""
        return not (self.collectives or self.kernels or self.by_range)

    def users(self, option: str, otherwise: str) -> str:
        """The value of an option among the user's own words for ncu, else ``otherwise``."""
        words = (*self.ncu_options, "")
        for word, following in pairwise(words):
            name, _, value = word.partition("=")
            if name == option:
                return value or following
        return otherwise


class Version(NamedTuple):
    """A version of ncu, 2024.1.1 for instance; ``text`` is as ncu printed it."""

    year: int
    minor: int
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ncu:
    """An ncu that answered ``--version``; ``how`` says where it was found.

    ``help`` is what it prints for ``--help``, which decides what it is asked; ``None`` stands for
    one that takes everything.
    """

    path: Path
    version: Version
    how: str
    help: str | None = None

    def __str__(self) -> str:
        """As messages name it."""
        return f"ncu {self.version.text}"

    def takes(self, option: str, value: str = "") -> bool:
        """Whether ``option`` is listed, and ``value`` in the words about it."""
        if self.help is None:
            return True
        said = listed(self.help).get(option)
        return said is not None and re.search(rf"(?<![\w-]){value}(?![\w-])", said) is not None


@cache
def listed(text: str) -> Mapping[str, str]:
    """The options of ``ncu --help``, and what it says about each."""
    # "  -k [ --kernel-name ] arg   ..."; what is further in are words about an option.
    _, *parts = re.split(r"^ {1,4}(?:-\w\W+)?(--[a-z][a-z0-9-]*)", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))
