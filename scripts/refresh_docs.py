"""Run the commands of the documentation again and put what they print below them.

Only fenced blocks opened with "console checked" are touched: the first line is "$ COMMAND", the
rest is its output, 100 columns wide. Those opened with "console nvidia" run on the examples of
Nsight Compute, if ROOFLINE_TEST_EXAMPLES names their folder. tests/test_docs.py holds that nothing
is left to refresh.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from roofline.process import run_quietly  # noqa: E402

BLOCK = re.compile(
    r"^```console (checked|nvidia)\n\$ (roofline [^\n]*)\n.*?^```$", re.MULTILINE | re.DOTALL
)
COLUMNS = 100


def pages() -> list[Path]:
    """Every page that may hold such a block."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def nvidia() -> Path | None:
    """The folder of NVIDIA's two transposes, where it is known."""
    named = os.environ.get("ROOFLINE_TEST_EXAMPLES")
    found = Path(named).rglob("transposeCoalesced.ncu-rep") if named else ()
    return next((path.parent.resolve() for path in found), None)


def refreshed(text: str) -> str:
    """``text`` with the output of each command as it is now."""
    folders = {"checked": ROOT, "nvidia": nvidia()}

    def block(found: re.Match[str]) -> str:
        kind, command = found.groups()
        folder = folders[kind]
        if folder is None:
            return found[0]
        return f"```console {kind}\n$ {command}\n{_output(command, folder)}\n```"

    return BLOCK.sub(block, text)


def _output(command: str, folder: Path) -> str:
    words, _, pipe = command.partition(" | ")
    argv = [sys.executable, "-m", "roofline", *shlex.split(words)[1:]]
    env = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    here = Path.cwd()
    os.chdir(folder)
    try:
        done = run_quietly(argv, env=env)
    finally:
        os.chdir(here)
    if done is None or done.code != 0:
        raise SystemExit(f"{command} failed: {done.stderr if done else 'it cannot be started'}")
    lines = done.stdout.rstrip().splitlines()
    head = re.fullmatch(r"head -(\d+)", pipe)
    if head:
        lines = lines[: int(head.group(1))]
    elif pipe:
        raise SystemExit(f"{command}: only head -N may follow")
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Rewrite the pages that have changed."""
    for page in pages():
        before = page.read_text("utf-8")
        after = refreshed(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"refreshed {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
