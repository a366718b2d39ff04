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
    noun: str = "reports", *, verb: str = "Reading"
) -> Iterator[Callable[[int, int], None]]:
    """Give a callback that shows a line while the block runs, only where a person can see it."""
    began, shown = time.monotonic(), False
    seen = sys.stderr.isatty()

    def tell(done: int, total: int, /) -> None:
        nonlocal shown
        if seen and done < total and time.monotonic() - began > QUIET_S:
            shown = True
            click.echo(f"\r{verb} {noun}: {done:,} of {total:,} ", err=True, nl=False)

    try:
        yield tell
    finally:
        if shown:
            click.echo("\r\x1b[K", err=True, nl=False)
