"""Events of a Chrome trace, decoded by msgspec where it is there, else by the standard library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, cast

Dim3OrMore = tuple[int, ...]
Scalar = str | int | float | bool | None  # never a list or an object: these values become keys
# What is read of the arguments, and nothing else.
_ARGS: dict[str, tuple[str, Any]] = {  # attribute -> key in the trace, type
    "correlation": ("correlation", Scalar),
    "device": ("device", Scalar),
    "grid": ("grid", Dim3OrMore | None),
    "block": ("block", Dim3OrMore | None),
    "collective": ("Collective name", Scalar),
    "kind": ("kind", Scalar),
    "name": ("name", Scalar),
    "kernel_details": ("kernel_details", Scalar),
    "memcpy_details": ("memcpy_details", Scalar),
    "correlation_id": ("correlation_id", Scalar),
    "step_num": ("step_num", Scalar),
}


class Args(NamedTuple):  # a dataclass takes four times as long to make, and there are millions
    """The arguments of an event that matter here; ``None`` where it has none such."""

    correlation: Scalar = None
    device: Scalar = None
    grid: Dim3OrMore | None = None
    block: Dim3OrMore | None = None
    collective: Scalar = None
    kind: Scalar = None
    name: Scalar = None
    kernel_details: Scalar = None
    memcpy_details: Scalar = None
    correlation_id: Scalar = None
    step_num: Scalar = None


_KEYS = frozenset(key for key, _ in _ARGS.values())
_SIZES = ("grid", "block")
NO_ARGS = Args()
NO_TIME = float("nan")
_PHASES = ("X", "M")  # events with a duration, and what says who they are


class Event(NamedTuple):
    """One event as the trace has it; times in microseconds, NaN where there is none."""

    ph: str = ""
    cat: str = ""
    name: Scalar = ""
    ts: float = NO_TIME
    dur: float = NO_TIME
    pid: Scalar = None
    tid: Scalar = None
    args: Args = NO_ARGS


Decode = Callable[[bytes], "list[Event] | None"]


def lenient(piece: bytes) -> list[Event] | None:
    """The events of ``[piece]`` by the standard library, ``None`` where it is not JSON.

    Control characters, bad UTF-8 and NaN, which occur in real traces, are let through.
    """
    try:
        found = json.loads(f"[{piece.decode('utf-8', 'replace')}]", strict=False)
    except (ValueError, RecursionError):
        return None
    return [_event(e) for e in found if isinstance(e, dict) and e.get("ph") in _PHASES]


def fast_decoder() -> Decode | None:
    """A decoder that builds only what is needed, where msgspec is installed.

    Its events look like ``Event``. What it refuses is left to ``lenient``.
    """
    try:
        import msgspec
    except ImportError:
        return None
    args = msgspec.defstruct(
        "FastArgs",
        [(name, kind, None) for name, (_, kind) in _ARGS.items()],
        rename={name: key for name, (key, _) in _ARGS.items()},
        frozen=True,
        gc=False,
    )
    text, number = (str, ""), (float, NO_TIME)
    fields = [
        *(("ph", *text), ("cat", *text), ("name", Scalar, "")),
        *(("ts", *number), ("dur", *number), ("pid", Scalar, None), ("tid", Scalar, None)),
        ("args", args, args()),
    ]
    event = msgspec.defstruct("FastEvent", fields, gc=False)
    decoder = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]

    def decode(piece: bytes) -> list[Event] | None:
        try:
            return cast("list[Event]", decoder.decode(b"[%b]" % piece))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return lenient(piece)

    return decode


def _event(raw: dict[str, Any]) -> Event:
    get = raw.get
    args = get("args")
    return Event(
        str(get("ph", "")),
        str(get("cat") or ""),
        _plain(get("name", "")),
        _number(get("ts")),
        _number(get("dur")),
        _plain(get("pid")),
        _plain(get("tid")),
        _args(args) if isinstance(args, dict) and not _KEYS.isdisjoint(args) else NO_ARGS,
    )


def _args(raw: dict[str, Any]) -> Args:
    found: dict[str, Any] = {
        name: _sizes(raw[key]) if name in _SIZES else _plain(raw[key])
        for name, (key, _) in _ARGS.items()
        if key in raw
    }
    return Args(**found)


def _sizes(value: Any) -> Dim3OrMore | None:
    if isinstance(value, list) and all(isinstance(v, int) for v in value):
        return tuple(value)
    return None


def _plain(value: Any) -> Scalar:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return NO_TIME
