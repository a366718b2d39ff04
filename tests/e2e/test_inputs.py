"""Files of users that are missing, odd, damaged or forbidden: one message, and the others read."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import roofline
from roofline.errors import InputError, RooflineWarning, UsageError
from roofline.reports.redact import redact
from roofline.specs import load
from tests import wire
from tests.e2e.reports import kernel, report
from tests.e2e.running import ROOT, SAMPLE, run, shell, without_rights


def test_a_file_and_a_folder_without_permission_do_not_hide_the_others(open_path: Path):
    shut = report(open_path / "shut.ncu-rep")
    report(open_path / "open.ncu-rep", kernel("seen", ns=1e6))
    inner = open_path / "inner"
    inner.mkdir()
    shut.chmod(0)
    run("analyze", open_path)  # everything that is imported lazily
    inner.chmod(0)

    with without_rights():
        done = run("analyze", open_path)
        alone = run("redact", shut, "-o", open_path / "x.ncu-rep")
        whole = run("analyze", inner)
    inner.chmod(0o755)

    assert done.exit_code == 3
    assert "seen" in done.stdout
    for path in (shut, inner):
        assert f"cannot read {path}: Permission denied\n  try: ls -ld {path}" in done.stderr
    assert alone.exit_code == 3
    assert whole.exit_code == 3
    assert "Permission denied" in whole.stderr


def test_a_place_without_permission_is_not_written_to(open_path: Path):
    shut = open_path / "shut"
    shut.mkdir(mode=0o555)
    run("analyze", SAMPLE)

    with without_rights():
        done = run("analyze", SAMPLE, "-o", shut / "a.json")
        below = run("analyze", SAMPLE, "-o", shut / "deeper" / "a.json")

    for one in (done, below):
        assert one.exit_code == 2
        assert "cannot write" in one.stderr
        assert "try: " in one.stderr


@pytest.mark.parametrize("shut", ["specs", "roofline", "file"])
def test_own_specs_without_permission_are_left_out_aloud(
    open_path: Path, monkeypatch: pytest.MonkeyPatch, shut: str
):
    folder = open_path / "roofline" / "specs"
    folder.mkdir(parents=True)
    (folder / "own.toml").write_text("")
    {"specs": folder, "roofline": folder.parent, "file": folder / "own.toml"}[shut].chmod(0)
    load()  # what is imported lazily

    monkeypatch.setenv("XDG_CONFIG_HOME", str(open_path))
    with without_rights(), pytest.warns(RooflineWarning, match="left out.*Permission denied"):
        registry = load()
    folder.parent.chmod(0o755)
    folder.chmod(0o755)

    assert registry.specs


def test_the_warning_is_one_line_on_stderr():
    code = (
        "import warnings\n"
        "from roofline.cli import errors\n"
        "from roofline.errors import RooflineWarning\n"
        "errors.prepare_streams()\n"
        "for _ in range(2): warnings.warn('left out', RooflineWarning)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)

    assert done.stderr == "roofline: left out\n"


@pytest.mark.parametrize("command", ["analyze", "select"])
def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path, command: str):
    pipe = tmp_path / "a.ncu-rep"
    os.mkfifo(pipe)

    done = run(command, pipe)

    assert done.exit_code == 3
    assert "not a regular file" in done.stderr


def test_stdin_is_not_read():
    done = run("analyze", "-")

    assert done.exit_code == 3
    assert "cannot read from stdin" in done.stderr


def test_the_empty_name_is_not_the_folder_one_is_in():
    with pytest.raises(InputError, match="name is empty"):
        list(roofline.read(""))


def test_a_pattern_that_is_none_is_told():
    done = run("analyze", "a/**b/*.ncu-rep")

    assert done.exit_code == 3
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_odd_names_are_read(tmp_path: Path):
    (tmp_path / "UP.NCU-REP").write_bytes(SAMPLE.read_bytes())
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff\n.ncu-rep")
    Path(odd).write_bytes(SAMPLE.read_bytes())
    shutil.copy(SAMPLE, tmp_path / "é.ncu-rep")

    for env in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        for way in ("", "--format json", "--format csv --launches --force -o $1/all.csv"):
            done = shell(f"$R analyze {way} $1", tmp_path, **env)
            assert (done.returncode, done.stderr) == (0, "")
            if not way:
                assert "30 launches of 9 kernels" in done.stdout
                assert "3 files: computed by" in done.stdout


def test_damaged_bytes_are_told_and_cost_no_other_file(tmp_path: Path):
    whole = report(tmp_path / "whole.ncu-rep", kernel("seen", ns=1e6))
    data = bytearray(whole.read_bytes())
    # The header of the first block begins behind the magic, the file header and its own length;
    # a wire type of 7 is none.
    at = 4 + 4 + int.from_bytes(data[4:8], "little") + 4
    damages = {"header": at, "session": at + 2}
    for name, place in damages.items():
        broken = bytearray(data)
        broken[place] = 0xFF
        (tmp_path / f"{name}.ncu-rep").write_bytes(broken)

    done = run("analyze", tmp_path)

    assert done.exit_code == 3
    assert "seen" in done.stdout
    assert done.stderr.count("roofline: cannot read") == len(damages)


def test_a_damaged_result_inside_a_whole_block(tmp_path: Path):
    path = report(tmp_path / "a.ncu-rep", kernel("first", ns=1e6), kernel("second", ns=1e6))
    data = bytearray(path.read_bytes())
    data[data.index(wire.text(6, "second"))] |= 7  # a wire type that there is not
    path.write_bytes(data)

    done = run("analyze", path)
    assert done.exit_code == 3
    assert "first" in done.stdout
    assert f"roofline: cannot read all of {path}: bytes of result 2 are damaged" in done.stderr
    assert "\ncannot read all of a.ncu-rep: bytes of result 2 are damaged\n" in done.stdout
    (unread,) = json.loads(run("analyze", path, "--json").stdout)["unread"]
    assert unread == {"path": path.name, "launches": 1, "why": "bytes of result 2 are damaged"}

    done = run("redact", path, "-o", tmp_path / "b.ncu-rep")
    assert done.exit_code == 3
    assert "bytes in it are damaged" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ncu-rep"]


def test_a_damaged_metric_of_a_whole_result(tmp_path: Path):
    path = report(tmp_path / "a.ncu-rep", kernel("first", ns=1e6))
    data = path.read_bytes()
    value = wire.double(3, 1e6)
    path.write_bytes(data.replace(value, b"\x1f" + value[1:]))

    done = run("analyze", path)
    assert done.exit_code == 3
    assert "bytes of gpu__time_duration.sum of result 1 are damaged" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--explain", "1", "--format", "csv"], 2, "try: --explain 1 --format json"),
        (["--plot", "p.gif"], 2, "try: --plot p.png"),
        (["--explain", "99"], 2, "no kernel has rank 99: ranks are 1 to 9"),
        (["--explain", "0"], 2, "ranks are 1 to 9"),
        (["--explain", "-1"], 2, "ranks are 1 to 9"),
        (["--explain", "("], 2, "is not a regular expression"),
        (["--peaks", sys.executable], 3, "not text in UTF-8"),
        (["--peaks", "nowhere.toml"], 3, "try: ls"),
        (["--specs", "nowhere"], 2, "try: --specs takes a folder"),
        (["--timeline", "nowhere.json"], 3, "try: ls"),
        (["-o", "nowhere/a.json"], 2, "try: mkdir -p nowhere"),
    ],
)
def test_hints_lead_somewhere(words: list[str], code: int, said: str):
    done = run("analyze", SAMPLE, *words)

    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


def test_bad_toml_says_which_line_and_how_to_look_again(tmp_path: Path):
    (tmp_path / "bad.toml").write_text("a = \n")
    done = run("specs", "list", "--specs", tmp_path)

    assert done.exit_code == 3
    assert "line 1" in done.stderr
    assert f"roofline specs check --specs {tmp_path}" in done.stderr


@pytest.mark.parametrize("command", ["redact", "plot"])
def test_a_dash_is_no_output_of_theirs(command: str, tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    done = run(command, SAMPLE, "-o", "-")

    assert done.exit_code == 2
    assert "-.png" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "analyze in/a.ncu-rep -o ln.json",
        "analyze in -o ln.json",
        "analyze in/*.ncu-rep -o ln.json",
        "analyze in/a.ncu-rep --plot ln.svg",
        "analyze in/a.ncu-rep --page ln.html",
        "analyze in/a.ncu-rep --peaks p.toml -o p.toml --format table",
        "plot in/a.ncu-rep -o ln.svg",
        "plot in -o ln.svg",
        "report in/a.ncu-rep -o out --no-picture",
        "compare in/a.ncu-rep b.ncu-rep --junit ln.xml",
        "compare in/a.ncu-rep b.ncu-rep --json -o ln.json",
        "compare in/a.ncu-rep b.ncu-rep -o ln.svg",
        "compare b.ncu-rep in/a.ncu-rep --record ln.md",
        "redact in/a.ncu-rep -o in/a.ncu-rep",
        "redact in/a.ncu-rep -o hard.ncu-rep",
        "redact hard.ncu-rep -o ln.ncu-rep",
        "select t.json --json -o t.json",
        "select steps --json -o ln.of.json",
        "select t.json --plot ln.of.svg",
        "select t.json --if floors=in/a.ncu-rep --json -o ln.json",
        "history r.md --json -o r.md",
        "predict in/a.ncu-rep --expect gemm=same --record ln.md",
        "verdict f.csv -o f.csv",
        "profile --timeline t.json -o ln.of.ncu-rep true",
        "compare --baseline perf b.ncu-rep --format json -o perf/GPU",
        "compare --baseline perf b.ncu-rep --junit ln.of.xml",
        "compare --baseline perf b.ncu-rep --update-baseline --json -o perf/GPU",
        "compare --baseline new b.ncu-rep --update-baseline --json -o new/GPU",
        "report --baseline perf b.ncu-rep -o commented",
        "profile --time-file times.json -o ln.times.ncu-rep true",
    ],
)
def test_no_output_takes_the_place_of_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.chdir(tmp_path)
    _inputs(tmp_path)
    name, *words = command.replace("GPU", f"{GPU}.json").split()
    forced = [] if name == "predict" else ["-f"]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    done = run(name, *forced, *words)

    assert done.exit_code == 2, done.output
    assert re.search(r"cannot write \S+: it is the same file as the input \S+", done.stderr)
    assert "try: another name" in done.stderr
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


GPU = "nvidia-h100-80gb-hbm3"


def _inputs(folder: Path) -> None:
    """One of each kind of input, and links to them with the endings of outputs."""
    for place in ("in", "out", "steps", "new", "commented"):
        (folder / place).mkdir()
    shutil.copy(SAMPLE, folder / "in" / "a.ncu-rep")
    shutil.copy(SAMPLE.with_name("h100_copy.ncu-rep"), folder / "b.ncu-rep")
    (folder / "hard.ncu-rep").hardlink_to(folder / "in" / "a.ncu-rep")
    packed = SAMPLE.with_name("h100_step.trace.json.gz").read_bytes()
    for name in ("t.json", "steps/t.json"):
        (folder / name).write_bytes(gzip.decompress(packed))
    (folder / "p.toml").write_text("")
    links = [f"ln.{end}" for end in ("json", "svg", "html", "xml", "md", "ncu-rep")]
    for link in (*links, "out/page.html"):
        (folder / link).symlink_to(folder / "in" / "a.ncu-rep")
    (folder / "ln.of.json").symlink_to("steps/t.json")
    for end in ("svg", "ncu-rep"):
        (folder / f"ln.of.{end}").symlink_to("t.json")
    (folder / "f.csv").write_text("name,gpu,dtype,flops,bytes,seconds\nk,h100,bf16,1e12,1e9,0.01\n")
    run("time", "--repeats", 1, "--warmup", 0, "-o", folder / "times.json", "true")
    (folder / "ln.times.ncu-rep").symlink_to("times.json")
    run("predict", folder / "b.ncu-rep", "--expect", "copy=same", "--record", folder / "r.md")
    perf = folder / "perf"
    run("compare", "--baseline", perf, "--update-baseline", folder / "b.ncu-rep")
    for link in ("ln.of.xml", "commented/compare.json"):
        (folder / link).symlink_to(perf / f"{GPU}.json")


@pytest.mark.parametrize(
    ("command", "one", "other", "name"),
    [
        ("analyze a.ncu-rep", "--plot", "--page", "x.html"),
        ("analyze a.ncu-rep --format table", "--plot", "-o", "x.svg"),
        ("compare a.ncu-rep a.ncu-rep", "--junit", "-o", "x.txt"),
        ("compare a.ncu-rep a.ncu-rep", "--record", "-o", "x.md"),
        ("compare a.ncu-rep a.ncu-rep", "--plot", "--junit", "x.svg"),
    ],
)
def test_two_outputs_are_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, one: str, other: str, name: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    shutil.copy(SAMPLE, "a.ncu-rep")

    done = run(*command.split(), one, Path("link", name), other, name)

    assert done.exit_code == 2
    both = rf"({one} and {other}|{other} and {one}) name the same file, \S*{name}\n"
    assert re.search(both, done.stderr)
    assert done.stdout == ""
    assert not (tmp_path / name).exists()


def test_python_writes_over_no_input_either(tmp_path: Path):
    source, link = tmp_path / "in" / "a.ncu-rep", tmp_path / "link.svg"
    source.parent.mkdir()
    shutil.copy(SAMPLE, source)
    link.symlink_to(source)

    for shown in (source, source.parent, roofline.analyze(source)):
        with pytest.raises(UsageError, match="the same file as the input"):
            roofline.plot(shown, link, force=True)
    with pytest.raises(UsageError, match="the same file as the input"):
        redact(source, source, force=True)

    assert source.read_bytes() == SAMPLE.read_bytes()
    (tmp_path / "old.svg").write_text("not an input")
    roofline.plot(source, tmp_path / "old.svg", force=True)
