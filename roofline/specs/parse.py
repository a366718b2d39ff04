"""Spec files to values: which entries there are, and what each becomes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from roofline.specs.entries import Table, tables
from roofline.specs.spec import FP16_ACCUMULATE, Architecture, Source, Spec

KINDS = ("vendor", "quoted", "measured", "derived", "unverified")

# Key in the file -> field of the value, and what one unit of the file is in SI.
GPU_NUMBERS = {
    "sm_count": ("sm_count", 1),
    "base_clock_mhz": ("base_clock_hz", 1e6),
    "boost_clock_mhz": ("boost_clock_hz", 1e6),
    "tensor_clock_mhz": ("tensor_clock_hz", 1e6),
    "memory_gb": ("memory_bytes", 1e9),
    "memory_clock_mhz": ("memory_clock_hz", 1e6),
    "memory_bus_bits": ("memory_bus_bits", 1),
    "bandwidth_gbs": ("bandwidth_bytes_per_s", 1e9),
    "l2_mib": ("l2_bytes", 2**20),
    "tdp_w": ("power_w", 1),
    "mig_memory_slices": ("mig_memory_slices", 1),
}
ARCHITECTURE_NUMBERS = {
    "l1_bytes": ("l1_bytes_per_clock", 1),
    "l1_kib_per_sm": ("l1_bytes_per_sm", 1024),
    "shared_kib_per_sm": ("shared_bytes_per_sm", 1024),
}
LISTS = ("names", "pci_ids", "laptop_pci_ids", "lacks", "unknown", "checked_against")
TERA = 1e12


def parse_sources(path: Path, text: str) -> dict[str, Source]:
    """The sources that a folder's ``sources.toml`` lists."""
    found = {}
    for key, content in tables(path, text).items():
        table = Table(path, key, content, {})
        kind = table.need("kind", str)
        if kind not in KINDS:
            raise table.wrong("kind", f"{kind!r} is not one of {', '.join(KINDS)}")
        found[key] = Source(
            key=key,
            kind=kind,
            title=table.need("title", str),
            url=table.take("url", str),
            read=table.need("read", date),
        )
        table.finish()
    return found


def parse_architectures(
    path: Path, text: str, *, sources: Mapping[str, Source], operations: tuple[str, ...]
) -> dict[str, Architecture]:
    """The rates by compute capability that a folder's ``architectures.toml`` lists."""
    content = tables(path, text)
    content.pop("read", None)
    found = {}
    for capability, entry in content.items():
        table = Table(path, capability, entry, sources)
        keys = with_accumulators(operations)
        values: dict[str, Any] = dict(table.numbers(ARCHITECTURE_NUMBERS))
        values |= {name: table.rates(name, keys) for name in ("dense", "half_rate", "mma_sync")}
        found[capability] = Architecture(
            compute_capability=capability,
            title=table.need("title", str),
            sparse=table.rates("sparse", operations),
            mma_sync_sparse=table.rates("mma_sync_sparse", operations),
            at_boost_clock=table.words("at_boost_clock"),
            note=table.take("note", str),
            sources=table.origins,
            **values,
        )
        table.finish()
    return found


def parse_family(
    path: Path,
    text: str,
    *,
    sources: Mapping[str, Source],
    architectures: Mapping[str, Architecture],
    operations: tuple[str, ...],
    layer: int,
) -> dict[str, Spec]:
    """The GPUs of one family file by key."""
    content = tables(path, text)
    day = content.pop("read", None)
    found = {}
    for key, entry in content.items():
        table = Table(path, key, entry, sources)
        found[key] = _spec(table, path.stem, day, architectures, operations, layer)
        table.finish()
    return found


def _spec(
    table: Table,
    family: str,
    day: Any,
    architectures: Mapping[str, Architecture],
    operations: tuple[str, ...],
    layer: int,
) -> Spec:
    names, capability = table.words("names"), table.need("compute_capability", str)
    if not names:
        raise table.wrong("names", "a GPU needs at least one name")
    if capability not in architectures:
        raise table.wrong("compute_capability", f"architectures.toml has no {capability!r}")
    read = table.take("read", date, None) or day
    if read is None:
        raise table.wrong("read", "there is no date", hint="read = 2026-11-29 in its first line")
    if not isinstance(read, date):
        raise table.wrong("read", f"{read!r} is not a date")
    keys = with_accumulators(operations)
    rate_class = "full"
    if "accumulate_rate" in table.left:
        rate_class = table.sourced(
            "accumulate_rate", "accumulate_rate", _is_rate_class, '"full" or "half"'
        )
    values: dict[str, Any] = dict(table.numbers(GPU_NUMBERS))
    values |= {name: table.words(name) for name in LISTS if name != "names"}
    return Spec(
        key=table.name,
        family=family,
        names=names,
        chip=table.need("chip", str),
        compute_capability=capability,
        architecture=architectures[capability],
        read=read,
        laptop=table.take("laptop", bool, False),
        memory_type=table.take("memory_type", str),
        accumulate_rate=rate_class,
        overrides=table.rates("rates", keys),
        published=table.rates("published", keys, TERA),
        published_sparse=table.rates("published_sparse", keys, TERA),
        known_differences=table.reasons("known_differences"),
        note=table.take("note", str),
        sources=table.origins,
        layer=layer,
        **values,
    )


def _is_rate_class(value: Any) -> bool:
    return value in ("full", "half")


def with_accumulators(operations: tuple[str, ...]) -> tuple[str, ...]:
    """Operation keys, and those of FP16 accumulation."""
    return (*operations, *(f"{k}{FP16_ACCUMULATE}" for k in ("tensor_fp16", "tensor_fp8")))
