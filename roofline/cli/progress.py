"""Progress on a terminal's stderr for work that takes long enough to wonder about."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

QUIET_S = 0.5  # shorter work says nothing


@contextmanager
def reading(
    noun: str, *, verb: str = "Reading", percent: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Give a callback that shows a line while the block runs, only where a person can see it.

    It is told how much is done of how much: counts, or with ``percent`` amounts.
    """
    began, shown = time.monotonic(), False
    seen = sys.stderr.isatty()

    def tell(done: int, total: int, /) -> None:
        nonlocal shown
        if seen and done < total and time.monotonic() - began > QUIET_S:
            shown = True
            far = f"{100 * done / total:.0f} %" if percent else f"{done:,} of {total:,}"
            click.echo(f"\r{verb} {noun}: {far} ", err=True, nl=False)

    try:
        yield tell
    finally:
        if shown:
            click.echo("\r\x1b[K", err=True, nl=False)
