"""Programs that are run: their output, their end, and who ends them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roofline.process import Completed, become, run_quietly, run_through


def test_stderr_is_passed_on_and_kept(capfd: pytest.CaptureFixture[str]) -> None:
    script = "import sys; print('out'); sys.stderr.write('err\\n'); sys.exit(3)"

    ended = run_through([sys.executable, "-c", script])

    assert ended is not None
    assert (ended.code, ended.stopped, ended.stderr) == (3, None, "err\n")
    assert capfd.readouterr() == ("out\n", "err\n")


def test_stdout_can_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    run_through([sys.executable, "-c", "print('out')"], stdout_to_stderr=True)

    assert capfd.readouterr() == ("", "out\n")


def test_a_long_stderr_keeps_its_beginning_and_its_end(capfd: pytest.CaptureFixture[str]) -> None:
    script = "import sys; sys.stderr.write('FIRST' + 'x' * 3_000_000 + 'LAST')"

    ended = run_through([sys.executable, "-c", script])

    capfd.readouterr()
    assert ended is not None
    assert ended.stderr.startswith("FIRST")
    assert ended.stderr.endswith("LAST")
    assert len(ended.stderr) < 2_000_000


def test_what_cannot_start() -> None:
    assert run_through(["/no/such/program"]) is None
    assert run_quietly(["/no/such/program"]) is None
    with pytest.raises(OSError, match="No such file"):
        become(["/no/such/program"])


def test_a_quiet_program_has_no_input_and_a_limit_of_time() -> None:
    script = "import sys; print(repr(sys.stdin.read())); print('err', file=sys.stderr); sys.exit(3)"
    done = run_quietly([sys.executable, "-c", script])
    assert done is not None
    assert (done.code, done.stdout, done.stderr) == (3, "''\n", "err\n")

    done = run_quietly(["sleep", "60"], timeout_s=0.1)
    assert done is not None
    assert (done.code, done.stderr) == (-9, "timed out")


# A program that notes the signals that it gets, and answers each by one to whoever runs it.
STUBBORN = """
import os, signal
from pathlib import Path
def note(number, _):
    with open("signals", "a") as file:
        print(signal.Signals(number).name, file=file)
    os.kill(os.getppid(), signal.SIGINT)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, note)
Path("ready").touch()
while True:
    signal.pause()
"""
OBEDIENT = """
import signal, sys
from pathlib import Path
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: sys.exit(number))
Path("ready").touch()
while True:
    signal.pause()
"""


def signal_when_ready(number: int) -> Callable[[], None]:
    """A watch that sends this process one signal, once the program can take it."""
    sent = []

    def watch() -> None:
        if not sent and Path("ready").exists():
            sent.append(number)
            os.kill(os.getpid(), number)

    return watch


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_goes_on_to_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    number = signal.Signals[name]
    before = signal.getsignal(number)

    ended = run_through([sys.executable, "-c", OBEDIENT], watch=signal_when_ready(number))

    assert ended is not None
    assert (ended.stopped, ended.code) == (name, number)
    assert signal.getsignal(number) is before


def test_a_second_signal_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    ended = run_through(
        [sys.executable, "-c", STUBBORN], watch=signal_when_ready(signal.SIGTERM), grace_s=3600
    )

    # The first goes on as it is, the second is SIGTERM and the third the end of all of it.
    assert ended is not None
    assert (ended.stopped, ended.code) == ("SIGTERM", -signal.SIGKILL)
    assert Path("signals").read_text().split() == ["SIGTERM", "SIGTERM"]


def test_a_hangup_that_is_ignored_stays_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As nohup does.
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ended = run_through(["sh", "-c", "kill -HUP $PPID; kill -HUP $$; exit 5"])
    finally:
        signal.signal(signal.SIGHUP, before)

    assert ended is not None
    assert (ended.stopped, ended.code) == (None, 5)


def test_it_runs_in_a_thread_too_where_no_handler_can_be_set() -> None:
    ended: list[Completed | None] = []
    thread = threading.Thread(target=lambda: ended.append(run_through(["true"])))
    thread.start()
    thread.join()

    assert ended[0] is not None
    assert ended[0].code == 0


def test_a_reason_ends_it_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither listens to SIGINT; SIGTERM is for the whole group.
    script = "trap '' INT; sleep 3600 & echo $! > child; wait"
    monkeypatch.chdir(tmp_path)
    child = Path("child")

    def watch() -> str | None:
        return "stall" if child.exists() and child.read_text().strip() else None

    ended = run_through(["sh", "-c", script], watch=watch, grace_s=0.3)

    assert ended is not None
    assert ended.stopped == "stall"
    assert ended.code < 0
    status = Path(f"/proc/{child.read_text().strip()}/stat")
    while status.exists() and ") Z " not in status.read_text():  # until init has noticed
        time.sleep(0.05)


def test_a_session_of_its_own_is_ended_too(tmp_path: Path) -> None:
    """As daemons make it: detached, in another session, its parent gone."""
    script = f"(setsid sh -c 'echo $$ > {tmp_path}/daemon; exec sleep 3600' &) ; sleep 3600"

    done = run_quietly(["sh", "-c", script], timeout_s=0.5)

    assert done is not None
    assert done.code == -9
    status = Path(f"/proc/{(tmp_path / 'daemon').read_text().strip()}/stat")
    assert not status.exists() or ") Z " in status.read_text()


def test_output_is_kept_to_its_end_and_whoever_holds_the_pipe_is_not_waited_for() -> None:
    began = time.monotonic()
    script = "head -c 50000000 /dev/zero | tr '\\0' x; echo last; yes & disown; exit 3"

    done = run_quietly(["bash", "-c", script.replace("yes &", "(sleep 1; exec timeout 5 yes) &")])

    assert done is not None
    assert (done.code, len(done.stdout)) == (3, 1 << 24)
    assert done.stdout.endswith("last\n")
    assert time.monotonic() - began < 4


def test_one_that_prints_for_ever_is_ended_in_time() -> None:
    began = time.monotonic()
    done = run_quietly(["yes"], timeout_s=0.5)

    assert done is not None
    assert done.code == -9
    assert time.monotonic() - began < 3
