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
        start, end, device, which, launch, launched, thread, process, stream, *_ = row
        identity = timeline.identities[which]
        more = {"grid": identity.grid, "block": identity.block} if identity.grid else {}
        args = {"device": device, "stream": stream, "correlation": number} | more
        rows_ = [(_CATEGORIES[identity.work], identity.name, device, stream, start, end, args)]
        if launch >= 0:
            own = {"correlation": number}
            call = ("cuda_runtime", "cudaLaunchKernel", process, thread)
            rows_.append((*call, launch, max(launched, launch), own))
        for cat, name, pid, tid, begin, done, arguments in rows_:
            times = {"ts": (begin - origin) / 1e3, "dur": (done - begin) / 1e3}
            head = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid}
            yield head | times | {"args": arguments}


def program_of(path: Path) -> str | None:
    """Of which program a trace of ours is; ``None`` for any other file, or none."""
    import msgspec

    try:
        found = msgspec.json.decode(gzip.decompress(path.read_bytes()))[SEEN]["program"]
    except (OSError, EOFError, zlib.error, msgspec.MsgspecError, KeyError, TypeError):
        return None
    return str(found)
