"""The pass table, and which chip a GPU has."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from roofline.capture.levels import Level, base_name, hardware, is_listed, software, without

# Compute capability -> the chip whose counters all chips of that capability share. Volta (7.0)
# and sm_72 are older than the library that made the pass table; ncu itself says what they have.
CHIP_OF_CAPABILITY: Mapping[str, str] = {
    "7.0": "GV100",
    "7.2": "GV11B",
    "7.5": "TU102",
    "8.0": "GA100",
    "8.6": "GA102",
    "8.7": "GA10B",
    "8.9": "AD102",
    "9.0": "GH100",
    "10.0": "GB100",
    "10.1": "GB10B",
    "10.3": "GB110",
    "11.0": "GB10B",
    "12.0": "GB202",
    "12.1": "GB20B",
}

# profiler__replayer_passes of public reports taken with NVIDIA's set "full".
SEEN_FULL: Mapping[str, tuple[int, int]] = {
    "7.0": (73, 74),
    "7.5": (30, 32),
    "8.0": (43, 49),
    "8.6": (32, 38),
    "8.9": (32, 39),
    "9.0": (39, 40),
    "10.0": (39, 39),
}
# Patched counters cost "one or two passes", warp-state sampling one: observed, not computed.
SASS_PASSES = (1, 2)
SAMPLING_PASSES = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What the pass table knows: hardware passes by level, and names that are not there."""

    name: str
    passes: Mapping[Level, int]
    absent: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Passes over a kernel: computed for the hardware, a range for all together.

    ``hardware`` is ``None`` where nobody computed it; ``total`` is lowest and highest.
    """

    chip: str
    hardware: int | None
    total: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The metrics to ask for, and those that were left out because the GPU or ncu lacks them."""

    metrics: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@cache
def table() -> Mapping[str, Chip]:
    """The pass table by chip name, as ``scripts/make_pass_table.py`` wrote it."""
    text = (files("roofline.capture") / "chips.json").read_text(encoding="utf-8")
    return {
        name: Chip(
            name=name,
            passes={Level(level): count for level, count in row["passes"].items()},
            absent=frozenset(row["absent"]),
        )
        for name, row in json.loads(text)["chips"].items()
    }


def chip_of(capability: str) -> str | None:
    """The chip name for a compute capability such as "8.6"."""
    return CHIP_OF_CAPABILITY.get(capability)


def choose(
    level: Level,
    chips: Collection[str],
    extra: Iterable[str] = (),
    listed: Collection[str] | None = None,
    *,
    patched: bool = True,
) -> Chosen:
    """The metrics of ``level`` that every one of ``chips`` has, and ``extra``.

    ``listed`` are the base names that the installed ncu knows for these chips (``None``: not
    asked); ncu refuses the whole run for one explicit name that it does not know. With no chip
    known only names that all chips of the table have are asked for, unless ``listed`` tells.
    """
    known = [table()[chip] for chip in chips if chip in table()]
    wanted = dict.fromkeys(name for chip in (chips or (None,)) for name in hardware(level, chip))
    if not known and listed is None:
        known = list(table().values())
    absent = frozenset[str]().union(*(chip.absent for chip in known))
    kept = without(wanted, absent)
    if listed is not None:
        kept = tuple(name for name in kept if base_name(name) in listed)
    kept += tuple(
        name
        for name in software(level, patched=patched)
        if listed is None or not is_listed(name) or base_name(name) in listed
    )
    left_out = tuple(name for name in without(wanted, absent if known else ()) if name not in kept)
    return Chosen(metrics=tuple(dict.fromkeys((*kept, *extra))), left_out=left_out)


def cost(level: Level, chip: str, *, patched: bool = True) -> Cost:
    """What ``level`` costs on ``chip``; the table's levels leave out what ``full`` adds.

    Without patched counters (ranges, whole graphs) their passes fall away; what NVIDIA's full set
    then costs nobody has seen.
    """
    known = table().get(chip)
    if level is Level.FULL:
        capability = next((cc for cc, name in CHIP_OF_CAPABILITY.items() if name == chip), "")
        seen = SEEN_FULL.get(capability) if patched else None
        return Cost(chip=chip, hardware=None, total=seen)
    if known is None:
        return Cost(chip=chip, hardware=None, total=None)
    passes = known.passes[level]
    sampling = 0 if level is Level.QUICK else SAMPLING_PASSES
    low, high = (passes + sass + sampling for sass in (SASS_PASSES if patched else (0, 0)))
    return Cost(chip=chip, hardware=passes, total=(low, high))
