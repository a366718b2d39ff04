"""A folder of baselines: one JSON file a GPU, nothing personal in it."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from roofline import __version__
from roofline.compare.codec import decode, encode
from roofline.errors import InputError, UsageError
from roofline.files import read_text, write_text
from roofline.model import Analysis, Measurement, Result
from roofline.text.names import last_part

SCHEMA = "roofline.baseline/1"


def baseline_path(folder: Path, analysis: Analysis) -> Path:
    """The file in ``folder`` for the GPUs of ``analysis``: "nvidia-h100-80gb-hbm3.json"."""
    names = sorted({r.measurement.device.name or "unknown-gpu" for r in analysis.results})
    slug = re.sub(r"[^a-z0-9]+", "-", "+".join(names).lower()).strip("-")
    return folder / f"{slug or 'unknown-gpu'}.json"


def load_baseline(path: Path) -> Analysis:
    """Read a baseline.

    Raises:
        InputError: there is none, it cannot be read, or it is not one.

    """
    if not os.path.lexists(path):
        others = sorted(p.name for p in path.parent.glob("*.json"))
        raise InputError(
            f"no baseline {path}",
            why=f"the folder has {', '.join(others)}" if others else None,
            hint="--update-baseline makes it from AFTER",
        )
    text = read_text(path)
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise InputError(f"{path} is not a baseline", why=f"its schema is not {SCHEMA}")
        return decode(Analysis, data["analysis"])
    except (ValueError, TypeError, KeyError, StopIteration, RecursionError) as error:
        raise InputError(
            f"cannot read the baseline {path}",
            why=str(error)[:200],
            hint="make it anew with --update-baseline",
        ) from error


def save_baseline(path: Path, analysis: Analysis) -> None:
    """Write ``analysis`` over the baseline at ``path``, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path.parent}", why=error.strerror) from error
    data = {
        "schema": SCHEMA,
        "version": __version__,
        "analysis": _finite(encode(without_personal(analysis))),
    }
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n", force=True)


def without_personal(analysis: Analysis) -> Analysis:
    """``analysis`` with paths cut to their last part, and without process ids and NVTX texts."""
    return replace(
        analysis,
        sources=tuple(replace(s, path=last_part(s.path)) for s in analysis.sources),
        results=tuple(_clean(r) for r in analysis.results),
        groups=tuple(replace(g, result=_clean(g.result)) for g in analysis.groups),
    )


def _clean(result: Result) -> Result:
    measured: Measurement = result.measurement
    clean = replace(measured, source=last_part(measured.source), process=None, nvtx=())
    return replace(result, measurement=clean)


def _finite(value: Any) -> Any:
    """NaN and infinity measure nothing and are no JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(inner) for inner in value]
    return value
