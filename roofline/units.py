"""Hardware units by name: what people call them, and how they are ordered."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.model import UnitUse

# The two percentages that stand for a whole side where no unit of it is known.
MEMORY_THROUGHPUT = "gpu__compute_memory_throughput"
SM_THROUGHPUT = "sm__throughput"

# What people call the units.
UNIT_NAMES = {
    "dram": "DRAM",
    "l2": "L2 cache",
    "l1": "L1 and shared memory",
    "lsu": "memory-instruction path (LSU, MIO)",
    "tex": "texture path",
    "constant": "constant cache",
    "sysmem": "system memory over the bus",
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "c2c": "chip-to-chip link",
    "tma": "tensor memory accelerator",
    "tensor_memory": "tensor memory",
    "other_memory": "memory path (no unit named)",
    "issue": "issue slots",
    "fma": "FMA pipe",
    "alu": "ALU pipe (integer, logic)",
    "fp64": "FP64 pipe",
    "fp16": "FP16 pipe",
    "xu": "XU pipe (transcendentals, conversions)",
    "tensor": "tensor pipe",
    "tensor_fp64": "FP64 tensor pipe",
    "shared_pipe": "pipe that FP64 and tensor share",
    "uniform": "uniform datapath",
    "branch": "branch unit",
    "other_compute": "SM (no unit named)",
}
# Units that stand for several: named only where no single unit is as busy.
GENERIC = frozenset({"shared_pipe", "other_memory", "other_compute"})


# A generic unit gives way to a single one that is as busy, to this many points.
TIE = 0.5


def rank(use: UnitUse) -> tuple[float, str]:
    """The order of units: the busiest first, generic ones behind others as busy."""
    return -(use.percent - (TIE if use.unit in GENERIC else 0.0)), use.unit


def named(uses: Sequence[UnitUse]) -> UnitUse:
    """The busiest unit; one that stands for several gives way to a single one as busy."""
    return min(uses, key=rank)


def as_busy(use: UnitUse, other: UnitUse) -> bool:
    """Whether two units are equally busy, but for rounding."""
    return abs(use.percent - other.percent) <= TIE


def unit_name(unit: str) -> str:
    """A unit's name for people; an unknown one as it is."""
    return UNIT_NAMES.get(unit, unit)


# Names that take no article in a sentence.
_PROPER = frozenset({"dram", "nvlink", "pcie", "l1", "sysmem"})


def the_unit(unit: str) -> str:
    """A unit's name within a sentence: "DRAM", "the L2 cache"."""
    name = unit_name(unit)
    return name if unit in _PROPER or unit not in UNIT_NAMES else f"the {name}"
