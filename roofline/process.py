"""The one seam to other programs: nothing else here imports ``subprocess``."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from typing import IO, Any, NoReturn

Watch = Callable[[], str | None]
_TICK_S = 0.1
_TERM_GRACE_S = 5.0
_ROUNDS = 100
# Of an answer: ncu lists its metrics in a megabyte and more.
_KEEP_ANSWER = 1 << 24
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

    Of each stream the last 16 megabytes are kept. What it leaves running is not waited for. A
    program that runs longer than ``timeout_s`` is killed with all that it started and answers -9.
    """
    argv, kept, since = tuple(argv), {1: bytearray(), 2: bytearray()}, _now()
    _adopt()
    try:
        child = Popen(argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=env, process_group=0)
    except (OSError, ValueError):
        return None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        with child.stdout as out, child.stderr as err:
            ended = _listen(child, {out: kept[1], err: kept[2]}, time.monotonic() + timeout_s)
    except BaseException:
        _kill(child, since)
        raise
    if not ended:
        _kill(child, since)
        return Completed(argv=argv, code=-9, stdout="", stderr="timed out")
    stdout, stderr = (text.decode(errors="replace") for text in kept.values())
    return Completed(argv=argv, code=child.returncode, stdout=stdout, stderr=stderr)


def _listen(child: Popen[bytes], pipes: dict[IO[bytes], bytearray], deadline: float) -> bool:
    """Take what ``child`` prints until it ends; false where it does not before ``deadline``."""
    ended = False
    with selectors.DefaultSelector() as ready:
        for pipe, kept in pipes.items():
            ready.register(pipe, selectors.EVENT_READ, kept)
        while ready.get_map() and (left := deadline - time.monotonic()) > 0:
            heard = ready.select(0 if ended else min(left, _TICK_S))
            if ended and not heard:
                return True
            for key, _ in heard:
                chunk = os.read(key.fd, 1 << 16)
                key.data.extend(chunk)
                del key.data[:-_KEEP_ANSWER]
                if not chunk:
                    ready.unregister(key.fileobj)
            if not ended and child.poll() is not None:  # whoever holds the pipes may print on
                ended, deadline = True, time.monotonic() + 1
    with contextlib.suppress(TimeoutExpired):
        child.wait(max(deadline - time.monotonic(), 0))
    return child.returncode is not None


def run_through(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdout_to_stderr: bool = False,
    keep_stderr: bool = True,
    log: Path | None = None,
    passed: Sequence[int] = (),
    watch: Watch = lambda: None,
    grace_s: float = 10.0,
) -> Completed | None:
    """Run ``argv`` (no shell) and let its output through untouched; ``None``: cannot start.

    Its stderr is kept too, but for the middle of a long one; without ``keep_stderr`` it is ours,
    which may be a terminal. All that goes to a ``log`` instead is answered as stdout; descriptors
    that are ``passed`` stay open. It gets a process group of its own, and no input from a terminal,
    which such a group must not read. ``watch`` is asked ten times a second and ends the run by
    answering a reason: SIGINT (or the signal that we were sent) to the program, after ``grace_s``
    SIGTERM to its group, then SIGKILL. A second signal skips a step.
    """
    argv, heard, since = tuple(argv), bytearray(), _now()
    _adopt()
    sys.stdout.flush()
    sys.stderr.flush()
    stdin = DEVNULL if os.isatty(0) else None
    with contextlib.ExitStack() as opened:
        out: Any = 2 if stdout_to_stderr else None
        err = PIPE if keep_stderr else None
        if log is not None:
            out, err = opened.enter_context(log.open("wb")), STDOUT
        received = opened.enter_context(_received_signals())
        try:
            child = Popen(argv, stdin=stdin, stdout=out, stderr=err, env=env,
                          pass_fds=passed, process_group=0)  # fmt: skip
        except (OSError, ValueError):
            return None
        if child.stderr is not None:
            reader = threading.Thread(target=_pass_on, args=(child.stderr, heard), daemon=True)
            reader.start()
        try:
            stopped = _wait(child, watch, received, grace_s)
        except BaseException:
            _kill(child, since)
            raise
        if stopped is not None:
            _kill(child, since)
    if child.stderr is not None:
        reader.join(timeout=2.0)  # a child that outlives the program may hold the pipe
    stdout = "" if log is None else log.read_text(encoding="utf-8", errors="replace")
    stderr = heard.decode(errors="replace")
    return Completed(
        argv=argv, code=child.returncode, stdout=stdout, stderr=stderr, stopped=stopped
    )


def reads_a_pipe() -> bool:
    """Whether stdin is a pipe: a second run of a program would find it empty."""
    try:
        return stat.S_ISFIFO(os.fstat(0).st_mode)
    except OSError:
        return False


def become(argv: Sequence[str]) -> NoReturn:
    """Replace this process by ``argv``; ``OSError`` where it cannot be started."""
    sys.stdout.flush()
    sys.stderr.flush()
    if hasattr(signal, "SIGPIPE"):  # which Python ignores, and programs do not
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
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
    for patience_s in (grace_s, _TERM_GRACE_S):
        deadline = time.monotonic() + patience_s
        while child.poll() is None and not received and time.monotonic() < deadline:
            time.sleep(_TICK_S)
        del received[:1]
        if child.returncode is None and patience_s is grace_s:
            _signal_group(child, signal.SIGTERM)
    return stopped


def _signal_group(child: Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def _kill(child: Popen[bytes], since: float) -> None:
    """End ``child``, its group, and what it started in whatever session."""
    _signal_group(child, signal.SIGKILL)
    child.wait()
    for _ in range(_ROUNDS):  # those of another user stay
        if not (left := running_below(os.getpid(), since)):
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_TICK_S / 10)


@cache
def _adopt() -> None:
    """Have orphans of what is started become children of this process, where Linux can."""
    with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes  # only where something is run

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _now() -> float:
    """Seconds since the system started, as ``/proc`` tells when a process did."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return math.inf if clock is None else time.clock_gettime(clock)


def running_below(process: int, since: float = 0.0) -> set[int]:
    """What runs below ``process`` and began at ``since`` or later, as ``/proc`` has it."""
    below: dict[int, list[tuple[int, float]]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = place.read_bytes().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X"):
                began = (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK")
                below.setdefault(int(fields[1]), []).append((int(place.parent.name), began))
    found, more = set(), [process]
    while more:
        children = [pid for pid, began in below.get(more.pop(), ()) if began >= since]
        found |= set(children)
        more += children
    return found


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
