"""Seeded damage to every kind of input: whatever it is, it is answered or refused, in time.

``make fuzz`` runs it for longer: ROOFLINE_FUZZ is how many inputs of each kind, ROOFLINE_SEED where
they begin. What it finds is kept in ``tests/strange.py`` and ``tests/e2e/test_extremes.py``.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from roofline.cli import cli
from tests import strange
from tests.e2e.running import ROOT, SAMPLE, run
from tests.e2e.test_hostile_text import chrome, nsys, summary
from tests.hostile import HOSTILE

COUNT = int(os.environ.get("ROOFLINE_FUZZ", "12"))
SEED = int(os.environ.get("ROOFLINE_SEED", "0"))
CODES = {0, 1, 2, 3, 5}  # 5: what `profile --dry-run` names cannot be started
LIMIT_S = 60.0
# What a process says on stderr, as of a record that ends inside a line.
pytestmark = pytest.mark.filterwarnings("ignore::roofline.errors.RooflineWarning")


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with some of them changed, cut, doubled, moved or replaced."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, length = rng.randrange(len(out)), rng.choice((1, 4, 64, 1000))
        match rng.randrange(6):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + length] = rng.randbytes(min(length, len(out) - at))
            case 2:
                del out[at : at + length]
            case 3:
                out[at:at] = out[at : at + length]
            case 4:
                out[at : at + 4] = rng.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff"))
            case 5:
                out[at:at] = rng.choice(HOSTILE).encode("utf-8", "surrogatepass")
        if not out:
            return b""
    return bytes(out)


def answered(*words: object) -> None:
    began = time.monotonic()
    done = run(*words)
    assert done.exit_code in CODES, (words, done.stderr)
    assert "Traceback" not in done.stderr
    assert time.monotonic() - began < LIMIT_S, words


def seeds() -> range:
    return range(SEED, SEED + COUNT)


def some_report() -> bytes:
    return strange.report(*strange.WHOLE["all kinds"], *strange.WHOLE["nested NVTX"])


REPORTS: dict[str, Callable[[], bytes]] = {
    "a.ncu-rep": some_report,
    "b.ncu-rep": SAMPLE.read_bytes,
    "c.ncu-repz": lambda: strange.packed(some_report()),
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str, tmp_path: Path):
    whole, path = REPORTS[name](), tmp_path / name
    for seed in seeds():
        rng = random.Random(f"{name} {seed}")
        path.write_bytes(damaged(whole, rng))
        words = rng.choice(([], ["--json"], ["--launches"], ["--explain", "1"]))
        answered("analyze", path, *words)
        answered("redact", path, "-f", "-o", tmp_path / "out.ncu-rep")


TIMELINES: dict[str, Callable[[Path], Path]] = {
    "t.json": chrome,
    "t.sqlite": nsys,
    "t.csv": summary,
}


@pytest.mark.parametrize("name", TIMELINES)
def test_timelines(name: str, tmp_path: Path):
    path = TIMELINES[name](tmp_path / name)
    whole = path.read_bytes()
    for seed in seeds():
        rng = random.Random(f"{name} {seed}")
        path.write_bytes(damaged(whole, rng))
        answered("select", path, *rng.choice(([], ["--json"], ["--step", "s"], ["--stream"])))


def test_documents(tmp_path: Path):
    """Baselines, timings and ceilings, in bytes and in values."""
    folder, report = tmp_path / "base", strange.write(tmp_path, "two launches")
    assert run("compare", "--baseline", folder, report, "--update-baseline").exit_code == 0
    (baseline,) = folder.iterdir()
    times, peaks = tmp_path / "t.json", tmp_path / "p.toml"
    assert run("time", "--repeats", 1, "--warmup", 0, "-o", times, "true").exit_code == 0
    peaks.write_text('device = "NVIDIA A100-SXM4-80GB"\ndram_bytes_per_s = 1.8e12\n')
    for path, words in (
        (baseline, ("compare", "--baseline", folder, report)),
        (times, ("compare", report, report, "--time", times, times)),
        (peaks, ("analyze", report, "--peaks", peaks)),
    ):
        whole = path.read_bytes()
        for seed in seeds():
            rng = random.Random(f"{path.name} {seed}")
            changed = damaged(whole, rng)
            if seed % 2 and path.suffix == ".json":
                changed = json.dumps(_odd(json.loads(whole), rng)).encode()
            path.write_bytes(changed)
            answered(*words)


def _odd(value: Any, rng: random.Random) -> Any:
    """A document in which some values are others."""
    if rng.random() < 0.01:
        return rng.choice((None, -1, 1e300, 0, "x", [], {}, True, rng.choice(HOSTILE)))
    if isinstance(value, dict):
        return {key: _odd(inner, rng) for key, inner in value.items()}
    return [_odd(inner, rng) for inner in value] if isinstance(value, list) else value


NUMBER = re.compile(r"(?<![\w#])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
ODD = ("nan", "inf", "-1", "0", "1e300", "1e-320", "9" * 400, '""', "[]", "true", "1e999", "0x7f")


def reworded(text: str, rng: random.Random) -> bytes:
    """A text that somebody wrote with some numbers as others, or with its bytes damaged."""
    if rng.random() < 0.4:
        return damaged(text.encode(), rng)
    if rng.random() < 0.3:  # lines gone, twice or elsewhere
        lines = text.splitlines(keepends=True)
        return "".join(rng.choices(lines, k=rng.randrange(len(lines) + 1))).encode()
    rate = rng.choice((0.02, 0.2))
    return NUMBER.sub(lambda n: rng.choice(ODD) if rng.random() < rate else n[0], text).encode()


ADVICE = """\
[common]
slow = "fewer bytes"

[cause.my_spills]
when = "local_share >= 0.1 and registers > 200 or (not known(hit_l1) and waves < 2.5)"
hint = "spill less"
claim = ["{local_share%} of its accesses are spills"]
try_first = ["slow", { say = "smaller tiles", when = "registers >= 255" }]
risk = "exact"
gain = "1 + 0.5"

[unit.dram]
hint = "move fewer bytes"
"""
ROWS = """\
name,gpu,dtype,flops,bytes,time,mnk
gemm,h100,bf16,2.1e12,3GB,3.1ms,
norm,a100,fp32,1e9,8.5GiB,560us,
attn,h100,fp16,,,40us,4096x4096x128
"""


def test_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What people write: advice, specs, points, records."""
    report, record = strange.write(tmp_path, "two launches"), tmp_path / "log.md"
    assert run("predict", report, "--record", record, "--expect", "first=2x").exit_code == 0
    log = record.read_text()
    spec = (ROOT / "specs" / "hopper.toml").read_text()
    sources = (ROOT / "specs" / "sources.toml").read_text()
    for seed in seeds():
        rng, folder = random.Random(f"texts {seed}"), tmp_path / f"{seed}"
        for name, text in (("specs/a.toml", spec), ("specs/sources.toml", sources)):
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_bytes(
                reworded(text, rng) if rng.random() < 0.7 else text.encode()
            )
        for name, text in (("advice/a.toml", ADVICE), ("rows.csv", ROWS), ("log.md", log)):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(reworded(text, rng))
        monkeypatch.delenv("ROOFLINE_ADVICE", raising=False)
        answered("analyze", SAMPLE, "--specs", folder / "specs", *rng.choice(([], ["--json"])))
        answered("specs", "show", "H100 PCIe", "--specs", folder / "specs")
        answered("verdict", folder / "rows.csv", *rng.choice(([], ["--json"], ["--explain", "1"])))
        answered("history", folder / "log.md")
        answered("compare", report, report, "--record", folder / "log.md")
        answered("predict", report, "--expect", "first=2x", "--record", folder / "log.md")
        monkeypatch.setenv("ROOFLINE_ADVICE", str(folder / "advice"))
        answered("analyze", SAMPLE, "--explain", "1")


# What runs no program, and how many files it takes.
COMMANDS = {"analyze": 1, "plot": 1, "compare": 2, "report -f -o r": 2, "select": 1, "history": 1}
COMMANDS |= {"redact -f -o out.ncu-rep": 1, "predict --expect fill=2x --record log.md": 1}
COMMANDS |= {"verdict --gpu h100 --flops 1T --bytes 1GB --time 1ms": 0, "profile --dry-run": 1}
COMMANDS |= {"specs list": 0, "specs show": 0, "specs check": 1}
ARGUMENTS = (*HOSTILE, "-1", "1e999", "0", "", "9" * 400, "(" * 2000, "nan", "1", "gemm", "=", "..")


def options_of(words: list[str]) -> list[click.Option]:
    """The options of a command, which some words name."""
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
    return [one for one in command.params if isinstance(one, click.Option)]


def test_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every option of every command that runs no program, with odd values."""
    monkeypatch.chdir(tmp_path)  # some name an output
    (tmp_path / "a").mkdir()
    files = [SAMPLE, *(TIMELINES[name](tmp_path / name) for name in TIMELINES), tmp_path / "a"]
    for seed in seeds():
        rng = random.Random(f"arguments {seed}")
        command, count = rng.choice(list(COMMANDS.items()))
        words: list[object] = [*command.split()]
        known = options_of([str(word) for word in words])
        words += rng.choices(files, (8, 1, 1, 1, 1), k=rng.choice((count, count, count, 0, 3)))
        for option in rng.choices(known, k=rng.choice((1, 1, 2, 4))):
            words.append(rng.choice(option.opts))
            if isinstance(option.type, click.Choice) and rng.random() < 0.8:
                words.append(rng.choice(option.type.choices))
            elif not option.is_flag:
                odd = rng.choice(ARGUMENTS).encode("utf-8", "surrogatepass")
                typed = os.fsdecode(odd.replace(b"\0", b"").replace(b"/", b"_"))
                words.append(rng.choice((typed, "1", "50", "gemm", "out.svg", rng.choice(files))))
        answered(*words)
