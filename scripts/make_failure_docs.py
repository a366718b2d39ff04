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

If `roofline profile` fails, it prints one cause with a code in square brackets, the line of ncu
that shows it, what you can try without root, what only an administrator can do, and what to use
meanwhile. The cause is the first error that ncu printed, as later errors follow from it. The
whole log stays as `REPORT.ncu-rep.log`. [`roofline doctor`](doctor.md) looks for most causes
before anything runs.

Exit code 4 means that ncu could not profile, 5 that the program failed and left nothing to
analyse. If a run leaves whole launches, they are analysed and the answer is called partial.

If an entry shows no text of ncu, roofline finds that failure before the run, from its end, or
from the machine.

`scripts/make_failure_docs.py` writes this page from `roofline/capture/failures.toml`.
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
