"""``roofline profile --timeline``: the runs of ncu that a timeline asks for, and their end."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from roofline.capture.command import shell
from roofline.capture.failures import NcuFailedError, ProgramFailedError
from roofline.capture.request import CaptureRequest, NameBase
from roofline.capture.run import Captured, CaptureSetup, capture
from roofline.cli.analyze import Showing
from roofline.cli.errors import say
from roofline.errors import InputError, RooflineError, UsageError
from roofline.render import selection as text
from roofline.text import names, numbers
from roofline.text.notes import note_text
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Basis, Criteria, ProfileRequest, Selection

# Failures that are about the kernels of one run: the next run may well succeed.
_NOT_MET = frozenset({"nothing_matched", "nothing_launched"})
_OF_ITS_KERNELS = _NOT_MET | {"replay_hang", "prepare_failed", "replay_memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of ncu and its report; ``wanted`` is what a timeline asks of it."""

    request: CaptureRequest
    report: Path
    wanted: ProfileRequest | None = None

    @property
    def kernels(self) -> str:
        """The functions that the timeline asks for."""
        chosen = () if self.wanted is None else self.wanted.kernels
        return ", ".join(dict.fromkeys(names.printable(k.base_name) for k in chosen))

    @property
    def about(self) -> str | None:
        """What the timeline asks for, and how sure it is that the run meets it."""
        return None if self.wanted is None else f"{self.kernels}: {text.launches(self.wanted)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A run whose capture was kept."""

    run: Run
    captured: Captured

    @property
    def exit_of_signal(self) -> int | None:
        """The exit code if a signal ended the run."""
        stopped = self.captured.stopped
        if stopped is None or not stopped.startswith("SIG"):
            return None
        return 128 + int(getattr(signal, stopped))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the runs: captures that were kept, and why others failed, in order."""

    done: tuple[Done, ...]
    failures: tuple[tuple[Run, RooflineError], ...] = ()
    unstarted: tuple[Run, ...] = ()

    @property
    def exit_code(self) -> int:
        """Of the signal that ended it, else of the first failure, else 0."""
        stopped = [code for done in self.done if (code := done.exit_of_signal) is not None]
        return next(iter([*stopped, *(error.exit_code for _, error in self.failures)]), 0)


def read(
    timeline: Path,
    *,
    step: str | None,
    top: int | None,
    min_share: float | None,
    warmup_steps: int | None,
) -> Selection:
    """The kernels of the timeline that are worth profiling; ``None`` is the usual value."""
    usual = Criteria()
    wanted = Criteria(
        top=usual.top if top is None else top,
        min_share=usual.min_share if min_share is None else min_share / 100,
        warmup_steps=usual.warmup_steps if warmup_steps is None else warmup_steps,
    )
    return select(load_timeline(timeline, step=step), wanted)


def runs_of(
    base: CaptureRequest, planned: Sequence[ProfileRequest], reports: Sequence[Path]
) -> tuple[Run, ...]:
    """A run for each of ``planned``, or the one of ``base`` where no timeline chooses."""
    if not planned:
        return (Run(request=base, report=reports[0]),)
    return tuple(
        Run(request=request_for(base, wanted), report=report, wanted=wanted)
        for wanted, report in zip(planned, reports, strict=True)
    )


def request_for(base: CaptureRequest, wanted: ProfileRequest) -> CaptureRequest:
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


def capture_all(runs: Sequence[Run], setting: CaptureSetup, *, force: bool) -> Outcome:
    """One capture after the other, until one is stopped or fails for a reason all would share.

    Raises:
        RooflineError: the only one failed.

    """
    done: list[Done] = []
    failures: list[tuple[Run, RooflineError]] = []
    for number, run in enumerate(runs, 1):
        title = f"run {number} of {len(runs)} ({run.kernels})"
        if run.wanted is not None:
            setting.tell(title)
        try:
            captured = capture(run.request, setting, run.report, force=force)
        except RooflineError as error:
            estimated = run.wanted is not None and run.wanted.basis is Basis.ESTIMATED
            if _code(error) in _NOT_MET and estimated:
                skipped = run.request.launch_skip
                say(f"{skipped} launches were skipped; fewer: a smaller --warmup-steps")
            if len(runs) == 1:
                raise
            say(f"{title}: {error}")
            failures.append((run, error))
            if _code(error) not in _OF_ITS_KERNELS:
                break
            continue
        done.append(Done(run=run, captured=captured))
        if done[-1].exit_of_signal is not None:
            break
    started = len(done) + len(failures)
    return Outcome(done=tuple(done), failures=tuple(failures), unstarted=tuple(runs[started:]))


def remarks_on(outcome: Outcome) -> Iterator[str]:
    """What is missing and why, and what is not sure about the launches."""
    for run, error in outcome.failures:
        code = f" [{code}]" if (code := _code(error)) else ""
        yield f"Partial: no report of {run.kernels}: {error.what}{code}"
    for run in outcome.unstarted:
        yield f"Partial: {run.kernels} was not started"
    runs = [*(d.run for d in outcome.done), *(r for r, _ in outcome.failures), *outcome.unstarted]
    wanted = [run.wanted for run in runs if run.wanted is not None]
    noted = dict.fromkeys(note_text(note) for one in wanted for note in one.notes)
    yield from (f"Note: {names.printable(line)}" for line in noted)


def nothing_to_profile(
    selection: Selection, showing: Showing, min_share: float | None
) -> InputError:
    """The error where no kernel is worth ncu."""
    what = f"no kernel of {names.printable(selection.file)} is worth profiling"
    hint = f"{select_command(showing)} shows where the time goes"
    if not selection.kernels:
        why = "all that ran is communication, copies or kernels under 2 µs"
        return InputError(what, why=why, hint=hint)
    wall = selection.selected.use is not None
    shares = [((k.wall_share if wall else k.kernel_share) or 0, k) for k in selection.kernels]
    share, most = max(shares, key=lambda found: found[0])
    asked = 100 * Criteria().min_share if min_share is None else min_share
    why = (
        f"none takes {asked:g} % of {'the wall time' if wall else 'kernel time'}; "
        f"the most is {names.printable(most.base_name)} with {numbers.share(share)}"
    )
    return InputError(what, why=why, hint=f"{hint}; a lower --min-share profiles it anyway")


def select_command(showing: Showing) -> str:
    """``roofline select`` for the same timeline."""
    step = [] if showing.step is None else ["--step", showing.step]
    return shell(["roofline", "select", str(showing.timeline), *step])


def check_kernels_can_be_chosen(base: CaptureRequest) -> None:
    """Refuse a timeline where ncu sees no kernels.

    Raises:
        UsageError: ranges or whole graphs are profiled.

    """
    if base.by_range or base.graphs == "graph":
        option = f"--replay {base.replay}" if base.by_range else "--graphs graph"
        raise UsageError(
            f"--timeline and {option} exclude each other",
            why="a timeline names kernels, and ncu sees none there",
            hint="--replay application where kernels talk to the host",
        )


def tell(selection: Selection, *, loud: bool) -> None:
    """The answer of the timeline: always where no kernel comes first, else as talk."""
    for line in text.warning(selection) or (islice(text.head(selection), 2) if loud else ()):
        say(line)


def _code(error: RooflineError) -> str | None:
    """The code of a failure that was recognised."""
    if isinstance(error, NcuFailedError | ProgramFailedError):
        return error.diagnosis.failure.code
    return None
