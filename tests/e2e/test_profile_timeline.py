"""``roofline profile --timeline``: what a timeline names is captured, and its end is told."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.capture.request import CaptureRequest
from roofline.capture.run import Captured, free_names, numbered
from roofline.cli.profile_run import Run, criteria_of, exit_code, request_for
from roofline.errors import CaptureError, ProgramError
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Basis, Criteria, KernelShare, ProfileRequest
from sample_reports.writer import write
from tests.e2e.fake import PROFILED, Fake, launch
from tests.e2e.running import run
from tests.timeline import made

NOTHING = "==WARNING== No kernels were profiled."
CLOSED = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access"


def step_of(number: int, *, gemm: float = 300, relu: float = 250) -> list[Any]:
    """A step of 1 ms: gemm on a large grid and on 30 small ones, then relu."""
    start = 1000.0 * number
    first = 100 * number
    events: list[Any] = [made.step(number, start, 1000)]
    events += made.launched(first, "gemm", start + 10, gemm)
    for i in range(30):
        events += made.launched(first + 1 + i, "gemm", start + 400 + 6 * i, 4, grid=[i + 1, 1, 1])
    return events + made.launched(first + 40, "relu", start + 700, relu)


def timeline(fake: Fake, *, name: str = "trace.json", **lasting: float) -> Path:
    """Five equal steps: gemm 30 %, relu 25 %, the 30 small ones 0.4 % each."""
    steps = [step_of(number, **lasting) for number in range(1, 6)]
    return made.write(fake.folder, made.trace(*steps), name)


def captured(fake: Fake, name: str, *, grid: int = 64) -> dict[str, Any]:
    """What the fake ncu does for a run that meets one launch of ``name``."""
    report = fake.folder.parent / f"{name}.ncu-rep"
    sizes: dict[str, float] = {"launch__grid_dim_x": grid, "launch__block_dim_x": 128}
    sizes |= {f"launch__{what}_dim_{axis}": 1 for what in ("grid", "block") for axis in "yz"}
    write(report, [replace(launch(name, **sizes), demangled=name)])
    return {"run": True, "log": [PROFILED], "report": str(report)}


def two_runs(fake: Fake) -> None:
    fake.scenario(captured(fake, "gemm"), captured(fake, "relu"))
    fake.program("bench", "echo running")


def option(argv: list[str], name: str) -> str:
    return argv[argv.index(name) + 1]


@pytest.mark.slow
def test_each_set_of_kernels_has_a_run_and_the_answer_is_about_all(fake: Fake) -> None:
    timeline(fake)
    two_runs(fake)

    done = fake.run("profile", "--timeline", "trace.json", "bench", "--from", "here")

    assert done.returncode == 0, done.stderr
    first, second = (call["argv"] for call in fake.calls())
    counting = ("--kernel-name", "--launch-skip", "--launch-count")
    # Two steps of warm-up are skipped: in each, 31 launches are of gemm and one is of relu.
    assert [option(first, name) for name in counting] == ["gemm", "62", "1"]
    assert [option(second, name) for name in counting] == ["relu", "2", "1"]
    assert first[-3:] == second[-3:] == ["bench", "--from", "here"]
    assert done.stdout.count("running") == 2
    assert "Report: bench-1.ncu-rep (1 launch)" in done.stdout
    assert "Report: bench-2.ncu-rep (1 launch)" in done.stdout
    assert "relu: 1 kernel, 1 launch; which launch: estimated" in done.stdout
    assert "Note: The launch is an estimate" in done.stdout
    assert "under ncu" in done.stdout
    assert "asked for and not" not in done.stdout
    assert "--launch-count raises" not in done.stdout


@pytest.mark.slow
def test_gains_are_ranked_and_what_was_left_out_has_its_share(fake: Fake) -> None:
    timeline(fake)
    two_runs(fake)

    done = fake.run("profile", "--timeline", "trace.json", "--format", "json", "bench")

    joined = json.loads(done.stdout)["timeline"]
    # Both have their DRAM busy 90 % of the time: a tenth of 30 % and of 25 % can be saved, if the
    # host, which launches just in time, launches earlier.
    assert [k["base_name"] for k in joined["kernels"]] == ["gemm", "relu"]
    assert [k["saved_at_most"] for k in joined["kernels"]] == [
        [0, pytest.approx(0.03)],
        [0, pytest.approx(0.025)],
    ]
    # 4 us in a step of 1 ms, each on a grid of its own
    assert [k["wall_share"] for k in joined["unprofiled"]] == pytest.approx([0.004] * 30)
    assert "Report: bench-2.ncu-rep" in done.stderr


@pytest.mark.slow
def test_the_next_command_gives_the_same_gains(fake: Fake) -> None:
    timeline(fake)
    two_runs(fake)
    done = fake.run("profile", "--timeline", "trace.json", "bench")
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("Next: ")]
    words = shlex.split(line.removeprefix("Next: "))

    again = fake.run(*words[1:])

    assert words[2:] == ["bench-1.ncu-rep", "bench-2.ncu-rep", "--timeline", "trace.json"]
    assert again.returncode == 0
    gains = done.stdout.partition("What the step gains")[2].partition("\n\n")[0]
    assert "relu" in gains
    assert gains in again.stdout


def test_one_run_keeps_the_plain_name(fake: Fake) -> None:
    timeline(fake)
    fake.scenario(captured(fake, "gemm"))

    done = fake.run("profile", "--timeline", "trace.json", "--top", "1", "-o", "g.ncu-rep", "true")

    assert done.returncode == 0, done.stderr
    assert len(fake.calls()) == 1
    assert fake.files() == {"trace.json", "g.ncu-rep", "g.ncu-rep.log"}
    assert "not profiled: relu 25.0 %" in done.stdout  # it was not asked for
    assert "asked for and not" not in done.stdout


@pytest.mark.slow
def test_a_kernel_that_was_not_met_is_named(fake: Fake) -> None:
    timeline(fake)
    fake.scenario(captured(fake, "gemm"), captured(fake, "relu", grid=65))

    done = fake.run("profile", "--timeline", "trace.json", "true")

    assert "asked for and not in the report: relu 25.0 % (exposed, of the wall time)" in done.stdout
    assert "profiled, but not in the timeline: relu" in done.stdout


def test_all_names_are_checked_before_the_first_run(fake: Fake) -> None:
    timeline(fake)
    (fake.folder / "a-2.ncu-rep").write_text("mine")

    done = fake.run("profile", "--timeline", "trace.json", "-o", "a.ncu-rep", "true")

    assert done.returncode == 2
    assert "a-2.ncu-rep" in done.stderr
    assert "--force" in done.stderr
    assert fake.calls() == []
    assert (fake.folder / "a-2.ncu-rep").read_text() == "mine"


@pytest.mark.slow
def test_a_run_that_meets_nothing_does_not_lose_the_others(fake: Fake) -> None:
    timeline(fake)
    names = captured(fake, "other")
    fake.scenario({"log": [NOTHING]}, names, captured(fake, "relu"))

    done = fake.run("profile", "--timeline", "trace.json", "true")

    assert done.returncode == 4
    assert "62 launches were skipped; a smaller --warmup-steps skips fewer" in done.stderr
    assert "run 1 of 2 (gemm): the program launched kernels, but none of" in done.stderr
    assert "Partial: no report of gemm:" in done.stdout
    assert "[nothing_matched]" in done.stdout
    assert "asked for and not in the report: gemm 30.0 %" in done.stdout
    assert "Report: true-2.ncu-rep" in done.stdout
    assert {"true-2.ncu-rep", "true-1.ncu-rep.log"} <= fake.files()
    assert "true-1.ncu-rep" not in fake.files()


@pytest.mark.slow
def test_a_failure_that_all_runs_share_ends_them(fake: Fake) -> None:
    timeline(fake)
    fake.scenario({"log": [CLOSED], "exit": 1})

    done = fake.run("profile", "--timeline", "trace.json", "true")

    assert done.returncode == 4
    assert "[permission" in done.stderr
    assert done.stdout == ""
    assert len(fake.calls()) == 1


@pytest.mark.slow
def test_a_program_that_fails_later_leaves_the_earlier_answer(fake: Fake) -> None:
    timeline(fake)
    failing = {"log": ["==ERROR== The application returned an error code (3).", NOTHING], "exit": 1}
    fake.scenario(captured(fake, "gemm"), failing)

    done = fake.run("profile", "--timeline", "trace.json", "true")

    assert done.returncode == 5
    assert "Report: true-1.ncu-rep" in done.stdout
    assert "Partial: no report of relu: the program itself failed [program_failed]" in done.stdout


def test_a_single_run_that_fails_is_told_once(fake: Fake) -> None:
    timeline(fake)
    fake.scenario({"log": [CLOSED], "exit": 1})

    done = fake.run("profile", "--timeline", "trace.json", "--top", "1", "true")

    assert done.returncode == 4
    assert done.stderr.count("[permission") == 1
    assert "run 1" not in done.stderr


@pytest.mark.slow
def test_gaps_come_first_also_when_kernels_are_profiled(fake: Fake) -> None:
    timeline(fake, gemm=60, relu=40)
    two_runs(fake)

    done = fake.run("profile", "--timeline", "trace.json", "bench")

    assert done.returncode == 0
    first, second = done.stderr.splitlines()[:2]
    # busy: 60 + 30 * 4 + 40 of 1000 us
    assert first.startswith("roofline: Gaps come first: ")
    assert "the GPU is idle for 780 µs of 1.00 ms (78.0 %)" in first.replace("The", "the")
    assert "Removing the gaps buys up to 4.55x" in second
    answer = done.stdout.partition("Gaps come first")[2]
    assert "What the step gains" in answer
    assert len(fake.calls()) == 2


def test_where_no_kernel_is_worth_it_nothing_runs(fake: Fake) -> None:
    timeline(fake)

    done = fake.run("profile", "--timeline", "trace.json", "--min-share", "40", "true")

    assert done.returncode == 3
    assert "no kernel of trace.json is worth profiling: none takes 40 %" in done.stderr
    assert "the most is gemm with 30.0 %" in done.stderr
    assert "roofline select trace.json" in done.stderr
    assert "--min-share" in done.stderr
    assert done.stdout == ""
    assert fake.calls() == []


def test_where_only_communication_runs_it_says_so_first(fake: Fake) -> None:
    talk = [made.launched(i, "ncclDevKernel_AllReduce", 100 * i, 90) for i in range(1, 5)]
    made.write(fake.folder, made.trace(*talk))

    done = fake.run("profile", "--timeline", "trace.json", "true")

    assert done.returncode == 3
    assert done.stderr.startswith("roofline: Communication comes first")
    assert "all that ran is communication, copies or kernels under 2 µs" in done.stderr
    assert fake.calls() == []


def test_a_folder_of_ranks_is_refused_with_the_command_that_picks_one(fake: Fake) -> None:
    (fake.folder / "ranks").mkdir()

    done = fake.run("profile", "--timeline", "ranks", "true")

    assert done.returncode == 3
    assert "it is a folder, and --timeline takes the file of one rank" in done.stderr
    assert "try: roofline select ranks, which names the file" in done.stderr
    assert fake.calls() == []


@pytest.mark.parametrize("path", ["gone.json", "made.ncu-rep"])
def test_a_timeline_that_is_none_is_refused_before_anything_runs(fake: Fake, path: str) -> None:
    (fake.folder / "made.ncu-rep").write_bytes(fake.report.read_bytes())

    done = fake.run("profile", "--timeline", path, "true")

    assert done.returncode == 3
    assert path in done.stderr
    assert fake.calls() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--replay", "range"), "--timeline and --replay range exclude each other"),
        (("--graphs", "graph"), "--timeline and --graphs graph exclude each other"),
        (("--format", "csv"), "--timeline cannot be written as csv"),
        (("--rank", "0"), "--rank with --timeline: 2 runs are needed"),
        (("--launch-skip", "0"), "--timeline and --launch-skip exclude each other"),
        (("--step", "("), "not a regular expression"),
        (("--chip", "gh100"), "--chip needs --dry-run"),
    ],
)
def test_what_does_not_go_together(fake: Fake, words: tuple[str, ...], said: str) -> None:
    timeline(fake)

    done = fake.run("profile", "--timeline", "trace.json", *words, "true")

    assert done.returncode == 2
    assert said in done.stderr
    assert fake.calls() == []


def test_another_rank_becomes_the_program_without_a_word(fake: Fake) -> None:
    timeline(fake)
    fake.environment["RANK"] = "1"
    fake.program("bench", "echo bare $*")

    done = fake.process(
        "profile", "--timeline", "trace.json", "--top", "1", "--rank", "0", "bench", "-x"
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "bare -x\n", "")
    assert fake.calls() == []


# --- the same from 'roofline select' ----------------------------------------------------------


def exported(fake: Fake, *, first: int, ranges: tuple[str, ...] = ()) -> Path:
    """Two kernels in turn, three times, as nsys exports them; each time in a range."""
    export = made.Export(fake.folder / "t.sqlite", made.KERNELS, made.CALLS, made.NVTX)
    for i, name in enumerate(["a", "b"] * 3):
        start = 1000 + i * 200_000
        export.call("cudaLaunchKernel", start, start + 10, first + i)
        export.kernel(
            f"void {name}<int>(int)",
            start + 10_000,
            start + 150_000,
            correlation=first + i,
            mangled=f"_Z1{name}IiEvi",
        )
    for i, name in enumerate(ranges):
        export.range(name, 500 + i * 400_000, 500 + (i + 1) * 400_000)
    return export.done()


TIMELINES: dict[str, Callable[[Fake], Path]] = {
    "estimated": timeline,
    "counted": lambda fake: exported(fake, first=1),
    "unknown": lambda fake: exported(fake, first=9000),
    "range": lambda fake: exported(fake, first=9000, ranges=("step 1", "step 2", "step 3")),
    "named alike": lambda fake: exported(fake, first=1, ranges=("step",) * 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TIMELINES)
def test_printed_commands_ask_ncu_for_the_same(fake: Fake, kind: str) -> None:
    path = TIMELINES[kind](fake)
    step = ("--step", "^step") if "sqlite" in path.name and kind in ("range", "named alike") else ()
    selected = fake.run("select", path.name, *step, "--json")
    assert selected.returncode == 0, selected.stderr
    printed = [shlex.split(r["command"]) for r in json.loads(selected.stdout)["requests"]]
    assert printed

    fake.program("PROGRAM", "exit 9")
    dry = ("--dry-run", "--chip", "gh100", "-o", "x.ncu-rep")
    by_hand = []
    for words in printed:
        assert words[-2:] == ["--", "PROGRAM"]
        done = fake.run("profile", *dry, *words[2:])
        assert done.returncode == 0, done.stderr
        by_hand.append(without_files(done.stdout.splitlines()[0]))
    at_once = fake.run("profile", "--timeline", path.name, *step, *dry, "PROGRAM")

    assert at_once.returncode == 0, at_once.stderr
    commands = [line for line in at_once.stdout.splitlines() if line.startswith(str(fake.bin))]
    assert [without_files(line) for line in commands] == by_hand
    assert "GH100           7" in at_once.stdout
    assert at_once.stdout.count("Passes over each kernel") == 1
    assert f"# run 1 of {len(printed)}: " in at_once.stdout
    assert fake.calls() == []
    assert fake.files() == {path.name}


@pytest.mark.parametrize(("lines", "ended"), [(2, True), (1, False)])
def test_a_program_is_ended_when_each_kernel_that_was_seen_is_in(
    fake: Fake, lines: int, ended: bool
) -> None:
    # Nothing says how many launches came before: the first of each grid and block is taken.
    path = exported(fake, first=9000)
    running_on = {"gentle": True, "delay": 40 if ended else 2, "log": [PROFILED] * lines}
    fake.scenario(captured(fake, "a") | running_on)

    done = fake.run("profile", "--timeline", path.name, "--until", "launches", "true")

    assert done.returncode == 0, done.stderr
    assert "at most 1 launch of each grid and block; the program is ended with 2 of them" in (
        done.stderr
    )
    assert ("The program was ended after the last kernel" in done.stdout) is ended


def without_files(command: str) -> list[str]:
    words = shlex.split(command)
    for name in ("--log-file", "--export"):
        at = words.index(name)
        del words[at : at + 2]
    return words


def test_the_plan_names_every_report(fake: Fake) -> None:
    timeline(fake)

    done = fake.run("profile", "--timeline", "trace.json", "--dry-run", "python", "x.py")

    commands = [line for line in done.stdout.splitlines() if " --export " in line]
    exports = [option(shlex.split(line), "--export") for line in commands]
    assert exports == ["x-1.ncu-rep", "x-2.ncu-rep"]


# --- pure parts -------------------------------------------------------------------------------


def share(name: str) -> KernelShare:
    return KernelShare(
        name=f"void {name}(int)",
        base_name=name,
        grid=None,
        block=None,
        device=0,
        instances=1,
        total_s=1.0,
        kernel_share=1.0,
    )


def wanted(*names: str, **values: Any) -> ProfileRequest:
    given: dict[str, Any] = {
        "kernels": tuple(map(share, names)),
        "names": names,
        "name_base": "function",
        "basis": Basis.COUNTED,
        "launch_count": 3,
    }
    return ProfileRequest(**(given | values))


def test_what_a_timeline_asks_for_replaces_the_choice_and_nothing_else() -> None:
    base = CaptureRequest(program=("a",), replay="application", devices="1", launch_count=10)

    found = request_for(base, wanted("f", "g", launch_skip=7, nvtx="step 2"))

    assert found == replace(
        base,
        kernels=("f", "g"),
        name_base="function",
        launch_skip=7,
        launch_count=3,
        nvtx=("step 2",),
    )


def test_unknown_instances_are_counted_by_grid() -> None:
    base = CaptureRequest(program=("a",))

    found = request_for(base, wanted("_Z1f", name_base="mangled", launch_count=1, per_config=True))

    assert (found.launch_skip, found.launch_count, found.per_config) == (0, 1, True)
    assert found.name_base == "mangled"
    assert found.nvtx == ()


def test_names_are_numbered_only_where_there_are_several(tmp_path: Path) -> None:
    assert numbered(Path("a/b.ncu-rep"), 1) == (Path("a/b.ncu-rep"),)
    assert numbered(Path("a/b.ncu-rep"), 2) == (Path("a/b-1.ncu-rep"), Path("a/b-2.ncu-rep"))
    (tmp_path / "x-2.ncu-rep").touch()
    assert [p.name for p in free_names(["x"], 2, tmp_path)] == [
        "x-2-1.ncu-rep",
        "x-2-2.ncu-rep",
    ]


RUN = Run(request=CaptureRequest(program=("a",)), report=Path("a"), wanted=wanted("f"))


def done_with(stopped: str | None = None) -> Run:
    captured = Captured(report=Path("a"), log=None, launches=1, stopped=stopped)
    return replace(RUN, captured=captured)


def test_exit_codes() -> None:
    failed = replace(RUN, failure=CaptureError("no"))
    assert exit_code([done_with()]) == 0
    assert exit_code([done_with("stall")]) == 0
    assert exit_code([done_with(), failed, RUN]) == 4
    assert exit_code([failed, replace(RUN, failure=ProgramError("no"))]) == 4
    assert exit_code([failed, done_with("SIGINT"), RUN]) == 130


BY_HAND = [
    ("--kernel", "a"),
    ("--kernel-name", "a"),
    ("--name-base", "function"),
    ("--launch-skip", "0"),
    ("--launch-count", "10"),
    ("--per-config",),
    ("--nvtx", "a"),
    ("--collectives",),
    ("--capture-range",),
    ("--list-kernels",),
]


@pytest.mark.parametrize("words", BY_HAND, ids=" ".join)
def test_the_timeline_chooses_or_the_user(words: tuple[str, ...]) -> None:
    done = run("profile", "--timeline", "none.json", *words, "true")

    assert done.exit_code == 2
    assert f"--timeline and {words[0]} exclude each other" in done.stderr


@pytest.mark.parametrize("name", ["--top", "--min-share", "--step", "--warmup-steps"])
def test_options_about_a_timeline_need_one(name: str) -> None:
    done = run("profile", "--look", "none", name, "1", "true")

    assert done.exit_code == 2
    assert f"{name} needs a timeline" in done.stderr
    way_out = "" if name == "--step" else "leave out --look none, or "
    assert f"try: {way_out}--timeline FILE" in done.stderr


def test_what_rules_the_look_out_is_named() -> None:
    done = run("profile", "--cover", "50", "--first", "3", "true")

    assert done.exit_code == 2
    assert "try: leave out --first, or --timeline FILE" in done.stderr


def test_help_names_the_usual_values_of_a_selection() -> None:
    text = " ".join(run("profile", "--help").stdout.split())
    usual = Criteria()

    assert f"At most N kernels. [default: 10; {usual.top} with --timeline]" in text
    assert f"[default: 0; {100 * usual.min_share:g} with --timeline]" in text
    assert f"process it saw. [default: {usual.warmup_steps}]" in text


def test_what_is_not_given_is_usual(fake: Fake) -> None:
    seen = load_timeline(timeline(fake))
    usual = select(seen, criteria_of(top=None, min_share=None, warmup_steps=None))

    assert [k.base_name for one in usual.requests for k in one.kernels] == ["gemm", "relu"]
    assert len(select(seen, criteria_of(top=1)).requests) == 1
    assert not select(seen, criteria_of(min_share=0.99)).requests
