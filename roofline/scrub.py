"""Find what looks like somebody's path in the bytes of a report, and leave its last part only."""

from __future__ import annotations

import re

from roofline.repfile import wire

# Folders below which people and projects are named, wherever they stand; the rest of the path
# ends where text around it goes on.
_END = rb"[^\s\"'<>|:;,*?()\[\]{}\x00-\x1f\x7f]*"
_UNIX = rb"/(?:home|Users|root|scratch|lustre|gpfs|nfs)(?:/" + _END + rb"|(?![\w.-]))"
_SHARED = rb"(?<![\w.:/-])/(?:mnt|data|work|workspace|media|tmp|var|srv|projects?|raid|fsx)/" + _END
_WITH_SPACES = (
    rb"(?:[^\"'<>|:;,*?()\[\]{}\x00-\x1f\x7f\\/]*[\\/])*"  # a Windows user is often two words
)
_WINDOWS = rb"[A-Za-z]:[\\/]+Users[\\/]" + _WITH_SPACES + _END
PATHS = re.compile(b"|".join((_UNIX, _SHARED, _WINDOWS)))
_SEPARATORS = re.compile(rb"[\\/]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LEAST_PARTS = 3  # /home/ann has no last part that is not a person


def last_part(path: bytes) -> bytes:
    """``/home/ann/src/a.cu`` is ``a.cu``; a person's own folder is ``~``."""
    parts = [part for part in _SEPARATORS.split(path) if part]
    if parts and parts[0].endswith(b":"):
        parts = parts[1:]
    return parts[-1] if len(parts) >= _LEAST_PARTS else b"~"


def text(data: bytes) -> bytes:
    """The text with every such path cut down to its last part."""
    return PATHS.sub(lambda match: last_part(match.group()), data)


def blank(data: bytes) -> bytes:
    """Binary data with every such path overwritten, so that nothing moves."""
    return PATHS.sub(lambda match: b"x" * len(match.group()), data)


def message(data: bytes) -> bytes:
    """A Protocol Buffers message with such paths cut down in every text, at whatever depth.

    What a field is, its bytes tell: text if nothing in them is a control character (messages
    hold some), else a message if they are one to the last byte, else binary data, in which
    nothing moves.
    """
    if PATHS.search(data) is None:
        return data
    if not _looks_like_text(data):
        done = _fields(data)
        if done is not None and PATHS.search(done) is None:
            return done
    return text(data) if _looks_like_text(data.lstrip(b"\n")) else blank(data)


def _looks_like_text(data: bytes) -> bool:
    """A message that has no control character begins with a line feed, its first tag."""
    try:
        words = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not words.startswith("\n") and _CONTROL.search(words) is None


def _fields(data: bytes) -> bytes | None:
    try:
        fields = list(wire.fields(data))
    except wire.WireError:
        return None
    return b"".join(
        bytes(field.raw)
        if isinstance(field.value, int)
        else wire.blob(field.number, message(bytes(field.value)))
        for field in fields
    )


def cubin(data: bytes) -> bytes | None:
    """Machine code without debug information; ``None`` where it is not an ELF file of 64 bits.

    Sections keep their size and place, so that addresses in the report still fit.
    """
    if data[:5] != b"\x7fELF\x02":
        return None
    out = bytearray(blank(data))
    try:
        for name, start, size in _sections(data):
            if name.startswith((b".debug", b".nv_debug")):
                out[start : start + size] = bytes(size)
    except (IndexError, ValueError):
        return None
    return bytes(out)


def _sections(data: bytes) -> list[tuple[bytes, int, int]]:
    """Name, offset and size of each section, from the ELF section headers."""

    def number(at: int, size: int) -> int:
        if at + size > len(data):
            raise ValueError("the section headers are cut")
        return int.from_bytes(data[at : at + size], "little")

    table, each = number(0x28, 8), number(0x3A, 2)
    count, names = number(0x3C, 2), number(0x3E, 2)
    strings = number(table + names * each + 0x18, 8)
    found = []
    for header in range(table, table + count * each, each):
        start = strings + number(header, 4)
        name = data[start : data.index(b"\0", start)]
        kind, offset, size = (
            number(header + 4, 4),
            number(header + 0x18, 8),
            number(header + 0x20, 8),
        )
        if kind != _NO_BITS and offset + size <= len(data):
            found.append((name, offset, size))
    return found


_NO_BITS = 8  # a section type that takes no room in the file
