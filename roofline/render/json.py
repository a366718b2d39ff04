"""JSON of the schema ``roofline.analysis/1``: valid JSON always, one launch or kernel a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from roofline import __version__
from roofline.model import (
    Analysis,
    Device,
    Group,
    Measurement,
    Missing,
    Note,
    PeakSet,
    Result,
    Source,
    Stall,
)
from roofline.render.summary import missing_of
from roofline.text.names import last_part
from roofline.text.notes import note_text
from roofline.view import Chosen, chosen

SCHEMA = "roofline.analysis/1"
# How the capture was told to work; other settings could say more about a person than is needed.
_SETTINGS = ("clock_control", "cache_control", "replay_mode")
_DEVICE, _MISSING, _STALL = (
    tuple(field.name for field in fields(kind)) for kind in (Device, Missing, Stall)
)
_RATES = ("dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s")


def render(view: Analysis | Chosen) -> str:
    """All of ``view`` as JSON text: launches in file order, kernels in the order chosen."""
    return "".join(chunks(view))


def chunks(view: Analysis | Chosen, timeline: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The text of ``render`` piece by piece, so that a large one is never held whole.

    ``timeline`` is what ``render.joined.document`` says, where there is a timeline.
    """
    part = chosen(view)
    head = {
        "schema": SCHEMA,
        "version": __version__,
        "profiled": {
            "launches": part.total_launches,
            "groups": part.total_groups,
            "duration_s": part.total_s,
        },
        "filters": list(part.filters),
        "sources": [_source(s) for s in part.analysis.sources],
    }
    if timeline is not None:
        head["timeline"] = timeline
    yield "{" + ",\n".join(f"{_dump(key)}: {_dump(value)}" for key, value in head.items())
    pairs = zip(part.analysis.results, part.shares, strict=True)
    yield from _array("launches", (launch(r, share) for r, share in pairs))
    yield from _array("groups", (group(g) for g in part.analysis.groups))
    yield "}\n"


def launch(result: Result, share: float | None = None) -> dict[str, Any]:
    """One launch as the schema has it; ``share`` is of all that was profiled (0 to 1)."""
    return (
        _identity(result.measurement)
        | _measured(result.measurement)
        | _judged(result)
        | {"share": share}
    )


def group(group: Group) -> dict[str, Any]:
    """The launches of one kernel together: the fields of a launch from sums, and the spread."""
    return launch(group.result, group.share) | {
        "launches": list(group.launches),
        "total_s": group.total_s,
        "min_s": group.min_s,
        "max_s": group.max_s,
        "bounds": dict(group.bounds),
    }


def _identity(m: Measurement) -> dict[str, Any]:
    return {
        "source": last_part(m.source),
        "range": m.range,
        "index": m.index,
        "kind": str(m.kind),
        "name": m.name,
        "demangled": m.demangled,
        "grid": None if m.grid is None else list(m.grid),
        "block": None if m.block is None else list(m.block),
        "device": _device(m.device, m),
        "process": m.process,
        "nvtx": list(m.nvtx),
        "count": m.count,
        "ncu_version": m.ncu_version,
        "settings": {key: m.settings[key] for key in _SETTINGS if key in m.settings},
    }


def _device(device: Device, m: Measurement) -> dict[str, Any]:
    return _flat(device, _DEVICE) | {"sm_clock_hz": m.sm_clock_hz, "dram_clock_hz": m.dram_clock_hz}


def _measured(m: Measurement) -> dict[str, Any]:
    metrics = {f"utilization.{u.unit}": u.metric for u in m.units}
    return {
        "duration_s": m.duration_s,
        "dram_bytes": m.dram_bytes,
        "dram_read_bytes": m.dram_read_bytes,
        "dram_write_bytes": m.dram_write_bytes,
        "l2_bytes": m.l2_bytes,
        "l1_bytes": m.l1_bytes,
        "operations": dict(m.operations),
        "unmeasured": list(m.unmeasured),
        "accumulate": dict(m.accumulate),
        "tensor_path": m.tensor_path,
        "arithmetic_intensity": m.arithmetic_intensity,
        "dram_bytes_per_s": m.dram_bytes_per_s,
        "operations_per_s": m.operations_per_s,
        "utilization": {u.unit: u.percent for u in m.units},
        "waves": m.waves,
        "occupancy_percent": m.occupancy_percent,
        "theoretical_occupancy_percent": m.theoretical_occupancy_percent,
        "occupancy_limiter": m.occupancy_limiter,
        "registers_per_thread": m.registers_per_thread,
        "shared_memory_bytes": m.shared_memory_bytes,
        "sm_active_percent": m.sm_active_percent,
        "stalls": [_flat(s, _STALL) for s in m.stalls],
        "passes": m.passes,
        "provenance": dict(m.provenance) | metrics,
        "notes": [_note(n) for n in m.notes],
    }


def _judged(result: Result) -> dict[str, Any]:
    v = result.verdict
    return {
        "bound": str(v.bound),
        "limiter": v.limiter,
        "limiter_percent": v.limiter_percent,
        "nearest": v.nearest,
        "co_limited": v.co_limited,
        "cause": v.cause,
        "cause_text": v.cause_text,
        "confidence": str(v.confidence),
        "confidence_reasons": list(v.confidence_reasons),
        "floor_s": v.floor_s,
        "next_limiter": v.next_limiter,
        "next_floor_s": v.next_floor_s,
        "dominant": v.dominant,
        "ridge": v.ridge,
        "ridge_side": v.ridge_side,
        "roof_percent": dict(v.roof_percent),
        "context": v.context,
        "claim": v.claim,
        "hint": v.hint,
        "refute": v.refute,
        "try_first": list(v.try_first),
        "avoid": list(v.avoid),
        "peaks": _peaks(result.peaks),
        "peak_sources": {p.kind: p.source for p in result.peaks.of_kind()},
        "spec": result.peaks.spec,
        "missing": [_flat(m, _MISSING) for m in missing_of(result)],
    }


def _peaks(peaks: PeakSet) -> dict[str, Any]:
    kinds = peaks.of_kind()
    rates = {
        rate: {p.kind: value for p in kinds if (value := getattr(p, rate)) is not None}
        for rate in _RATES
    }
    keys = dict.fromkeys(key for p in kinds for key in p.operations_per_s)
    operations = {
        key: {p.kind: p.operations_per_s[key] for p in kinds if key in p.operations_per_s}
        for key in keys
    }
    return rates | {"operations_per_s": operations}


def _flat(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    """A value of plain fields; dataclasses.asdict copies them deeply, which takes longer."""
    return {name: getattr(value, name) for name in names}


def _note(note: Note) -> dict[str, Any]:
    return {"code": note.code, "text": note_text(note)}


def _source(source: Source) -> dict[str, Any]:
    return {
        "path": last_part(source.path),
        "launches": source.launches,
        "notes": [_note(n) for n in source.notes],
    }


def _array(name: str, items: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield f",\n{_dump(name)}: ["
    separator = "\n"
    for item in items:
        yield separator + _dump(item)
        separator = ",\n"
    yield "]"


def _dump(value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError:  # a NaN or an infinity somewhere: it was not measured
        return json.dumps(_finite(value), allow_nan=False, ensure_ascii=False)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(inner) for inner in value]
    return value
