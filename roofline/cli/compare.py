"""``roofline compare``: two captures to what changed, why, and whether CI may pass."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from roofline.api import compare, parse_map
from roofline.cli import options as opt
from roofline.cli.analyze import analyze_reports
from roofline.cli.errors import say
from roofline.cli.options import File, Judging, Share
from roofline.cli.output import PICTURES, Output, answer_in
from roofline.cli.select import parse_percentile
from roofline.compare.baseline import baseline_of, baseline_path, load_baseline, save_baseline
from roofline.compare.comparable import REFUSALS
from roofline.compare.gates import Gate, failed, judge, parse_gate
from roofline.compare.history import Stage, followed, history, seal_of
from roofline.compare.judge import LEAST_SPREAD, alone, judge_program, judge_step, judge_steps
from roofline.compare.model import Comparison, Correctness, GateResult, ProgramChange
from roofline.compare.predictions import Expectation, parse_claim, parse_expect
from roofline.compare.record import add_record, check_record, digest_of, opened, run_check
from roofline.errors import GateError, InputError, UsageError
from roofline.files import inputs_kept, refuse_overwrite, write_text
from roofline.model import Analysis, Note
from roofline.text.numbers import plural
from roofline.wall_time import read_times

FORMATS = ("table", "json", "markdown")
# Options that are for two timelines alone, and those that more than two captures know, too.
OF_TIMELINES = ("step", "device", "step-at")
_LETTERS = 24  # of the name of a file in a picture
_OF_ANY = ("map", "noise", "allow", *OF_TIMELINES)
BASELINE = "Take BEFORE from this folder, which holds one JSON file for each GPU."


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """How two sides are compared; ``report`` has the same options."""

    maps: tuple[tuple[str, str], ...] = opt.which("--map OLD=NEW...", type=parse_map)
    expect: tuple[Expectation, ...] = opt.judged("--expect KERNEL=VALUE...", type=parse_expect)
    because: tuple[Expectation, ...] = opt.judged("--because [KERNEL=]CAUSE...", type=parse_claim)
    noise: float | None = opt.judged("--noise PERCENT", type=Share(0, 100))
    timeline: Path | None = opt.judged("--timeline FILE", once=True)
    step: str | None = opt.which("--step RE", type=str)
    device: tuple[str, ...] = opt.which("--device X...")
    step_at: float | None = opt.judged("--step-at PERCENTILE", type=parse_percentile)
    allow: tuple[str, ...] = opt.expert("--allow CODE...", type=click.Choice([*REFUSALS, "all"]))

    def given(self) -> dict[str, object]:
        """What was asked for, by the name of its option."""
        return {
            "map" if f.name == "maps" else f.name.replace("_", "-"): value
            for f in fields(self)
            if (value := getattr(self, f.name)) not in (None, ())
        }

    def compare(
        self, before: Analysis | None, after: Analysis, program: ProgramChange | None = None
    ) -> Comparison:
        """The comparison that they ask for, with what became of the program's time.

        Without ``before`` it is what can be said of AFTER alone.
        """
        for name in self.given():
            if name in OF_TIMELINES:
                why = "BEFORE and AFTER are reports"
                raise UsageError(f"--{name} is for timelines", why=why, hint="leave it out")
        expect = [one for one in self.expect if one.what != "step"]
        if before is None:
            found = alone(after, [*expect, *self.because])
        else:
            found = compare(
                before,
                after,
                maps=self.maps,
                expect=expect,
                because=self.because,
                noise=self.noise,
                timeline=self.timeline,
                allow=self.allow,
            )
        steps = judge_steps(self.expect, program)
        return replace(found, program=program, notes=(*found.notes, *steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """``roofline compare``."""

    reports: tuple[Path, ...] = opt.argument("BEFORE AFTER...", nargs=-1, type=File())
    top: int = opt.amount("--top N", default=10)
    comparing: Comparing = opt.shared(Comparing)
    gates: tuple[Gate, ...] = opt.judged("--fail-on CONDITION...", type=parse_gate)
    check: str | None = opt.judged("--check COMMAND")
    baseline: Path | None = opt.judged("--baseline DIR", BASELINE)
    time_before: Path | None = opt.judged("--time-before FILE")
    time_after: Path | None = opt.judged("--time-after FILE")
    judging: Judging = opt.shared(Judging)
    output: Output = answer_in(*FORMATS)
    plot: Path | None = opt.written("--plot FILE")
    junit: Path | None = opt.written("--junit FILE")
    update_baseline: bool = opt.written("--update-baseline")
    record: Path | None = opt.written("--record FILE.md")
    problem: str | None = opt.written("--problem TEXT")
    hypothesis: str | None = opt.written("--hypothesis TEXT")
    intervention: str | None = opt.written("--intervention TEXT")


@opt.typed_command(CompareOptions, "compare")
def command(options: CompareOptions) -> int:
    """Compare two captures: faster or slower, and why."""
    from roofline.timeline.load import is_timeline

    options = _drawn(options)
    _check(options)
    timelines = [path for path in options.reports if is_timeline(path)]
    if len(options.reports) > 2 and not timelines:
        return _compare_in_a_row(options)
    if len(timelines) == len(options.reports) == 2:
        return _compare_steps(options)
    if timelines:
        why = f"taken for timelines: {', '.join(path.name for path in timelines)}"
        raise UsageError("the sides do not compare", why=why, hint="two timelines, or reports")
    sides = [analyze_side(path, options.judging) for path in options.reports]
    before: Analysis | None = sides[0]
    after, place = sides[-1], None
    if options.baseline is not None:
        place = baseline_path(options.baseline, after)
        with inputs_kept(place):
            _check(options)  # again, as one of the outputs may be this file
        first = options.update_baseline and not place.exists()
        named = shlex.quote(str(options.reports[0]))
        before = None if first else baseline_of(options.baseline, after, named)
    comparing, stated = with_open_entry(before, after, options.record, options.comparing)
    options = replace(options, comparing=comparing)
    comparison = _compare(before, after, options)
    _answer(comparison, after, options, stated)
    report_gates(comparison.gates, comparison.correctness)
    if place is not None and options.update_baseline and after.unread:
        # The kernels of what cannot be read would never be judged again.
        say(f"no baseline written to {place}: a file of AFTER cannot be read")
    elif place is not None and options.update_baseline:
        save_baseline(place, after)
        say(f"{'new' if before is None else 'updated'} baseline {place}")
    return InputError.exit_code if any(side.unread for side in sides) else 0


def with_open_entry(
    before: Analysis | None, after: Analysis, record: Path | None, comparing: Comparing
) -> tuple[Comparing, Stage]:
    """With the predictions that the record holds of this BEFORE, and what the entry will state."""
    from roofline.render.history import doubts

    if record is None or before is None:
        return comparing, Stage()
    stated = Stage(digest=digest_of(before), after_digest=digest_of(after))
    waiting = opened(record, stated.digest)
    if not waiting:
        return comparing, stated
    *earlier, found = waiting
    for one in earlier:
        say(f"entry {one.entry} about the same BEFORE stays open")
    times = [Path(source.file).stat().st_mtime for source in after.sources if source.file]
    older = bool(times) and max(times) < datetime.fromisoformat(found.recorded or "").timestamp()
    words = [text.partition(" ")[::2] for text in found.predictions]
    expect = [parse_expect(text) for option, text in words if option == "--expect"]
    because = [parse_claim(text) for option, text in words if option == "--because"]
    comparing = replace(
        comparing,
        expect=tuple(dict.fromkeys((*expect, *comparing.expect))),
        because=tuple(dict.fromkeys((*because, *comparing.because))),
    )
    stated = replace(
        found,
        after_digest=stated.after_digest,
        closes=found.entry,
        stated=found.recorded,
        seal=None,
        older=older,
        edited=found.seal not in (None, seal_of(found)),
    )
    for line in doubts(stated):
        say(line)
    return comparing, stated


def _compare_steps(options: CompareOptions) -> int:
    """Compare two timelines: their steps, part by part, and their kernels."""
    from roofline.api import select
    from roofline.render import step_change as render
    from roofline.timeline.change import step_change

    comparing, output = options.comparing, options.output
    why, hint = "BEFORE and AFTER are timelines", "leave it out"
    _refuse(options, "reports", why=why, hint=hint, honoured=(*OF_TIMELINES, "expect"))
    if any(one.what != "step" for one in comparing.expect):
        what = "of timelines only the step can be expected"
        raise UsageError(what, why="--expect of kernels is for reports", hint="--expect step=1.2x")
    if options.plot is not None:
        raise UsageError("--plot is for reports", why=why, hint=hint)
    at = 50.0 if comparing.step_at is None else comparing.step_at
    sides, notes = [], list[Note]()
    for path in options.reports:
        side = select(path, step=comparing.step, device=comparing.device, step_at=at, lanes=False)
        folder = f"{path.name}/" if path.is_dir() else ""
        sides.append(replace(side, file=folder + side.file))
        named = (n for n in side.notes if n.code == "truncated_rank")
        notes += [replace(n, facts={"file": folder + n.facts["file"]}) for n in named]
    if sides[0].devices == sides[1].devices:
        notes.append(Note(code="same_capture"))
    change = step_change(*sides)
    noise = max(change.spread or 0.0, LEAST_SPREAD)
    judged = judge_step(comparing.expect, (change.before_s, change.after_s, noise))
    change = replace(change, notes=(*judged, *notes))
    top, width, color = options.top, output.width(), output.color
    output.answer(
        json=lambda: render.json(change),
        markdown=lambda: render.markdown(change, limit=top),
        table=lambda: render.render(change, limit=top, width=width, color=color),
    )
    return 0


def _compare_in_a_row(options: CompareOptions) -> int:
    """Compare each of several captures with the one before it."""
    from itertools import pairwise

    from roofline.cli.history import write as write_history
    from roofline.render.record import stage_of

    first, second, *_, last = options.reports
    why = f"{len(options.reports)} are named"
    hint = f"roofline compare {options.reports[-2]} {last}"
    if options.record is not None:
        hint = f"pair by pair: roofline compare {first} {second} --record {options.record}"
    _refuse(options, "two captures", why=why, hint=hint, honoured=_OF_ANY)
    sides = [analyze_side(path, options.judging) for path in options.reports]
    compared = []
    for number, pair in enumerate(pairwise(sides)):
        try:
            compared.append(options.comparing.compare(*pair))
        except UsageError as error:
            what = f"{' and '.join(p.name for p in options.reports[number : number + 2])}: "
            raise UsageError(what + error.what, why=error.why, hint=error.hint) from error
    stages = [stage_of(one, Stage(entry=number)) for number, one in enumerate(compared, 2)]
    write_history(history(stages), options.output)
    if options.plot is not None:
        from roofline.plot import Options, save, walk
        from roofline.render.overview import short_files

        paths = [str(path) for path in options.reports]
        short = short_files(paths, _LETTERS)
        points = [(short[path], one) for path, one in zip(paths, followed(compared), strict=True)]
        drawn = walk.picture(points, Options())
        save(drawn, options.plot, force=options.output.force)
    return InputError.exit_code if any(side.unread for side in sides) else 0


def _refuse(
    options: CompareOptions, of: str, *, why: str, hint: str, honoured: Collection[str]
) -> None:
    """Refuse options that are about one pair of captures, but for those that are ``honoured``."""
    own = {
        "fail-on": options.gates,
        "check": options.check,
        "junit": options.junit,
        "record": options.record,
        "time-before": options.time_before,
        "time-after": options.time_after,
    }
    asked = [name for name, value in own.items() if value] + list(options.comparing.given())
    for name in asked:
        if name not in honoured:
            raise UsageError(f"--{name} is for {of}", why=why, hint=hint)


def _drawn(options: CompareOptions) -> CompareOptions:
    """With a picture as --plot where -o names one: the table then goes to the terminal."""
    file, asked = options.output.file, options.output.as_json or options.output.asked_format
    if asked or file is None or file.suffix.lower() not in PICTURES or options.plot is not None:
        return options
    return replace(options, plot=file, output=replace(options.output, output=None))


def _check(options: CompareOptions) -> None:
    """Refuse at once what would fail after long work."""
    options.output.check(FORMATS, plots=True)
    force = options.output.force
    if options.junit is not None:
        refuse_overwrite(options.junit, force=force)
    if options.plot is not None:
        from roofline.plot import check_path

        check_path(options.plot, force=force, option="--plot")
    if options.record is not None:
        check_record(options.record)
    elif options.problem or options.hypothesis or options.intervention:
        what = "--problem, --hypothesis and --intervention are for a record"
        raise UsageError(what, hint="--record FILE.md")
    if options.update_baseline and options.baseline is None:
        raise UsageError("--update-baseline needs a folder", hint="--baseline DIR")
    if options.time_before is not None and options.time_after is None:
        raise UsageError(
            "one timing has nothing to compare with", hint="--time-before F --time-after F"
        )
    if options.baseline is not None:
        check_count(options.reports, {1}, "compare takes AFTER alone, as BEFORE is the baseline")
    elif len(options.reports) < 2:
        check_count(options.reports, {2}, "compare takes BEFORE and AFTER")


def check_count(reports: Sequence[Path], counts: set[int], why: str) -> None:
    """Refuse another number of captures."""
    if len(reports) not in counts:
        raise UsageError(
            f"{plural(len(reports), 'capture')} named",
            why=why,
            hint="a folder or a quoted glob pattern holds several reports of one side",
        )


def analyze_side(path: Path, judging: Judging) -> Analysis:
    """One side: a report, a folder, a glob pattern or a baseline."""
    if path.suffix == ".json":
        return load_baseline(path)
    return analyze_reports((path,), judging, merge=True)


def _compare(before: Analysis | None, after: Analysis, options: CompareOptions) -> Comparison:
    """The comparison with everything that options add to it."""
    program = None
    if options.time_after is not None:
        first = None if options.time_before is None else read_times(options.time_before)
        program = judge_program(first, read_times(options.time_after))
    comparison = options.comparing.compare(before, after, program)
    if options.check is not None:
        outcome, printed = run_check(options.check)
        if printed and not outcome.passed:
            say(printed[-4000:], prefix="")
        comparison = replace(comparison, correctness=outcome)
    return replace(comparison, gates=judge(comparison, options.gates))


def _answer(
    comparison: Comparison, after: Analysis, options: CompareOptions, stated: Stage
) -> None:
    """Everything that is written: the answer, the picture, the record, what CI reads."""
    from roofline.render import ci, comparison_json, pull_request
    from roofline.render import comparison as render
    from roofline.render.record import entry

    top, output, force = options.top, options.output, options.output.force
    width, color = output.width(), output.color
    output.answer(
        json=lambda: comparison_json.render(comparison),
        markdown=lambda: pull_request.render(comparison, limit=top),
        table=lambda: render.render(comparison, limit=top, width=width, color=color),
    )
    if options.plot is not None:
        draw(after if comparison.alone else comparison, {options.plot: "light"}, force=force)
    if options.junit is not None:
        write_text(options.junit, ci.junit(comparison), force=force)
    if options.record is not None and comparison.alone:
        say(f"no entry of {options.record}, as there is no baseline yet")
    elif options.record is not None:
        asked = ("problem", "hypothesis", "intervention")
        words = {name: said for name in asked if (said := getattr(options, name))}
        statement = replace(stated, recorded=now(), **words)
        number = add_record(options.record, lambda n: entry(comparison, statement, n))
        closed = f", which closes entry {stated.closes}" if stated.closes else ""
        say(f"entry {number} of {options.record}{closed}")
    for_github(ci.github(comparison), lambda: pull_request.render(comparison))


def now() -> str:
    """The date and time of an entry."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def draw(
    shown: Comparison | Analysis,
    files: Mapping[Path, str],
    *,
    title: str | None = None,
    force: bool = False,
) -> None:
    """Draw the pairs that changed most, or one side alone, into ``files`` (path to theme)."""
    from roofline.plot import Options, Picture, picture, save, write

    drawn: dict[str, Picture] = {}
    for path, theme in files.items():
        options = Options(theme=theme, title=title)
        if path.suffix.lower() == ".html":
            write(shown, path, options, force=force)
        else:
            drawn[theme] = drawn.get(theme) or picture(shown, options)
            save(drawn[theme], path, force=force)


def for_github(annotations: Sequence[str], summary: Callable[[], str]) -> None:
    """Annotations of what failed and the step's summary, where GitHub Actions runs this."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations:
            say(line, command=True)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(summary())
        except OSError as error:
            say(f"no step summary: {error.strerror}")


def report_gates(gates: Sequence[GateResult], check: Correctness | None = None) -> None:
    """Raise where a gate failed or was not judged, or the check failed."""
    from roofline.render.comparison import check_failed, gate

    bad = failed(gates)
    said = [f"{len(bad)} of {len(gates)} gate checks failed"] if bad else []
    if check is not None and not check.passed:
        said.append(f"the check failed: {check.command}: {check_failed(check)}")
    if said:
        raise GateError("; ".join(said), details=[gate(g) for g in bad[:20]])
