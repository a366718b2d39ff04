"""What shells complete beside commands, options and files; where that fails, nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from roofline.model import Launch

_PATIENCE_S = 0.5
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _complete(words: Callable[[click.Context], Iterable[str]]) -> Complete:
    def complete(ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
        with contextlib.suppress(Exception):
            begins = begun.casefold()
            return sorted({w for w in words(ctx) if w.casefold().startswith(begins)})
        return []

    return complete


def _launches(ctx: click.Context) -> Iterator[Launch]:
    """Those of the reports on the line, as far as they can be read in a moment."""
    from roofline.reports import read

    end = time.monotonic() + _PATIENCE_S
    # Where an option waits for its value, click has the reports among the words that are left.
    files = ctx.params.get("reports") or ctx.args
    for launch in read(*map(Path, files), on_error=lambda *_: None):
        yield launch
        if time.monotonic() > end:
            return


def _families(_: click.Context) -> Iterable[str]:
    from roofline.kernel_names import families

    return families()


def _gpus(_: click.Context) -> Iterable[str]:
    from roofline.specs.registry import load

    return load().specs


def _dtypes(_: click.Context) -> Iterable[str]:
    from roofline.figures import DTYPES

    return DTYPES


def _chips(ctx: click.Context) -> Iterable[str]:
    from roofline.capture.levels import table

    return [*map(str.lower, table()), *_gpus(ctx)]


def _devices(ctx: click.Context) -> Iterable[str]:
    names = (launch.metrics.text("device__attribute_display_name") for launch in _launches(ctx))
    return {word for name in names for word in (name or "").split()} - {"NVIDIA"}


_WORDS = (_families, _gpus, _chips, _devices, _dtypes)
families, gpus, chips, devices, dtypes = map(_complete, _WORDS)
kernels = _complete(lambda ctx: (launch.name for launch in _launches(ctx)))
kinds = _complete(lambda ctx: [*_families(ctx), *(launch.name for launch in _launches(ctx))])
