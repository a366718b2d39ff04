#!/usr/bin/env python3
"""Write docs/knowledge.md from roofline/playbook/advice.toml.

PYTHONPATH=. python scripts/make_knowledge_docs.py           # write
PYTHONPATH=. python scripts/make_knowledge_docs.py --check   # say whether it is up to date
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from roofline.counters.evidence import tables
from roofline.playbook import FOLDER, FORMATS, Advice, Play, builtin
from roofline.text.names import unit, words

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "knowledge.md"
EVIDENCE = ROOT / "roofline" / "playbook" / "evidence.toml"
# What a fix may change, as its grade is said.
RISKS = {
    "": "",
    "exact": "leaves results as they are",
    "reassociates": "sums in another order",
    "changes numerics": "changes numerics",
}
HEAD = f"""\
# What roofline knows of causes

For each cause inside a unit, and for each reason to wait: on what evidence it is named, what it
claims, what would refute it, what helps. A cause that gives less than 1.1x is not named. Several
are ordered by what they give, and no number over 10x is a promise. Evidence is of the mean launch.

`scripts/make_knowledge_docs.py` writes this page from `roofline/playbook/advice.toml`.

## Add your own

Each `*.toml` file in the folder `${FOLDER}` (else `advice` in roofline's folder of
settings, on Linux `~/.config/roofline/advice`) adds entries. `[cause.NAME]` with a condition of
its own is a new cause; lines for an entry that exists come before those it has, and what else is
said replaces it:

```toml
[cause.our_small_batches]
when = "latency and waves < 0.5 and blocks <= 64"
claim = "a batch of {{blocks:exact}} requests fills {{waves:waves}} waves"
hint = "batch more requests"
refute = "Send 256 requests in one batch: if the time hardly grows, the batch was the cause."
try_first = ["raise max_batch_size in the server"]

[unit.dram]
try_first = ["our tables: store the embedding in BF16"]
```

`when`, `unless`, `gain` and the shares in `removes` are arithmetic over the evidence: numbers,
names, `+ - * /`, comparisons of two values, `and`, `or`, `not`, `x if c else y`, `min`, `max` and
`known(x)`. What was not measured is unknown, and a comparison with it is neither true nor false:
an entry fires only on what was measured. A file that is not understood is refused with its place.

- `when`, `unless`: the evidence on which a cause is named, and on which it is not.
- `claim`: its sentence, with evidence in braces; of several the first with all figures known. A
  figure is written as `{{blocks:FORM}}`: {", ".join(FORMATS)}, `of block` or Python's `,.1f`.
- `promise`: `waste` is work that can go (`removes`, by unit), `occupancy` and `idle` give up to
  `gain`; `unbounded` is work that can go of which no counter says how much: no bound is named then;
  `wait` and `plain` have no number, and a `gain` only ranks; `first` holds back the rest.
- `relieves`: the units of a `plain` cause, as those in `removes`. Off the latency bound a cause is
  named only where one of its units limits or is near (FP64: half as busy as the busiest). Waste
  that gives less than 1.1x alone is named where the rest gives 1.1x more with it than without it.
- `count`, `counted`: the evidence that must fall if the fix is one, and its name, which `compare`
  checks.
- `hint`, `refute`, `try_first`, `avoid`: what to do; a line may be
  `{{ say = "...", when = "...", loads = ["l1"], risk = "..." }}`. `loads` are the units onto which
  it moves work: with one of them at the threshold the line is left out.
- `risk`, of an entry or of a line to try: what it may change: `exact` nothing, `reassociates` the
  order of sums, `changes numerics` the precision. Answers say the last two beside the advice.
"""


def cause(key: str, play: Play) -> str:
    """The section of one cause."""
    rows: list[tuple[str, str]] = [
        ("When", _code(play.when)),
        ("Not when", _code(play.unless)),
        ("Claim", " / ".join(f"`{line.say}`" for line in play.claim)),
        ("Promise", _promise(play)),
        ("Relieves", ", ".join(map(unit, play.units))),
        ("Must fall", f"{play.counted} (`{play.count}`)" if play.count else ""),
        ("Refuted by", play.refute),
        ("Try", "; ".join(map(_line, play.try_first))),
        ("Not worth the time", "; ".join(map(_line, play.avoid))),
        ("A fix", RISKS[play.risk or ""]),
    ]
    lines = [f"- {label}: {text}" for label, text in rows if text]
    return "\n".join([f"### {key}", "", *lines]) + "\n"


def _promise(play: Play) -> str:
    parts = [f"{name} {_code(share)}" for name, share in play.removes.items()]
    removed = f"; can go of {', '.join(parts)}" if parts else ""
    return play.promise + (f", up to {_code(play.gain)}" if play.gain else "") + removed


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`" if text else ""


def _line(line: Advice) -> str:
    risk = f" ({line.risk})" if line.risk else ""
    busy = f" (not where {' or '.join(map(unit, line.loads))} is near its limit)"
    when = f" (when {_code(line.when)})" if line.when else ""
    return line.say + risk + when + (busy if line.loads else "")


def _way(formula: str) -> str:
    """Arithmetic over metrics, these as code."""
    return " ".join(f"`{word}`" if len(word) > len("over") else word for word in formula.split())


def _tables() -> Iterator[str]:
    plays = builtin()
    yield "## Causes\n"
    for key, play in plays.items():
        if key.startswith("cause.") and play.when:
            yield cause(key.removeprefix("cause."), play)
    yield "## Units\n\n| unit | try first | refuted by |\n|---|---|---|"
    for key, play in plays.items():
        if key.startswith("unit."):
            name = unit(key.removeprefix("unit."))
            yield f"| {name} | {'; '.join(map(_line, play.try_first))} | {play.refute} |"
    yield "\n## Stall reasons\n\n| reason | warps are | try first |\n|---|---|---|"
    for key, play in plays.items():
        if key.startswith("stall."):
            name = words(key.removeprefix("stall."))
            yield f"| {name} | {play.meaning} | {'; '.join(map(_line, play.try_first))} |"
    yield "\n## Kernels of libraries\n\nOnly what calls them can change.\n"
    yield "| work | try first | refuted by |\n|---|---|---|"
    for key, play in plays.items():
        if key.startswith("caller."):
            name = words(key.removeprefix("caller."))
            yield f"| {name} | {'; '.join(map(_line, play.try_first))} | {play.refute} |"
    yield "\n## Evidence\n\n| name | meaning |\n|---|---|"
    meanings = tomllib.loads(EVIDENCE.read_text(encoding="utf-8"))
    yield from (f"| `{name}` | {meaning} |" for name, meaning in meanings.items())
    known = tables()
    for name, recipes in (known["counts"] | known["ratios"] | known["shown"]).items():
        yield f"| `{name}` | {', else '.join(_way(recipe.how) for recipe in recipes)} |"
    yield "| `instructions` | executed instructions of all warps |"
    yield from (
        f"| `{name}` | executed {', '.join(codes)} |" for name, codes in known["opcodes"].items()
    )


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_tables()]) + "\n"


def main() -> None:
    """Write the page, or compare it."""
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == page() else f"{TARGET} is out of date")
    TARGET.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
