"""JSON of the schema ``roofline.selection/1``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from roofline import __version__
from roofline.text.notes import note_text
from roofline.timeline.handover import command
from roofline.timeline.selection import DeviceUse, KernelShare, ProfileRequest, Selection, Use

SCHEMA = "roofline.selection/1"
_DEVICE = ("index", "name", "compute_capability", "sm_count")


def render(selection: Selection) -> str:
    """``selection`` as JSON text; keys hold SI units, ``null`` is not known."""
    return json.dumps(document(selection), allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def document(selection: Selection) -> dict[str, Any]:
    """``selection`` as the schema has it."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "source": {"path": selection.file, "format": selection.format},
        "steps": selection.steps,
        "truncated": selection.truncated,
        "device": selection.device,
        "devices": [_device(device) for device in selection.devices],
        "requests": [_request(request) for request in selection.requests],
        "notes": [{"code": n.code, "text": note_text(n)} for n in selection.notes],
    }


def share(kernel: KernelShare) -> dict[str, Any]:
    """One kernel and its bounds."""
    return {
        "name": kernel.name,
        "base_name": kernel.base_name,
        "mangled": kernel.mangled,
        "grid": None if kernel.grid is None else list(kernel.grid),
        "block": None if kernel.block is None else list(kernel.block),
        "instances": kernel.instances,
        "instances_per_step": kernel.instances_per_step,
        "total_s": kernel.total_s,
        "kernel_share": kernel.kernel_share,
        "exposed_share": kernel.exposed_share,
        "wall_share": kernel.wall_share,
        "speedup_at_most": [kernel.speedup_low, kernel.speedup_high],
        "apart": kernel.apart,
        "chosen": kernel.chosen,
    }


def _device(device: DeviceUse) -> dict[str, Any]:
    known = asdict(device.device)
    return {
        **{key: known[key] for key in _DEVICE},
        "index": device.index,
        "first": device.first,
        "steady": device.steady,
        "use": None if device.use is None else _use(device.use),
        "host_late_s": device.host_late_s,
        "span_s": device.span_s,
        "span_idle_s": device.span_idle_s,
        "steps": [
            {
                "number": step.number,
                "start_s": step.start_s,
                "left_out": step.left_out,
                "launches": step.launches,
                **_use(step.use),
            }
            for step in device.steps
        ],
        "gaps": [asdict(gap) for gap in device.gaps],
        "kernels": [share(kernel) for kernel in device.kernels],
        "apart": [share(kernel) for kernel in device.apart],
    }


def _use(use: Use) -> dict[str, Any]:
    return asdict(use) | {
        "idle_s": use.idle_s,
        "busy_share": use.busy_share,
        "kernel_share": use.kernel_share,
        "without_gaps_at_most": use.without_gaps,
        "without_kernels_at_most": use.without_kernels,
        "without_compute_at_most": use.without_compute,
    }


def _request(request: ProfileRequest) -> dict[str, Any]:
    return {
        "command": command(request),
        "kernels": [
            {"name": k.name, "grid": k.grid and list(k.grid), "block": k.block and list(k.block)}
            for k in request.kernels
        ],
        "names": list(request.names),
        "name_base": request.name_base,
        "nvtx": request.nvtx,
        "launch_skip": request.launch_skip,
        "launch_count": request.launch_count,
        "per_config": request.per_config,
        "basis": request.basis,
        "notes": [{"code": n.code, "text": note_text(n)} for n in request.notes],
    }
