"""What keeps the registry honest: derived peaks against published ones, entries against reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from typing import Any

from roofline.model import Device, Measurement, Note
from roofline.specs.lookup import MEMORY_TOLERANCE, Found, exact
from roofline.specs.registry import Registry
from roofline.specs.spec import FP16_ACCUMULATE, SPARSE, Spec

TOLERANCE = 0.02
BANDWIDTH = "bandwidth"
FP16, MMA_SYNC = "FP16 accumulate", "mma.sync"
MEASURED_CLOCK = "SM clock while profiled"


# --- published figures ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One published figure beside the derived one, both in SI units a second.

    ``derived`` is ``None`` where nothing can be derived; ``reason`` is what the entry's
    ``known_differences`` says of it.
    """

    key: str
    published: float
    derived: float | None
    source: str
    reason: str | None

    @property
    def difference(self) -> float | None:
        """Derived over published, less 1."""
        return None if self.derived is None else self.derived / self.published - 1

    @property
    def agrees(self) -> bool:
        """Whether the two are within 2 %, or nothing can be derived."""
        return self.difference is None or abs(self.difference) <= TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakRow:
    """One derived peak, as the JSON has it.

    ``variant`` is what makes it different from the usual one: ``FP16``, ``MMA_SYNC``. ``ridge`` is
    in operations a DRAM byte; what SMs, clock or bandwidth are needed for is ``None`` without them.
    """

    operation: str
    variant: str | None
    per_clock_and_sm: float
    source: str | None
    clock_hz: float | None
    operations_per_s: float | None
    ridge: float | None
    published: float | None
    published_source: str | None


def figures(spec: Spec) -> tuple[Figure, ...]:
    """Every published figure of an entry beside the derived one."""
    derived = {key: _peak(spec, key, rate) for key, rate in _rates(spec).items()}
    derived[BANDWIDTH] = spec.dram_bytes_per_s
    rows = [(key, value, f"published.{key}") for key, value in spec.published.items()]
    rows += [(k + SPARSE, v, f"published_sparse.{k}") for k, v in spec.published_sparse.items()]
    if spec.bandwidth_bytes_per_s is not None:
        rows.append((BANDWIDTH, spec.bandwidth_bytes_per_s, "bandwidth_bytes_per_s"))
    return tuple(
        Figure(
            key=key,
            published=value,
            derived=derived.get(key),
            source=spec.sources[place],
            reason=spec.known_differences.get(key),
        )
        for key, value, place in rows
    )


def peak_rows(spec: Spec) -> tuple[PeakRow, ...]:
    """Every derived peak of an entry: the usual ones, FP16 accumulation, and Hopper's mma.sync."""
    usual, slow = spec.rates(), spec.architecture.mma_sync
    rows = []
    for key, rate in _rates(spec).items():
        if key in usual or rate != usual[key.replace(FP16_ACCUMULATE, "")]:
            rows.append(_row(spec, key, None if key in usual else FP16, rate))
    for key, rate in spec.rates(tensor_path="mma_sync").items() if slow else ():
        if rate != usual.get(key):
            rows.append(_row(spec, key, MMA_SYNC, rate))
    return tuple(rows)


def _row(spec: Spec, key: str, variant: str | None, rate: float) -> PeakRow:
    peak, bandwidth = _peak(spec, key, rate), spec.dram_bytes_per_s
    table, dense = ("published_sparse" if SPARSE in key else "published"), key.removesuffix(SPARSE)
    published = getattr(spec, table).get(dense) if variant != MMA_SYNC else None
    return PeakRow(
        operation=key.replace(FP16_ACCUMULATE, ""),
        variant=variant,
        per_clock_and_sm=rate,
        source=_rate_source(spec, key, variant),
        clock_hz=spec.clock_hz(key),
        operations_per_s=peak,
        ridge=None if peak is None or bandwidth is None else peak / bandwidth,
        published=published,
        published_source=None if published is None else spec.sources[f"{table}.{dense}"],
    )


def used_sources(spec: Spec) -> list[str]:
    """The keys of all sources of an entry, in the order in which they are met."""
    keys = [*spec.sources.values(), *(row.source for row in peak_rows(spec) if row.source)]
    return list(dict.fromkeys([*keys, *spec.checked_against]))


def _rates(spec: Spec) -> dict[str, float]:
    """Operations a clock and SM, by the key that a published figure for them has."""
    found, accumulating = spec.rates(), [k for k in spec.all_rates() if FP16_ACCUMULATE in k]
    fp16 = spec.rates({key.removesuffix(FP16_ACCUMULATE): "fp16" for key in accumulating})
    for key in accumulating:
        for suffix in ("", SPARSE):
            plain = key.removesuffix(FP16_ACCUMULATE) + suffix
            if plain in fp16:
                found[key + suffix] = fp16[plain]
    return found


def _peak(spec: Spec, key: str, rate: float) -> float | None:
    clock = spec.clock_hz(key)
    return None if spec.sm_count is None or clock is None else rate * spec.sm_count * clock


def _rate_source(spec: Spec, key: str, variant: str | None) -> str | None:
    """The source of a rate: the entry's own, the half-rate class's, or the architecture's."""
    part = spec.architecture
    if key.endswith(SPARSE):
        dense = key.removesuffix(SPARSE).removesuffix(FP16_ACCUMULATE)
        return part.sources.get(f"sparse.{dense}")
    if key in spec.overrides:
        return spec.sources.get(f"rates.{key}")
    table = "dense"
    if variant == MMA_SYNC:
        table = "mma_sync"
    elif spec.accumulate_rate == "half" and key in part.half_rate:
        table = "half_rate"
    return part.sources.get(f"{table}.{key}")


def problems(specs: Iterable[Spec]) -> tuple[Note, ...]:
    """What is wrong with a set of entries; empty where all is well.

    Published and derived figures apart without a reason, a reason without need, an unknown key
    in a list, or two entries that nothing could tell apart.
    """
    specs = tuple(specs)
    found = [note for spec in specs for note in _problems_of(spec)]
    same = defaultdict(list)
    for spec in specs:
        for name in {exact(name) for name in spec.names}:
            same[name].append(spec)
    for name, sharing in same.items():
        for one, other in combinations(sharing, 2):
            if _tells(one) == _tells(other):
                twins = {"spec": one.key, "other": other.key, "name": name}
                found.append(Note(code="same_device", facts=twins))
    return tuple(found)


def _problems_of(spec: Spec) -> Iterator[Note]:
    compared = {figure.key: figure for figure in figures(spec)}
    for key, figure in compared.items():
        if not figure.agrees and figure.reason is None:
            values = {"published": figure.published, "derived": figure.derived}
            yield _note("figure_apart", spec, key, source=figure.source, **values)
    for key in spec.known_differences:
        if key not in compared or compared[key].agrees:
            yield _note("needless_reason", spec, key)
    for key in (*spec.lacks, *spec.unknown):
        if key not in spec.architecture.dense and key not in spec.architecture.half_rate:
            yield _note("no_such_rate", spec, key, capability=spec.compute_capability)


def _note(code: str, spec: Spec, key: str, **facts: Any) -> Note:
    return Note(code=code, facts={"spec": spec.key, "key": key, **facts})


# What can tell two entries of one name apart.
_tells = attrgetter(
    *("layer", "sm_count", "memory_bus_bits", "memory_clock_hz", "memory_bytes"),
    *("boost_clock_hz", "pci_ids"),
)


# --- reports --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A quantity that both registry and report give.

    Both values are in ``unit``: "" (a count), "Hz", "bit", "B", "B/s", or "op/clk/SM". ``cause``
    is why they may differ; where it is ``None`` and they do, one of the two is wrong.
    """

    quantity: str
    registry: float
    report: float
    unit: str
    cause: Note | None = None

    @property
    def percent(self) -> float:
        """How far the report lies from the registry, in % of the registry's value."""
        return 100 * (self.report / self.registry - 1)

    @property
    def apart(self) -> bool:
        """Whether they are more than 2 % apart; memory is nominal in the registry."""
        tolerance = MEMORY_TOLERANCE if self.quantity == "memory" else TOLERANCE
        return abs(self.percent) > 100 * tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A device of a report and its entry: ``compared`` quantities, ``differences`` of them."""

    device: str | None
    found: Found
    compared: int
    differences: tuple[Difference, ...]


def check_devices(measurements: Iterable[Measurement], registry: Registry) -> tuple[Checked, ...]:
    """Check each device that occurs among the launches once, by all of its launches.

    Of a quantity that differs in several launches the largest difference is kept.
    """
    seen: dict[Device, dict[str, Difference]] = {}
    for m in measurements:
        worst, spec = seen.setdefault(m.device, {}), registry.find(m.device).spec
        for row in () if spec is None else compared(m, spec):
            if row.quantity not in worst or abs(row.percent) > abs(worst[row.quantity].percent):
                worst[row.quantity] = row
    return tuple(
        Checked(
            device=device.name,
            found=registry.find(device),
            compared=len(rows),
            differences=tuple(row for row in rows.values() if row.apart),
        )
        for device, rows in seen.items()
    )


def compared(m: Measurement, spec: Spec) -> tuple[Difference, ...]:
    """Every quantity that both registry and report give; ``spec`` is cut to a slice already."""
    device, clock, causes = m.device, m.sm_clock_hz, dict(_causes(m, spec))
    pairs: list[tuple[str, str, float | None, float | None]] = [
        ("SMs", "", spec.sm_count, device.sm_count),
        ("SM clock", "Hz", spec.boost_clock_hz, device.sm_clock_max_hz),
        (MEASURED_CLOCK, "Hz", spec.boost_clock_hz, clock),
        ("memory clock", "Hz", spec.memory_clock_hz, device.dram_clock_max_hz),
        ("memory bus", "bit", spec.memory_bus_bits, device.dram_bus_bits),
        ("memory", "B", spec.memory_bytes, device.memory_bytes),
        ("L2", "B", spec.l2_bytes, device.l2_bytes),
        ("DRAM bandwidth", "B/s", spec.dram_bytes_per_s, m.peaks.dram_bytes_per_s),
    ]
    if clock and device.sm_count:
        rates = spec.rates(m.accumulate, m.tensor_path)
        for key, peak in m.peaks.operations_per_s.items():
            pairs.append((key, "op/clk/SM", rates.get(key), peak / clock / device.sm_count))
    return tuple(
        Difference(quantity=what, registry=ours, report=theirs, unit=unit, cause=causes.get(what))
        for what, unit, ours, theirs in pairs
        if ours and theirs
    )


def _causes(m: Measurement, spec: Spec) -> Iterator[tuple[str, Note]]:
    """Why a quantity may differ although both are right."""
    device, clock, boost = m.device, m.sm_clock_hz, m.device.sm_clock_max_hz or spec.boost_clock_hz
    # Board partners and makers of laptops set clocks of their own.
    card = any("GeForce" in name or "TITAN" in name for name in spec.names)
    board = "laptop_clock" if spec.laptop else "partner_board" if card else None
    if board:
        yield "SM clock", Note(code=board)
    if clock and boost:
        if spec.base_clock_hz and abs(clock / spec.base_clock_hz - 1) <= TOLERANCE:
            yield MEASURED_CLOCK, Note(code="held_base_clock")
        elif clock < (1 - TOLERANCE) * boost:
            yield MEASURED_CLOCK, Note(code="below_boost", facts={"percent": 100 * clock / boost})
        elif board:
            yield MEASURED_CLOCK, Note(code=board)
    if spec.memory_share < 1:
        yield from ((what, Note(code="of_mig_slice")) for what in ("memory bus", "L2"))
        yield "DRAM bandwidth", Note(code="bandwidth_of_whole")
        return
    if card:
        yield "L2", Note(code="l2_differs")
    ours, theirs = spec.dram_bytes_per_s, m.peaks.dram_bytes_per_s
    if ours and theirs and device.dram_clock_max_hz and device.dram_bus_bits:
        maximum = 2 * device.dram_clock_max_hz * device.dram_bus_bits / 8
        if theirs < (1 - TOLERANCE) * maximum and abs(maximum / ours - 1) <= TOLERANCE:
            percent = 100 * theirs / maximum
            yield "DRAM bandwidth", Note(code="below_memory_clock", facts={"percent": percent})
