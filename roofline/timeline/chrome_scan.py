"""Reads the events of a Chrome trace piece by piece, so that memory does not grow with the file.

A piece is cut where one object seems to end and the next to begin. The cut is right if and only
if the piece parses as a JSON list: a text cut inside a string or a nested list never does.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from io import BufferedIOBase
from typing import Annotated, Any, TypeVar

import msgspec

HEAD_LIMIT = 64 << 20  # bytes of other keys tolerated before and after the events
_START = re.compile(rb'^\s*\[|(?<!\\)"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
_END = re.compile(rb"\}\s*(?:,\s*)?\]")
_LONGEST = 16 << 20  # bytes of an event
_LOOKS = 1 << 14  # braces looked at for a cut
_TRIES = 8  # cuts tried before a piece counts as damaged
_PATIENCE = 1 << 16  # bytes: an event this long is read whole before it counts as damaged
_NESTING = 6  # objects of a list inside one event that salvage puts together again
_STRAY_BACKSLASH = re.compile(rb'\\(?!["\\/bfnrtu])')

Scalar = str | int | float | bool | None  # never a list or an object: these values become keys
Whole = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Sizes = tuple[int, ...]
UNKNOWN = -1
NO_TIME = float("nan")
_NONE = msgspec.Raw(b"{}")


class Event(msgspec.Struct, gc=False):
    """One event as the trace has it; times in microseconds, NaN where there is none."""

    ph: str = ""
    cat: str = ""
    name: Scalar = ""
    ts: float = NO_TIME
    dur: float = NO_TIME
    pid: Scalar = None
    tid: Scalar = None
    args: msgspec.Raw = _NONE


# Arguments of events: what is read of them, and nothing else.


class CallArgs(msgspec.Struct, gc=False):
    """Of a CUDA call."""

    correlation: Whole = UNKNOWN


class WorkArgs(msgspec.Struct, gc=False):
    """Of what ran on a GPU."""

    correlation: Whole = UNKNOWN
    device: Scalar = None
    grid: Sizes | None = None
    block: Sizes | None = None
    kind: Scalar = None
    collective: Scalar = msgspec.field(default=None, name="Collective name")
    group: Scalar = msgspec.field(default=None, name="Process Group Name")


class CollectiveArgs(msgspec.Struct, gc=False):
    """Of a kernel that is a collective."""

    ranks: msgspec.Raw = msgspec.field(default=_NONE, name="Process Group Ranks")
    members: Whole = msgspec.field(default=UNKNOWN, name="Group size")
    sent: Whole = msgspec.field(default=UNKNOWN, name="In msg nelems")
    received: Whole = msgspec.field(default=UNKNOWN, name="Out msg nelems")
    sequence: Whole = msgspec.field(default=UNKNOWN, name="Seq")
    dtype: Scalar = None


class OperatorArgs(msgspec.Struct, gc=False):
    """Of an operator: kept as text, and parsed where they are needed."""

    shapes: msgspec.Raw = msgspec.field(default=_NONE, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=_NONE, name="Input type")
    values: msgspec.Raw = msgspec.field(default=_NONE, name="Concrete Inputs")


class JaxArgs(msgspec.Struct, gc=False):
    """Of any event of JAX."""

    name: Scalar = None
    kernel_details: Scalar = None
    memcpy_details: Scalar = None
    correlation_id: Scalar = None
    step_num: Scalar = None


_Args = TypeVar("_Args", bound=msgspec.Struct)
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@cache
def _decoder(what: type[_Args]) -> msgspec.json.Decoder[list[_Args]]:
    return msgspec.json.Decoder(list[what])  # type: ignore[valid-type]


def decode(piece: bytes) -> list[Event] | None:
    """The events of ``[piece]``, ``None`` where it is not JSON."""
    try:
        return _decoder(Event).decode(b"[%b]" % piece)
    except _UNREADABLE:
        return decode_leniently(piece)


def decode_leniently(piece: bytes) -> list[Event] | None:
    """The same, slowly: with values of other types than the format has."""
    found = _json(b"[%b]" % piece)
    return None if found is None else [_fit(e, Event) for e in found if isinstance(e, dict)]


def arguments(events: Sequence[Event], what: type[_Args]) -> list[_Args]:
    """The arguments of each event."""
    try:
        return _decoder(what).decode(b"[%b]" % b",".join([e.args for e in events]))
    except _UNREADABLE:
        return [_fit(_json(bytes(e.args)), what) for e in events]


def _json(text: bytes) -> Any:
    """What ``text`` says, ``None`` where it is not JSON.

    Control characters, bad UTF-8 and NaN, which occur in real traces, are let through.
    """
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def _fit(raw: Any, what: type[_Args]) -> _Args:
    """What fits of the keys of ``raw``; the others are as if they were missing."""
    found = what()
    for known in msgspec.structs.fields(what) if isinstance(raw, dict) else ():
        with suppress(KeyError, msgspec.ValidationError, OverflowError, UnicodeEncodeError):
            value = raw[known.encode_name]
            if isinstance(value, str):  # half of a pair of surrogates is no text
                value = value.encode("utf-8", "replace").decode()
            if known.type is msgspec.Raw:
                value = msgspec.Raw(json.dumps(value).encode())
            else:
                value = msgspec.convert(value, known.type, strict=False)
            setattr(found, known.name, value)
    return found


@dataclass(slots=True)
class Scan:
    """One pass over a trace: iterate ``pieces`` to the end, then look at the other fields.

    ``metadata`` are the keys beside the events, ``dropped`` counts unreadable events,
    ``truncated`` says that the file ends in the middle, ``found`` that there was a list at all.
    """

    stream: BufferedIOBase
    piece_bytes: int
    metadata: dict[str, Any] = field(default_factory=dict)
    dropped: int = 0
    truncated: bool = False
    found: bool = False
    _bare: bool = False
    _buffer: bytes = b""
    _ended: bool = False

    def pieces(self) -> Iterator[list[Event]]:
        """Lists of events until the list of events ends."""
        self.found = self._find_start()
        while self.found and not self._ended:
            block = self._read()
            if not block:
                yield self._last()
                return
            self._buffer += block
            events = self._piece()
            if events is not None:
                yield events

    def _read(self) -> bytes:
        """The next piece; of a compressed file that ends early, all that can be unpacked."""
        parts: list[bytes] = []
        # As much again where nothing could be made of what there is.
        wanted = max(self.piece_bytes, min(len(self._buffer), _LONGEST))
        try:
            while wanted > 0 and (part := self.stream.read1(wanted)):
                parts.append(part)
                wanted -= len(part)
        except (EOFError, OSError, zlib.error):
            self.truncated = True
        return b"".join(parts)

    def _find_start(self) -> bool:
        seen = 0
        while len(self._buffer) < HEAD_LIMIT:
            block = self._read()
            self._buffer += block
            match = _START.search(self._buffer, max(seen - 64, 0))
            if match is not None:
                self._bare = not match[0].startswith(b'"')
                self._keep(self._buffer[: match.end()] + b"]}")
                self._buffer = self._buffer[match.end() :]
                return True
            if not block:
                self._keep(self._buffer)
                return False
            seen = len(self._buffer)
        return False

    def _keep(self, text: bytes) -> None:
        if isinstance(found := _json(text), dict):
            if isinstance(again := found.pop("traceEvents", None), list):
                self.dropped += len(again)  # of a second list, which the format does not have
            self.metadata |= found

    def _piece(self) -> list[Event] | None:
        """The events before a cut; ``_buffer`` keeps what follows. ``None``: read on first."""
        cuts = _cuts(self._buffer)
        for tried, (end, rest) in enumerate(cuts):
            if (events := decode(self._buffer[:end])) is not None:
                self._buffer = self._buffer[rest:]
                return events
            if not tried and (events := self._up_to_end()) is not None:
                return events
        if not cuts and len(self._buffer) > _LONGEST:
            self.dropped, self._buffer = self.dropped + 1, b""  # no event is that long
        if not cuts or len(self._buffer) < max(2 * self.piece_bytes, _PATIENCE):
            return None  # the cuts may lie in one event that is larger than what was read
        end, rest = cuts[0]
        damaged, self._buffer = self._buffer[:end], self._buffer[rest:]
        return self._salvage(damaged)

    def _last(self) -> list[Event]:
        if not self._buffer.strip():
            self.truncated = True
            return []
        if (ended := self._up_to_end(last=True)) is not None:
            return ended
        whole = self._buffer.rstrip().removesuffix(b",")
        cut_short, self.truncated = self.truncated, True
        for tried, (end, _) in enumerate(_cuts(whole + b",{")):
            if (events := decode(whole[:end])) is not None:
                # The format lets a bare list go without its closing bracket.
                self.truncated = cut_short or tried > 0 or not self._bare
                return events
        return self._salvage(self._buffer)

    def _up_to_end(self, *, last: bool = False) -> list[Event] | None:
        """The events before the end of the list, where the buffer holds its end.

        In the ``last`` buffer that is also where what follows is a proper end of file.
        """
        if self._buffer.lstrip()[:1] == b"]":
            return self._finish([], self._buffer.index(b"]") + 1)
        ends = [m.span() for m in _END.finditer(self._buffer)]
        for start, end in [*ends[:_TRIES], *ends[-_TRIES:]][::-1]:
            if (events := decode(self._buffer[: start + 1])) is not None:
                return self._finish(events, end)
        for start, end in ends[: -_TRIES - 1 : -1] if last else ():
            tail = self._buffer[end:].strip()
            rest = b"}" if self._bare and not tail else tail.removeprefix(b",")
            if _json(b"{" + rest) is not None:
                return self._finish(self._salvage(self._buffer[: start + 1]), end)
        return None

    def _finish(self, events: list[Event], end: int) -> list[Event]:
        self._ended = True
        tail = self._buffer[end:]
        while len(tail) < HEAD_LIMIT and (block := self._read()):
            tail += block
        self._keep(b"{" + tail.lstrip().removeprefix(b","))
        self._buffer = b""
        return events

    def _salvage(self, damaged: bytes) -> list[Event]:
        """Event by event, leaving out what cannot be read."""
        bounds = [0, *(m.end() for m in _BETWEEN.finditer(damaged)), len(damaged)]
        events: list[Event] = []
        i = 0
        while i < len(bounds) - 1:
            for j in range(i + 1, min(i + _NESTING, len(bounds) - 1) + 1):
                piece = damaged[bounds[i] : bounds[j]].rstrip().rstrip(b",")
                found = decode_leniently(piece)
                if found is None:
                    found = decode_leniently(_STRAY_BACKSLASH.sub(rb"\\\\", piece))
                if found is not None:
                    events += found
                    i = j
                    break
            else:
                self.dropped += 1
                i += 1
        return events


def _cuts(buffer: bytes) -> list[tuple[int, int]]:
    """Where an object ends and another begins, a few from the back: (end of one, start of next)."""
    found: list[tuple[int, int]] = []
    position = len(buffer)
    for _ in range(_LOOKS):
        if len(found) > _TRIES or (position := buffer.rfind(b"{", 0, position)) <= 0:
            break
        head = max(position - 256, 0)
        before = buffer[head:position].rstrip()
        if before.endswith(b",") and (before := before[:-1].rstrip()).endswith(b"}"):
            found.append((head + len(before), position))
    return found
