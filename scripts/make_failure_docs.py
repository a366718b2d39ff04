#!/usr/bin/env python3
"""Write docs/failures.md from roofline/capture/failures.toml.

PYTHONPATH=. python scripts/make_failure_docs.py           # write
PYTHONPATH=. python scripts/make_failure_docs.py --check   # say whether it is up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from roofline.capture.failures import Failure, catalogue

TARGET = Path(__file__).parent.parent / "docs" / "failures.md"
HEAD = """\
# Why profiling failed

When `roofline profile` fails it prints one cause with a code in square brackets, the line of ncu
that shows it, what an administrator must do, what to use meanwhile, and what you can try without
root.
The cause is the first error that ncu printed; later ones follow from it. The whole log is kept as
`REPORT.ncu-rep.log`. `roofline doctor` looks for most of these before anything runs.

Exit code 4: ncu could not profile. Exit code 5: the program failed and left nothing to analyse. A
run that leaves whole launches behind is analysed whatever its exit code, and called partial.

A failure without words of ncu is found before the run, from how it ended, or from the machine.

This page is written by `scripts/make_failure_docs.py` from `roofline/capture/failures.toml`.
"""


def entry(failure: Failure) -> str:
    """The section of one failure."""
    lines = [f"## {failure.code}", "", f"{failure.cause[0].upper()}{failure.cause[1:]}.", ""]
    if failure.tokens:
        who = "The program prints" if failure.where == "program" else "ncu prints"
        lines += [f"{who}: " + ", ".join(f"`{token}`" for token in failure.tokens) + ".", ""]
    rows = (
        ("You", failure.you),
        ("Administrator", failure.admin),
        ("Meanwhile", failure.meanwhile),
        ("Exit code", str(failure.exit)),
    )
    return "\n".join(lines + [f"- {label}: {text}" for label, text in rows if text]) + "\n"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(entry(failure) for failure in catalogue().values())])


def main() -> None:
    """Write the page, or compare it."""
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == page() else f"{TARGET} is out of date")
    TARGET.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
