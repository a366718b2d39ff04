"""A folder of baselines: one JSON file a GPU, nothing personal in it."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from roofline import __version__
from roofline.errors import InputError, UsageError, why_unparsed
from roofline.files import read_text, write_text
from roofline.foreign import cleaned
from roofline.model import LONGEST_S, Analysis, Result
from roofline.text.names import last_part


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a baseline file holds; what a later version adds to it is ignored."""

    schema: Literal["roofline.baseline/1"] = "roofline.baseline/1"
    version: str
    analysis: Analysis


def baseline_path(folder: Path, analysis: Analysis) -> Path:
    """The file in ``folder`` for the GPUs of ``analysis``: "nvidia-h100-80gb-hbm3.json"."""
    return _file(folder, *_gpus(analysis))


def _gpus(analysis: Analysis) -> list[str]:
    return sorted({r.measurement.device.name or "unknown-gpu" for r in analysis.results})


def _file(folder: Path, *gpus: str) -> Path:
    slug = re.sub(r"[^a-z0-9]+", "-", "+".join(gpus).lower()).strip("-")
    return folder / f"{slug or 'unknown-gpu'}.json"


def baseline_of(folder: Path, analysis: Analysis, after: str) -> Analysis:
    """What ``folder`` holds to compare ``analysis`` with; ``after`` is what was typed for it."""
    path, gpus = baseline_path(folder, analysis), _gpus(analysis)
    alone = [gpu for gpu in gpus if _file(folder, gpu).exists()]
    if len(gpus) > 1 and alone and not path.exists():
        # To make one of all that is here would let what got slower stand for what it was.
        raise InputError(
            f"no baseline {path}",
            why=f"{after} is of {' and '.join(gpus)}; the folder has {' and '.join(alone)} alone",
            hint=f"roofline compare --baseline {shlex.quote(str(folder))} with the captures of "
            "each GPU on their own",
        )
    return load_baseline(path, after)


def load_baseline(path: Path, after: str = "AFTER") -> Analysis:
    """The baseline at ``path``, or an ``InputError`` where there is none that can be read.

    ``after`` is what is compared with it, as its remedies name it.
    """
    if path.parent.is_file():
        what, hint = f"{path.parent} is a file", f"roofline compare {path.parent} {after}"
        raise UsageError(what, why="--baseline takes a folder", hint=hint)
    folder = shlex.quote(str(path.parent))
    again = f"roofline compare --baseline {folder} --update-baseline {after}"
    if not os.path.lexists(path):
        others = sorted(p.name for p in path.parent.glob("*.json"))
        raise InputError(
            f"no baseline {path}",
            why=f"the folder has {', '.join(others)}" if others else None,
            hint=again,
        )
    import msgspec  # here, as help needs it not

    try:
        found = cleaned(msgspec.json.decode(read_text(path)))
        other = str(found.get("schema")) if isinstance(found, dict) else ""
        if other.startswith("roofline.") and not other.startswith("roofline.baseline/"):
            hint = "the reports themselves; what 'roofline time' wrote goes to --time-before"
            raise InputError(f"{path} is no baseline, but {other}", hint=hint)
        analysis = msgspec.convert(found, Baseline, str_keys=True).analysis
        results, groups = analysis.results, analysis.groups
        judged = sorted(place for group in groups for place in group.launches)
        if not results or judged != [*range(len(results))]:
            raise msgspec.ValidationError("its kernels are not those of its launches")
        times = [one.measurement.duration_s for one in (*results, *(g.result for g in groups))]
        if any(time is not None and not 0 <= time <= LONGEST_S for time in times):
            raise msgspec.ValidationError("a duration_s is below 0, or more than ncu counts")
        return without_personal(analysis)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(
            f"{path} is not a baseline that this version reads",
            why=why_unparsed(error)[:200],
            hint=f"mv {shlex.join([str(path), f'{path}.old'])}; {again}",
        ) from error


def save_baseline(path: Path, analysis: Analysis) -> None:
    """Write ``analysis`` over the baseline at ``path``, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what, hint = f"cannot make the folder {path.parent}", "--baseline with another folder"
        raise UsageError(what, why=error.strerror, hint=hint) from error
    baseline = Baseline(version=__version__, analysis=without_personal(analysis))
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(baseline), indent=1)
    write_text(path, text.decode() + "\n", force=True)


def without_personal(analysis: Analysis) -> Analysis:
    """``analysis`` with paths cut to their last part, and without process ids and NVTX texts."""

    def clean(result: Result) -> Result:
        m = result.measurement
        clean = replace(m, source=last_part(m.source), process=None, nvtx=())
        return replace(result, measurement=clean)

    return replace(
        analysis,
        sources=tuple(replace(s, path=last_part(s.path), file="") for s in analysis.sources),
        results=tuple(map(clean, analysis.results)),
        groups=tuple(replace(g, result=clean(g.result)) for g in analysis.groups),
    )
