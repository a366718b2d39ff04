"""``roofline profile --from``: one capture for each set of kernels that a timeline names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import click

from roofline.capture.command import shell
from roofline.capture.failures import NcuFailedError, ProgramFailedError
from roofline.capture.request import CaptureRequest, NameBase
from roofline.capture.run import CaptureSetup, capture, check_output, free_names, numbered
from roofline.cli.profile_answer import Done, answer_about
from roofline.cli.profile_plan import Run, plan
from roofline.cli.profile_setting import (
    answer_request,
    bare_unless_chosen,
    check_choice,
    exit_of_signal,
    look_up,
    say,
)
from roofline.errors import InputError, RooflineError, UsageError
from roofline.render import selection as text
from roofline.text import names, numbers
from roofline.text.notes import note_text
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Basis, ProfileRequest, Selection, SelectOptions

# Failures that are about the kernels of one run: the next run may well succeed.
_NOT_MET = frozenset({"nothing_matched", "nothing_launched"})
_OF_ITS_KERNELS = _NOT_MET | {"replay_hang", "prepare_failed", "replay_memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the runs: captures that were kept, and why others failed, in order."""

    done: tuple[Done, ...]
    failures: tuple[tuple[ProfileRequest, RooflineError], ...]
    unstarted: tuple[ProfileRequest, ...] = ()

    @property
    def exit_code(self) -> int:
        """Of the signal that ended it, else of the first failure, else 0."""
        stopped = [code for d in self.done if (code := exit_of_signal(d.captured)) is not None]
        return next(iter([*stopped, *(error.exit_code for _, error in self.failures)]), 0)


def profile_from(base: CaptureRequest, given: dict[str, Any]) -> int:
    """Profile what the timeline names and answer about it; the exit code.

    ``base`` is what the options say apart from the choice of kernels.

    Raises:
        InputError: the timeline cannot be read, or no kernel in it is worth profiling.
        UsageError: the options do not go together.

    """
    _check_kernels_can_be_chosen(base)
    wanted = answer_request(given)
    selection = read(given)
    planned = selection.requests
    _leave_other_ranks(base, planned, given)
    _tell(selection, loud=sys.stderr.isatty() and not given["quiet"])
    if not planned:
        raise nothing_to_profile(selection, given)
    reports = report_names(given["output"], base.program, len(planned))
    if given["dry_run"]:
        click.echo(_plan(base, planned, reports, given), nl=False)
        return 0
    for report in reports:
        check_output(report, force=given["force"])
    base, setting = look_up(base, given)
    for one in planned:
        check_choice(capture_of(base, one), setting)
    outcome = capture_all(base, planned, reports, setting, force=given["force"])
    if outcome.done:
        remarks = list(remarks_on(planned, outcome))
        answer_about(outcome.done, setting, replace(wanted, selection=selection), given, remarks)
    return outcome.exit_code


def read(given: dict[str, Any]) -> Selection:
    """The kernels of the timeline that are worth profiling."""
    options = SelectOptions(
        top=given["top"],
        min_share=given["min_share"] / 100,
        warmup_steps=given["warmup_steps"],
    )
    return select(load_timeline(given["timeline"], step=given["step"]), options)


def capture_of(base: CaptureRequest, wanted: ProfileRequest) -> CaptureRequest:
    """``base`` for the launches of ``wanted``."""
    return replace(
        base,
        kernel_regex=None,
        kernels=wanted.names,
        name_base=NameBase(wanted.name_base),
        launch_skip=wanted.launch_skip or 0,
        launch_count=wanted.launch_count,
        per_config=wanted.per_config,
        nvtx=() if wanted.nvtx is None else (wanted.nvtx,),
    )


def report_names(asked: Path | None, program: Sequence[str], count: int) -> tuple[Path, ...]:
    """Where ``count`` reports go: numbered after the name asked for, or after the program."""
    return free_names(program, count) if asked is None else numbered(asked, count)


def capture_all(
    base: CaptureRequest,
    planned: Sequence[ProfileRequest],
    reports: Sequence[Path],
    setting: CaptureSetup,
    *,
    force: bool,
) -> Outcome:
    """One capture after the other, until one is stopped or fails for a reason all would share."""
    done: list[Done] = []
    failures: list[tuple[ProfileRequest, RooflineError]] = []
    for number, (one, report) in enumerate(zip(planned, reports, strict=True), 1):
        title = f"run {number} of {len(planned)} ({kernels_of(one)})"
        setting.tell(title)
        request = capture_of(base, one)
        try:
            captured = capture(request, setting, report, force=force)
        except RooflineError as error:
            if _code(error) in _NOT_MET and one.basis is Basis.ESTIMATED:
                say(f"{one.launch_skip} launches were skipped; fewer: a smaller --warmup-steps")
            if len(planned) == 1:
                raise
            say(f"{title}: {error}")
            failures.append((one, error))
            if _code(error) not in _OF_ITS_KERNELS:
                break
            continue
        done.append(Done(request=request, captured=captured, remark=about(one)))
        if exit_of_signal(captured) is not None:
            break
    started = len(done) + len(failures)
    return Outcome(done=tuple(done), failures=tuple(failures), unstarted=tuple(planned[started:]))


def remarks_on(planned: Iterable[ProfileRequest], outcome: Outcome) -> Iterator[str]:
    """What is missing and why, and what is not sure about the launches."""
    for one, error in outcome.failures:
        code = f" [{code}]" if (code := _code(error)) else ""
        yield f"Partial: no report of {kernels_of(one)}: {error.what}{code}"
    for one in outcome.unstarted:
        yield f"Partial: {kernels_of(one)} was not started"
    noted = dict.fromkeys(note_text(note) for one in planned for note in one.notes)
    yield from (f"Note: {names.printable(line)}" for line in noted)


def nothing_to_profile(selection: Selection, given: dict[str, Any]) -> InputError:
    """The error where no kernel is worth ncu."""
    what = f"no kernel of {names.printable(selection.file)} is worth profiling"
    hint = f"{_select(given)} shows where the time goes"
    if not selection.kernels:
        why = "all that ran is communication, copies or kernels under 2 µs"
        return InputError(what, why=why, hint=hint)
    wall = selection.selected.use is not None
    shares = [((k.wall_share if wall else k.kernel_share) or 0, k) for k in selection.kernels]
    share, most = max(shares, key=lambda found: found[0])
    of = "the wall time" if wall else "kernel time"
    why = (
        f"none takes {given['min_share']:g} % of {of}; "
        f"the most is {names.printable(most.base_name)} with {numbers.share(share)}"
    )
    return InputError(what, why=why, hint=f"{hint}; a lower --min-share profiles it anyway")


def kernels_of(request: ProfileRequest) -> str:
    """The functions that a run is about."""
    return ", ".join(dict.fromkeys(names.printable(k.base_name) for k in request.kernels))


def about(request: ProfileRequest) -> str:
    """What a run is about, and how sure it is that it meets it."""
    return f"{kernels_of(request)}: {text.launches(request)}"


def _leave_other_ranks(
    base: CaptureRequest, planned: Sequence[ProfileRequest], given: dict[str, Any]
) -> None:
    """Every rank reads the timeline and so decides alike; the others become the program here."""
    if given["rank"] is None:
        return
    if len(planned) > 1:
        raise UsageError(
            f"--rank with --from: {len(planned)} runs are needed",
            why="the other ranks would run only once",
            hint=f"{_select(given)}, and one parallel job for each command; or a smaller --top",
        )
    if planned and not given["dry_run"]:
        bare_unless_chosen(given["rank"], base.program)


def _check_kernels_can_be_chosen(base: CaptureRequest) -> None:
    if base.by_range or base.graphs == "graph":
        option = f"--replay {base.replay}" if base.by_range else "--graphs graph"
        raise UsageError(
            f"--from and {option} exclude each other",
            why="a timeline names kernels, and ncu sees none there",
            hint="--replay application where kernels talk to the host",
        )


def _tell(selection: Selection, *, loud: bool) -> None:
    """The answer of the timeline: always where no kernel comes first, else as talk."""
    lines = text.warning(selection) or (tuple(islice(text.head(selection), 2)) if loud else ())
    for line in lines:
        say(line)


def _plan(
    base: CaptureRequest,
    planned: Sequence[ProfileRequest],
    reports: Sequence[Path],
    given: dict[str, Any],
) -> str:
    runs = [
        Run(
            request=capture_of(base, one),
            report=report,
            remark=f"run {number} of {len(planned)}: {about(one)}",
        )
        for number, (one, report) in enumerate(zip(planned, reports, strict=True), 1)
    ]
    return plan(runs, ncu=given["ncu"], chip=given["chip"])


def _select(given: dict[str, Any]) -> str:
    step = [] if given["step"] is None else ["--step", given["step"]]
    return shell(["roofline", "select", str(given["timeline"]), *step])


def _code(error: RooflineError) -> str | None:
    """The code of a failure that was recognised."""
    if isinstance(error, NcuFailedError | ProgramFailedError):
        return error.diagnosis.failure.code
    return None
