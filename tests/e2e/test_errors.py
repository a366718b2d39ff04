"""Whatever goes wrong around a command: one message, a code of its own, never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import roofline
from roofline.cli import cli
from roofline.errors import UsageError
from tests.e2e.running import ROOFLINE, ROOT, SAMPLE, run, shell

# One for each way to stdout: click's help, chunks of text, a document, lines.
COMMANDS = ["--help", "analyze $1", "analyze $1 --json", "specs list", "profile --dry-run ./app"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_stdout(command: str, buffered: str):
    done = shell(f"$R {command} >/dev/full", SAMPLE, PYTHONUNBUFFERED=buffered)

    assert done.returncode == 2
    assert (
        done.stderr
        == "roofline: cannot write the answer to stdout: No space left on device\n  try: -o FILE\n"
    )


@pytest.mark.parametrize("command", COMMANDS[:2])
def test_stdout_that_is_closed(command: str):
    done = shell(f"$R {command} >&-", SAMPLE)

    assert done.returncode == 2
    assert (
        done.stderr == "roofline: cannot write the answer to stdout: it is closed\n  try: -o FILE\n"
    )


@pytest.mark.parametrize("lost", ["2>&-", "2>/dev/full", "2>&- <&-"])
@pytest.mark.parametrize("command", ["analyze $1", "time --repeats 1 --warmup 0 true"])
def test_stderr_that_is_lost_costs_no_answer(command: str, lost: str):
    done, whole = shell(f"$R {command} {lost}", SAMPLE), _lines_of(command)

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == whole > 0


@cache
def _lines_of(command: str) -> int:
    """How many lines the command writes where nothing is lost."""
    return len(shell(f"$R {command}", SAMPLE).stdout.splitlines())


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


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "roofline: interrupted\n"),
        (signal.SIGTERM, 143, ""),
        (signal.SIGHUP, 129, ""),
    ],
)
def test_a_signal_has_its_code_and_leaves_nothing(
    tmp_path: Path, number: int, code: int, said: str
):
    started, sleep = tmp_path / "started", f"sleep 4242.{os.getpid()}"  # other tests may run, too
    words = ["--repeats", "1", "--warmup", "0", "-o", str(tmp_path / "a.json")]
    child = subprocess.Popen(
        # The grandchild is in a session of its own, and its parent does not wait for it.
        [*ROOFLINE, "time", *words, "sh", "-c", f"setsid {sleep} & touch {started}; sleep 30"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not started.exists() and child.poll() is None:
        time.sleep(0.05)
    child.send_signal(number)
    _, heard = child.communicate(timeout=30)

    assert child.returncode == code
    assert heard == said
    assert list(tmp_path.iterdir()) == [started]
    assert subprocess.run(["pgrep", "-f", sleep], check=False).returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_it_starts_has_its_code(tmp_path: Path, number: int):
    # What sets handlers is loaded first; click is the first of the rest.
    (tmp_path / "click").mkdir()
    (tmp_path / "click" / "__init__.py").write_text(
        "import os, time\n"
        "class Slow:\n"
        "    def __set_name__(self, owner, name):\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "        time.sleep(30)\n"
        "class Made:\n"
        "    slow = Slow()\n"
    )
    done = shell("$R --help", PYTHONPATH=f"{tmp_path}:{ROOT}")

    assert done.returncode == 128 + number
    assert done.stderr == ""


def test_an_installation_that_lacks_something_is_no_gate(tmp_path: Path):
    (tmp_path / "click.py").write_text("raise ImportError('no click')\n")
    done = shell("$R --help", PYTHONPATH=f"{tmp_path}:{ROOT}")

    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr == "roofline: cannot run: ImportError: no click\n  try: install it again\n"


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), SystemExit(143)])
def test_a_signal_while_a_class_is_made_is_no_fault_of_ours(ended: BaseException):
    from roofline.cli.errors import handled

    with pytest.raises(type(ended)), handled():
        raise RuntimeError("Error calling __set_name__") from ended


def test_errors_of_click_do_not_end_as_gates_do():
    from click import ClickException, exceptions

    from roofline.cli.errors import handled

    with pytest.raises(exceptions.Exit) as ended, handled():
        raise ClickException("a file of click's")
    assert ended.value.exit_code == 2


def test_a_fault_of_ours_has_its_code_and_its_place(monkeypatch):
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("somewhere")

    monkeypatch.setattr("roofline.analysis.analyze", broken)
    done = run("analyze", SAMPLE)

    assert done.exit_code == 70
    assert done.stderr.startswith("roofline: a fault of roofline: ZeroDivisionError: somewhere (")
    assert f"  input: {SAMPLE}\n  try: report it" in done.stderr
    assert "Traceback" not in done.stderr

    monkeypatch.setenv("ROOFLINE_DEBUG", "1")
    assert "Traceback" in run("analyze", SAMPLE).stderr


def test_a_fault_names_the_file_that_was_read(monkeypatch, tmp_path: Path):
    from tests.e2e.reports import report

    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("x")

    for name in ("a", "b"):
        report(tmp_path / f"{name}.ncu-rep")
    monkeypatch.setattr("roofline.analysis.measure", broken)
    done = run("analyze", tmp_path)

    assert done.exit_code == 70
    assert f"input: {tmp_path / 'a.ncu-rep'}\n" in done.stderr


def test_memory_that_one_file_takes_costs_only_that_file(monkeypatch, tmp_path: Path):
    from roofline.analysis import measure
    from tests.e2e.reports import kernel, report

    def full(launch: Any, label: str) -> Any:
        if label == "big.ncu-rep":
            raise MemoryError
        return measure(launch, label)

    report(tmp_path / "big.ncu-rep")
    report(tmp_path / "small.ncu-rep", kernel("seen", ns=1e6))
    monkeypatch.setattr("roofline.analysis.measure", full)
    done = run("analyze", tmp_path)

    assert done.exit_code == 3
    assert f"cannot read {tmp_path / 'big.ncu-rep'}: memory ran out" in done.stderr
    assert "seen" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["analyze", "--quux"], "roofline: No such option '--quux'\n  try: "),
        (["bogus"], "roofline: No such command 'bogus'\n  try: "),
        (["analyze"], "roofline: Missing argument 'REPORT...'\n  try: "),
        (["specs", "show"], "roofline: Missing argument 'NAME'\n  try: "),
        (["analyze", "--top"], "Option '--top' requires an argument\n  try: "),
        (["select", SAMPLE, "--start=-1s"], "'-1s' is not a time: it is below 0\n  try: "),
        (
            ["select", SAMPLE, "--keep", "some"],
            "inner, all, a number or a range\n  try: --keep 2-5",
        ),
        (["analyze", SAMPLE, "--top", "nan"], "'nan' is not a valid whole number\n  try: "),
        (
            ["analyze", SAMPLE, "-o", "no.xyz"],
            "format of no.xyz: no format ends in .xyz\n  try",
        ),
        (
            ["compare", SAMPLE, SAMPLE, "-o", "no.xyz"],
            "ending: .table, .json, .markdown, .md, .html, .pdf, .png, .svg, .txt\n",
        ),
        (["time", "--against", "", "true"], "--against names no program\n  try: --against 'py"),
        (["analyze", ""], "roofline: Invalid value for 'REPORT...': the name is empty\n"),
    ],
)
def test_wrong_usage_is_told_as_everything_else(words: list[Any], said: str):
    done = run(*words)

    assert done.exit_code == 2
    assert said in done.stderr
    assert "Usage:" not in done.stderr


def test_of_many_options_the_first_are_repeated():
    many = [word for i in range(10_000) for word in ("--kernel", f"x{i}")]
    done = run("analyze", SAMPLE, "--kernel", "build", *many)
    assert "--kernel build --kernel x0 --kernel x1 --kernel x2 and 9,997 more" in " ".join(
        done.stdout.split()
    )
    many = [word for i in range(10_000) for word in ("--device", f"7{i}")]
    done = run("analyze", SAMPLE, *many)
    assert "no launch on '70' or '71' or '72' or '73' and 9,996 more\n" in done.stderr


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
    ("plot", "--dpi"),
    ("plot", "--balance"),
    ("compare", "--noise"),
    ("compare", "--latency-threshold"),
    ("report", "--noise"),
    ("select", "--min-share"),
    ("time", "--timeout"),
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
@pytest.mark.parametrize("name", ["latency", "balance"])
def test_a_threshold_that_is_no_percentage(name: str, value: float):
    settings: dict[str, Any] = {name: value}
    with pytest.raises(UsageError, match=name):
        roofline.Rule(**settings)


def test_what_leaves_nothing_out_is_not_told():
    assert "Shown" not in run("analyze", SAMPLE, "--top", "1000000000").stdout
    assert "Shown" in run("analyze", SAMPLE, "--top", "2").stdout


@pytest.mark.parametrize("columns", [20, 40, 59, 60, 61, 70, 77, 78, 95])
def test_narrow_tables_keep_numbers_and_their_units_together(columns: int):
    done = CliRunner().invoke(cli, ["analyze", str(SAMPLE)], env={"COLUMNS": str(columns)})

    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= max(columns, 60)
    assert not [line for line in lines if line.strip() == "%"]
    rows = lines[: lines.index("Try")]
    assert sum(" 82 %" in line for line in rows if " ms " in line) == 1


def test_help_names_the_pages_that_are_there():
    assert "docs/completion.md" in " ".join(run("--help").stdout.split())
    assert (ROOT / "docs" / "completion.md").is_file()
    for shell_name in ("bash", "zsh", "fish"):
        done = shell("$R", _ROOFLINE_COMPLETE=f"{shell_name}_source")
        assert "_ROOFLINE_COMPLETE" in done.stdout
