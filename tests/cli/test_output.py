"""Progress is for people: on a terminal, when work takes long, and gone when it is over."""

from __future__ import annotations

import io
import sys

from roofline.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said_to(stream: io.StringIO, monkeypatch, quiet_s: float = -1.0) -> io.StringIO:
    """``stream`` as stderr; set within a test, since pytest sets its own before each."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "QUIET_S", quiet_s)
    return stream


def test_counts_and_amounts(monkeypatch):
    terminal = said_to(Terminal(), monkeypatch)
    with output.progress("runs", verb="Timing") as tell:
        tell(1234, 5000)
    with output.progress("reports", percent=True) as tell:
        tell(0, 3_000_000)
        tell(1_000_000, 3_000_000)

    assert "Timing runs: 1,234 of 5,000" in terminal.getvalue()
    assert "Reading reports: 0 %" in terminal.getvalue()
    assert "Reading reports: 33 %" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_to_read_is_no_division_by_zero(monkeypatch):
    terminal = said_to(Terminal(), monkeypatch)
    with output.progress("reports", percent=True) as tell:
        tell(0, 0)

    assert terminal.getvalue() == ""


def test_short_work_says_nothing(monkeypatch):
    terminal = said_to(Terminal(), monkeypatch, quiet_s=60.0)
    with output.progress("reports", percent=True) as tell:
        tell(1, 2)

    assert terminal.getvalue() == ""


def test_a_pipe_gets_nothing(monkeypatch):
    stream = said_to(io.StringIO(), monkeypatch)
    with output.progress("reports", percent=True) as tell:
        tell(1, 2)

    assert stream.getvalue() == ""
