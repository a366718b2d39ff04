"""What a process does that reads a batch of reports for another: ``spread`` starts it."""

from __future__ import annotations

import gc
import os
import sys

from roofline.reader.batch import events_of
from roofline.reader.packing import pack, unpack


def main() -> None:
    """Read a packed batch from stdin, and write what it holds, packed, to stdout."""
    gc.disable()  # this process ends before garbage could matter
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # what a library prints is no part of the answer
        answer.write(pack(list(events_of(unpack(sys.stdin.buffer.read())))))
