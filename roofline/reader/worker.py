"""What a process does that reads a batch of reports for another: ``spread`` starts it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time

from roofline.reader.batch import events_of
from roofline.reader.packing import pack, unpack

# Written before anything is read. What stands in front of it hooks of the interpreter have printed;
# where it is missing, the process never got so far. No end of it is a beginning of it.
READY = b"\0roofline>"
_LOOK_S = 0.5  # how often a process looks whether the one that asked is still there


def main() -> None:
    """Read a packed batch from stdin, and write what it holds, packed, to stdout."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt has nobody to tell anything here
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    gc.disable()  # this process ends before garbage could matter
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # what a library prints is no part of the answer
        answer.write(READY)
        answer.flush()
        answer.write(pack(list(events_of(unpack(sys.stdin.buffer.read())))))


def _end_with(parent: int) -> None:
    """End when nobody waits for the answer any more."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
