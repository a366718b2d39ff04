"""Typed options: the fields of a frozen dataclass say what click reads, and click fills them.

A command takes one such value. Options that several commands share are dataclasses too, nested
in it by ``shared``.
"""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roofline.cli import completion
from roofline.errors import UsageError
from roofline.files import inputs_kept
from roofline.model import Rule
from roofline.patterns import compiled
from roofline.view import SORT_KEYS, Choice

if TYPE_CHECKING:
    from roofline.reports import Reader

Options = TypeVar("Options")
FORMATS = ("table", "json", "csv", "markdown", "parquet")

# The groups of options, in the order in which help shows them.
GROUPS = ("Which kernels", "How much", "Judging", "Output", "For experts")
# Spellings of before the first release, and what they became: the first that the command has.
RENAMED = {
    "--devices": ("--device",),
    "--from": ("--timeline", "--start"),
    "--from-start": ("--capture-range",),
    "--height": ("--size",),
    "--levels": ("--level",),
    "--limit": ("--timeout",),
    "--scale": ("--dpi",),
    "--to": ("--end",),
    "--width": ("--size",),
}

# --- types ------------------------------------------------------------------------------------


class Regex(click.ParamType[re.Pattern[str]]):
    """A Python regular expression; one that does not compile is wrong usage."""

    name = "regex"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> re.Pattern[str]:
        """Compile ``value``."""
        names = [] if param is None else [o for o in param.opts if o.startswith("--")]
        return compiled(value, option=names[0] if names else "")


class Whole(click.IntRange):
    """A whole number within a range; the name is what a message calls it."""

    name = "whole number"


class Number(click.FloatRange):
    """A finite number within a range."""

    def convert(self, value: Any, *where: Any) -> float:
        """Refuse nan and infinity before the range is checked: nan is within any."""
        number = click.FLOAT.convert(value, *where)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", *where)
        return float(super().convert(number, *where))


class Size(click.ParamType[tuple[int, "int | None"]]):
    """WIDTH or WIDTHxHEIGHT in pixels."""

    name = "size"

    def convert(self, value: Any, *where: Any) -> tuple[int, int | None]:
        """Whole numbers alone; what can be drawn is the picture's to say."""
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"([0-9]{1,6})(?:x([0-9]{1,6}))?", value)
        if found is None:
            self.fail(f"{value!r} is not WIDTH or WIDTHxHEIGHT", *where)
        return int(found[1]), int(found[2]) if found[2] else None


class Share(Number):
    """A percentage from 0 to 100, which becomes a fraction."""

    def convert(self, value: Any, *where: Any) -> float:
        """Divide by 100, in decimal: 2.8 % is 0.028."""
        from decimal import Decimal

        return float(Decimal(repr(super().convert(value, *where))) / 100)


class File(click.Path):
    """The name of a file or folder; whoever uses it says whether it can be used.

    click would end the command at the first unreadable file, and hide the others.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, *where: Any) -> Any:
        """Refuse the empty name, which would mean the current folder."""
        if not str(value):
            self.fail("the name is empty", *where)
        return super().convert(value, *where)


# By the name of a value in help.
TYPES: dict[str, click.ParamType[Any]] = {
    "COUNT": Whole(min=0),
    "INDEX": Whole(min=0),
    "DIR": File(),
    "FILE": File(),
    "FILE.html": File(),
    "FILE.md": File(),
    "N": Whole(min=1),
    "PERCENT": Number(0, 100),
    "POINTS": Number(0, 100),
    "RE": Regex(),
    "SECONDS": Number(min=0, min_open=True),
}

# --- from fields to click and back ------------------------------------------------------------


def option(group: str, spec: str, text: str = "", *, once: bool = False, **settings: Any) -> Any:
    """A field that an option fills; its help is in ``options.toml``, or is ``text``.

    ``spec`` is as help shows it: "-o --output FILE" or "--by config|name"; without a value it is a
    flag, and with "..." it may be repeated. ``settings`` are click's; a type in ``TYPES`` is left
    out. ``once`` refuses a second value, of which click would take the last.
    """
    words = spec.split()
    names = [word for word in words if word.startswith("-")]
    value = "".join(word for word in words if not word.startswith("-"))
    settings["multiple"] = value.endswith("...")
    value = value.removesuffix("...")
    if "|" in value:
        settings["type"] = click.Choice(value.split("|"))
    elif value:
        settings = {"metavar": value, "type": TYPES.get(value)} | settings
    else:
        settings["is_flag"] = True
    unset: Any = () if settings["multiple"] else None if value else False
    default = settings.setdefault("default", unset)
    settings.setdefault("show_default", default != unset)
    if once:
        settings |= {"multiple": True, "callback": _only}
    if isinstance(default, float) and default.is_integer():
        settings["default"] = int(default)  # help shows it without ".0"

    def make(name: str, said: str, changes: Mapping[str, Any]) -> click.Parameter:
        changed = {"help": text or said, "group": group} | settings | dict(changes)
        if changed.get("required"):
            del changed["default"]  # click takes any default, None too, for a value that is there
        return _Option([*names, name], **changed)

    return dataclasses.field(default=default, metadata={"make": make})


def _only(_: click.Context, param: click.Parameter, given: tuple[Any, ...]) -> Any:
    if len(given) > 1:
        said = " and ".join(map(str, given))
        why = f"it takes one, and was given {said}"
        raise UsageError(f"{param.opts[0]} is typed more than once", why=why, hint="one of them")
    return given[0] if given else None


which, amount, judged, written, expert = (partial(option, group) for group in GROUPS)


def argument(metavar: str, **settings: Any) -> Any:
    """A field that the words after the options fill."""

    def make(name: str, _: str, changes: Mapping[str, Any]) -> click.Parameter:
        return click.Argument([name], metavar=metavar, **(settings | dict(changes)))

    return dataclasses.field(metadata={"make": make})


def shared(group: Callable[[], Any], **changes: Mapping[str, Any]) -> Any:
    """A field that holds the options of the dataclass ``group``.

    ``changes`` are click's settings that differ in this command, by the field of the option.
    """
    return dataclasses.field(default_factory=group, metadata={"options": group, "changes": changes})


@cache
def helps() -> dict[str, dict[str, str]]:
    """What help says of options, by dataclass and field, and ``more`` of their commands."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _parameters(options: Any, changes: Mapping[str, Any]) -> Iterator[click.Parameter]:
    said = {
        k: v for kind in options.__mro__[::-1] for k, v in helps().get(kind.__name__, {}).items()
    }
    for field in dataclasses.fields(options):
        if "options" in field.metadata:
            yield from _parameters(field.metadata["options"], field.metadata["changes"])
        else:
            more = changes.get(field.name, {})
            yield field.metadata["make"](field.name, said.get(field.name, ""), more)


def _filled(options: Any, given: Mapping[str, Any]) -> Any:
    values = {}
    for field in dataclasses.fields(options):
        inner = field.metadata.get("options")
        values[field.name] = _filled(inner, given) if inner else given[field.name]
    return options(**values)


class _Option(click.Option):
    def __init__(self, *args: Any, group: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Without the range, which the error for a value outside it names."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Command(click.Command):
    """A command whose help groups its options, and that knows what options were called before."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by group, in the order of the groups."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                groups[getattr(param, "group", GROUPS[3])].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse two outputs that are one file, and keep what is read from being written over."""
        read: list[Path] = []
        written: dict[str, str] = {}
        for param in self.params:
            value, name = ctx.params[param.name or ""], param.opts[0]
            paths = [one for one in (value if isinstance(value, tuple) else (value,))
                     if isinstance(one, Path)]  # fmt: skip
            if getattr(param, "group", "") != GROUPS[3]:
                read += paths
            elif paths and (other := written.setdefault(realpath(*paths), name)) != name:
                what = f"{other} and {name} name the same file, {paths[0]}"
                raise UsageError(what, hint="a file for each")
        with inputs_kept(*read):
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the new spelling of an old option."""
        typed = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.BadOptionUsage as error:
            error.ctx = error.ctx or ctx  # so that a hint names the command
            raise
        except click.NoSuchOption as error:
            has = {name for param in self.params for name in param.opts}
            for new in RENAMED.get(error.option_name, ()):
                if new in has:
                    raise UsageError(f"{error.option_name} is now {new}", hint=new) from error
            form = error.option_name.removeprefix("--")
            if form in FORMATS and "--format" in has:
                hint = f"--format {form}"
                if any(f".{form}" in param.make_metavar(ctx) for param in self.params):
                    hint += f" to write one; to read one: {ctx.command_path} FILE.{form}"
                raise UsageError(f"No such option {error.option_name!r}", hint=hint) from error
            raise
        _refuse_old_f(typed, ctx)
        return rest


def _refuse_old_f(typed: Sequence[str], ctx: click.Context) -> None:
    """Say so where ``-f json`` was typed, which once was a format."""
    words: list[str] = []
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param, click.Argument) and value is not None:
            words += map(str, value if isinstance(value, tuple) else (value,))
    for flag, word in pairwise(typed):
        # Of a program's own words only the first may be meant for us.
        meant = word in (words if ctx.allow_interspersed_args else words[:1])
        if flag == "-f" and word in FORMATS and meant:
            raise UsageError(
                f"-f {word}: -f is --force now", why="as in ncu", hint=f"--format {word}"
            )
        if not ctx.allow_interspersed_args and words[:1] == [word]:
            return


def typed_command(
    options: type[Options], name: str, *, in_group: click.Group | None = None, **context: Any
) -> Callable[[Callable[[Options], int | None]], Command]:
    """Make a command of a function that takes ``options`` and may return an exit code."""

    def decorate(function: Callable[[Options], int | None]) -> Command:
        made = Command(
            name,
            callback=lambda **given: function(_filled(options, given)),
            params=list(_parameters(options, {})),
            help=f"{function.__doc__}\n\n{helps().get(options.__name__, {}).get('more', '')}",
            context_settings=context,
        )
        if in_group is not None:
            in_group.add_command(made)
        return made

    return decorate


# --- what several commands share --------------------------------------------------------------

REPORTS: Any = {"nargs": -1, "required": True, "type": File()}
MERGE = ("--merge", "Sum a kernel over all files; without it, two captures are two rows.")
PROGRAM: Any = {"nargs": -1, "required": True, "type": click.UNPROCESSED}


EXACT = "Take --kernel gemm for these letters, not for the family of GEMM kernels."


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing(Choice):
    """Which kernels of reports are shown, and in which order."""

    kernels: tuple[re.Pattern[str], ...] = which(
        "-k --kernel --kernels --kernel-regex RE...", shell_complete=completion.kinds
    )
    exact_regex: bool = which("--exact-regex", EXACT)
    kernel_names: tuple[str, ...] = which(
        "--kernel-name NAME...", shell_complete=completion.kernels
    )
    devices: tuple[str, ...] = which("--device X...", shell_complete=completion.devices)
    min_share: float | None = amount("--min-share PERCENT", type=Share(0, 100))
    top: int | None = amount("--top N")
    sort: str = amount(f"--sort {'|'.join(SORT_KEYS)}", default="time")
    launches: bool = amount("--launches")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The file or folder that a command is about to make."""

    path: Path = written("-o --output FILE", required=True)
    force: bool = written("-f --force")


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """How many reports are read at once."""

    jobs: int | None = expert("-j --jobs N", type=Whole(1, 1024))


@dataclass(frozen=True, kw_only=True)  # two bases with slots have no common layout
class Rules:
    """What kernels are judged by."""

    specs: Path | None = judged("--specs DIR")
    peaks: Path | None = judged("--peaks FILE")
    latency_threshold: float = judged("--latency-threshold PERCENT", default=Rule().latency)
    balance: float = judged("--balance POINTS", default=Rule().balance)

    @property
    def rule(self) -> Rule:
        """The numbers by which a verdict is found."""
        return Rule(latency=self.latency_threshold, balance=self.balance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging(Rules, Jobs):
    """How reports are read and judged."""

    reader: Reader = expert("--reader protobuf|ncu-report", default="protobuf")
