"""The one seam to other programs: nothing else here imports ``subprocess``."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import BinaryIO, NoReturn

_TICK_S = 0.1
_TERM_GRACE_S = 5.0
# Enough of what a program says to find its first error and its last words.
_KEEP_HEAD, _KEEP_TAIL = 1 << 20, 1 << 16
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A finished program: its exit code (negative for a signal) and what it printed."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str


def run_quietly(
    argv: Sequence[str], *, timeout_s: float = 60, env: Mapping[str, str] | None = None
) -> Completed | None:
    """Run ``argv`` (no shell, no input) and keep what it prints; ``None`` where it cannot start.

    A program that runs longer than ``timeout_s`` is killed and answers code -9.
    """
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=None if env is None else dict(env),
            check=False,
        )
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        return Completed(argv=tuple(argv), code=-9, stdout="", stderr="timed out")
    return Completed(argv=tuple(argv), code=done.returncode, stdout=done.stdout, stderr=done.stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A program that was run with its output passed through.

    ``code`` is negative for a signal. ``stopped`` says why we ended it: what ``watch`` answered,
    or the name of the signal that we were sent; ``None`` where it ended by itself.
    """

    code: int
    stopped: str | None
    stderr: str


def run_through(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdout_to_stderr: bool = False,
    watch: Callable[[], str | None] = lambda: None,
    grace_s: float = 10.0,
) -> Ended | None:
    """Run ``argv`` (no shell) and let its output through untouched; ``None``: cannot start.

    It gets a process group of its own. ``watch`` is asked ten times a second and ends the run by
    answering a reason. A run is ended gently: SIGINT (or the signal that we were sent) to the
    program, after ``grace_s`` SIGTERM to its group, then SIGKILL; a second signal to us skips a
    step. Input is passed on unless it is a terminal, which a process group in the background
    must not read.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    interactive = sys.stdin is not None and sys.stdin.isatty()
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL if interactive else None,
            stdout=2 if stdout_to_stderr else None,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
            process_group=0,
        )
    except OSError:
        return None
    heard = _Heard()
    reader = threading.Thread(target=heard.follow, args=(child,), daemon=True)
    reader.start()
    stopped = _supervise(child, watch, grace_s)
    reader.join(timeout=2.0)  # a child that outlives the program may hold the pipe
    return Ended(code=child.returncode, stopped=stopped, stderr=heard.text())


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a program wrote and its exit code: negative for a signal, 127 where it cannot start."""

    code: int
    stdout: bytes
    stderr: str


def ask_each(
    argv: Sequence[str], inputs: Iterator[bytes], *, at_once: int
) -> Generator[Answer, None, None]:
    """Run ``argv`` (no shell) once for each input, ``at_once`` of them, and answer in order.

    Where fewer can be started than that, fewer run. Whoever stops asking ends those that still
    run. They get the terminal's interrupts, too.
    """
    running: deque[_Asked] = deque()
    waiting = next(inputs, None)
    try:
        while running or waiting is not None:
            answer = running[0].answer() if running else None
            if running:
                running.popleft()
            while waiting is not None and len(running) < at_once:
                try:
                    running.append(_Asked(argv, waiting))
                except OSError as error:
                    if running or answer:  # there will be room for it
                        break
                    answer = Answer(code=127, stdout=b"", stderr=str(error))
                waiting = next(inputs, None)
            if answer is not None:
                yield answer
    finally:
        for child in running:
            child.end()


class _Asked:
    """A program that runs on files of its own: neither side waits for the other to read."""

    def __init__(self, argv: Sequence[str], data: bytes) -> None:
        with _scratch() as stdin, contextlib.ExitStack() as opened:
            stdin.write(data)
            stdin.seek(0)
            out, err = (opened.enter_context(_scratch()) for _ in range(2))
            self._child = subprocess.Popen(argv, stdin=stdin, stdout=out, stderr=err)
            self._out, self._err, self._opened = out, err, opened.pop_all()

    def answer(self) -> Answer:
        """Wait for its end."""
        code = self._child.wait()
        with self._opened:
            said = _whole(self._err).decode(errors="replace")
            return Answer(code=code, stdout=_whole(self._out), stderr=said)

    def end(self) -> None:
        """End it at once."""
        with self._opened:
            self._child.kill()
            self._child.wait()


def _scratch() -> BinaryIO:
    """A file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("roofline"), "w+b")
    return tempfile.TemporaryFile()


def _whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def become(argv: Sequence[str]) -> NoReturn:
    """Replace this process by ``argv``.

    Raises:
        OSError: it cannot be started.

    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(argv[0], list(argv))  # noqa: S606  # no shell is the point


def _supervise(
    child: subprocess.Popen[bytes], watch: Callable[[], str | None], grace_s: float
) -> str | None:
    """Wait for ``child``, forwarding signals; the reason if it was ended by us."""
    stopped: str | None = None
    steps: list[tuple[int, bool]] = []
    deadline = 0.0
    with _signals() as received:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=_TICK_S)
                break
            asked = received.pop(0) if received else None
            if stopped is None:
                stopped = asked or watch()
                first = getattr(signal, asked) if asked else signal.SIGINT
                steps = [(first, False), (signal.SIGTERM, True), (signal.SIGKILL, True)]
                due = stopped is not None
            else:
                due = asked is not None or time.monotonic() >= deadline
            if due and steps:
                number, to_group = steps.pop(0)
                _send(child, number, to_group=to_group)
                deadline = time.monotonic() + (grace_s if not to_group else _TERM_GRACE_S)
    if stopped is not None:
        _send(child, signal.SIGKILL, to_group=True)  # whatever it left running
    return stopped


def _send(child: subprocess.Popen[bytes], number: int, *, to_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if to_group:
            os.killpg(child.pid, number)
        elif child.poll() is None:
            child.send_signal(number)


@contextlib.contextmanager
def _signals() -> Iterator[list[str]]:
    """Collect the names of the signals that we are sent, instead of dying of them."""
    received: list[str] = []
    before = {}

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(signal.Signals(number).name)

    if threading.current_thread() is threading.main_thread():
        for name in _FORWARDED:
            number = getattr(signal, name)
            before[number] = signal.signal(number, note)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Heard:
    """Passes a program's stderr on at once and keeps its beginning and its end."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()

    def follow(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stderr is not None
        with child.stderr as pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                with contextlib.suppress(OSError):
                    os.write(2, chunk)
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = _KEEP_HEAD - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[:-_KEEP_TAIL]

    def text(self) -> str:
        return (self._head + self._tail).decode("utf-8", errors="replace")
