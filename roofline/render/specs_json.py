"""The hardware registry as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from roofline.specs import Source, Spec
from roofline.specs.table import PeakRow, parameters, peak_rows, used_sources

SCHEMA = "roofline.specs/1"


def document(specs: Sequence[Spec], sources: Mapping[str, Source]) -> str:
    """The same as JSON: parameters and peaks in SI, each with its source key."""
    used = dict.fromkeys(key for spec in specs for key in used_sources(spec))
    content = {
        "schema": SCHEMA,
        "gpus": [_gpu(spec) for spec in specs],
        "sources": {
            key: {
                "kind": sources[key].kind,
                "title": sources[key].title,
                "url": sources[key].url,
                "read": sources[key].read.isoformat(),
            }
            for key in used
        },
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)


def _gpu(spec: Spec) -> dict[str, Any]:
    return {
        "key": spec.key,
        "names": list(spec.names),
        "pci_ids": list(spec.pci_ids),
        "family": spec.family,
        "chip": spec.chip,
        "compute_capability": spec.compute_capability,
        "laptop": spec.laptop,
        "memory_type": spec.memory_type,
        "read": spec.read.isoformat(),
        "parameters": {
            row.field: {"value": row.value, "source": row.source} for row in parameters(spec)
        },
        "dram_bytes_per_s": spec.dram_bytes_per_s,
        "operations": [_operation(row) for row in peak_rows(spec)],
        "published": {
            key: {"value": value, "source": spec.sources[f"published.{key}"]}
            for key, value in spec.published.items()
        },
        "lacks": list(spec.lacks),
        "unknown": list(spec.unknown),
        "known_differences": dict(spec.known_differences),
        "note": spec.note,
    }


def _operation(row: PeakRow) -> dict[str, Any]:
    return {
        "operation": row.key,
        "variant": row.variant or None,
        "per_clock_and_sm": row.per_clock,
        "source": row.source,
        "clock_hz": row.clock_hz,
        "operations_per_s": row.peak,
        "ridge": row.ridge,
        "published": None if row.published is None else row.published.published,
        "published_source": None if row.published is None else row.published.source,
    }
