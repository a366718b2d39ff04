"""Whatever goes wrong around a command: one message, a code of its own, never a traceback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import roofline
from roofline.cli import cli
from roofline.errors import InputError, RooflineWarning, UsageError
from roofline.registry import load
from roofline.repfile import wire
from tests.cli.reports import kernel, report

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_reports" / "h100_mix.ncu-rep"
ROOFLINE = [sys.executable, "-m", "roofline"]


def shell(line: str, *words: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``line`` in bash; "$R" runs roofline, "$@" are ``words``."""
    line = line.replace("$R", f"{sys.executable} -m roofline")
    return subprocess.run(
        ["bash", "-c", line, "bash", *map(str, words)],
        cwd=ROOT,
        env=os.environ | env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )


def run(*words: object) -> Any:
    return CliRunner().invoke(cli, list(map(str, words)))


@contextmanager
def without_rights() -> Iterator[None]:
    """As somebody whom permissions stop, which root is not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may look into, as pytest's own are the user's alone."""
    folder = Path(tempfile.mkdtemp(dir="/tmp" if os.geteuid() == 0 else tmp_path))
    folder.chmod(0o755)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "configuration"))
    yield folder
    shutil.rmtree(folder)


COMMANDS = [
    "--help",
    "analyze --help",
    "analyze $X",
    "analyze $X --format json",
    "analyze $X --format csv --launches",
    "analyze $X --explain 1",
    "compare $X $X",
    "specs list",
    "specs show l4 --json",
    "doctor",
    "time --repeats 1 --warmup 0 true",
    "profile --dry-run ./app",
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_stdout(command: str, buffered: str):
    done = shell(f"$R {command.replace('$X', '$1')} >/dev/full", SAMPLE, PYTHONUNBUFFERED=buffered)

    assert done.returncode == 2
    assert done.stderr == "roofline: cannot write the answer to stdout: No space left on device\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_stdout_that_is_closed(command: str):
    done = shell(f"$R {command.replace('$X', '$1')} >&-", SAMPLE)

    assert done.returncode == 2
    assert done.stderr == "roofline: cannot write the answer to stdout: it is closed\n"


@pytest.mark.parametrize("lost", ["2>&-", "2>/dev/full", "2>&- <&-"])
@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "doctor"])
def test_stderr_that_is_lost_costs_no_answer(command: str, lost: str):
    line = command.replace("$X", "$1")
    done, whole = shell(f"$R {line} {lost}", SAMPLE), shell(f"$R {line}", SAMPLE)

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(whole.stdout.splitlines()) > 0


def test_what_failed_is_still_in_the_code_where_nobody_hears_it():
    done = shell("$R analyze nowhere.ncu-rep $1 2>/dev/full", SAMPLE)

    assert done.returncode == 3
    assert "10 launches of 9 kernels" in done.stdout


def test_everything_closed_and_a_file_named(tmp_path: Path):
    done = shell("$R analyze $1 -o $2 >&- 2>&- <&-", SAMPLE, tmp_path / "a.json")

    assert done.returncode == 0
    assert (tmp_path / "a.json").read_text().startswith('{"schema"')


@pytest.mark.parametrize("command", ["analyze $1 --format json", "analyze $1", "specs list"])
def test_a_reader_that_goes_is_no_news(command: str):
    # "exec true" closes its end at once; the sleep lets it be gone before anything is written.
    done = shell(f"(sleep 0.2; exec $R {command}; ) | true; exit ${{PIPESTATUS[0]}}", SAMPLE)

    assert done.returncode == 141
    assert done.stderr == ""


def test_an_interrupt_has_its_code_and_leaves_nothing(tmp_path: Path):
    child = subprocess.Popen(
        [*ROOFLINE, "time", "--repeats", "1", "-o", str(tmp_path / "a.json"), "sleep", "30"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)

    assert child.returncode == 130
    assert said == "roofline: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["analyze", "--quux"], "roofline: No such option '--quux'\n  try: "),
        (["bogus"], "roofline: No such command 'bogus'\n  try: "),
        (["analyze"], "roofline: Missing argument 'REPORT...'\n  try: "),
        (["specs", "show"], "roofline: Missing argument 'NAME'\n  try: "),
        (["analyze", ""], "roofline: Invalid value for 'REPORT...': the name is empty\n"),
    ],
)
def test_wrong_usage_is_told_as_everything_else(words: list[str], said: str):
    done = run(*words)

    assert done.exit_code == 2
    assert said in done.stderr
    assert "Usage:" not in done.stderr


def test_memory_that_runs_out_is_one_message(monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("roofline.analysis.analyze", full)
    done = run("analyze", SAMPLE)

    assert done.exit_code == 3
    assert done.stderr == ("roofline: memory ran out\n  try: fewer reports at once, or --jobs 1\n")


@pytest.mark.parametrize(
    "command", ["analyze", "plot", "compare", "report", "profile", "specs check"]
)
@pytest.mark.parametrize("value", ["0", "-2", "all", "1.5", "9" * 20])
def test_jobs_are_at_least_one(command: str, value: str):
    done = run(*command.split(), "--jobs", value, "x")

    assert done.exit_code == 2
    assert "Invalid value for '-j' / '--jobs'" in done.stderr


NUMBERS = [
    ("analyze", "--latency-threshold"),
    ("analyze", "--balance"),
    ("analyze", "--min-share"),
    ("plot", "--scale"),
    ("plot", "--balance"),
    ("compare", "--noise"),
    ("compare", "--latency-threshold"),
    ("report", "--noise"),
    ("select", "--min-share"),
    ("time", "--limit"),
    ("profile", "--timeout"),
    ("profile", "--stall-timeout"),
    ("profile", "--min-share"),
    ("profile", "--balance"),
]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_what_is_not_finite_is_no_number(command: str, option: str, value: str):
    done = run(command, option, value, "x")

    assert done.exit_code == 2
    assert f"Invalid value for '{option}': '{value}' is not a finite number" in done.stderr


def test_every_option_that_takes_a_float_refuses_nan():
    """The table above has them all."""
    import click

    from roofline.cli import COMMANDS as NAMES

    context = click.Context(cli)
    found = {
        (name, parameter.opts[-1])
        for name in NAMES
        for parameter in cli.get_command(context, name).params  # type: ignore[union-attr]
        if isinstance(parameter.type, (click.types.FloatParamType, click.FloatRange))
        if isinstance(parameter, click.Option)
    }

    assert found >= set(NUMBERS)
    for name, option in found:
        assert "is not a finite number" in run(name, option, "nan", "x").stderr, (name, option)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 100.5])
@pytest.mark.parametrize("name", ["latency_threshold", "balance"])
def test_a_threshold_that_is_no_percentage(name: str, value: float):
    settings: dict[str, Any] = {name: value}
    with pytest.raises(UsageError, match=name):
        roofline.analyze(SAMPLE, **settings)


# --- inputs -------------------------------------------------------------------------------------


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
        "from roofline.cli import ending\n"
        "from roofline.errors import RooflineWarning\n"
        "ending.prepare_streams()\n"
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
    assert "it is a pipe" in done.stderr


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


def test_odd_names_are_read(tmp_path: Path):
    (tmp_path / "UP.NCU-REP").write_bytes(SAMPLE.read_bytes())
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff\n.ncu-rep")
    Path(odd).write_bytes(SAMPLE.read_bytes())
    shutil.copy(SAMPLE, tmp_path / "é.ncu-rep")

    for env in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        for way in ("", "--format json", "--format csv --launches -o /dev/null"):
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


def test_a_damaged_message_inside_a_whole_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = report(tmp_path / "a.ncu-rep")

    def damaged(*_: object) -> None:
        raise wire.WireError("wire type 7 at byte 3")

    monkeypatch.setattr("roofline.repfile.summary._Seen._session", damaged)
    for words in (["analyze", path], ["redact", path, "-o", tmp_path / "b.ncu-rep"]):
        done = run(*words)
        assert done.exit_code == 3
        assert "bytes in it are damaged (wire type 7 at byte 3)" in done.stderr
    monkeypatch.undo()
    monkeypatch.setattr("roofline.redact._Work.session", damaged)
    done = run("redact", path, "-o", tmp_path / "b.ncu-rep")
    assert done.exit_code == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ncu-rep"]


# --- hints --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--explain", "1", "-f", "json"], 2, "try: --format json holds"),
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


# --- small --------------------------------------------------------------------------------------


def test_what_leaves_nothing_out_is_not_told():
    assert "Shown" not in run("analyze", SAMPLE, "--top", "1000000000").stdout
    assert "Shown" in run("analyze", SAMPLE, "--top", "2").stdout


@pytest.mark.parametrize("columns", [20, 40, 59, 60, 61, 70, 77, 78, 95])
def test_narrow_tables_keep_numbers_and_their_units_together(columns: int):
    done = CliRunner().invoke(cli, ["analyze", str(SAMPLE)], env={"COLUMNS": str(columns)})

    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= max(columns, 60)
    assert not [line for line in lines if line.strip() == "%"]
    rows = lines[: lines.index("Where to start")]
    assert sum(" 82 %" in line for line in rows) == 1


def test_help_names_the_pages_that_are_there():
    assert "docs/completion.md" in " ".join(run("--help").stdout.split())
    assert (ROOT / "docs" / "completion.md").is_file()
    for shell_name in ("bash", "zsh", "fish"):
        done = shell("$R", _ROOFLINE_COMPLETE=f"{shell_name}_source")
        assert "_ROOFLINE_COMPLETE" in done.stdout
