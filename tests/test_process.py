"""Programs that are asked many things at once."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from roofline.process import ask_each

ECHO = (sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())")
SLOW_FIRST = """
import sys, time
data = sys.stdin.read()
time.sleep(0.5 if data == "0" else 0)
sys.stdout.write(data)
"""


@pytest.mark.parametrize("at_once", [1, 2, 50])
def test_answers_come_in_the_order_of_the_inputs(at_once):
    inputs = [str(i).encode() for i in range(6)]
    slow = (sys.executable, "-c", SLOW_FIRST)

    answers = list(ask_each(slow, iter(inputs), at_once=at_once))

    assert [answer.stdout for answer in answers] == inputs
    assert {answer.code for answer in answers} == {0}


def test_an_input_is_taken_when_there_is_room_for_it():
    taken = []

    def inputs():
        for i in range(6):
            taken.append(i)
            yield b"x"

    answers = ask_each(ECHO, inputs(), at_once=2)
    assert taken == []
    assert next(answers).stdout == b"X"
    assert taken == [0, 1, 2, 3]  # one is held ready
    assert len(list(answers)) == 5


def test_more_than_a_pipe_holds_goes_both_ways():
    data = b"x" * 1_000_000
    (answer,) = ask_each(ECHO, iter([data]), at_once=1)

    assert answer.stdout == data.upper()


def test_whoever_stops_asking_ends_what_still_runs():
    sleep = (sys.executable, "-c", "import sys, time; time.sleep(float(sys.stdin.read()))")
    began = time.monotonic()
    answers = ask_each(sleep, iter([b"0", b"60", b"60"]), at_once=3)
    assert next(answers).code == 0
    answers.close()

    assert time.monotonic() - began < 30


def test_codes_signals_and_what_cannot_start():
    fail = "import sys; print('why', file=sys.stderr); sys.exit(int(sys.stdin.read()))"
    (answer,) = ask_each((sys.executable, "-c", fail), iter([b"7"]), at_once=1)
    assert (answer.code, answer.stderr) == (7, "why\n")

    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    (answer,) = ask_each((sys.executable, "-c", kill), iter([b""]), at_once=1)
    assert answer.code == -9

    (answer,) = ask_each(("/gone/program",), iter([b""]), at_once=1)
    assert answer.code == 127
    assert "No such file" in answer.stderr


def test_where_nothing_can_be_started(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuse)
    answers = list(ask_each(ECHO, iter([b"a", b"b"]), at_once=2))

    assert [answer.code for answer in answers] == [127, 127]
    assert "unavailable" in answers[0].stderr


def test_where_fewer_can_be_started_fewer_run(monkeypatch):
    real, alive = subprocess.Popen, []

    def two(*args: object, **settings: object) -> object:
        if sum(child.poll() is None for child in alive) >= 2:
            raise OSError(11, "Resource temporarily unavailable")
        alive.append(real(*args, **settings))  # type: ignore[call-overload]
        return alive[-1]

    monkeypatch.setattr("subprocess.Popen", two)
    answers = list(ask_each(ECHO, iter([b"a", b"b", b"c", b"d", b"e"]), at_once=5))

    assert [answer.stdout for answer in answers] == [b"A", b"B", b"C", b"D", b"E"]


def test_an_error_of_the_inputs_ends_what_runs():
    def inputs():
        yield b"60"
        raise ValueError("no more")

    sleep = (sys.executable, "-c", "import sys, time; time.sleep(float(sys.stdin.read()))")
    began = time.monotonic()
    with pytest.raises(ValueError, match="no more"):
        list(ask_each(sleep, inputs(), at_once=3))

    assert time.monotonic() - began < 30
