"""How each quantity is read: recipes over ncu's metric names, the most trusted first."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Protocol

from roofline.model import Metrics, Note

DURATION = "gpu__time_duration.sum"
# The reader's own names: what follows from others under several names.
SM_CYCLES = "SM cycles elapsed"
_OWN = frozenset({DURATION, SM_CYCLES})
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


class Numbers(Protocol):
    """What has numbers by name: metrics, or what reads them."""

    def number(self, name: str) -> float | None:
        """The value, or ``None``."""


def read(recipes: tuple[Recipe, ...], numbers: Numbers) -> Reading | None:
    """Apply the first recipe that the numbers allow; ``None`` where none does."""
    for recipe in recipes:
        values = []
        for name in recipe.needs:
            value = numbers.number(name)
            if value is None:
                break
            values.append(value)
        else:
            value = recipe.combine(*values)
            if value is not None:
                return Reading(value=value, how=recipe.how)
    return None


class QuantityReader:
    """Applies recipes and remembers how each quantity was read.

    The duration comes from whatever tells it. A reader of rates takes it as one second, and what
    does not depend on it as absent: what it reads are amounts per second.
    """

    def __init__(self, metrics: Metrics, *, rates: bool = False) -> None:
        self.metrics = metrics
        self.provenance: dict[str, str] = {}
        self.notes: list[Note] = []
        self._rates = rates
        self._known: dict[str, float | None] = {DURATION: 1.0} if rates else {}
        if not rates:  # a duration of 0 measures nothing
            self._known[DURATION] = self.get("duration", RECIPES["duration_s"]) or None
        cycles = read(_SM_CYCLES[:3] if rates else _SM_CYCLES, self)
        self._known[SM_CYCLES] = None if cycles is None else cycles.value
        self._cycles = "" if cycles is None else cycles.how

    @property
    def duration_s(self) -> float | None:
        """The time that the kernel took."""
        return self._known[DURATION]

    def number(self, name: str) -> float | None:
        """A metric's value, or what stands for it."""
        known = self._known
        return known[name] if name in known else self.metrics.number(name)

    def read(self, recipes: tuple[Recipe, ...]) -> Reading | None:
        """Apply the first recipe that the report allows."""
        if self._rates:
            recipes = tuple(recipe for recipe in recipes if not _OWN.isdisjoint(recipe.needs))
        found = read(recipes, self)
        if found is None or SM_CYCLES not in found.how:
            return found
        return Reading(found.value, found.how.replace(SM_CYCLES, self._cycles))

    def amount(self, base: str) -> float | None:
        """The sum of a counter over the kernel, from whichever form of it the report has."""
        found = self.read(forms(base))
        return None if found is None else found.value

    def get(self, quantity: str, recipes: tuple[Recipe, ...]) -> float | None:
        """Read a quantity; a negative one is not used, and noted."""
        return self.keep(quantity, self.read(recipes))

    def keep(self, quantity: str, reading: Reading | None) -> float | None:
        """Remember how a quantity was read, and give its value."""
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


def _share(part: float, whole: float) -> float | None:
    """In percent; the clocks of two domains differ by a little in short kernels."""
    return min(100.0, 100.0 * part / whole) if whole else None


def _sectors(*counts: float) -> float:
    return SECTOR_BYTES * sum(counts)


def _plain(*names: str) -> tuple[Recipe, ...]:
    return tuple(Recipe(name, (name,), float) for name in names)


@cache
def forms(base: str, factor: float = 1.0) -> tuple[Recipe, ...]:
    """The ways to the sum of a counter over the kernel, times ``factor``."""
    times = "" if factor == 1.0 else f" x {factor:g}"

    def scaled(*values: float) -> float:
        return factor * _product(*values)

    domain = base.partition("__")[0]
    per_cycle, cycles = f"{base}.sum.per_cycle_elapsed", f"{domain}__cycles_elapsed.avg"
    clocked: tuple[tuple[str, tuple[str, ...]], ...] = ((SM_CYCLES, (SM_CYCLES,)),)
    if domain not in ("sm", "smsp", "l1tex", "tpc", "idc"):
        clocked = ((cycles, (f"{cycles}.per_second", DURATION)), (cycles, (cycles,)))
    return (
        Recipe(f"{base}.sum{times}", (f"{base}.sum",), scaled),
        Recipe(
            f"{base} per second{times} x duration", (f"{base}.sum.per_second", DURATION), scaled
        ),
        *(
            Recipe(f"{base} per_cycle_elapsed{times} x {how}", (per_cycle, *needs), scaled)
            for how, needs in clocked
        ),
    )


def _dram_side(side: str) -> tuple[Recipe, ...]:
    recipes: list[Recipe] = []
    for base in (f"dram__bytes_{side}", f"dram__bytes_op_{side}"):
        first, *others = forms(base)
        recipes += [replace(first, spelling=True), *others]
    return (*recipes, *forms(f"dram__sectors_{side}", SECTOR_BYTES))


@dataclass(frozen=True, slots=True)
class Sass:
    """The add, multiply and multiply-add counters of threads that were not predicated off.

    ``letter`` and ``form`` as in the opcodes ("f" and "2" of FFMA2), ``lanes`` a thread works on.
    """

    letter: str
    form: str = ""
    lanes: float = 1.0

    def counters(self, unit: str = "smsp") -> tuple[str, ...]:
        """The base names, the multiply-add last."""
        return _sass_counters(unit, self.letter, self.form)[:3]

    def read(self, reader: QuantityReader) -> Reading | None:
        """The operations, by unit from its three counters, else from one of all three."""
        for unit in ("smsp", "sm"):
            found = [reader.read(forms(base)) for base in self.counters(unit)]
            if None not in found:
                add, mul, fma = (one for one in found if one is not None)
                value = self.lanes * (add.value + mul.value + 2.0 * fma.value)
                return Reading(value, _sass_said(self, unit, add.how))
        for unit in ("smsp", "sm"):
            # It takes a multiply-add as two.
            whole = reader.read(forms(_sass_counters(unit, self.letter, self.form)[3]))
            if whole is not None:
                return Reading(self.lanes * whole.value, whole.how)
        return None


@cache
def _sass_counters(unit: str, letter: str, form: str) -> tuple[str, ...]:
    """The base names of add, multiply and multiply-add, and of all three together."""
    words = [f"{letter}{op}{form}" for op in ("add", "mul", "fma")]
    named = (*(f"op_{word}" for word in words), f"ops_{'_'.join(words)}")
    return tuple(f"{unit}__sass_thread_inst_executed_{name}_pred_on" for name in named)


@cache
def _sass_said(sass: Sass, unit: str, how: str) -> str:
    first, mul, fma = sass.counters(unit)
    short = (name.removeprefix(f"{unit}__sass_thread_inst_executed_op_") for name in (mul, fma))
    names = ", ".join((first, *short)).replace("_pred_on", "")
    form = how.removeprefix(first).lstrip()
    form = "SASS counters" if form == ".sum" else form
    return f"{form} ({names})" + (", two lanes an instruction" if sass.lanes == 2.0 else "")


FP64, FP32, FP16 = Sass("d"), Sass("f"), Sass("h", lanes=2.0)
PACKED_FP32 = Sass("f", form="2", lanes=2.0)
_SM_CYCLES = (
    *(
        Recipe(
            f"{unit}__cycles_elapsed",
            (f"{unit}__cycles_elapsed.avg.per_second", DURATION),
            _product,
        )
        for unit in ("smsp", "sm", "gpc")
    ),
    *_plain("smsp__cycles_elapsed.avg", "sm__cycles_elapsed.avg"),
)
_L1_SECTORS = tuple(
    f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}.sum"
    for space in ("global", "local")
    for op in ("ld", "st")
)
_L1_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
L2_FROM_L1 = forms("lts__t_sectors_srcunit_tex", SECTOR_BYTES)
# Field of a measurement -> the ways to it.
RECIPES: dict[str, tuple[Recipe, ...]] = {
    "duration_s": (
        *_plain(DURATION, "gpu__time_duration.avg", "gpu__time_duration_measured_user.sum"),
        *(
            Recipe(
                f"{unit}__cycles_elapsed.{most} over its rate",
                (f"{unit}__cycles_elapsed.{most}", f"{unit}__cycles_elapsed.{rate}.per_second"),
                _ratio,
            )
            for unit, most in (
                ("gpc", "max"),
                ("sm", "max"),
                ("sm", "avg"),
                ("gpc", "avg"),
                ("smsp", "max"),
                ("smsp", "avg"),
            )
            for rate in ("avg", "max")
        ),
    ),
    "dram_read_bytes": _dram_side("read"),
    "dram_write_bytes": _dram_side("write"),
    "dram_bytes": (*forms("dram__bytes"), *forms("dram__sectors", SECTOR_BYTES)),
    "l2_bytes": (
        *forms("lts__t_bytes"),
        *forms("lts__t_sectors", SECTOR_BYTES),
        Recipe(
            "lts2xbar bytes per second x duration",
            ("derived__lts__lts2xbar_bytes.sum.per_second", DURATION),
            _product,
        ),
    ),
    # Loads and stores alike. LSU write-back, which NVIDIA's own L1 roofline uses, has loads only.
    "l1_bytes": (
        *forms("l1tex__t_bytes"),
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
    "sm_active_percent": (
        *(
            Recipe(f"{part} over {whole}", (part, whole), _share)
            for part, whole in (
                ("sm__cycles_active.avg", "sm__cycles_elapsed.max"),
                ("sm__cycles_active.avg", "sm__cycles_elapsed.avg"),
                ("sm__cycles_active.avg", "gpc__cycles_elapsed.max"),
                ("smsp__cycles_active.avg", "smsp__cycles_elapsed.avg"),
                ("sm__cycles_active.avg", SM_CYCLES),
            )
        ),
        *_plain("sm__cycles_active.avg.pct_of_peak_sustained_elapsed"),
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
