"""Change the code one place at a time and run its tests: a change that no test notices survives.

python scripts/mutants.py                        # a sample of the places that decide
python scripts/mutants.py --sample 0             # all of them: hours
python scripts/mutants.py roofline/fold.py --seed 2

Survivors are printed as file:line, what was there and what the tests did not notice. Some are
equivalent (the changed code means the same); CONTRIBUTING.md says which are known.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
CODE = ("roofline/counters", "roofline/verdict", "roofline/fold.py")
TESTS = ("tests/counters", "tests/verdict", "tests/test_fold.py", "tests/test_analysis.py")
NEEDED = ("roofline", "tests", "specs", "sample_reports", "scripts", "pyproject.toml")

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}


@dataclass(frozen=True)
class Mutant:
    """One change: the file's new text, and what differs where."""

    file: Path
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.before}  ->  {self.after}"


def changed(node: ast.AST) -> ast.AST | None:
    """What a mutant has in the place of ``node``."""
    match node:
        case ast.Compare(left, [op], right) if type(op) in COMPARISONS:
            return ast.Compare(left, [COMPARISONS[type(op)]()], right)
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Constant(value) if isinstance(value, bool):
            return ast.Constant(not value)
        case ast.Constant(value) if isinstance(value, int | float):
            return ast.Constant(value + 1)
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(test, orelse, body)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            return ast.Return(ast.Constant(None))
    return None


def mutants(file: Path) -> Iterator[Mutant]:
    """All changes of a file that leave it valid Python."""
    text = file.read_text(encoding="utf-8")
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for node in ast.walk(ast.parse(text)):
        new = changed(node)
        if new is None or node.lineno is None or node.end_lineno is None:
            continue
        start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: node.end_lineno - 1])) + (node.end_col_offset or 0)
        whole = text.encode()
        after = ast.unparse(ast.fix_missing_locations(new))
        if isinstance(node, ast.expr):
            after = f"({after})"
        mutated = whole[:start] + after.encode() + whole[end:]
        try:
            ast.parse(mutated)
        except SyntaxError:  # within an f-string of some forms
            continue
        before = " ".join(whole[start:end].decode().split())
        yield Mutant(file, node.lineno, before, after, mutated.decode())


def survives(mutant: Mutant, copy: Path, tests: list[str], limit_s: float) -> bool:
    """Whether the tests pass with the change."""
    place = copy / mutant.file.relative_to(ROOT)
    place.write_text(mutant.text, encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            argv, cwd=copy, env=environment, capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy(mutant.file, place)
    return done.returncode == 0


def main() -> None:
    """Run the mutants asked for and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("code", nargs="*", help="files or folders to change")
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="what must notice")
    parser.add_argument("--sample", type=int, default=200, help="how many; 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for one mutant")
    given = parser.parse_args()
    places = [ROOT / code for code in given.code or CODE]
    files = [f for p in places for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    found = [mutant for file in files for mutant in mutants(file)]
    if given.sample and given.sample < len(found):
        found = random.Random(given.seed).sample(found, given.sample)
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        for number in range(given.jobs):
            copy = Path(folder) / str(number)
            for name in NEEDED:
                take = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy.mkdir(exist_ok=True)
                take(ROOT / name, copy / name)
            copies.put(copy)

        def alive(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return survives(mutant, copy, given.tests, given.limit)
            finally:
                copies.put(copy)

        count = 0
        for mutant, survived in zip(found, pool.map(alive, found), strict=True):
            count += survived
            if survived:
                print(f"SURVIVED {mutant}", flush=True)
    print(f"{len(found) - count} of {len(found)} mutants were noticed, {count} survived")


if __name__ == "__main__":
    main()
