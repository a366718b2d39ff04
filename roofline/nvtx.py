"""A client of NVTX 3's protocol for start/end ranges, by ctypes alone.

A tool names its library in ``NVTX_INJECTION64_PATH``. The client hands it tables of pointers, and
the tool puts its own functions into them. Source: NVIDIA's headers, nvtx3/nvtxDetail/nvtxTypes.h.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar

_VERSION = 3
_CORE2 = 5
_SLOTS = {1: 16, 2: 9, 3: 15, 4: 7, _CORE2: 16, 6: 7}  # of each module's table; 0 is none
_REGISTERED = 3  # the kind of message
# What is called, by its slot in the table of CORE2.
_CALLS = {
    "start": (2, ctypes.CFUNCTYPE(c_uint64, c_void_p, c_void_p)),
    "end": (3, ctypes.CFUNCTYPE(None, c_void_p, c_uint64)),
    "register": (10, ctypes.CFUNCTYPE(c_void_p, c_void_p, c_char_p)),
    "create": (12, ctypes.CFUNCTYPE(c_void_p, c_char_p)),
    "initialize": (15, ctypes.CFUNCTYPE(None, c_void_p)),
}
_Table = ctypes.CFUNCTYPE(c_int, c_int, ctypes.POINTER(c_void_p), ctypes.POINTER(c_uint))
_Seen = ctypes.CFUNCTYPE(None, c_uint32)
_Export = ctypes.CFUNCTYPE(c_void_p, c_uint32)


class _Callbacks(ctypes.Structure):
    _fields_: ClassVar = [("size", c_size_t), ("table", _Table)]


class _VersionInfo(ctypes.Structure):
    _fields_: ClassVar = [
        ("size", c_size_t), ("version", c_uint32), ("reserved", c_uint32), ("seen", _Seen),
    ]  # fmt: skip


class _Attributes(ctypes.Structure):
    _fields_: ClassVar = [
        ("version", c_uint16), ("size", c_uint16), ("category", c_uint32), ("color_type", c_int),
        ("color", c_uint32), ("payload_type", c_int), ("reserved", c_int), ("payload", c_uint64),
        ("message_type", c_int), ("message", c_void_p),
    ]  # fmt: skip


class Tool:
    """A tool that is attached; it keeps pointers into this, which must live as long as it does.

    Raises:
        OSError: its library cannot be loaded.
        AttributeError: it is no tool for NVTX 3, or does not take start/end ranges.

    """

    def __init__(self, library: str, domain: str) -> None:
        self._slots = {m: (c_void_p * count)() for m, count in _SLOTS.items()}
        self._tables = {
            m: (c_void_p * len(slots))(
                None, *(ctypes.addressof(slots) + 8 * i for i in range(1, len(slots)))
            )
            for m, slots in self._slots.items()
        }
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _Table(self._table))
        # Tools call the last of these without asking whether it is there.
        self._version = _VersionInfo(ctypes.sizeof(_VersionInfo), _VERSION, 0, _Seen(_ignore))
        self._export = _Export(self._exported)
        attach = ctypes.CDLL(library).InitializeInjectionNvtx2
        if not attach(self._export):
            raise AttributeError(f"{library} does not attach")
        self._call: dict[str, Any] = {
            name: kind(pointer)
            for name, (slot, kind) in _CALLS.items()
            if (pointer := self._slots[_CORE2][slot])
        }
        if "initialize" in self._call:
            self._call["initialize"](None)
        if not {"start", "end", "create"} <= self._call.keys():
            raise AttributeError(f"{library} takes no start/end ranges")
        self._domain = self._call["create"](domain.encode())
        self._events: dict[str, Any] = {}

    def _table(self, module: int, table: Any, count: Any) -> int:
        if module not in self._tables:
            return 0
        if table:
            table[0] = ctypes.addressof(self._tables[module])
        if count:
            count[0] = len(self._tables[module])
        return 1

    def _exported(self, number: int) -> int | None:
        found = {1: self._callbacks, 3: self._version}.get(number)
        return None if found is None else ctypes.addressof(found)

    def start(self, name: str) -> int:
        """Begin a range; what ``end`` takes."""
        event = self._events.get(name)
        if event is None:
            event = self._events[name] = self._event(name)
        number: int = self._call["start"](self._domain, ctypes.addressof(event))
        return number

    def end(self, number: int) -> None:
        """End the range of that number, in whatever thread."""
        self._call["end"](self._domain, number)

    def _event(self, name: str) -> _Attributes:
        text = name.encode("utf-8", "replace")
        kind, message = 1, ctypes.cast(c_char_p(text), c_void_p).value
        if "register" in self._call:
            kind, message = _REGISTERED, self._call["register"](self._domain, text)
        event = _Attributes(_VERSION, ctypes.sizeof(_Attributes), message_type=kind)
        event.message, event.text = message, text  # the text must live as long
        return event


def _ignore(_: int) -> None:
    pass
