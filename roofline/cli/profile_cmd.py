"""``roofline profile``: a program under ncu, and the answer about its kernels."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import options
from roofline.cli.profile_options import ANSWERING, CHOOSING, COLLECTING, RUNNING
from roofline.errors import UsageError

if TYPE_CHECKING:
    from roofline.capture.request import CaptureRequest
    from roofline.capture.run import Captured, Setting

EXIT_OF_SIGNAL = 128


@click.command("profile", context_settings={"allow_interspersed_args": False})
@options.all_of(*CHOOSING, *COLLECTING, *RUNNING, *ANSWERING)
@click.argument(
    "program", metavar="[--] PROGRAM [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED
)
@click.pass_context
def command(ctx: click.Context, /, program: tuple[str, ...], **given: Any) -> None:
    """Run PROGRAM under ncu for the kernels chosen, then name what limits each.

    Options of ours end at the first word that is not one; what follows reaches the program
    untouched. Its output is shown as it comes. The report and ncu's log are kept, and the answer
    is what 'roofline analyze' says about the report. Kernels that wait for other GPUs are left
    out unless --collectives. Exit codes: 4 ncu could not profile, 5 the program failed and left
    nothing; 128 + N where signal N ended the run.

    \b
    Examples:
      roofline profile --kernel-regex gemm python bench.py
      roofline profile --kernel-regex 'softmax|layer_?norm' --launch-skip 20 python train.py
      roofline profile --per-config --nvtx forward -o fwd.ncu-rep -- python bench.py --batch 8
      roofline profile --level quick --dry-run ./app
      roofline profile --list-kernels ./app
      mpirun -n 8 roofline profile --rank 0 ./app
    """
    from roofline.capture.kernels import check_regex

    request = _request(program, given)
    if request.kernel_regex is not None:
        check_regex(request.kernel_regex)
    if given["dry_run"]:
        from roofline.cli.profile_plan import plan

        click.echo(plan(request, ncu=given["ncu"], chip=given["chip"]), nl=False)
        return
    if given["chip"] is not None:
        raise UsageError("--chip is for --dry-run", why="the GPU that is here decides otherwise")
    if given["rank"] is not None:
        _bare_unless_chosen(given["rank"], program)
    _profile(ctx, request, given)


def _request(program: tuple[str, ...], given: dict[str, Any]) -> CaptureRequest:
    from roofline.capture.levels import Level
    from roofline.capture.request import DEFAULT_LAUNCH_COUNT, CaptureRequest, NameBase, Replay

    if given["kernel_regex"] is not None and given["kernels"]:
        raise UsageError("--kernel and --kernel-regex exclude each other", hint="one of them")
    if not program[0]:
        raise UsageError("the program's name is empty")
    count = given["launch_count"]
    if count is None:
        count = 1 if given["per_config"] else DEFAULT_LAUNCH_COUNT
    names = (name.strip() for words in given["metrics"] for name in words.split(","))
    return CaptureRequest(
        program=program,
        level=Level(given["level"]),
        kernel_regex=given["kernel_regex"],
        kernels=given["kernels"],
        name_base=NameBase(given["name_base"]) if given["name_base"] else None,
        collectives=given["collectives"],
        launch_skip=given["launch_skip"],
        launch_count=count or None,
        per_config=given["per_config"],
        nvtx=given["nvtx"],
        from_start=given["from_start"],
        devices=given["devices"],
        metrics=tuple(name for name in names if name),
        sections=given["sections"],
        section_set=given["section_set"],
        replay=Replay(given["replay"]),
        lock_clocks=given["clock_control"] == "base",
        flush_caches=given["cache_control"] == "all",
        graphs=given["graphs"],
        ncu_options=given["ncu_options"],
    )


def _bare_unless_chosen(rank: int, program: tuple[str, ...]) -> None:
    """Become the program where this is another rank; does not return then."""
    from roofline.capture.ranks import is_chosen
    from roofline.process import become

    if is_chosen(rank, program, os.environ):
        return
    try:
        become(program)
    except OSError as error:
        raise UsageError(f"{program[0]} cannot be started", why=error.strerror) from error


def _profile(ctx: click.Context, request: CaptureRequest, given: dict[str, Any]) -> None:
    from roofline.capture.output import check_output, free_name
    from roofline.capture.run import capture, kernel_names

    answer_request = _answer_request(given)
    report = given["output"] or free_name(request.program)
    if not given["list_kernels"]:
        check_output(report, force=given["force"])
    request, setting = _setting(request, given)
    if given["list_kernels"]:
        click.echo("\n".join(kernel_names(request, setting)))
        return
    captured = capture(request, setting, report, force=given["force"])
    from roofline.cli.profile_answer import answer_about

    answer_about(captured, request, setting, answer_request, given)
    if captured.stopped is not None and captured.stopped.startswith("SIG"):
        ctx.exit(EXIT_OF_SIGNAL + _number(captured))


def _number(captured: Captured) -> int:
    import signal

    return int(getattr(signal, captured.stopped or "SIGINT"))


def _answer_request(given: dict[str, Any]) -> Any:
    from roofline.cli.answer import Request, check

    request = Request(
        output_format=given["output_format"],
        plot=given["plot"],
        force=given["force"],
        explain=given["explain"],
        latency_threshold=given["latency_threshold"],
        balance=given["balance"],
    )
    check(request)
    return request


def _setting(request: CaptureRequest, given: dict[str, Any]) -> tuple[CaptureRequest, Setting]:
    """Everything that is looked up before the run, and what of it a person should know."""
    from roofline.capture.find import ask, find_ncu
    from roofline.capture.kernels import check_with_ncu, is_collective
    from roofline.capture.machine import look
    from roofline.capture.prepare import prepare
    from roofline.capture.run import Limits, Setting

    ncu = find_ncu(given["ncu"])
    check_with_ncu(request, ncu, ask)
    machine = look()
    prepared = prepare(request, ncu, machine, ask)
    tell = _silence if given["quiet"] or not sys.stderr.isatty() else _say
    for note in prepared.notes:
        _say(note)
    if any(is_collective(name) for name in request.kernels) or request.collectives:
        _say("collectives are profiled: one whose peers are not there hangs (--stall-timeout)")
    elif not request.kernels:
        tell("collectives (NCCL, NVSHMEM, all-reduce ...) are left out; --collectives takes them")
    if request.launch_count is not None:
        what = "launches of each grid and block" if request.per_config else "launches"
        tell(f"at most {request.launch_count} {what}; --launch-count changes that")
    return prepared.request, Setting(
        ncu=ncu,
        machine=machine,
        metrics=prepared.chosen.metrics,
        limits=Limits(stall_s=given["stall_timeout"], total_s=given["timeout"]),
        tell=tell,
        stdout_to_stderr=given["output_format"] not in (None, "table") or given["list_kernels"],
    )


def _say(text: str) -> None:
    click.echo(f"roofline: {text}", err=True)


def _silence(_text: str) -> None:
    pass
