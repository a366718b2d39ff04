"""A timeline as a trace of our own: kernels, copies and when each was launched, and no more.

Neither host, user, paths, arguments nor names of ranges are in it. Every reader of PyTorch's traces
opens it, ours included.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roofline.timeline.chrome import FROM_START
from roofline.timeline.events import Timeline, Work

SEEN = "roofline.look"  # a key: of which program, and who saw it
_CATEGORIES = {Work.KERNEL: "kernel", Work.COPY: "gpu_memcpy", Work.SET: "gpu_memset"}


def packed(timeline: Timeline, **facts: object) -> bytes:
    """The trace, compressed; ``facts`` are further keys of it."""
    import msgspec

    devices: list[dict[str, object]] = []
    for index, device in timeline.devices.items():
        major, _, minor = (device.compute_capability or "").partition(".")
        row: dict[str, object] = {"id": index, "name": device.name, "numSms": device.sm_count}
        row |= {"computeMajor": int(major), "computeMinor": int(minor)} if minor else {}
        devices.append(row)
    whole = {
        "schemaVersion": 1,
        FROM_START: timeline.from_start,
        **facts,
        "deviceProperties": devices,
        "traceEvents": list(_events(timeline)),
    }
    return gzip.compress(msgspec.json.encode(whole), 6, mtime=0)


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    events, origin = timeline.events, timeline.origin
    columns = (getattr(events, name).tolist() for name in events.__slots__)
    rows = zip(*columns, strict=True)
    for number, row in enumerate(rows, 1):
        start, end, device, which, launch, launched, thread, process, stream, _ = row
        identity = timeline.identities[which]
        more = {"grid": identity.grid, "block": identity.block} if identity.grid else {}
        yield {
            "ph": "X",
            "cat": _CATEGORIES[identity.work],
            "name": identity.name,
            "pid": device,
            "tid": stream,
            "ts": (start - origin) / 1e3,
            "dur": (end - start) / 1e3,
            "args": {"device": device, "stream": stream, "correlation": number} | more,
        }
        if launch >= 0:
            yield {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": process,
                "tid": thread,
                "ts": (launch - origin) / 1e3,
                "dur": max(launched - launch, 0) / 1e3,
                "args": {"correlation": number},
            }


def program_of(path: Path) -> str | None:
    """Of which program a trace of ours is; ``None`` for any other file, or none."""
    import msgspec

    try:
        found = msgspec.json.decode(gzip.decompress(path.read_bytes()))[SEEN]["program"]
    except (OSError, EOFError, zlib.error, msgspec.MsgspecError, KeyError, TypeError):
        return None
    return str(found)
