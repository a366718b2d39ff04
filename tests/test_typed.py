from __future__ import annotations

import re
import signal
import threading
import time

import pytest

from roofline import typed
from roofline.compare.names import select
from roofline.errors import UsageError
from roofline.timing import find_figure
from roofline.typed import Typed
from roofline.view import Choice, choose, matching
from tests.makers import analysis, measurement, result

RUNAWAY = "(.*)*x"
LONG = "a" * 40


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed, "LIMIT_S", 0.05)


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize(
    "ask",
    [
        lambda: Typed(RUNAWAY).search(LONG),
        lambda: choose(one_kernel(), Choice(kernels=(re.compile(RUNAWAY),))),
        lambda: matching(one_kernel(), RUNAWAY),
        lambda: select(RUNAWAY, [(LONG, LONG)]),
        lambda: find_figure(re.compile(RUNAWAY), LONG),
    ],
    ids=["alone", "--kernel", "--explain", "compare", "--metric"],
)
def test_an_expression_that_runs_away_is_given_up(ask):
    began = time.monotonic()
    with pytest.raises(UsageError, match="takes too long to match"):
        ask()

    assert time.monotonic() - began < 5


def one_kernel():
    return analysis(result(measurement(LONG, demangled=LONG)))


@pytest.mark.usefixtures("_soon")
def test_the_limit_holds_for_all_texts_together():
    pattern = Typed("(.*)*x")
    texts = ["a" * 12 + f"b{number}" for number in range(10_000)]  # some 0.2 ms each

    with pytest.raises(UsageError, match="too long"):
        pattern.in_any(*texts)


def test_nothing_is_left_behind():
    before = signal.getsignal(signal.SIGVTALRM)

    assert Typed("b+").search("abbc")[0] == "bb"
    assert Typed("b").last("b1 b2").start() == 3
    assert Typed("b").last("none") is None

    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_thread_matches_too():
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(Typed("b").in_any("a", "abc")))
    thread.start()
    thread.join()

    assert found == [True]


@pytest.mark.parametrize("text", ["(", "*", "a{99999999999999999999}"])
def test_what_is_no_expression_is_refused_with_a_way_out(text: str):
    with pytest.raises(UsageError, match=r"--step .* is not a regular expression"):
        Typed(text, option="--step")
