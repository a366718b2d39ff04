"""What each ``--level`` asks ncu for on a chip, and how many passes that costs.

The pass table (``chips.json``) leaves out names that a chip lacks, so alternatives such as
``dram__bytes_read`` and ``dram__bytes_op_read`` stand side by side here. It also leaves out what
does not fit into the ``LIMITS`` of a level; what is worth most comes first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from roofline.capture.request import CaptureLevel, Version
from roofline.counters import evidence, peaks, recipes, stalls, tensor
from roofline.counters.recipes import RECIPES, Recipe
from roofline.units import ELAPSED, UNITS, members, unit_of_metric

TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def base_name(metric: str) -> str:
    """The name without its roll-ups: ``dram__bytes.sum.per_second`` -> ``dram__bytes``."""
    return metric.partition(".")[0]


def _of_peak(units: Iterable[str]) -> tuple[str, ...]:
    return tuple(unit + ELAPSED for unit in units)


def _needs(*quantities: tuple[Recipe, ...]) -> tuple[str, ...]:
    """What the most trusted recipe of each quantity needs, as every chip spells it."""
    chosen = [r for recipes in quantities for r in recipes if r is recipes[0] or r.spelling]
    return tuple(dict.fromkeys(name for recipe in chosen for name in recipe.needs))


# Duration, clocks, DRAM, issue slots: one hardware pass.
QUICK = (
    *_needs(RECIPES["duration_s"], RECIPES["sm_clock_hz"]),
    *_needs(RECIPES["dram_read_bytes"], RECIPES["dram_write_bytes"], RECIPES["sm_active_percent"]),
    "smsp__cycles_elapsed.avg.per_second",
    peaks.DRAM_PER_CYCLE,
    recipes.L2_MISSES,  # the nearest that chips without DRAM counters have
    *_of_peak(UNITS["issue"].members),
    *TABLE["unread"],
    *_needs(RECIPES["dram_clock_hz"]),
    *_of_peak(["dram__cycles_active"]),
)

# Arithmetic by precision and the opcode mix (exact tensor operations): patched into the code.
SASS = (
    *(
        f"{counter}.sum"
        for precision in (recipes.FP32, recipes.FP64, recipes.FP16)
        for counter in precision.counters()
    ),
    *(name for name, _, _ in peaks.VECTOR),  # constants of the chip, the roofs of the report
    tensor.OPCODES,
    tensor.THREAD_OPCODES,
    "inst_executed",  # by address
)
# Names of what is patched into the code beside those.
_PATCHED = ("smsp__sass_", "sass__", "memory_")
# From 2025.1, and not for every chip: asked for only where ncu lists it.
YOUNG = "sass__inst_executed_register_spilling"
# Before this version they had other names, and ncu lists neither.
_THEORY, _SINCE = "memory_", (2022, 2)

# Known at launch; no pass.
LAUNCH = (
    *(name for names in recipes.DIMENSIONS.values() for name in names),
    *_needs(RECIPES["waves"], RECIPES["registers_per_thread"], RECIPES["shared_memory_bytes"][1:]),
    # Barriers are younger than the oldest ncu.
    *(name for name, what in recipes.OCCUPANCY_LIMITS.items() if what != "barriers"),
    *_needs(RECIPES["theoretical_occupancy_percent"]),
    *evidence.CURVES,
)

# Warp states sampled while the kernel runs once more.
SAMPLING = (stalls.SAMPLE_GROUP, "smsp__pcsamp_sample_count")

_PORT, RARE_MEMBERS, NOT_COLLECTED = map(_of_peak, TABLE["units"].values())
_LEFT_OUT = {*_PORT, *RARE_MEMBERS, *NOT_COLLECTED, *QUICK}


def _worth(metric: str) -> tuple[bool, int, bool]:
    """What sorts members: the usual ones of units that are needed, FP64 (counted twice) last."""
    unit = unit_of_metric(metric)
    assert unit is not None
    place = unit.members.index(base_name(metric)) if base_name(metric) in unit.members else 0
    return not unit.needed, place, unit.key == "fp64"


MEMBERS = tuple(sorted({*members(links=False)} - _LEFT_OUT, key=lambda name: (_worth(name), name)))
STANDARD = (
    *MEMBERS,
    *_needs(RECIPES["occupancy_percent"], RECIPES["l2_bytes"], RECIPES["l1_bytes"]),
    *_needs(recipes.L2_PEAK),
    "lts__t_sectors.sum",
    recipes.L2_FROM_L1[0].needs[0],
    *peaks.DENSE_PEAKS,  # constants of the chip; each has its own spelling
)

LIMITS = {CaptureLevel(level): limits for level, limits in TABLE["limits"].items()}
CHIP_OF_CAPABILITY: Mapping[str, str] = TABLE["capability"]
_SOFTWARE = ("inst_executed", "sm__maximum_warps_per_active_cycle_pct")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What the pass table knows: passes by level, absent base names, metrics that do not fit."""

    passes: dict[CaptureLevel, int]
    absent: frozenset[str]
    left_out: dict[CaptureLevel, frozenset[str]]


@cache
def table() -> Mapping[str, Chip]:
    """The pass table by chip name, as ``scripts/make_pass_table.py`` wrote it."""
    import msgspec  # not for --help

    text = (files("roofline.capture") / "chips.json").read_bytes()
    return msgspec.convert(msgspec.json.decode(text)["chips"], dict[str, Chip])


def chip_of(capability: str | None) -> str | None:
    """The chip name for a compute capability such as "8.6"."""
    return CHIP_OF_CAPABILITY.get(capability or "")


@cache
def proofs() -> tuple[tuple[str, ...], ...]:
    """Metrics that prove causes; of each row all are needed, as sums of loads and stores.

    Of the ways to each, the first that needs no section of ncu's, and that through patched code.
    """
    rows = []
    for table in ("ratios", "counts"):
        for ways in evidence.tables()[table].values():
            first, *others = (way for way in ways if not way.how.startswith("derived__"))
            rows += [first, *(way for way in others if way.how.startswith("smsp__sass_"))]
    return tuple(row.needs for row in rows)


def rows(level: CaptureLevel, chip: str | None) -> tuple[tuple[str, ...], ...]:
    """What ``level`` would have of metrics that cost hardware passes, the most worth first.

    The metrics of a row are of use together only. ``chip`` is NVIDIA's chip name ("GH100");
    ``None`` stands for one that is not known.
    """
    if level is CaptureLevel.QUICK:
        return tuple((name,) for name in QUICK)
    lean, single = level is CaptureLevel.LEAN, dict.fromkeys(QUICK + STANDARD)
    if not lean and chip in TABLE["tensor"]["chips"]:
        single |= dict.fromkeys(TABLE["tensor"]["metrics"])
    *proved, dearest = (row for row in proofs() if not row[0].startswith(_PATCHED))
    last = () if lean else RARE_MEMBERS
    port = () if lean else _PORT
    one_each = [[(name,) for name in names] for names in (single, port, last)]
    return (*one_each[0], *proved, *one_each[1], dearest, *one_each[2])


def hardware(level: CaptureLevel, chip: str | None) -> tuple[str, ...]:
    """Metrics of ``level`` that cost hardware passes, whether or not ``chip`` has them."""
    return tuple(dict.fromkeys(name for row in rows(level, chip) for name in row))


def software(level: CaptureLevel, *, patched: bool = True) -> tuple[str, ...]:
    """Metrics of ``level`` that code patching, sampling or the launch itself gives.

    ncu refuses counters that are patched into the code for ranges and whole graphs.
    """
    if level is CaptureLevel.QUICK:
        return LAUNCH + (SASS if patched else ())
    proof = tuple(name for row in proofs() for name in row if name.startswith(_PATCHED))
    return LAUNCH + (SASS + proof if patched else ()) + SAMPLING


def metrics_of(
    level: CaptureLevel,
    chips: Collection[str],
    extra: Iterable[str] = (),
    listed: Collection[str] | None = None,
    *,
    patched: bool = True,
    version: Version | None = None,
) -> tuple[str, ...]:
    """The metrics of ``level`` that every one of ``chips`` has, and ``extra``.

    ``listed`` are the base names that the installed ncu of ``version`` knows for these chips
    (``None``: not asked); ncu refuses the whole run for one explicit name that it does not know.
    With no chip known only names that all chips of the table have are asked for, unless
    ``listed`` tells.
    """
    if level is CaptureLevel.FULL:  # ncu's own set adds the rest
        level = CaptureLevel.STANDARD
    known = [table()[chip] for chip in chips if chip in table()]
    if not known and listed is None:
        known = list(table().values())
    wanted = [name for chip in (chips or (None,)) for name in hardware(level, chip)]
    wanted += software(level, patched=patched)

    def asked(name: str) -> bool:
        if any(base_name(name) in c.absent or name in c.left_out[level] for c in known):
            return False
        if version is not None and version < _SINCE and name.startswith(_THEORY):
            return False
        told = name == YOUNG or (listed is not None and is_listed(name))
        return not told or base_name(name) in (listed or ())

    return tuple(dict.fromkeys((*filter(asked, wanted), *extra)))


def cost(
    level: CaptureLevel, chip: str, *, patched: bool = True
) -> tuple[int | None, tuple[int, int] | None]:
    """Passes over a kernel: those of the hardware, and the lowest and highest number of all.

    ``None`` is not known: nobody has seen NVIDIA's full set without patched code.
    """
    if level is CaptureLevel.FULL:
        return None, TABLE["full"].get(chip) if patched else None
    if chip not in table():
        return None, None
    passes = table()[chip].passes[level]
    # Patched counters cost "one or two passes", warp-state sampling one: observed, not computed.
    low, high = (1, 2) if patched else (0, 0)
    sampling = level is not CaptureLevel.QUICK
    return passes, (passes + low + sampling, passes + high + sampling)


def is_listed(metric: str) -> bool:
    """Whether ``ncu --query-metrics`` lists metrics of this kind (it omits the software ones)."""
    unlisted = ("group:", "breakdown:", "regex:", "launch__", "sass__", "smsp__pcsamp", "memory_")
    return not metric.startswith(unlisted) and metric not in _SOFTWARE
