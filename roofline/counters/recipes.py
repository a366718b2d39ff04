"""How each quantity is read: recipes over ncu's metric names, the most trusted first."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from roofline.model import Metrics, Note

DURATION = "gpu__time_duration.sum"
SECTOR_BYTES = 32.0
WAVEFRONT_BYTES = 128.0
L2_MISSES = "lts__t_sectors_lookup_miss.sum"
DIMENSIONS = {
    what: tuple(f"launch__{what}_dim_{axis}" for axis in "xyz") for what in ("grid", "block")
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to a quantity, usable where a report holds all that it ``needs``.

    ``combine`` answers ``None`` where the values make no quantity (nothing to divide by).
    ``spelling`` marks what is the first recipe in the names of other chips.
    """

    how: str
    needs: tuple[str, ...]
    combine: Callable[..., float | None]
    spelling: bool = False


class Reading(NamedTuple):
    """A value and how it was read."""

    value: float
    how: str


def read(recipes: tuple[Recipe, ...], metrics: Metrics) -> Reading | None:
    """Apply the first recipe that the metrics allow; ``None`` where none does."""
    for recipe in recipes:
        values = []
        for name in recipe.needs:
            value = metrics.number(name)
            if value is None:
                break
            values.append(value)
        else:
            value = recipe.combine(*values)
            if value is not None:
                return Reading(value=value, how=recipe.how)
    return None


class QuantityReader:
    """Applies recipes and remembers how each quantity was read."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.provenance: dict[str, str] = {}
        self.notes: list[Note] = []

    def get(self, quantity: str, recipes: tuple[Recipe, ...]) -> float | None:
        """Read a quantity; a negative one is not used, and noted."""
        reading = read(recipes, self.metrics)
        if reading is None:
            return None
        if reading.value < 0:
            facts = {"quantity": quantity, "value": reading.value, "how": reading.how}
            self.notes.append(Note(code="negative_counter", facts=facts))
            return None
        self.provenance[quantity] = reading.how
        return reading.value


def _product(*values: float) -> float:
    return math.prod(values, start=1.0)


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _sectors(*counts: float) -> float:
    return SECTOR_BYTES * sum(counts)


def _plain(*names: str) -> tuple[Recipe, ...]:
    return tuple(Recipe(name, (name,), float) for name in names)


def _over_time(base: str) -> Recipe:
    return Recipe(f"{base} per second x duration", (f"{base}.sum.per_second", DURATION), _product)


def _dram_side(side: str) -> tuple[Recipe, ...]:
    recipes: list[Recipe] = []
    for base in (f"dram__bytes_{side}", f"dram__bytes_op_{side}"):
        recipes += [Recipe(f"{base}.sum", (f"{base}.sum",), float, spelling=True), _over_time(base)]
    sectors = f"dram__sectors_{side}.sum"
    return (*recipes, Recipe(f"{sectors} x 32", (sectors,), _sectors))


def _counted(letter: str, add_and_mul: float, fma: float, factor: str) -> tuple[Recipe, ...]:
    """Operations of one precision from SASS counters of threads not predicated off."""

    def total(adds: float, muls: float, fmas: float, *scale: float) -> float:
        return (add_and_mul * (adds + muls) + fma * fmas) * _product(*scale)

    recipes = []
    for unit in ("smsp", "sm"):
        base = [
            f"{unit}__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"
            for op in ("add", "mul", "fma")
        ]
        names = f" ({unit}__sass_thread_inst_executed_op_{letter}add, {letter}mul, {letter}fma)"
        rates, cycles = [f"{name}.per_cycle_elapsed" for name in base], "smsp__cycles_elapsed"
        recipes += [
            Recipe(f"{how}{names}{factor}", (*needs, *scale), total)
            for how, needs, scale in (
                ("SASS counters", base, ()),
                (f"per_cycle_elapsed x {cycles}", rates, (f"{cycles}.avg.per_second", DURATION)),
                (f"per_cycle_elapsed x {cycles}.avg", rates, (f"{cycles}.avg",)),
            )
        ]
    return tuple(recipes)


_L1_SECTORS = tuple(
    f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}.sum"
    for space in ("global", "local")
    for op in ("ld", "st")
)
_L1_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
L2_FROM_L1 = (
    Recipe("lts__t_sectors_srcunit_tex.sum x 32", ("lts__t_sectors_srcunit_tex.sum",), _sectors),
)
FP64 = _counted("d", 1.0, 2.0, "")
FP32 = _counted("f", 1.0, 2.0, "")
FP16 = _counted("h", 2.0, 4.0, ", two lanes an instruction")
# Field of a measurement -> the ways to it.
RECIPES: dict[str, tuple[Recipe, ...]] = {
    "duration_s": (
        *_plain(DURATION, "gpu__time_duration.avg", "gpu__time_duration_measured_user.sum"),
        Recipe(
            "gpc__cycles_elapsed.max over its rate",
            ("gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second"),
            _ratio,
        ),
    ),
    "dram_read_bytes": _dram_side("read"),
    "dram_write_bytes": _dram_side("write"),
    "dram_bytes": (*_plain("dram__bytes.sum"), _over_time("dram__bytes")),
    "l2_bytes": (
        *_plain("lts__t_bytes.sum"),
        Recipe("lts__t_sectors.sum x 32", ("lts__t_sectors.sum",), _sectors),
        Recipe(
            "lts__t_sectors per second x 32 x duration",
            ("lts__t_sectors.sum.per_second", DURATION),
            lambda rate, time: SECTOR_BYTES * rate * time,
        ),
        Recipe(
            "lts2xbar bytes per second x duration",
            ("derived__lts__lts2xbar_bytes.sum.per_second", DURATION),
            _product,
        ),
    ),
    # Loads and stores alike. LSU write-back, which NVIDIA's own L1 roofline uses, has loads only.
    "l1_bytes": (
        *_plain("l1tex__t_bytes.sum"),
        Recipe(
            "global and local sectors x 32 + shared-memory wavefronts x 128",
            (*_L1_SECTORS, _L1_SHARED),
            lambda *counts: _sectors(*counts[:-1]) + WAVEFRONT_BYTES * counts[-1],
        ),
    ),
    "sm_clock_hz": (
        *_plain(
            "sm__cycles_elapsed.avg.per_second",
            "smsp__cycles_elapsed.avg.per_second",
            "gpc__cycles_elapsed.avg.per_second",
            "sm__cycles_elapsed.max.per_second",
            "gpc__cycles_elapsed.max.per_second",
        ),
        *(
            Recipe(f"{name} over the duration", (name, DURATION), _ratio)
            for name in ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max")
        ),
    ),
    "dram_clock_hz": _plain(
        "dram__cycles_elapsed.avg.per_second", "dram__cycles_elapsed.max.per_second"
    ),
    "waves": _plain("launch__waves_per_multiprocessor"),
    "occupancy_percent": _plain("sm__warps_active.avg.pct_of_peak_sustained_active"),
    "theoretical_occupancy_percent": _plain("sm__maximum_warps_per_active_cycle_pct"),
    "registers_per_thread": _plain("launch__registers_per_thread"),
    "shared_memory_bytes": (
        Recipe(
            "static + dynamic",
            ("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"),
            operator.add,
        ),
        *_plain("launch__shared_mem_per_block", "launch__shared_mem_per_block_allocated"),
    ),
    "sm_active_percent": tuple(
        Recipe(
            f"sm__cycles_active.avg over {whole}",
            ("sm__cycles_active.avg", whole),
            lambda part, whole: 100.0 * part / whole if whole else None,
        )
        for whole in ("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg")
    ),
    "passes": _plain("profiler__replayer_passes"),
}
OCCUPANCY_LIMITS = {
    "launch__occupancy_limit_registers": "registers",
    "launch__occupancy_limit_shared_mem": "shared memory",
    "launch__occupancy_limit_warps": "block size",
    "launch__occupancy_limit_blocks": "blocks per SM",
    "launch__occupancy_limit_barriers": "barriers",
}
