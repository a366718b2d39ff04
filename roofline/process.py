"""The one seam to other programs: nothing else here imports ``subprocess``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, run
from typing import IO, NoReturn

Watch = Callable[[], str | None]
_TICK_S = 0.1
_TERM_GRACE_S = 5.0
# Enough of what a program says to find its first error and its last words.
_KEEP_HEAD, _KEEP_TAIL = 1 << 20, 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A finished program: its exit code (negative for a signal) and what it printed.

    ``stopped`` says why it was ended from here: what ``watch`` answered, or the name of the
    signal that this process was sent; ``None`` where it ended by itself.
    """

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str
    stopped: str | None = None


def run_quietly(
    argv: Sequence[str], *, timeout_s: float = 60, env: Mapping[str, str] | None = None
) -> Completed | None:
    """Run ``argv`` (no shell, no input) and keep what it prints; ``None`` where it cannot start.

    A program that runs longer than ``timeout_s`` is killed and answers code -9.
    """
    argv = tuple(argv)
    try:
        done = run(
            argv, stdin=DEVNULL, capture_output=True, errors="replace", timeout=timeout_s, env=env
        )
    except OSError:
        return None
    except TimeoutExpired:
        return Completed(argv=argv, code=-9, stdout="", stderr="timed out")
    return Completed(argv=argv, code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def run_through(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdout_to_stderr: bool = False,
    watch: Watch = lambda: None,
    grace_s: float = 10.0,
) -> Completed | None:
    """Run ``argv`` (no shell) and let its output through untouched; ``None``: cannot start.

    Its stderr is kept too, but for the middle of a long one. It gets a process group of its own,
    and no input from a terminal, which such a group must not read. ``watch`` is asked ten times a
    second and ends the run by answering a reason: SIGINT (or the signal that we were sent) to the
    program, after ``grace_s`` SIGTERM to its group, then SIGKILL. A second signal skips a step.
    """
    argv, heard = tuple(argv), bytearray()
    stdin, stdout = DEVNULL if os.isatty(0) else None, 2 if stdout_to_stderr else None
    sys.stdout.flush()
    sys.stderr.flush()
    with _received_signals() as received:
        try:
            child = Popen(argv, stdin=stdin, stdout=stdout, stderr=PIPE, env=env, process_group=0)
        except OSError:
            return None
        reader = threading.Thread(target=_pass_on, args=(child.stderr, heard), daemon=True)
        reader.start()
        stopped = _wait(child, watch, received, grace_s)
    reader.join(timeout=2.0)  # a child that outlives the program may hold the pipe
    said = heard.decode(errors="replace")
    return Completed(argv=argv, code=child.returncode, stdout="", stderr=said, stopped=stopped)


def become(argv: Sequence[str]) -> NoReturn:
    """Replace this process by ``argv``; ``OSError`` where it cannot be started."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(argv[0], list(argv))  # noqa: S606  # no shell is the point


def _wait(child: Popen[bytes], watch: Watch, received: list[str], grace_s: float) -> str | None:
    """Wait for the end of ``child``; the reason where it was ended from here."""
    stopped: str | None = None
    while stopped is None:
        with contextlib.suppress(TimeoutExpired):
            child.wait(timeout=_TICK_S)
            return None
        stopped = received[0] if received else watch()
    child.send_signal(signal.Signals[received.pop(0)] if received else signal.SIGINT)
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, _TERM_GRACE_S)):
        deadline = time.monotonic() + patience_s
        while child.poll() is None and not received and time.monotonic() < deadline:
            time.sleep(_TICK_S)
        del received[:1]
        # SIGKILL also where it has ended: for whatever it left running.
        if child.returncode is None or number is signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, number)
    child.wait()
    return stopped


@contextlib.contextmanager
def _received_signals() -> Iterator[list[str]]:
    """Collect the names of the signals that this process is sent, instead of dying of them."""
    received: list[str] = []
    # Only the main thread may set handlers; nohup ignores a signal, and that stays.
    main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if main else ()
    before = {
        number: signal.signal(number, lambda n, _: received.append(signal.Signals(n).name))
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(pipe: IO[bytes], heard: bytearray) -> None:
    """Write what a program says to our stderr at once; keep its beginning and its end."""
    with pipe:
        while chunk := os.read(pipe.fileno(), 1 << 16):
            with contextlib.suppress(OSError):
                os.write(2, chunk)
            heard += chunk
            del heard[_KEEP_HEAD:-_KEEP_TAIL]
