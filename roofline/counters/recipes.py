"""How each quantity is read: recipes over ncu's metric names, the most trusted first."""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from roofline.model import LONGEST_S, Metrics, Note

DURATION = "gpu__time_duration.sum"
_T = TypeVar("_T")
_Row = TypeVar("_Row", bound=tuple[str, ...] | tuple[Any, ...])
Number = Callable[[str], float | None]
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


def planned(metrics: Metrics, source: Any, plan: Callable[[Metrics, Any], _T]) -> _T:
    """The plan for ``source``, made once for all results with the same metrics.

    ``source`` is one of few tables that stay as they are: it is kept, and known by its identity.
    """
    memo = metrics.memo
    if memo is None:
        return plan(metrics, source)
    known: tuple[Any, _T] | None = memo.get(id(source))
    if known is None:  # what is kept with it keeps its place in memory, too
        known = memo[id(source)] = source, plan(metrics, source)
    return known[1]


def there(metrics: Metrics, rows: Iterable[_Row]) -> tuple[_Row, ...]:
    """The rows, which begin with a metric's name, of those that a result has."""
    return tuple(row for row in rows if metrics.has(row[0]))


def possible(metrics: Metrics, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
    """The recipes whose metrics a result has."""
    there = {name for recipe in recipes for name in recipe.needs if metrics.has(name)}
    there |= _OWN  # a reader may have what stands for them
    return tuple(recipe for recipe in recipes if there.issuperset(recipe.needs))


def all_possible(
    metrics: Metrics, table: Mapping[str, tuple[Recipe, ...]]
) -> tuple[tuple[str, tuple[Recipe, ...]], ...]:
    """The quantities of a table that a result may have, with the recipes that it allows."""
    found = ((name, possible(metrics, recipes)) for name, recipes in table.items())
    return tuple((name, recipes) for name, recipes in found if recipes)


def first(recipes: tuple[Recipe, ...], number: Number) -> Reading | None:
    """Apply the first recipe that the numbers allow; ``None`` where none does."""
    for recipe in recipes:
        values = []
        for name in recipe.needs:
            value = number(name)
            if value is None:
                break
            values.append(value)
        else:
            value = recipe.combine(*values)
            if value is not None:
                return Reading(value, recipe.how)
    return None


def read(recipes: tuple[Recipe, ...], metrics: Metrics) -> Reading | None:
    """Apply the first recipe that the metrics allow."""
    return first(planned(metrics, recipes, possible), metrics.number)


@cache
def _of_rates(recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
    return tuple(recipe for recipe in recipes if not _OWN.isdisjoint(recipe.needs))


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
        ways = planned(metrics, _SM_RATES if rates else _SM_CYCLES, possible)
        cycles = first(ways, self.number)
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
        recipes = planned(self.metrics, recipes, possible)
        if not recipes:
            return None
        found = first(_of_rates(recipes) if self._rates else recipes, self.number)
        if found is None or SM_CYCLES not in found.how:
            return found
        return Reading(found.value, found.how.replace(SM_CYCLES, self._cycles))

    def amount(self, base: str) -> float | None:
        """The sum of a counter over the kernel, from whichever form of it the report has."""
        found = self.read(forms(base))
        return None if found is None else found.value

    def get(self, quantity: str, recipes: tuple[Recipe, ...]) -> float | None:
        """Read a quantity; one that cannot be is not used, and noted."""
        return self.keep(quantity, self.read(recipes))

    def keep(self, quantity: str, reading: Reading | None) -> float | None:
        """Remember how a quantity was read, and give its value."""
        if reading is None:
            return None
        if not 0 <= reading.value <= (LONGEST_S if quantity == "duration" else math.inf):
            facts = {"quantity": quantity, "value": reading.value, "how": reading.how}
            self.notes.append(Note(code="impossible_counter", facts=facts))
            return None
        self.provenance[quantity] = reading.how
        return reading.value


@cache
def forms(base: str, factor: float = 1.0, *, spelling: bool = False) -> tuple[Recipe, ...]:
    """The ways to the sum of a counter over the kernel, times ``factor``."""
    times = "" if factor == 1.0 else f" x {factor:g}"

    def scaled(*values: float) -> float:
        return factor * math.prod(values, start=1.0)

    domain = base.partition("__")[0]
    per_cycle, cycles = f"{base}.sum.per_cycle_elapsed", f"{domain}__cycles_elapsed.avg"
    clocked: tuple[tuple[str, tuple[str, ...]], ...] = ((SM_CYCLES, (SM_CYCLES,)),)
    if domain not in ("sm", "smsp", "l1tex", "tpc", "idc"):
        clocked = ((cycles, (f"{cycles}.per_second", DURATION)), (cycles, (cycles,)))
    return (
        Recipe(f"{base}.sum{times}", (f"{base}.sum",), scaled, spelling=spelling),
        Recipe(
            f"{base} per second{times} x duration", (f"{base}.sum.per_second", DURATION), scaled
        ),
        *(
            Recipe(f"{base} per_cycle_elapsed{times} x {how}", (per_cycle, *needs), scaled)
            for how, needs in clocked
        ),
    )


# --- the language of recipes.toml -----------------------------------------------------------------

_SIGNS: dict[str, Callable[[float, float], float | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "x": operator.mul,
    "over": lambda top, bottom: top / bottom if bottom else None,
    "min": min,
}
_NAMED = {"duration": DURATION, "SM-cycles": SM_CYCLES}
_EVERY = re.compile(r"(also )?every (\w+)(?: x (\d+))?")


def ways(texts: Iterable[str]) -> tuple[Recipe, ...]:
    """The recipes of a quantity, as ``recipes.toml`` writes them."""
    return tuple(recipe for text in texts for recipe in _recipes(text))


def _recipes(text: str) -> tuple[Recipe, ...]:
    if every := _EVERY.fullmatch(text):
        return forms(every[2], float(every[3] or 1), spelling=bool(every[1]))
    said, _, formula = text.rpartition(": ")
    steps: list[tuple[str, float | str]] = []  # sign, and a number or a metric
    sign = "+"
    for word in formula.split():
        if word in _SIGNS:
            sign = word
        elif word.isdecimal():
            steps.append((sign, float(word)))
        else:
            both = dict.fromkeys(word.format(op) for op in ("ld", "st"))
            steps += [(sign, _NAMED.get(name, name)) for name in both]
    needs = tuple(step for _, step in steps if isinstance(step, str))
    if not said:
        told = (f" {sign} {step}" for sign, step in steps if isinstance(step, str))
        said = "".join(told)[3:]
    return (Recipe(said, needs, float if len(steps) == 1 else partial(_combined, steps)),)


def _combined(steps: Sequence[tuple[str, float | str]], *values: float) -> float | None:
    left, total = iter(values), 0.0
    for sign, step in steps:
        found = _SIGNS[sign](total, next(left) if isinstance(step, str) else step)
        if found is None:
            return None
        total = found
    return total


@cache
def tables() -> dict[str, Any]:
    """The tables of ``recipes.toml`` as they are written."""
    return read_table("recipes")


def read_table(name: str) -> dict[str, Any]:
    """A TOML file beside this one."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


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
# Field of a measurement -> the ways to it.
RECIPES = {name: ways(texts) for name, texts in tables()["quantities"].items()}
_SM_CYCLES, L2_FROM_L1, L2_PEAK = (
    ways(tables()["own"][name]) for name in ("sm_cycles", "l2_from_l1", "l2_peak")
)
_SM_RATES = _SM_CYCLES[:3]
OCCUPANCY_LIMITS: dict[str, str] = tables()["occupancy_limits"]
