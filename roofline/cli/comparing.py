"""What ``compare`` and ``report`` share: their options, and two sides to one comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli.reports import Judging, analyze_reports
from roofline.errors import InputError, UsageError
from roofline.model import Analysis

if TYPE_CHECKING:
    from roofline.compare.judge import CompareOptions
    from roofline.compare.model import Comparison
    from roofline.compare.predictions import Expectation

# More arrows than that nobody tells apart.
DRAWN = 20


def parse_maps(maps: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """OLD=NEW, as typed.

    Raises:
        UsageError: one has no "=" or nothing on a side of it.

    """
    pairs = []
    for text in maps:
        old, sign, new = text.partition("=")
        if not sign or not old or not new:
            raise UsageError(f"--map {text!r} is not OLD=NEW", hint="--map gemm_v1=gemm_v2")
        pairs.append((old, new))
    return tuple(pairs)


def parse_expectations(given: dict[str, Any]) -> tuple[Expectation, ...]:
    """--expect and --because, parsed."""
    from roofline.compare.predictions import parse_claim, parse_expect

    return (*map(parse_expect, given["expect"]), *map(parse_claim, given["because"]))


def compare_options(given: dict[str, Any], before: Analysis) -> CompareOptions:
    """The options of ``COMPARING`` for a comparison with ``before``.

    Raises:
        UsageError: an option is not understood, or the timeline has none of the kernels.

    """
    from roofline.compare.comparable import REFUSALS
    from roofline.compare.judge import CompareOptions

    unknown = set(given["allow"]) - {*REFUSALS, "all"}
    if unknown:
        raise UsageError(
            f"--allow {' '.join(sorted(unknown))}: no such refusal",
            hint=f"one of {', '.join((*REFUSALS, 'all'))}",
        )
    return CompareOptions(
        maps=parse_maps(given["maps"]),
        allow=given["allow"],
        noise=None if given["noise"] is None else given["noise"] / 100,
        expectations=parse_expectations(given),
        shares={} if given["timeline"] is None else shares_of(before, given["timeline"]),
    )


def shares_of(before: Analysis, timeline: Path) -> dict[int, tuple[float, float]]:
    """The (exposed, whole) share of a step of each group of ``before`` that ``timeline`` has.

    Raises:
        UsageError: it has none of them, or says nothing of wall time.

    """
    from roofline.timeline import load_timeline, select
    from roofline.timeline.join import share_of

    selection = select(load_timeline(timeline))
    shares = {}
    for position, group in enumerate(before.groups):
        found = share_of(selection, group.result.measurement)
        if found is not None and found.wall_share is not None:
            shares[position] = (found.exposed_share or 0.0, found.wall_share)
    if not shares:
        raise UsageError(
            f"{timeline.name} has a share of a step for no kernel of BEFORE",
            hint="a timeline of the same program, recorded before the change",
        )
    return shares


def analyze_side(path: Path, how: Judging) -> tuple[Analysis, int]:
    """One side (report, folder, glob pattern, baseline) and how many files were unreadable.

    Raises:
        InputError: a baseline cannot be read.
        Exit: none of it could be read, or it holds no kernels; stderr has why.

    """
    if path.suffix == ".json":
        from roofline.compare.baseline import load_baseline

        return load_baseline(path), 0
    analysis, failures = analyze_reports((path,), how)
    if analysis is None:  # what failed has been told
        raise click.exceptions.Exit(InputError.exit_code)
    return analysis, failures


def draw(
    comparison: Comparison,
    files: Mapping[Path, str],
    *,
    title: str | None = None,
    force: bool = False,
) -> None:
    """Draw arrows from before to after into ``files`` (path to theme).

    Raises:
        UsageError: matplotlib is not installed, or a file cannot be written.

    """
    from roofline.plot import Options, Pair, picture_comparison, save

    pairs = [
        Pair(before=p.before.result, after=p.after.result, share=share)
        for p, share in zip(comparison.pairs, _shares(comparison), strict=True)
    ][:DRAWN]
    for path, theme in files.items():
        save(
            picture_comparison(pairs, Options(theme=theme, title=title, levels=False)),
            path,
            force=force,
        )


def _shares(comparison: Comparison) -> list[float | None]:
    """Each pair's part of the time before."""
    times = [p.before.total_s for p in comparison.pairs]
    whole = sum(t for t in times if t is not None)
    return [t / whole if t is not None and whole else None for t in times]
