"""Published figures against derived ones: what keeps the registry honest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from roofline.specs.names import exact
from roofline.specs.spec import FP16_ACCUMULATE, SPARSE, Spec

TOLERANCE = 0.02
BANDWIDTH = "bandwidth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
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


def compare(spec: Spec) -> tuple[Comparison, ...]:
    """Every published figure of an entry beside the derived one."""
    derived = _derived(spec)
    rows = [(key, value, f"published.{key}") for key, value in spec.published.items()]
    rows += [(k + SPARSE, v, f"published_sparse.{k}") for k, v in spec.published_sparse.items()]
    if spec.bandwidth_bytes_per_s is not None:
        rows.append((BANDWIDTH, spec.bandwidth_bytes_per_s, "bandwidth_bytes_per_s"))
    return tuple(
        Comparison(
            key=key,
            published=value,
            derived=derived.get(key),
            source=spec.sources[place],
            reason=spec.known_differences.get(key),
        )
        for key, value, place in rows
    )


def _derived(spec: Spec) -> dict[str, float]:
    if spec.sm_count is None or spec.boost_clock_hz is None:
        return {}
    found = dict(spec.peaks().operations_per_s)
    fp16 = spec.peaks(accumulate={"tensor_fp16": "fp16", "tensor_fp8": "fp16"}).operations_per_s
    for key in spec.all_rates():
        if key.endswith(FP16_ACCUMULATE):
            dense = key.removesuffix(FP16_ACCUMULATE)
            found[key] = fp16[dense]
            if dense + SPARSE in fp16:
                found[key + SPARSE] = fp16[dense + SPARSE]
    if spec.dram_bytes_per_s is not None:
        found[BANDWIDTH] = spec.dram_bytes_per_s
    return found


def problems(specs: Iterable[Spec]) -> tuple[str, ...]:
    """What is wrong with a set of entries, a sentence each; empty where all is well.

    Published and derived figures apart without a reason, a reason without need, an unknown key
    in a list, or two entries that nothing could tell apart.
    """
    specs = tuple(specs)
    found = [text for spec in specs for text in _problems_of(spec)]
    same = defaultdict(list)
    for spec in specs:
        for name in {exact(name) for name in spec.names}:
            same[name].append(spec)
    found += [
        f"{one.key} and {other.key} are both {name} and nothing differs."
        for name, sharing in same.items()
        for one, other in combinations(sharing, 2)
        if _tells(one) == _tells(other)
    ]
    return tuple(found)


def _problems_of(spec: Spec) -> list[str]:
    compared = {row.key: row for row in compare(spec)}
    apart = [
        f"{spec.key}: {row.key} is published as {row.published:.4g} ({row.source}) but "
        f"{row.derived:.4g} follows from the entry; correct it or list the reason under "
        f"[{spec.key}.known_differences]."
        for row in compared.values()
        if not row.agrees and row.reason is None
    ]
    needless = [
        f"{spec.key}: known_differences lists {key}, which does not differ."
        for key in spec.known_differences
        if key not in compared or compared[key].agrees
    ]
    rates = {*spec.architecture.dense, *spec.architecture.half_rate}
    stray = [
        f"{spec.key}: {key} is no rate of {spec.compute_capability}."
        for key in (*spec.lacks, *spec.unknown)
        if key not in rates
    ]
    return apart + needless + stray


def _tells(spec: Spec) -> tuple[object, ...]:
    return (
        spec.layer,
        spec.sm_count,
        spec.memory_bus_bits,
        spec.memory_clock_hz,
        spec.memory_bytes,
        spec.boost_clock_hz,
        spec.pci_ids,
    )
