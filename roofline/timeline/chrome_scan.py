"""Reads the events of a Chrome trace piece by piece, so that memory does not grow with the file.

A piece is cut where one object seems to end and the next to begin. The cut is right if and only
if the piece parses as a JSON list: a text cut inside a string or a nested list never does.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any

from roofline.timeline.chrome_events import Decode, Event, lenient

HEAD_LIMIT = 64 << 20  # bytes of other keys tolerated before and after the events
_START = re.compile(rb'^\s*\[|(?<!\\)"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
_END = re.compile(rb"\}\s*,?\s*\]")
_TRIES = 8  # cuts tried before a piece counts as damaged
_PATIENCE = 1 << 16  # bytes: an event this long is read whole before it counts as damaged
_NESTING = 6  # objects of a list inside one event that salvage puts together again
_STRAY_BACKSLASH = re.compile(r'\\(?!["\\/bfnrtu])')


@dataclass(slots=True)
class Scan:
    """One pass over a trace: iterate ``pieces`` to the end, then look at the other fields.

    ``metadata`` are the keys beside the events, ``dropped`` counts unreadable events,
    ``truncated`` says that the file ends in the middle, ``found`` that there was a list at all.
    """

    stream: BufferedIOBase
    decode: Decode
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
            cut = next(_cuts(self._buffer), None)
            events = None if cut is None else self._piece(*cut)
            if events is not None:
                yield events

    def _read(self) -> bytes:
        """The next piece; of a compressed file that ends early, all that can be unpacked."""
        parts: list[bytes] = []
        wanted = self.piece_bytes
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
        try:
            found = json.loads(text.decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            self.metadata |= {k: v for k, v in found.items() if k != "traceEvents"}

    def _piece(self, end: int, rest: int) -> list[Event] | None:
        """The events before a cut; ``_buffer`` keeps what follows. ``None``: read on first."""
        events = self.decode(self._buffer[:end])
        if events is not None:
            self._buffer = self._buffer[rest:]
            return events
        if (ended := self._up_to_end()) is not None:
            return ended
        for tried, (earlier, after) in enumerate(_cuts(self._buffer)):
            if tried and (events := self.decode(self._buffer[:earlier])) is not None:
                self._buffer = self._buffer[after:]
                return events
            if tried == _TRIES:
                break
        if len(self._buffer) < max(2 * self.piece_bytes, _PATIENCE):
            return None  # the cuts may lie in one event that is larger than what was read
        damaged, self._buffer = self._buffer[:end], self._buffer[rest:]
        return self._salvage(damaged)

    def _last(self) -> list[Event]:
        """The events of what is left when the file has ended."""
        if not self._buffer.strip():
            self.truncated = True
            return []
        if (ended := self._up_to_end()) is not None:
            return ended
        if (damaged := self._damaged_end()) is not None:
            last, rest = damaged
            return self._finish(self._salvage(self._buffer[: last + 1]), rest)
        whole = self._buffer.rstrip().removesuffix(b",")
        cut_short, self.truncated = self.truncated, True
        for tried, (end, _) in enumerate(_cuts(whole + b",{")):
            if (events := self.decode(whole[:end])) is not None:
                # The format lets a bare list go without its closing bracket.
                self.truncated = cut_short or tried > 0 or not self._bare
                return events
            if tried == _TRIES:
                break
        return self._salvage(self._buffer)

    def _up_to_end(self) -> list[Event] | None:
        """The events before the end of the list, where the buffer holds its end."""
        if self._buffer.lstrip()[:1] == b"]":
            return self._finish([], self._buffer.index(b"]") + 1)
        ends = [m.span() for m in _END.finditer(self._buffer)]
        for start, end in [*ends[:_TRIES], *ends[-_TRIES:]][::-1]:
            if (events := self.decode(self._buffer[: start + 1])) is not None:
                return self._finish(events, end)
        return None

    def _damaged_end(self) -> tuple[int, int] | None:
        """Where a list with unreadable events ends: what follows it is a proper end of file."""
        ends = [m.span() for m in _END.finditer(self._buffer)]
        for start, end in ends[: -_TRIES - 1 : -1]:
            tail = self._buffer[end:].strip()
            if self._bare and not tail:
                return start, end
            if not self._bare and _is_json(b"{" + tail.removeprefix(b",")):
                return start, end
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
                found = _mend(damaged[bounds[i] : bounds[j]].rstrip().rstrip(b","))
                if found is not None:
                    events += found
                    i = j
                    break
            else:
                self.dropped += 1
                i += 1
        return events


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _mend(piece: bytes) -> list[Event] | None:
    if (found := lenient(piece)) is not None:
        return found
    text = _STRAY_BACKSLASH.sub(r"\\\\", piece.decode("utf-8", "replace"))
    return lenient(text.encode())


def _cuts(buffer: bytes) -> Iterator[tuple[int, int]]:
    """Places from the back where an object ends and another begins: (end of one, start of next)."""
    position = len(buffer)
    while (position := buffer.rfind(b"{", 0, position)) > 0:
        before = buffer[max(position - 256, 0) : position].rstrip()
        if not before.endswith(b","):
            continue
        before = before[:-1].rstrip()
        if before.endswith(b"}"):
            yield max(position - 256, 0) + len(before), position
