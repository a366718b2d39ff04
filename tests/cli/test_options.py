"""Options mean the same everywhere, help groups them, and old spellings lead to new ones."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

import click
import pytest

import roofline.cli
from roofline.cli import COMMANDS, cli
from roofline.cli.analyze import AnalyzeOptions
from roofline.cli.options import (
    GROUPS,
    RENAMED,
    Choosing,
    Command,
    amount,
    argument,
    helps,
    shared,
    typed_command,
    which,
)
from roofline.errors import UsageError
from roofline.view import Choice
from tests.e2e.running import ROOT, SAMPLE, run


def every_command() -> Iterator[tuple[str, Command]]:
    """Each command with its words, those of groups too."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            for inner, found in command.commands.items():
                assert isinstance(found, Command)
                yield f"{name} {inner}", found
        else:
            assert isinstance(command, Command)
            yield name, command


ALL = dict(every_command())
each_command = pytest.mark.parametrize("name", ALL)


def options_of(command: Command) -> list[click.Option]:
    return [p for p in command.params if isinstance(p, click.Option)]


# --- help -----------------------------------------------------------------------------------------


@each_command
def test_help_shows_examples_first_and_options_in_groups(name: str) -> None:
    done = run(*name.split(), "--help")
    lines = done.stdout.splitlines()
    titles = [line.removesuffix(":") for line in lines if line.removesuffix(":") in GROUPS]

    assert done.exit_code == 0
    assert lines[3].strip() == "Examples:" or lines[4].strip() == "Examples:"
    assert titles == [group for group in GROUPS if group in titles]
    assert "Options" not in titles
    for option in options_of(ALL[name]):
        assert option.hidden or max(option.opts, key=len) in done.stdout
        assert option.help, option.opts


@each_command
def test_examples_of_the_help_are_understood(name: str) -> None:
    help_text = ALL[name].help or ""
    examples = re.findall(r"roofline " + name + r"\b[^\n]*", help_text.partition("\n\n")[2])
    found = [line for line in examples if "'" + line not in help_text]

    assert found
    for line in found:
        words = shlex.split(line.partition(" > ")[0])[1 + len(name.split()) :]
        with ALL[name].make_context(name, words):
            pass


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_as_the_list_of_commands_says(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)

    assert command is not None
    assert command.help is not None
    assert command.help.partition("\n\n")[0] == COMMANDS[name]


def test_help_of_a_report_has_no_option_of_timelines() -> None:
    told = {name: run(name, "--help").stdout for name in ("report", "compare")}

    assert "--map" in told["report"]
    assert [name for name, text in told.items() if "--step-at" in text] == ["compare"]


def test_help_of_all_is_quick_and_loads_no_command() -> None:
    code = (
        "import sys, roofline.cli\n"
        "try: roofline.cli.cli(['--help'], prog_name='roofline')\n"
        "except SystemExit: pass\n"
        "loaded = [m for m in sys.modules if m.startswith('roofline.')]\n"
        "print(*loaded, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(done.stderr.split()) == {
        "roofline.cli",
        "roofline.cli.errors",
        "roofline.display",
        "roofline.errors",
        "roofline.foreign",
    }


# --- one meaning ----------------------------------------------------------------------------------

# What may differ: the picture, the folder and the report are outputs of their own; specs measure
# speaks to PyTorch, which counts GPUs; a time may be limited from the start.
OTHERWISE = {
    "--output": {"plot", "redact", "report", "profile", "specs measure"},
    "--device": {"specs measure"},
    "--level": {"plot"},  # of memory; of profile how much is collected
    "--time": {"profile"},  # has it measured; of verdict what it was
}
LETTERS = {
    "-k": "--kernel",
    "-s": "--launch-skip",
    "-c": "--launch-count",
    "-o": "--output",
    "-f": "--force",
    "-j": "--jobs",
}


def test_an_option_means_the_same_in_every_command() -> None:
    meanings: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    for name, command in ALL.items():
        for option in options_of(command):
            for spelling in (o for o in option.opts if len(o) > 2):
                if name not in OTHERWISE.get(spelling, ()):
                    meanings[spelling].add((option.metavar, option.is_flag, option.multiple))

    assert not [spelling for spelling, found in meanings.items() if len(found) > 1]


def test_letters_are_those_of_ncu() -> None:
    for command in ALL.values():
        for option in options_of(command):
            for letter in (o for o in option.opts if len(o) == 2):
                assert LETTERS[letter] in option.opts


@each_command
def test_an_answer_has_a_format_and_a_file(name: str) -> None:
    spelt = {o for option in options_of(ALL[name]) for o in option.opts}
    if "--format" in spelt:
        assert {"--json", "-o", "--output", "-f", "--force"} <= spelt


def test_json_is_short_for_its_format() -> None:
    assert run("analyze", SAMPLE, "--json").stdout == (
        run("analyze", SAMPLE, "--format", "json").stdout
    )
    refused = run("analyze", SAMPLE, "--json", "--format", "csv")
    assert refused.exit_code == 2
    assert "--json and --format csv exclude each other" in refused.stderr


def test_kernels_by_expression_name_and_device() -> None:
    def names(*words: str) -> set[str]:
        table = run("analyze", SAMPLE, "--format", "csv", *words).stdout.splitlines()[1:]
        return {line.split(",")[4] for line in table}

    everything = run("analyze", SAMPLE, "--format", "csv").stdout
    assert "adamw" in everything
    assert names("-k", "adam") == names("--kernel", "adam") == names("--kernel-regex", "adam")
    assert len(names("-k", "adam", "-k", "rmsn")) == 2
    assert run("analyze", SAMPLE, "--kernel-name", "adam").exit_code == 2
    assert run("analyze", SAMPLE, "--device", "A100").exit_code == 2
    assert names("--device", "A100", "--device", "h100") == names()


# --- spellings of before --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("select t.json --from 1s", "--from is now --start\n  try: --start"),
        ("select t.json --to 1s", "--to is now --end\n  try: --end"),
        ("profile --from t.json app", "--from is now --timeline\n  try: --timeline"),
        ("profile --devices 0,1 app", "--devices is now --device"),
        ("profile --from-start app", "--from-start is now --capture-range"),
        ("time --limit 5 app", "--limit is now --timeout"),
        ("analyze a.ncu-rep --csv", "No such option '--csv'\n  try: --format csv\n"),
        ("verdict --csv a.csv", "to write one; to read one: cli verdict FILE.csv"),
        (
            "analyze r.ncu-rep -f json",
            "-f json: -f is --force now: as in ncu\n  try: --format json",
        ),
        ("analyze -f csv r.ncu-rep", "try: --format csv"),
        ("profile -f markdown app", "try: --format markdown"),
        ("profile --kernel 'f(' app", "--kernel-name"),
        ("analyze r.ncu-rep --kernel 'f('", "--kernel-name is the exact name"),
    ],
)
def test_an_old_spelling_names_the_new_one(words: str, said: str) -> None:
    done = run(*shlex.split(words))

    assert done.exit_code == 2
    assert said in done.stderr


def test_every_new_spelling_exists() -> None:
    spelt = {o for command in ALL.values() for p in options_of(command) for o in p.opts}

    assert {new for news in RENAMED.values() for new in news} <= spelt
    assert not set(RENAMED) & spelt


def test_words_of_the_program_are_left_alone() -> None:
    done = run("time", "--repeats", "1", "--warmup", "0", "true", "-f", "json", "--from", "x")

    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("analyse", "roofline analyze"),
        ("profil", "roofline profile"),
        ("/", "roofline analyze / for reports, roofline select / for timelines"),
    ],
)
def test_a_mistyped_command_has_a_suggestion(word: str, hint: str) -> None:
    done = run(word, "x")

    assert done.exit_code == 2
    assert f"No such command '{word}'\n  try: {hint}" in done.stderr


@pytest.mark.parametrize(
    ("command", "hint"),
    [("plot", "-o roofline.png"), ("redact", "-o FILE"), ("report", "-o DIR")],
)
def test_an_option_that_is_needed_is_asked_for(command: str, hint: str) -> None:
    done = run(command, SAMPLE)

    assert done.exit_code == 2
    assert f"Missing option '-o' / '--output'\n  try: {hint}\n" in done.stderr


def test_a_step_that_is_not_there_is_named_as_it_was_typed() -> None:
    trace = next(SAMPLE.parent.glob("*.json.gz"))

    assert "--step 'no such' matches no range" in run("select", trace, "--step", "no such").stderr


def test_a_report_without_a_command_is_analyzed_and_a_timeline_selected_from() -> None:
    assert run(SAMPLE, "--json").stdout == run("analyze", SAMPLE, "--json").stdout
    trace = next(SAMPLE.parent.glob("*.json.gz"))
    assert run(trace, "--json").stdout == run("select", trace, "--json").stdout
    assert "nowhere.ncu-rep" in run("nowhere.ncu-rep").stderr
    assert run("nowhere.ncu-rep").exit_code == 3


def test_no_text_names_an_old_spelling() -> None:
    texts = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    sources = [p for p in (ROOT / "roofline").rglob("*") if p.suffix in (".py", ".toml", ".json")]
    # ncu has a --devices, too.
    found = {
        (path.name, word)
        for path in (*texts, *sources)
        if path.name not in ("options.py", "command.py", "preflight.py")
        for word in re.findall(r"(?<![\w-])--[a-z-]+", path.read_text(encoding="utf-8"))
        if word in RENAMED
    }

    assert not found


# --- from a dataclass to click and back -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    size: int = amount("-z --size COUNT", "How many.", default=3)
    loud: bool = amount("--loud", "Loudly.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    words: tuple[str, ...] = argument("[WORD]...", nargs=-1)
    kinds: tuple[str, ...] = which("--kind NAME...", "Kinds. Repeatable.")
    inner: Inner = shared(Inner, size={"help": "How big."})  # noqa: RUF009


def typed(*words: str) -> Outer:
    seen: list[Outer] = []

    @typed_command(Outer, "made")
    def made(options: Outer) -> None:
        """Take options."""
        seen.append(options)

    made.main(list(words), standalone_mode=False)
    return seen[0]


def test_a_command_gets_one_typed_value() -> None:
    assert typed("a", "--kind", "x", "--kind", "y", "-z", "5", "b", "--loud") == Outer(
        words=("a", "b"), kinds=("x", "y"), inner=Inner(size=5, loud=True)
    )


def test_what_is_not_typed_is_what_the_dataclass_says() -> None:
    assert typed() == Outer(words=())
    assert Outer(words=()).inner == Inner(size=3, loud=False)


def test_the_same_options_may_read_otherwise_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IndexError):
        typed("--help")

    shown = " ".join(capsys.readouterr().out.split())
    assert "-z, --size COUNT How big. [default: 3]" in shown
    assert shown.index("Which kernels:") < shown.index("How much:") < shown.index("Output:")


def test_options_are_frozen_values() -> None:
    assert is_dataclass(AnalyzeOptions)
    assert isinstance(Choosing(), Choice)
    with pytest.raises(UsageError, match="sort is 'beauty'"):
        Choosing(sort="beauty")


def test_a_share_is_typed_as_a_percentage() -> None:
    words = ["a.ncu-rep", "--min-share", "5"]
    with ALL["analyze"].make_context("analyze", words) as context:
        assert context.params["min_share"] == pytest.approx(0.05)


def test_every_help_is_of_an_option_and_every_option_has_help():
    params = [(words, p) for words, c in every_command() for p in c.params]
    known = {
        (kind.__name__, field.name)
        for module in pkgutil.iter_modules(roofline.cli.__path__, "roofline.cli.")
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and is_dataclass(kind)
        for field in fields(kind)
    }

    assert [
        f"{words} {p.name}" for words, p in params if isinstance(p, click.Option) and not p.help
    ] == []
    assert {
        (kind, name) for kind, said in helps().items() for name in said if name != "more"
    } <= known
