"""Write docs/accuracy.md: every kernel of the public reports at hand, and how its answer came out.

python scripts/make_accuracy.py REPORTS EXAMPLES

REPORTS is a folder of public reports, EXAMPLES that of Nsight Compute's examples. What an earlier
version of roofline answered, why the answer has changed, and which reports are later versions of
others stands in scripts/accuracy.toml.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline import Group, RooflineError, analyze, details_of
from roofline.model import PROMISED, Details
from roofline.render.markdown import code, escaped, table
from roofline.text import instructions, names, numbers
from roofline.text import verdict as said

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_name("accuracy.toml")
_NAME = 36
HEAD = """# Accuracy

This page is made by `scripts/make_accuracy.py` from {files} reports with {kernels} kernels: public
ones from GitHub, and the examples that Nsight Compute installs. None is part of this repository.

## Bounds, and what the author's later version gained

A bound is right if what came does not pass it. What came is the time per launch of the first report
over that of the second. Where the later version does less of the work that was measured (another
algorithm, fewer operations), no bound is made for that, and what came may pass the headroom.
In {kept} of {pairs} pairs what came stays within the bound that kernels are ranked by (`gain` in
JSON; 10x stands for more than that).

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A kernel of a report, and what its report says by instruction."""

    file: str
    group: Group
    details: Details

    @property
    def key(self) -> str:
        """What stands for it in ``accuracy.toml``."""
        m = self.group.result.measurement
        return f"{self.file} {m.name} {names.geometry(m).replace(' ', '')}"

    @property
    def kernel(self) -> str:
        """Its name, shortened."""
        m = self.group.result.measurement
        return names.short(m.demangled or m.name, _NAME)

    @property
    def answer(self) -> str:
        """The verdict in the words that are compared between versions."""
        v = self.group.result.verdict
        at = "" if v.limiter_percent is None else f" {numbers.percent(v.limiter_percent)}"
        unit = names.unit(v.nearest)
        what = unit + at if v.limiter else f"{v.bound}, {unit}{at}" if v.nearest else str(v.bound)
        return f"{what}; {names.words(v.cause or 'no cause')}; {v.confidence}"


def rows_of(files: Sequence[Path]) -> Iterator[Row]:
    """The kernels of reports that can be read."""
    for file in files:
        try:
            analysis = analyze(file)
        except RooflineError:  # an empty report is among them
            continue
        for group in analysis.groups:
            details = details_of(analysis, group.launches)
            yield Row(file=file.name.removesuffix(file.suffix), group=group, details=details)


def label(file: str) -> str:
    """Owner and last part: "armleth/report_v4"."""
    parts = file.split("__")
    return escaped(parts[0] if len(parts) == 1 else f"{parts[0]}/{parts[-1]}")


def main_table(rows: Sequence[Row], came: Mapping[str, float]) -> Iterator[str]:
    """Every kernel with its answer."""
    titles = (
        *("report", "kernel", "limited by", "confidence", "why", "bound", "instruction"),
        *("NVIDIA's largest estimate", "-came"),
    )
    return table(titles, (cells(row, came) for row in rows))


def cells(row: Row, came: Mapping[str, float]) -> tuple[str, ...]:
    """A kernel's answer, and what NVIDIA says."""
    result = row.group.result
    v = result.verdict
    limited = f"{names.the_unit(v.limiter)} {numbers.percent(v.limiter_percent)}"
    rules = next(iter(instructions.rules(row.details.rules)), "")
    top = next(instructions.blame(row.details)) if row.details.sampled else ""
    return (
        label(row.file),
        code(row.kernel),
        limited if v.limiter else str(v.bound),
        str(v.confidence),
        escaped(said.cause(result) or ""),
        escaped(said.bounds(result)),
        escaped(top),
        escaped(rules.partition(": ")[0]),
        numbers.times(came[row.key]) if row.key in came else "",
    )


def pairs_table(rows: Mapping[str, Row], pairs: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Every pair of versions."""
    titles = ("before", "after", "bounds", "-ranked by", "-came", "remark")
    return table(titles, (pair_cells(rows, pair) for pair in pairs))


def pair_cells(rows: Mapping[str, Row], pair: Mapping[str, str]) -> tuple[str, ...]:
    """A version, the later one, the bound and what came."""
    before, after = rows[pair["before"]], rows[pair["after"]]
    return (
        f"{label(before.file)} {code(before.kernel)}",
        f"{label(after.file)} {code(after.kernel)}",
        escaped(said.bounds(before.group.result)),
        numbers.times(before.group.result.verdict.gain),
        numbers.times(gained(before, after)),
        escaped(pair["remark"]),
    )


def gained(before: Row, after: Row) -> float:
    """Time per launch before over that after."""
    one, other = ((row.group.total_s or 0.0) / len(row.group.launches) for row in (before, after))
    return one / other


def changes(rows: Sequence[Row], known: Mapping[str, Any]) -> Iterator[str]:
    """The answers that are not as they were, each with the reason."""
    changed = [row for row in rows if known["before"].get(row.key) != row.answer]
    yield f"{len(rows) - len(changed)} of {len(rows)} answers are as they were; these are not:"
    yield ""
    titles = ("report", "kernel", "before", "now", "why")
    listed = (
        (
            label(row.file),
            code(row.kernel),
            escaped(known["before"].get(row.key, "")),
            escaped(row.answer),
            escaped(known["reasons"][known["why"][row.key]]),
        )
        for row in changed
    )
    yield from table(titles, listed)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", type=Path)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--answers", action="store_true", help="print the answers alone, as TOML")
    options = parser.parse_args()
    files = [*sorted(options.reports.glob("*rep")), *sorted(options.examples.glob("*/*.ncu-rep"))]
    rows = list(rows_of(files))
    if options.answers:
        for row in rows:
            print(f'"{row.key}" = "{row.answer}"')
        return
    known = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    by_key = {row.key: row for row in rows}
    came = {
        pair["before"]: gained(by_key[pair["before"]], by_key[pair["after"]])
        for pair in known["pair"]
    }
    ranked = {key: by_key[key].group.result.verdict.gain for key in came}
    # More than 10x is not promised, and so not passed.
    kept = [key for key, gain in ranked.items() if gain and (came[key] <= gain or gain >= PROMISED)]
    text = HEAD.format(
        files=len({row.file for row in rows}), kernels=len(rows), kept=len(kept), pairs=len(came)
    )
    parts = (
        pairs_table(by_key, known["pair"]),
        ["", "## Every kernel", ""],
        main_table(rows, came),
        ["", "## What has changed", ""],
        changes(rows, known),
    )
    lines = [line for part in parts for line in part]
    (ROOT / "docs" / "accuracy.md").write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
