"""The command line: a group whose commands are imported when they are run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from roofline import __version__
from roofline.cli import errors

# Command -> the first line of its help; the command is in the module of its name.
COMMANDS = {
    "profile": "Run PROGRAM under ncu for the chosen kernels, and name what limits each.",
    "analyze": "Rank the kernels of saved reports, and name what limits each.",
    "plot": "Draw what limits the kernels of saved reports.",
    "compare": "Compare two captures: faster or slower, and why.",
    "predict": "Write down what a change should give, before it is made.",
    "history": "Show what each change of a record gave, and when to stop.",
    "report": "Write a pull-request comment with plots.",
    "verdict": "Judge a kernel by three numbers: operations, bytes and time.",
    "select": "Pick the kernels of a trace that are worth profiling.",
    "time": "Measure a program without a profiler.",
    "redact": "Copy a report without personal data.",
    "specs": "Look up GPUs in the hardware registry.",
    "doctor": "Check whether this machine can profile, and who can change that.",
}
# What a file means where no command is named.
BY_ENDING = {".ncu-rep": "analyze", ".ncu-repz": "analyze"} | dict.fromkeys(
    (".nsys-rep", ".sqlite", ".json", ".json.gz", ".csv"), "select"
)


class _Commands(click.Group):
    """Lists commands from a table, loads a command's module when it is needed, and ends it well."""

    words: tuple[str, ...] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"roofline.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            meant = next((name for end, name in BY_ENDING.items() if word.endswith(end)), None)
            if meant is not None:
                args = [meant, *args]
            elif not ctx.resilient_parsing:  # as completion does, which says nothing
                raise errors.no_such_command(word, COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **settings: Any) -> Any:
        errors.prepare_streams()
        return super().main(*args, **settings)

    def make_context(
        self, info_name: str | None, args: list[str], *more: Any, **settings: Any
    ) -> click.Context:
        self.words = tuple(args)
        with errors.handled(self.words):
            return super().make_context(info_name, args, *more, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with errors.handled(self.words):
            ctx.exit(super().invoke(ctx) or 0)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Shell completion: docs/completion.md; in bash: "
    'eval "$(_ROOFLINE_COMPLETE=bash_source roofline)". '
    "Exit codes: 0 done, 1 a gate failed, 2 wrong usage or an output that cannot be written, "
    "3 unreadable input, 4 ncu could not profile, 5 the program failed, 70 a fault of roofline, "
    "129, 130 or 143 ended by a signal, 141 the reader of a pipe has gone.",
)
@click.version_option(__version__, prog_name="roofline")
def cli() -> None:
    """Name what limits a CUDA kernel, by how much, and what a fix could gain.

    \b
    Examples:
      roofline profile --kernel gemm python bench.py
      roofline analyze report.ncu-rep --plot roofline.png
      roofline compare before.ncu-rep after.ncu-rep
    """
