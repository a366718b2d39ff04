"""``roofline profile``: a program under ncu, and the answer about its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from roofline.cli import options
from roofline.cli.profile_choice import CHOOSING, FROM_TIMELINE, check_who_chooses
from roofline.cli.profile_options import ANSWERING, COLLECTING, RUNNING
from roofline.errors import UsageError

if TYPE_CHECKING:
    from roofline.capture.request import CaptureRequest
    from roofline.capture.run import CaptureSetup


@click.command("profile", context_settings={"allow_interspersed_args": False})
@options.all_of(*CHOOSING, *FROM_TIMELINE, *COLLECTING, *RUNNING, *ANSWERING)
@click.argument(
    "program", metavar="[--] PROGRAM [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED
)
@click.pass_context
def command(ctx: click.Context, /, program: tuple[str, ...], **given: Any) -> None:
    """Run PROGRAM under ncu for the kernels chosen, then name what limits each.

    Options of ours end at the first word that is not one; what follows reaches the program
    untouched. Its output is shown as it comes. The report and ncu's log are kept, and the answer
    is what 'roofline analyze' says about the report. Kernels that wait for other GPUs are left
    out unless --collectives. With --from the kernels are those that a timeline shows to be worth
    it, each set in a run of its own, and the answer says what each could buy a step. Exit codes:
    3 nothing in the timeline is worth it; 4 ncu could not profile, 5 the program failed and left
    nothing; 128 + N where signal N ended the run.

    \b
    Examples:
      roofline profile --kernel-regex gemm python bench.py
      roofline profile --kernel-regex 'softmax|layer_?norm' --launch-skip 20 python train.py
      roofline profile --per-config --nvtx forward -o fwd.ncu-rep -- python bench.py --batch 8
      roofline profile --from trace.json.gz -- python train.py
      roofline profile --from report.sqlite --step 'iteration \\d+' --top 3 --dry-run -- ./app
      roofline profile --level quick --dry-run ./app
      roofline profile --list-kernels ./app
      mpirun -n 8 roofline profile --rank 0 ./app
    """
    from roofline.capture.kernels import check_regex
    from roofline.cli.profile_setting import bare_unless_chosen, capture_request

    check_who_chooses(_typed(ctx))
    request = capture_request(program, given)
    if request.kernel_regex is not None:
        check_regex(request.kernel_regex)
    if given["chip"] is not None and not given["dry_run"]:
        raise UsageError("--chip is for --dry-run", why="the GPU that is here decides otherwise")
    if given["timeline"] is not None:
        from roofline.cli.profile_from import profile_from

        ctx.exit(profile_from(request, given))
    if given["dry_run"]:
        _plan(request, given)
        return
    if given["rank"] is not None:
        bare_unless_chosen(given["rank"], program)
    ctx.exit(_profile(request, given))


def _typed(ctx: click.Context) -> frozenset[str]:
    """The parameters that are on the command line."""
    return frozenset(
        name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


def _plan(request: CaptureRequest, given: dict[str, Any]) -> None:
    from roofline.capture.run import free_names
    from roofline.cli.profile_plan import Run, plan

    run = Run(request=request, report=given["output"] or free_names(request.program, 1)[0])
    click.echo(plan((run,), ncu=given["ncu"], chip=given["chip"]), nl=False)


def _profile(request: CaptureRequest, given: dict[str, Any]) -> int:
    """One capture and the answer about it; the exit code."""
    from roofline.capture.run import capture, check_output, free_names, kernel_names
    from roofline.cli.profile_answer import Done, answer_about
    from roofline.cli.profile_setting import (
        answer_request,
        check_choice,
        exit_of_signal,
        look_up,
    )

    wanted = answer_request(given)
    report = given["output"] or free_names(request.program, 1)[0]
    if not given["list_kernels"]:
        check_output(report, force=given["force"])
    request, setting = look_up(request, given)
    check_choice(request, setting)
    _tell_choice(request, setting)
    if given["list_kernels"]:
        click.echo("\n".join(kernel_names(request, setting)))
        return 0
    captured = capture(request, setting, report, force=given["force"])
    answer_about((Done(request=request, captured=captured),), setting, wanted, given)
    return exit_of_signal(captured) or 0


def _tell_choice(request: CaptureRequest, setting: CaptureSetup) -> None:
    """What of the choice of kernels a person should know."""
    from roofline.capture.kernels import (
        is_collective,
        wants_collectives_in_vain,
    )
    from roofline.cli.profile_setting import say

    tell = setting.tell
    if any(is_collective(name) for name in request.kernels) or request.collectives:
        say("collectives are profiled: one whose peers are not there hangs (--stall-timeout)")
    elif wants_collectives_in_vain(request):
        say(
            "collectives are left out, those that --kernel-regex asks for too; "
            "--collectives takes them"
        )
    elif request.omits_collectives:
        tell("collectives (NCCL, NVSHMEM, all-reduce ...) are left out; --collectives takes them")
    if request.launch_count is not None:
        what = "launches of each grid and block" if request.per_config else "launches"
        tell(f"at most {request.launch_count} {what}; --launch-count changes that")
