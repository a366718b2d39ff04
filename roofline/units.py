"""The table of hardware units, ``units.toml``: all that is said of units derives from it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from roofline.model import Family, UnitUse

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
# The two percentages that stand for a whole side where no unit of it is known.
MEMORY_THROUGHPUT = "gpu__compute_memory_throughput"
SM_THROUGHPUT = "sm__throughput"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A hardware unit; ``units.toml`` says of each field what it is."""

    key: str
    name: str
    family: Family
    article: str = "the"
    clock: Literal["sm", "dram"] | None = None
    precisions: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    level: bool = False
    ceiling: float | None = None
    generic: bool = False
    needed: bool = False
    link: bool = False
    parts: tuple[str, ...] = ()

    @property
    def lowerable(self) -> bool:
        """Whether its work is how a kernel does it, not the bytes and operations of a problem."""
        return self.key != "dram" and not self.precisions


def _unit(key: str, row: dict[str, Any]) -> Unit:
    values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in row.items()}
    return Unit(key=key, **values | {"family": Family(row["family"])})


_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SAME, RELIEVES, FULL = (_ROWS.pop(table) for table in ("same", "relieves", "full"))
UNITS = {key: _unit(key, row) for key, row in _ROWS.items()}
GENERIC = frozenset(unit.key for unit in UNITS.values() if unit.generic)
# Those that stand for several, or have parts.
_WHOLES = {unit.key: unit for unit in UNITS.values() if unit.generic or unit.parts}
# Levels of memory whose bytes are counted, from the outermost in.
LEVELS = tuple(unit.key for unit in UNITS.values() if unit.level)
_OF_PRECISION = {precision: unit.key for unit in UNITS.values() for precision in unit.precisions}
_BY_PREFIX = sorted(
    ((prefix, unit) for unit in UNITS.values() for prefix in unit.prefixes),
    key=lambda row: -len(row[0]),
)

# Percentages that stand for many units: named where nothing else is known of their side.
AGGREGATES = frozenset(
    (MEMORY_THROUGHPUT, SM_THROUGHPUT, "sm__memory_throughput", "sm__instruction_throughput",
     "gpu__compute_memory_access_throughput", "gpu__compute_memory_request_throughput")
)  # fmt: skip
# Unit -> what counts more of it than its members do.
THROUGHPUTS = {"l1": "l1tex__throughput", "l2": "lts__throughput"}
# Parts of a unit -> their names.
PARTS = {"l1_data": "L1 data", "l1_to_l2": "L1's path to L2", "l2_fabric": "L2 fabric"}
# Parts of L1 -> a member of which half the peak is all that it reaches, and on which capabilities.
HALVED = {
    "l1_data": ("l1tex__data_pipe_lsu_wavefronts", frozenset({"7.5"})),
    "l1_to_l2": (
        "l1tex__m_l1tex2xbar_req_cycles_active",
        frozenset({"7.0", "7.2", "7.5", "8.6", "8.9", "12.0", "12.1"}),
    ),
}
# Where L2 has two halves: what connects them carries what DRAM does.
WITH_FABRIC = frozenset({"8.0", "9.0"})
# GPUs with two FP64 units an SM, for programs that must run and not for speed.
FEW_FP64 = frozenset({"7.5", "8.6", "8.7", "8.9", "10.1", "10.3", "11.0", "12.0", "12.1"})
# Units are equally busy to this many points: passes of one kernel differ by 0.2.
TIE = 0.5
# What is computed and what is counted of one unit differ by a little more.
ROUNDING = 3.0


def unit_name(key: str) -> str:
    """A unit's name for people: "issue" is "issue slots"; that of an unknown one are its words."""
    unit = UNITS.get(key)
    return key.replace("_", " ") if unit is None else unit.name


def the_unit(key: str) -> str:
    """A unit's name within a sentence: "DRAM", "the issue slots"."""
    unit = UNITS.get(key)
    return unit_name(key) if unit is None else f"{unit.article} {unit.name}".lstrip()


def unit_of_precision(precision: str) -> str:
    """The unit that executes operations of a key: "fma" for "fp32"."""
    return _OF_PRECISION.get(precision.removesuffix("_sparse"), precision)


@cache
def unit_of_metric(metric: str) -> Unit | None:
    """The unit of a utilisation metric; ``None`` where its name tells nothing."""
    metric = metric.replace("smsp__", "sm__", 1)  # a quarter of an SM
    return next((unit for prefix, unit in _BY_PREFIX if metric.startswith(prefix)), None)


def members(*, links: bool) -> tuple[str, ...]:
    """The metrics of units of both throughputs, or of the links, which are in neither."""
    roll_up = ELAPSED.replace(".avg", ".sum") if links else ELAPSED
    return tuple(
        name + roll_up for unit in UNITS.values() if unit.link is links for name in unit.members
    )


def ranked(uses: Iterable[UnitUse]) -> tuple[UnitUse, ...]:
    """The unit nearest to full first; what stands for several, or has a part as busy, gives way."""
    uses = tuple(uses)
    percents = {use.unit: use.percent for use in uses}

    def of_whole(use: UnitUse, unit: Unit) -> tuple[float, bool, str]:
        yields = unit.generic or any(
            abs(percents.get(part, inf) - use.percent) <= TIE for part in unit.parts
        )
        return -(use.near - (TIE if yields else 0.0)), yields, use.unit

    keys = (
        of_whole(use, unit) if (unit := _WHOLES.get(use.unit)) else (-use.near, False, use.unit)
        for use in uses
    )
    return tuple(use for _, use in sorted(zip(keys, uses, strict=True), key=itemgetter(0)))


def queue_of_fp64(use: UnitUse) -> bool:
    """Whether it is the way of FP64 operands to the pipe, on GPUs with two FP64 units an SM."""
    return _named(use, SAME["few_fp64"])


def beside(top: UnitUse, uses: Iterable[UnitUse], *, few_fp64: bool) -> list[UnitUse]:
    """The other units, but for those that count the work of ``top`` by another name."""
    same = [name for names in _of(SAME, top, few_fp64) for name in names]
    others = (use for use in uses if use.unit != top.unit and not same_pipe(top, use))
    return [use for use in others if not (same and _named(use, same))]


def relieved_with(top: UnitUse, use: UnitUse) -> bool:
    """Whether less work for ``top`` relieves ``use`` as well, so that it does not limit next."""
    return any(_named(use, names) for names in _of(RELIEVES, top))


def _of(table: Mapping[str, Any], use: UnitUse, few_fp64: bool = False) -> Sequence[Any]:
    """What a table says of a unit, of its part, and of FP64 where there is almost none."""
    few = "few_fp64" if few_fp64 and use.unit == "fp64" else ""
    if not few and not use.part and use.unit not in table:
        return ()
    return [table[key] for key in (use.unit, use.part or "", few) if key in table]


def _named(use: UnitUse, names: Iterable[str]) -> bool:
    return any(
        use.metric.startswith(name) if "__" in name else name in (use.unit, use.part)
        for name in names
    )


def same_pipe(use: UnitUse, other: UnitUse) -> bool:
    """Whether one of the two is a part of the other that makes up all of its activity."""
    for whole, part in ((use, other), (other, use)):
        if (unit := _WHOLES.get(whole.unit)) is None:
            continue
        near = abs(whole.percent - part.percent)
        if (unit.generic and near <= TIE) or (part.unit in unit.parts and near <= ROUNDING):
            return True
    return False
