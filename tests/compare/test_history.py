"""History: what each change of a record gave, captures in a row, and when to stop."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from roofline.cli import cli
from roofline.compare.history import (
    Judged,
    Stage,
    at_ceilings,
    ceiling_s,
    followed,
    history,
    program_of,
    seal_of,
)
from roofline.compare.judge import compare
from roofline.compare.model import Correctness, LeftOut
from roofline.compare.record import read_record
from roofline.errors import RooflineWarning
from roofline.model import Peaks
from roofline.render import comparison_json
from roofline.render import history as render
from roofline.render.comparison import totals
from roofline.render.record import entry, stage_of
from tests.compare.pairs import capture, launch
from tests.shared import SHARED

SAMPLES = Path(__file__).parents[2] / "sample_reports"
BEFORE, AFTER = SAMPLES / "a100_transpose_before.ncu-rep", SAMPLES / "a100_transpose_after.ncu-rep"


def run(*argv: object) -> Result:
    # The tests' own processes have a width of their own.
    wide = {"COLUMNS": "120"}
    return CliRunner(env=wide).invoke(cli, list(map(str, argv)), catch_exceptions=False)


def change(
    entry: int, before: str, after: str, before_s: float, after_s: float, **more: Any
) -> Stage:
    """A closed entry."""
    return Stage(
        entry=entry,
        recorded="2026-01-02T03:04:05+00:00",
        before=(before,),
        after=(after,),
        before_s=before_s,
        after_s=after_s,
        **more,
    )


def test_gains_multiply_along_the_captures_that_follow_each_other() -> None:
    stages = history(
        [
            change(1, "a", "b", 8.0, 4.0),
            change(2, "b", "c", 4.0, 5.0),  # given up
            change(3, "b", "d", 4.0, 1.0),
            change(4, "x", "y", 3.0, 1.0),  # of something else
        ]
    )

    assert [s.gain for s in stages] == [2.0, 0.8, 4.0, 3.0]
    assert [s.total for s in stages] == [2.0, 1.6, 8.0, 3.0]
    assert [s.follows for s in stages] == [None, 1, 1, None]


def test_the_programs_time_is_that_of_the_changes_that_were_kept() -> None:
    stages = [
        change(1, "a", "b", 8.0, 4.0, program=(0.380, 0.250)),
        change(2, "b", "c", 4.0, 5.0),  # given up, and not timed
        change(3, "b", "d", 4.0, 1.0, program=(0.251, 0.166)),
    ]
    # 380 / 166 = 2.29.
    assert "; the program 2.29x faster (380 -> 166 ms)" in render.head(history(stages))
    assert "program" not in render.head(history(stages[:2]))


def test_entries_of_merged_records_may_have_one_number() -> None:
    first = change(1, "a", "b", 8.0, 4.0, program=(9.0, 6.0))
    other = change(1, "x", "y", 8.0, 4.0, program=(50.0, 40.0))
    last = change(1, "b", "c", 4.0, 2.0, program=(6.0, 3.0))

    assert program_of(history([first, last])) == (9.0, 3.0)
    assert program_of(history([first, other, last])) == (9.0, 3.0)


def test_a_file_that_was_captured_again_is_another_one() -> None:
    one = change(1, "a", "b", 8.0, 4.0, digest="0", after_digest="1")
    renamed = change(2, "kept", "c", 4.0, 2.0, digest="1", after_digest="2")

    assert [s.total for s in history([one, renamed])] == [2.0, 4.0]


def test_a_prediction_is_shown_until_it_is_closed() -> None:
    open_ = Stage(entry=1, status="open", before=("a",), predictions=("--expect k=2x",))
    closing = change(2, "a", "b", 2.0, 1.0, closes=1)

    assert [s.entry for s in history([open_, closing])] == [2]
    merged = replace(open_, recorded="2026-01-02T03:04:05+00:00")
    assert [s.entry for s in history([open_, closing, merged])] == [2, 1]
    text = render.render(history([open_]), width=120, color=False)
    assert "0 changes, 1 prediction open" in text
    assert "--expect k=2x: open" in text
    untimed = change(1, "a", "b", None, None, counts={"unknown": 1})
    assert "  not judged" in render.render(history([untimed]), width=120, color=False)
    assert "Next: make the change, then roofline compare a AFTER --record RECORD.md" in text


# launch(): 1 ms, DRAM 90 % busy.
@pytest.mark.parametrize(
    ("dram", "left", "stop", "said"),
    [
        (90.0, 1 / 0.9, True, "near its ceiling. Only less work"),
        (75.0, 1 / 0.75, False, "Go on: all kernels at their nearest ceilings, same work: at most"),
        (95.0, 1 / 0.95, True, "Stop: all kernels at their nearest ceilings"),
    ],
)
def test_what_is_left_at_the_ceilings(dram: float, left: float, stop: bool, said: str) -> None:
    side = capture(launch(us=1000, use={"dram": dram, "issue": 20.0}))
    found = at_ceilings(p.after for p in compare(side, side).pairs)

    assert found is not None
    assert found.left == pytest.approx(left)
    assert found.stop is stop
    stages = history([change(1, "a", "b", 1.0, 1.0, at_ceilings=found)])
    assert said in render.outlook(stages)


def test_proven_waste_is_a_reason_to_go_on_at_a_ceiling(tmp_path: Path) -> None:
    # L1/shared is 92 % busy: 1.09x at its ceiling, 2.56x without the bank conflicts.
    record = tmp_path / "log.md"
    run("compare", AFTER, BEFORE, "--record", record)
    (stage,) = json.loads(run("history", record, "--json").stdout)["stages"]
    found = stage["at_ceilings"]
    assert found["total_s"] / found["floor_s"] == pytest.approx(1.09, abs=0.01)
    assert found["total_s"] / found["without_s"] == pytest.approx(2.56, abs=0.01)

    copy = tmp_path / "before.ncu-rep"
    copy.write_bytes(BEFORE.read_bytes())
    same = tmp_path / "same.md"
    run("compare", BEFORE, copy, "--record", same)
    said = " ".join(run("history", same).stdout.split())
    assert (
        "Go on: all kernels at their nearest ceilings and without proven waste: up to 2.56x" in said
    )
    assert "same work: at most 1.09x. First: transpose" in said
    assert "without the bank conflicts." in said
    answer = json.loads(run("history", same, "--json").stdout)
    assert answer["stop"] is False
    assert answer["without_waste"] == pytest.approx(2.56, abs=0.01)


def test_a_measured_ceiling_counts_where_the_device_has_one() -> None:
    use = {"dram": 80.0, "issue": 10.0}
    (result,) = capture(launch(us=1000, dram_bytes=1e9, use=use)).results
    assert ceiling_s(result) == pytest.approx((800e-6, False))

    measured = Peaks(kind="achieved", source="bench", dram_bytes_per_s=1.1e12)
    peaks = replace(result.peaks, achieved=measured)
    assert ceiling_s(replace(result, peaks=peaks)) == pytest.approx((1e9 / 1.1e12, True))
    # A benchmark that beats the report's own peak moves nothing.
    peaks = replace(result.peaks, achieved=replace(measured, dram_bytes_per_s=1e13))
    assert ceiling_s(replace(result, peaks=peaks)) == pytest.approx((800e-6, True))


def test_a_kernel_is_followed_until_it_has_gone() -> None:
    one, two = launch("a", us=9), launch("b", us=5)
    fused = launch("unlike", us=3, grid=(7, 1, 1))
    sides = [capture(one, two), capture(replace(one, duration_s=2e-6), two), capture(two, fused)]
    path = followed([compare(sides[0], sides[1]), compare(sides[1], sides[2])])

    assert [(r.measurement.name, kept) for r, kept in path] == [
        ("a", False),
        ("a", True),
        ("b", False),
    ]


def test_a_record_is_read_as_a_history(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    run("predict", BEFORE, "--expect", "transpose=2x..2.5x", "--record", log)
    run("compare", BEFORE, AFTER, "--record", log, "--intervention", "pad the tile")
    run("predict", AFTER, "--expect", "transpose=1.05x", "--record", log)

    text = run("history", log).stdout
    flat = " ".join(text.split())
    assert text.startswith("1 change, 1 prediction open; 2.28x faster in total\n")
    assert re.search(r"^ +2  20\S+ \S+  pad the tile +296 µs  2.28x faster", text, re.MULTILINE)
    assert "2. --expect transpose=2x..2.5x: confirmed" in text
    assert "at most 1.12x (296 -> 264 µs), and what takes the time is near its" in flat
    document = json.loads(run("history", log, "--json").stdout)
    schema = Path(render.__file__).parents[1] / "schemas" / "history-1.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text()))
    assert (document["stop"], document["total"]) == (True, pytest.approx(2.2763, rel=1e-4))
    assert "| 2 | " in run("history", log, "--format", "markdown").stdout


def test_a_record_that_was_cut_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    run("compare", BEFORE, AFTER, "--record", log)
    log.write_text(log.read_text()[:-20])

    with pytest.warns(RooflineWarning, match="ends inside a line: it may be cut"):
        assert len(read_record(log)) == 1


def test_a_record_of_which_nothing_was_judged_is_read(tmp_path: Path) -> None:
    untimed = compare(capture(launch()), capture(launch(duration_s=None)))
    log = tmp_path / "log.md"
    log.write_text(entry(untimed, Stage(recorded="2026-01-02T03:04:05+00:00")))

    done = run("history", log)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "not judged" in done.stdout
    assert json.loads(run("history", log, "--json").stdout)["stages"][0]["launches"] is None


def test_what_the_program_itself_says_is_in_the_history(tmp_path: Path) -> None:
    log, times = tmp_path / "log.md", tmp_path / "times.json"
    rate = {"name": "tok/s", "ratio": 1.25, "low": 1.2, "high": 1.3, "pairs": 9}
    rate |= {"outcome": "faster", "better": "higher"}
    wall = rate | {"name": "wall time", "ratio": 2.0, "low": 1.9, "high": 2.1, "better": "lower"}
    side = {"schema": "roofline.time/1", "repeats": 9, "wall_s": {"median": 3.0}}
    after = side | {"wall_s": {"median": 1.5}, "against": side, "paired": [wall, rate]}
    times.write_text(json.dumps(after))

    run("compare", BEFORE, AFTER, "--record", log, "--time-after", times)

    text = run("history", log).stdout
    assert "the program: 3.00 -> 1.50 s (2.00x faster)" in text
    assert "tok/s: 1.25x better (1.20x to 1.30x with 95 %, 9 pairs)" in text
    assert "- tok/s: 1.25x better" in log.read_text()


def test_a_change_that_broke_the_results_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    assert run("compare", BEFORE, AFTER, "--record", log, "--check", "false").exit_code == 1

    text = run("history", log).stdout
    assert text.startswith("0 changes, 1 not counted (check FAILED)\n")
    assert re.search(r"^ +1 .* 2.28x faster  check FAILED", text, re.MULTILINE)
    assert "the check FAILED: false" in text
    assert run("compare", BEFORE, BEFORE, "--record", log, "--check", "true").exit_code == 0
    assert run("compare", BEFORE, AFTER, "--record", log, "--check", "false").exit_code == 1
    document = json.loads(run("history", log, "--json").stdout)
    assert (document["total"], document["stop"]) == (1.0, False)  # bank conflicts
    assert run("history", log).stdout.startswith("1 change, 2 not counted (check FAILED); 1.00x")


@pytest.mark.parametrize(("columns", "day"), [(60, ""), (80, "2026-01-02"), (130, "2026-01-02 ")])
def test_a_row_of_the_history_fits_its_line(columns: int, day: str) -> None:
    told = "a change that is told of in more words than its column has"
    stages = [change(1, "a", "b", 2.0, 1.0, intervention=told)]
    text = render.render(history(stages), width=columns, color=False)

    table = text.split("\n\n")[1].splitlines()
    assert len(table) == 3  # the titles, the capture, the change
    assert max(map(len, table)) <= columns
    assert day in text
    assert ("03:04" in text) is (columns > 100)
    assert " ".join(told.split()) in " ".join(text.split())


def test_what_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Mine\n")

    done = run("history", tmp_path / "notes.md")
    assert (done.exit_code, "is not an experiment record" in done.stderr) == (3, True)


def test_captures_in_a_row(tmp_path: Path) -> None:
    walk = tmp_path / "walk.svg"
    # What the names of files begin with alike tells nothing.
    long = [tmp_path / f"a_long_name_of_a_project__{name}.ncu-rep" for name in ("naive", "padded")]
    for path, report in zip(long, (BEFORE, AFTER), strict=True):
        path.write_bytes(Path(report).read_bytes())
    done = run("compare", long[0], long[1], long[0], "-o", walk)

    assert done.stdout.startswith("2 changes; 1.00x in total\n")
    assert "2.28x faster" in done.stdout
    again = run("compare", BEFORE, AFTER, AFTER).stdout
    assert "2. transpose_padded: 2.28x faster at the same 537 MB" in again
    assert re.search(r"^3 .*  no change  +2.28x faster", again, re.MULTILINE)
    assert "2.28x slower" in done.stdout
    drawn = walk.read_text()
    assert drawn.startswith("<?xml")
    assert "…padded" in drawn
    assert "a_long_name" not in drawn


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--fail-on", "gone"), "--fail-on"),
        (("--expect", "transpose=2x"), "--expect"),
        (("--record", "log.md"), "--record"),
    ],
)
def test_what_is_of_one_change_is_refused(words: tuple[str, ...], name: str) -> None:
    done = run("compare", BEFORE, AFTER, AFTER, *words)

    assert (done.exit_code, f"{name}" in done.stderr) == (2, True)
    assert "is for two captures: 3 are named" in done.stderr
    if name == "--record":
        said = " ".join(done.stderr.split())
        assert said.endswith(f"pair by pair: roofline compare {BEFORE} {AFTER} --record log.md")


@pytest.mark.skipif(SHARED is None, reason="no public reports here")
def test_public_captures_in_a_row() -> None:
    assert SHARED is not None
    reports = SHARED / "reports"
    names = ("naive", "variant1", "variant2")
    walk = [reports / f"Swagatam1812__hpca-gpu-memory-profiling__{n}.ncu-rep" for n in names]
    document = json.loads(run("compare", *walk, "--json").stdout)

    # The durations in the files: 150.4, 31.3 and 18.5 ms.
    assert document["total"] == pytest.approx(8.10, rel=1e-3)
    assert [s["first_after"]["limiter"] for s in document["stages"]] == ["l1", "l1"]


def test_captures_that_do_not_compare_are_named() -> None:
    done = run("compare", BEFORE, AFTER, SAMPLES / "h100_copy.ncu-rep")

    told = f"{AFTER.name} and h100_copy.ncu-rep: these captures do not compare: different GPU"
    assert (done.exit_code, told in done.stderr) == (2, True)


def test_times_are_per_launch_where_the_numbers_of_launches_differ() -> None:
    # 4 launches of 1 ms; 8 of 0.5 ms, half the work each or not; 2 of 0.25 ms.
    captures = [
        capture(*(launch(us=us) for _ in range(count)))
        for us, count in ((1e3, 4), (500, 8), (250, 2))
    ]
    compared = [compare(*captures[i : i + 2]) for i in (0, 1)]
    stages = history(
        stage_of(one, Stage(entry=i, before=(f"v{i}",), after=(f"v{i + 1}",)))
        for i, one in enumerate(compared, 1)
    )

    assert "1.00 ms to 500 µs per launch (2.00x faster); in sum 4.00 ms of 4 launches to " in (
        said := totals(compared[0])
    )
    assert said.endswith("to 4.00 ms of 8 (1.00x)")
    text = render.render(stages, width=140, color=False)
    assert "2 changes; 4.00x faster in total, times per launch" in text
    rows = [line for line in text.splitlines() if line[:3] in ("0  ", "1  ", "2  ")]
    for row, time in zip(rows, ("1.00 ms", "500 µs", "250 µs"), strict=True):
        assert f" {time} " in row
    assert "8 launches before, 2 after: times compare if each does the same work" in text


def test_a_prediction_that_was_edited_after_it_was_closed_is_told() -> None:
    open_ = Stage(entry=1, status="open", recorded="2026-01-02T03:04:05+00:00", digest="0")
    open_ = replace(open_, predictions=("--expect k=2x", "--because dram"))
    open_ = replace(open_, seal=seal_of(open_))
    judged = tuple(Judged(claim=one, judgement="confirmed") for one in open_.predictions)
    late = Judged(claim="--expect k=9x", judgement="short", late=True)
    closing = change(2, "a", "b", 2.0, 1.0, closes=1, stated=open_.recorded, judged=(*judged, late))

    def edited(one: Stage, other: Stage) -> bool:
        (found,) = history([one, other])
        told = "the predictions of entry 1 were edited since" in render.markdown([found])
        assert told is found.edited
        return told

    assert not edited(open_, closing)
    assert edited(replace(open_, predictions=("--expect k=3x", "--because dram")), closing)
    other = Judged(claim="--expect k=1.9x", judgement="confirmed")
    assert edited(open_, replace(closing, judged=(other, judged[1])))
    assert edited(open_, replace(closing, judged=judged[:1]))
    # Who edits both alike still breaks the seal.
    both = replace(open_, predictions=("--expect k=1.9x", "--because dram"))
    assert edited(both, replace(closing, judged=(other, judged[1])))


def test_a_faster_change_beside_the_last_one_is_where_to_go_on() -> None:
    first = change(1, "a", "v1", 8.0, 4.0, counts={"faster": 1})
    best = change(2, "v1", "v2", 4.0, 1.0, counts={"faster": 1})
    last = change(3, "v1", "v3", 4.0, 2.0, counts={"faster": 1})
    other = change(4, "x", "y", 9.0, 0.1, counts={"faster": 1})

    def found(*stages: Stage) -> Any:
        return json.loads(render.json(history(stages)))["best"]

    stages = history([first, best, last])
    assert render.outlook(stages).startswith("v2 is the fastest (1.00 s, 8.00x): go back to it. ")
    assert found(first, best, last) == 2
    failed = Correctness(command="false", code=1, seconds=1.0, passed=False)
    assert found(first, replace(best, correctness=failed), last) == 3
    # A failed change is none to continue from, and what is faster of another start is none either.
    assert found(first, best, replace(last, correctness=failed)) == 2
    assert found(other, first, last) == 3
    assert found(first, replace(best, after_s=1.99), last) == 3  # no more than noise


def test_after_a_change_for_the_worse_the_fastest_one_is_where_to_go_on() -> None:
    side = capture(launch(us=1000, use={"dram": 80.0, "issue": 20.0}))
    found = at_ceilings(p.after for p in compare(side, side).pairs)
    good = change(2, "a", "b", 8.0, 1.0, counts={"faster": 1}, at_ceilings=found)
    bad = change(3, "b", "c", 1.0, 2.0, counts={"slower": 1})
    stages = history([good, bad])

    # 1 / 0.8 = 1.25 of b, whatever c has left.
    assert render.outlook(stages).startswith("b is the fastest (1.00 s, 8.00x): go back to it. ")
    assert "From there: all kernels at their nearest ceilings, same work: at most 1.25x" in (
        render.outlook(stages)
    )
    document = json.loads(render.json(stages))
    assert (document["best"], document["left"]) == (2, pytest.approx(1.25))
    # 1.03x slower, beyond the noise of that kernel; 1.005x is little of the sum.
    for after_s, entry_ in ((1.03, 2), (1.005, 3)):
        slow = replace(bad, after_s=after_s)
        assert json.loads(render.json(history([good, slow])))["best"] == entry_
    # Noise is no reason to go back, nor is a faster one of something else.
    noise = replace(bad, counts={"no_change": 1})
    assert json.loads(render.json(history([good, noise])))["best"] == 3
    assert json.loads(render.json(history([good, replace(bad, before=("x",))])))["best"] is None
    assert render.outlook(history([bad])) == "b is the fastest: go back to it."


def test_totals_say_which_kernels_they_leave_out(tmp_path: Path) -> None:
    # 100 and 200 us; silu goes, 400 us of extra come, norm takes half; then norm is as before.
    captures = [
        capture(*(launch(name, us=us, use={"dram": 80.0, "issue": 20.0}) for name, us in kernels))
        for kernels in (
            (("norm", 100), ("silu", 200)),
            (("norm", 50), ("extra", 400)),
            (("norm", 100), ("extra", 400)),
        )
    ]
    first, second = compare(*captures[:2]), compare(*captures[1:])
    stages = history(
        stage_of(one, Stage(entry=i, digest=f"v{i}", after_digest=f"v{i + 1}"))
        for i, one in enumerate((first, second), 1)
    )

    assert first.left_out == (
        LeftOut(why="gone", kernel="void silu(float *)", total_s=pytest.approx(200e-6)),
        LeftOut(why="new", kernel="void extra(float *)", total_s=pytest.approx(400e-6)),
    )
    assert totals(first) == (
        "1 kernel paired: 1 faster; 100 µs to 50.0 µs of the pairs compared (2.00x faster); "
        "all kernels, 1 gone, 1 new: 300 µs to 450 µs"
    )
    assert totals(second).endswith("450 µs to 500 µs in all (1.11x slower)")
    # 2.00x, then 450 us to 500 us.
    assert render.head(stages) == (
        "2 changes; 1.80x faster in total of the pairs compared; all kernels 300 -> 500 µs"
    )
    # 1.00 by norm, but the captures have other kernels: no one is the fastest.
    assert render.outlook(stages).startswith("Go on: ")
    assert json.loads(render.json(stages))["best"] == 2
    told = render.render(stages, width=100, color=False)
    for line in ("gone: silu (200 µs)", "new: extra (400 µs)", "1 new: 300 µs to 450 µs"):
        assert line in told

    log = tmp_path / "log.md"
    log.write_text(entry(first, Stage(recorded="2026-01-02T03:04:05+00:00")), "utf-8")
    (read,) = read_record(log)
    assert (read.left_out, read.whole_s) == (first.left_out, first.whole_s)


def test_a_pair_of_another_size_is_left_out_of_a_total() -> None:
    # Twice the operations and bytes, in twice the time; copy as before.
    small, large = (
        capture(
            launch("norm", us=size * 100, dram_bytes=size * 1e8, operations={"fp32": size * 1e8}),
            launch("copy", us=50),
        )
        for size in (1, 2)
    )
    found = compare(small, large)

    (left,) = found.left_out
    assert (left.why, left.kernel) == ("not_compared", "void norm(float *)")
    assert totals(found).endswith(
        "50.0 µs to 50.0 µs of the pairs compared (1.00x); "
        "all kernels, 1 not compared: 150 µs to 250 µs"
    )
    timeless = compare(
        capture(launch("norm", us=50), launch("copy", us=50)),
        capture(launch("norm", duration_s=None), launch("copy", us=50)),
    )
    assert totals(timeless).endswith("all kernels, 1 not compared: 100 µs to -")
    assert "not compared: norm (200 µs)" in render.markdown(history([stage_of(found, Stage())]))


def test_clocks_and_noise_are_no_gain_in_total_either() -> None:
    # DRAM-bound: 10 % from the clock, then 2 % within the noise, then half of the bytes.
    first = capture(launch(us=1100))
    clocked = capture(launch(us=1000, dram_clock_hz=1.1e9))
    noisy = capture(launch(us=980, dram_clock_hz=1.1e9))
    halved = capture(launch(us=490, dram_clock_hz=1.1e9, dram_bytes=0.45e9))
    row = [compare(first, clocked), compare(clocked, noisy), compare(noisy, halved)]
    stages = history(stage_of(one, Stage(entry=i)) for i, one in enumerate(row, 2))

    assert [one.gain for one in row] == [(1, 1), (1, 1), (2, 2)]
    assert json.loads(comparison_json.render(row[2]))["gain"] == [2, 2]
    assert [s.total for s in stages] == pytest.approx([1.1, 1100 / 980, 1100 / 490])
    assert [s.total_sure for s in stages] == [(1, 1), (1, 1), (2, 2)]
    assert "in all (no change beyond noise and clocks, 1.10x by time)" in totals(row[0])
    assert render.head(stages[:2]) == (
        "2 changes; no change beyond noise and clocks in total, 1.12x by time"
    )
    assert render.head(stages) == (
        "3 changes; 2.24x faster in total by time, 2.00x faster beyond noise and clocks"
    )
    text = render.render(stages, width=120, color=False)
    assert len(re.findall(r"s +no change +no change", text)) == 2
    assert re.search(r"490 µs +2.00x faster +2.00x faster", text)
    assert text.count("warning: the DRAM clock differs by 10.0 %") == 1


def test_a_gain_that_clocks_leave_open_is_a_range_in_total() -> None:
    # Another unit limits on each side: no credit for either clock (2x), or for both (2 / 1.25).
    before = launch(us=1000, sm_clock_hz=1e9, use={"dram": 90, "fma": 50})
    after = launch(us=500, sm_clock_hz=1.25e9, use={"dram": 50, "fma": 90})
    (stage,) = history([stage_of(compare(capture(before), capture(after)), Stage(entry=2))])

    assert stage.total_sure == pytest.approx((1.6, 2.0))
    row = render.render([stage], width=130, color=False)
    assert re.search(r"500 µs +1.60x to 2.00x faster +1.60x to 2.00x faster", row)
    assert render.head([stage]) == (
        "1 change; 2.00x faster in total by time, 1.60x to 2.00x faster beyond noise and clocks"
    )


def test_an_entry_of_before_has_no_other_gain_than_by_time() -> None:
    (stage,) = history([change(1, "a", "b", 8.0, 4.0)])

    assert (stage.total, stage.total_sure, stage.warnings) == (2.0, (2.0, 2.0), ())


def test_files_that_begin_and_end_alike_are_told_apart() -> None:
    files = [f"a_long_experiment_with_a_kernel_v{n}_per_thread.ncu-rep" for n in (4, 6, 8)]
    stages = history([change(2, *files[:2], 2.0, 1.0), change(3, *files[1:], 1.0, 0.5)])
    text = render.render(stages, width=80, color=False)

    table = text.split("\n\n")[1]
    assert [name[:3] for name in re.findall(r"…(\S+)", table)] == ["v4_", "v6_", "v8_"]
    assert max(map(len, table.splitlines())) <= 80
