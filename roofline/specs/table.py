"""What there is to say about one entry, row by row: every number with where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from roofline.specs.audit import BANDWIDTH, Comparison, compare
from roofline.specs.parse import GPU_NUMBERS
from roofline.specs.spec import FP16_ACCUMULATE, SPARSE, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A physical parameter as the file has it: ``value`` in SI, ``source`` a source key."""

    field: str
    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakRow:
    """One derived peak.

    ``key`` is an operation key, ``variant`` "" or what makes the row different from the usual:
    "FP16 accumulate", "mma.sync". ``per_clock`` is operations a clock and SM, ``peak``
    operations a second, ``ridge`` operations a DRAM byte; ``None`` where SMs, clock or bandwidth
    are not known. ``published`` and ``difference`` are there where the vendor prints a figure.
    """

    key: str
    variant: str
    per_clock: float
    source: str | None
    clock_hz: float | None
    peak: float | None
    ridge: float | None
    published: Comparison | None


def parameters(spec: Spec) -> tuple[Parameter, ...]:
    """The stored numbers of an entry, in the order of the file."""
    return tuple(
        Parameter(field=field, value=value, source=spec.sources.get(field, ""))
        for field, _ in GPU_NUMBERS.values()
        if (value := getattr(spec, field)) is not None
    )


def bandwidth(spec: Spec) -> Comparison | None:
    """The published DRAM bandwidth beside the derived one."""
    return next((row for row in compare(spec) if row.key == BANDWIDTH), None)


def peak_rows(spec: Spec) -> tuple[PeakRow, ...]:
    """Every derived peak of an entry: the usual ones, FP16 accumulation, and Hopper's mma.sync."""
    published = {row.key: row for row in compare(spec)}
    rows = [
        _row(spec, key, "", rate, published.get(key), tensor_path=None)
        for key, rate in spec.rates().items()
    ]
    rows += _accumulating_in_fp16(spec, published)
    if spec.architecture.mma_sync:
        rows += [
            _row(spec, key, "mma.sync", rate, None, tensor_path="mma_sync")
            for key, rate in spec.rates(tensor_path="mma_sync").items()
            if rate != spec.rates().get(key)
        ]
    return tuple(rows)


def used_sources(spec: Spec) -> list[str]:
    """The keys of all sources of an entry, in the order in which they are met."""
    keys = [*spec.sources.values(), *(row.source for row in peak_rows(spec) if row.source)]
    return list(dict.fromkeys([*keys, *spec.checked_against]))


def _accumulating_in_fp16(spec: Spec, published: dict[str, Comparison]) -> Iterator[PeakRow]:
    usual = spec.rates()
    keys = [key for key in spec.all_rates() if key.endswith(FP16_ACCUMULATE)]
    fp16 = spec.rates({key.removesuffix(FP16_ACCUMULATE): "fp16" for key in keys})
    for key in keys:
        for suffix in ("", SPARSE):
            plain = key.removesuffix(FP16_ACCUMULATE) + suffix
            if plain in fp16 and fp16[plain] != usual[plain]:
                figure = published.get(key + suffix)
                yield _row(spec, plain, "FP16 accumulate", fp16[plain], figure, tensor_path=None)


def _row(
    spec: Spec,
    key: str,
    variant: str,
    rate: float,
    published: Comparison | None,
    *,
    tensor_path: str | None,
) -> PeakRow:
    clock = spec.clock_hz(key)
    known = spec.sm_count is not None and clock is not None
    peak = rate * (spec.sm_count or 0) * (clock or 0) if known else None
    bandwidth = spec.dram_bytes_per_s
    return PeakRow(
        key=key,
        variant=variant,
        per_clock=rate,
        source=_rate_source(spec, key, variant, tensor_path),
        clock_hz=clock,
        peak=peak,
        ridge=None if peak is None or bandwidth is None else peak / bandwidth,
        published=published,
    )


def _rate_source(spec: Spec, key: str, variant: str, tensor_path: str | None) -> str | None:
    """The source of a rate: the entry's own, the half-rate class's, or the architecture's."""
    part = spec.architecture
    dense = key.removesuffix(SPARSE)
    if variant == "FP16 accumulate":
        dense += FP16_ACCUMULATE
    if key.endswith(SPARSE):
        return part.sources.get(f"sparse.{key.removesuffix(SPARSE)}")
    if dense in spec.overrides:
        return spec.sources.get(f"rates.{dense}")
    if tensor_path == "mma_sync":
        return part.sources.get(f"mma_sync.{dense}")
    if spec.accumulate_rate == "half" and dense in part.half_rate:
        return part.sources.get(f"half_rate.{dense}")
    return part.sources.get(f"dense.{dense}")
