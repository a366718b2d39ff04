from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from click.testing import CliRunner, Result

from roofline.cli import COMMANDS, cli
from sample_reports.writer import write
from tests.e2e.running import shell
from tests.strange import OTHER_GPU, launch

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_reports"
BEFORE = str(SAMPLES / "a100_transpose_before.ncu-rep")
AFTER = str(SAMPLES / "a100_transpose_after.ncu-rep")


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def run(*argv: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(a) for a in argv], env={"COLUMNS": "100"})
    assert result.exit_code == code, result.output
    return result


def report(path: Path, **metrics: float) -> Path:
    """A real report of one kernel with these metrics instead of the usual ones."""
    write(path, [launch("axpy", metrics=metrics)])
    return path


@pytest.mark.parametrize("name", ["compare", "report"])
def test_help_begins_as_the_list_of_commands_says(name: str) -> None:
    text = " ".join(run(name, "--help").output.split())

    assert COMMANDS[name] in text
    assert "Examples:" in text


def test_two_reports() -> None:
    result = run("compare", BEFORE, AFTER)

    assert "2.28x faster at the same 537 MB" in result.stdout
    assert "8.75x fewer wavefronts" in result.stdout
    assert result.stderr == ""


def test_json_is_the_product_alone() -> None:
    data = json.loads(run("compare", BEFORE, AFTER, "--format", "json").stdout)

    assert data["schema"] == "roofline.comparison/1"
    assert data["pairs"][0]["after"]["limiter"] == "dram"


def test_the_ending_of_the_output_decides_the_format(tmp_path: Path) -> None:
    run("compare", BEFORE, AFTER, "-o", tmp_path / "c.json")
    run("compare", BEFORE, AFTER, "-o", tmp_path / "c.md")

    assert json.loads((tmp_path / "c.json").read_text())["pairs"]
    assert (tmp_path / "c.md").read_text().count("| # |") == 1


def test_a_format_that_is_not_for_comparisons(tmp_path: Path) -> None:
    result = run("compare", BEFORE, AFTER, "-o", tmp_path / "c.csv", code=2)

    assert "cannot be written as csv" in result.stderr


def test_folders_and_patterns_hold_several_reports_of_a_side(tmp_path: Path) -> None:
    for side, ns in (("before", 1e6), ("after", 0.7e6)):
        (tmp_path / side).mkdir()
        for n in range(3):
            report(tmp_path / side / f"{n}.ncu-rep", **{"gpu__time_duration.sum": ns + n})

    folders = run("compare", tmp_path / "before", tmp_path / "after").stdout
    patterns = run("compare", tmp_path / "before" / "*.ncu-rep", tmp_path / "after" / "*").stdout

    assert "3 files -> 3 files" in folders
    assert "1.43x faster" in folders
    assert "before / after is 1.43x over 3 launches" in folders
    assert folders == patterns


def test_another_gpu_is_refused_and_allowed(tmp_path: Path) -> None:
    one = report(tmp_path / "one.ncu-rep")
    other = report(tmp_path / "other.ncu-rep", **OTHER_GPU)  # type: ignore[arg-type]

    refused = run("compare", one, other, code=2)
    allowed = run("compare", one, other, "--allow", "gpu")

    assert refused.stdout == ""
    assert "different GPU" in refused.stderr
    assert "--allow gpu" in refused.stderr
    assert "warning: different GPU" in " ".join(allowed.stdout.split())


def test_expectations_are_judged() -> None:
    options = ("--expect", "transpose=2x", "--because", "l1", "--because", "dram")

    text = " ".join(run("compare", BEFORE, AFTER, *options).stdout.split())

    assert "--expect transpose=2x: confirmed" in text
    assert "--because l1: confirmed" in text
    assert "--because dram: refuted (2.28x faster, but not for that reason" in text


# --- gates ---------------------------------------------------------------------------------------


def test_gates_that_hold_end_in_0(tmp_path: Path) -> None:
    options = ("--fail-on", "regression=5%", "--junit", tmp_path / "j.xml")

    run("compare", BEFORE, AFTER, *options)

    assert ET.parse(tmp_path / "j.xml").getroot().get("failures") == "0"


def test_a_gate_that_fails_ends_in_1_and_still_answers(tmp_path: Path) -> None:
    options = ("--fail-on", "regression=5%", "--junit", tmp_path / "j.xml")

    result = run("compare", AFTER, BEFORE, *options, code=1)

    assert "2.28x slower" in result.stdout
    assert "FAILED regression=5% at transpose_tile: 127.6 % slower" in result.stderr
    assert ET.parse(tmp_path / "j.xml").getroot().get("failures") == "1"


def test_a_condition_is_checked_before_anything_is_read() -> None:
    result = run("compare", "none", "none", "--fail-on", "speed", code=2)

    assert "--fail-on 'speed' is not understood" in result.stderr


def test_github_gets_annotations_and_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Earlier step\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    result = run("compare", AFTER, BEFORE, "--fail-on", "regression=5%", code=1)

    assert "::error title=roofline gate::FAILED regression=5%25" in result.stderr
    assert "::error" not in result.stdout
    text = summary.read_text()
    assert text.startswith("# Earlier step\n")
    assert "**1 of 1 gate checks failed**" in text


def test_github_shows_why_nothing_was_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "50%.ncu-rep"
    broken.write_bytes(b"NVR\0")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    none = str(tmp_path / "none.ncu-rep")
    wrong = [(2, "speed", AFTER), (3, "regression=5%", none), (3, "regression=5%", str(broken))]

    for code, gate, after in wrong:
        result = run("compare", BEFORE, after, "--fail-on", gate, code=code)

        lines = result.stderr.splitlines()
        (error,) = (line for line in lines if line.startswith("::error title=roofline::"))
        assert "%0A  try: " in error
        assert error.count("::") == 2
        assert lines[0].startswith("roofline: ")
        if after == str(broken):
            assert "50%25.ncu-rep" in error


def test_a_summary_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary.md"))

    assert "no step summary" in run("compare", BEFORE, AFTER).stderr


def test_the_check_decides_too() -> None:
    bad = "python3 -c 'import sys; print(\"3 of 7 differ\"); sys.exit(1)'"

    run("compare", BEFORE, AFTER, "--check", "python3 -c pass")
    result = run("compare", BEFORE, AFTER, "--check", bad, code=1)

    assert "3 of 7 differ" in result.stderr
    assert "the check failed: python3 -c" in result.stderr
    assert result.stderr.rstrip().endswith(": exit code 1")


def test_a_check_that_cannot_be_started_is_told_from_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    junit = tmp_path / "j.xml"

    result = run("compare", BEFORE, AFTER, "--check", "no-such-prog x", "--junit", junit, code=1)

    assert result.stderr == (
        "::error title=roofline check::no-such-prog x failed: it could not be started\n"
        "roofline: the check failed: no-such-prog x: it could not be started\n"
    )
    (failure,) = ET.parse(junit).getroot().findall(".//failure")
    assert failure.get("message") == "it could not be started"


# --- baselines -----------------------------------------------------------------------------------


def test_a_baseline_is_made_compared_with_and_updated(tmp_path: Path) -> None:
    folder = tmp_path / "perf"

    missing = run("compare", "--baseline", folder, BEFORE, code=3)
    made = run("compare", "--baseline", folder, "--update-baseline", BEFORE)
    compared = run("compare", "--baseline", folder, "--update-baseline", AFTER)
    again = run("compare", "--baseline", folder, AFTER)

    remedy = f"roofline compare --baseline {folder} --update-baseline {BEFORE}"
    assert f"try: {remedy}\n" in missing.stderr
    assert "new baseline" in made.stderr
    assert "2.28x faster" in compared.stdout
    assert "no change" in again.stdout
    assert [p.name for p in folder.iterdir()] == ["nvidia-a100-sxm4-80gb.json"]


def test_baselines_of_each_gpu_do_not_judge_a_capture_of_both(tmp_path: Path) -> None:
    """To make a baseline of it, as is the remedy elsewhere, would hide what got slower."""
    both, perf = tmp_path / "both", tmp_path / "perf"
    both.mkdir()
    for one in (AFTER, str(SAMPLES / "h100_copy.ncu-rep")):
        shutil.copy(one, both)
        run("compare", "--baseline", perf, "--update-baseline", one)

    for command in (("compare",), ("report", "-o", tmp_path / "pr", "--no-picture")):
        said = run(*command, "--baseline", perf, both, code=3).stderr

        assert f"{both} is of NVIDIA A100-SXM4-80GB and NVIDIA H100 80GB HBM3; " in said
        assert f"compare --baseline {perf} with the captures of each GPU on their own" in said
        assert "--update-baseline" not in said
    run("compare", "--baseline", perf, "--update-baseline", both)  # asked for, it is made
    run("compare", "--baseline", perf, both)


def test_without_a_baseline_gates_on_after_are_judged_and_on_pairs_skipped(tmp_path: Path) -> None:
    """a100_transpose_before takes 500 us or more: both conditions on numbers are known."""
    options = ("--baseline", tmp_path / "perf", "--update-baseline", "--junit", tmp_path / "j.xml")
    gates = ("--fail-on", "time<1us", "--fail-on", "regression=5%", "--fail-on", "x: gone")
    outputs = ("-o", tmp_path / "a.json", "--plot", tmp_path / "a.svg")

    run("compare", *options, *gates, *outputs, "--expect", "transpose=2x", BEFORE)

    data = json.loads((tmp_path / "a.json").read_text())
    assert [g["status"] for g in data["gates"]] == ["passed", "skipped", "skipped"]
    assert [n["text"] for n in data["notes"]] == [
        "--expect transpose=2x: not judged, as there is no baseline yet"
    ]
    schema = json.loads((ROOT / "roofline/schemas/comparison-1.schema.json").read_text())
    jsonschema.validate(data, schema)
    suite = ET.parse(tmp_path / "j.xml").getroot()
    assert [suite.get(key) for key in ("tests", "failures", "skipped")] == ["3", "0", "2"]
    assert len(suite.findall(".//skipped[@message]")) == 2
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert len([*(tmp_path / "perf").iterdir()]) == 1


@pytest.mark.parametrize(
    "wrong", [("--fail-on", "time>1us"), ("--check", "false"), ("--fail-on", "nokernel: time>1us")]
)
def test_what_fails_never_makes_the_first_baseline(tmp_path: Path, wrong: tuple[str, str]) -> None:
    result = run("compare", "--baseline", tmp_path, "--update-baseline", BEFORE, *wrong, code=1)

    assert "nothing to compare with: there is no baseline yet" in result.stdout
    assert "baseline" not in result.stderr
    assert not [*tmp_path.iterdir()]


def test_without_a_baseline_every_form_says_so(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    record = ("--record", tmp_path / "log.md")

    result = run(
        "compare", "--baseline", tmp_path / "p", "--update-baseline", BEFORE, *record,
        "--fail-on", "regression=5%",
    )  # fmt: skip

    assert "gate: SKIPPED regression=5%: not judged, as there is no baseline yet" in result.stdout
    assert "no entry of" in result.stderr
    assert not (tmp_path / "log.md").exists()
    summary = (tmp_path / "summary.md").read_text()
    assert "there is no baseline yet" in summary
    assert "0 of 1 gate checks passed" in summary


def test_a_failed_gate_keeps_the_baseline(tmp_path: Path) -> None:
    options = ("--baseline", tmp_path, "--update-baseline", "--fail-on", "regression=5%")
    run("compare", *options, AFTER)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()

    run("compare", *options, BEFORE, code=1)

    assert path.read_bytes() == before


@pytest.mark.parametrize("first", [True, False])
def test_a_capture_that_is_read_in_part_makes_no_baseline(tmp_path: Path, first: bool) -> None:
    """The kernels of the file that cannot be read would never be judged again."""
    capture, perf = tmp_path / "capture", tmp_path / "perf"
    capture.mkdir()
    shutil.copy(AFTER, capture)
    (capture / "cut.ncu-rep").write_bytes(Path(BEFORE).read_bytes()[:3000])
    options = ("--baseline", perf, "--update-baseline")
    if not first:
        run("compare", *options, BEFORE)
    before = {path: path.read_bytes() for path in perf.glob("*")}

    result = run("compare", *options, capture, "--fail-on", "time>1s", code=3)

    assert {path: path.read_bytes() for path in perf.glob("*")} == before
    assert "no baseline written to" in result.stderr
    assert "gate: passed time>1s" in result.stdout  # what can be read is judged


def test_a_report_under_another_name_is_said_in_the_log(tmp_path: Path) -> None:
    shutil.copy(AFTER, tmp_path)
    shutil.copy(BEFORE, tmp_path / "b.ncu-rep.bak")

    result = shell('$R compare "$@"', BEFORE, tmp_path, GITHUB_ACTIONS="true")

    assert result.returncode == 0
    assert f"roofline: reports left out of {tmp_path}, as their names do not" in result.stderr
    assert f"::warning title=roofline::reports left out of {tmp_path}" in result.stderr


def test_what_it_says_of_a_damaged_baseline_mends_it(tmp_path: Path) -> None:
    folder = tmp_path / "perf"
    run("compare", "--baseline", folder, "--update-baseline", BEFORE)
    (path,) = folder.iterdir()
    path.write_text("{")

    refused = run("compare", "--baseline", folder, "--update-baseline", AFTER, code=3)

    assert (
        f"try: mv {path} {path}.old; roofline compare --baseline {folder} "
        f"--update-baseline {AFTER}\n" in refused.stderr
    )
    path.unlink()
    assert "new baseline" in run("compare", "--baseline", folder, "--update-baseline", AFTER).stderr


@pytest.mark.parametrize("time_s", ["-1", "1e308"])
def test_a_baseline_of_impossible_time_is_refused(tmp_path: Path, time_s: str) -> None:
    run("compare", "--baseline", tmp_path, "--update-baseline", BEFORE)
    (path,) = tmp_path.iterdir()
    path.write_text(re.sub(r'"duration_s": [0-9.e-]+', f'"duration_s": {time_s}', path.read_text()))

    refused = run("compare", "--baseline", tmp_path, AFTER, code=3)

    assert "a duration_s is below 0, or more than ncu counts" in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("emptied", [["results"], ["groups"], ["results", "groups"]])
def test_a_baseline_that_lost_its_launches_or_kernels_is_refused(
    tmp_path: Path, emptied: list[str]
) -> None:
    run("compare", "--baseline", tmp_path, "--update-baseline", BEFORE)
    (path,) = tmp_path.iterdir()
    data = json.loads(path.read_text())
    data["analysis"] |= {name: [] for name in emptied}
    path.write_text(json.dumps(data))

    refused = run("compare", "--baseline", tmp_path, AFTER, code=3)

    assert f"{path} is not a baseline that this version reads" in refused.stderr
    assert "its kernels are not those of its launches" in refused.stderr


def test_an_answer_is_no_side_and_is_not_to_be_moved_away(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    answer.write_text('{"schema": "roofline.analysis/1", "version": "0.1.0"}')
    refused = run("compare", answer, AFTER, code=3)

    assert f"{answer} is no baseline, but roofline.analysis/1\n" in refused.stderr
    assert "mv" not in refused.stderr


def test_a_file_is_no_folder_of_baselines(tmp_path: Path) -> None:
    run("compare", "--baseline", tmp_path, "--update-baseline", BEFORE)
    path = next(tmp_path.iterdir())

    refused = run("compare", "--baseline", path, AFTER, code=2)

    assert f"try: roofline compare {path} {AFTER}\n" in refused.stderr


def test_a_baseline_file_can_be_a_side(tmp_path: Path) -> None:
    run("compare", "--baseline", tmp_path, "--update-baseline", BEFORE)

    assert "2.28x faster" in run("compare", next(tmp_path.iterdir()), AFTER).stdout


# --- files ---------------------------------------------------------------------------------------


def test_a_record_grows(tmp_path: Path) -> None:
    path = tmp_path / "log.md"
    for _ in range(2):
        run("compare", BEFORE, AFTER, "--record", path, "--problem", "bank conflicts")

    assert path.read_text().count("# Experiment ") == 2
    assert "# Experiment 2: bank conflicts" in path.read_text()


def test_a_picture_of_an_unknown_kind_is_refused_at_once(tmp_path: Path) -> None:
    result = run("compare", BEFORE, AFTER, "--plot", tmp_path / "x.gif", code=2)

    assert result.stdout == ""


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    run("compare", BEFORE, AFTER, "--plot", tmp_path / "x.svg")

    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_a_picture_named_by_output_is_drawn_and_the_table_printed(tmp_path):
    done = run("compare", BEFORE, AFTER, "-o", tmp_path / "x.svg")

    assert "<svg" in (tmp_path / "x.svg").read_text()
    assert "Times measured under ncu" in done.stdout

    for asked in (["--json"], ["--format", "markdown"]):
        refused = run("compare", BEFORE, AFTER, "-o", tmp_path / "y.svg", *asked, code=2)
        assert "it is text" in refused.stderr
        assert not (tmp_path / "y.svg").exists()


@pytest.mark.parametrize("option", ["--junit", "--plot", "-o"])
def test_nothing_is_overwritten_unasked(tmp_path: Path, option: str) -> None:
    path = tmp_path / ("mine.json" if option == "-o" else "mine.png")
    path.write_text("mine")

    result = run("compare", BEFORE, AFTER, option, path, "--format", "json", code=2)

    assert "exists already" in result.stderr
    assert path.read_text() == "mine"


def test_times_without_a_profiler_stand_beside(tmp_path: Path) -> None:
    for name, median in (("b", 2.0), ("a", 1.0)):
        wall = {"median": median, "p95": median, "spread": 0.01}
        data = {"schema": "roofline.time/1", "repeats": 5, "wall_s": wall}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))

    options = ("--time-before", tmp_path / "b.json", "--time-after", tmp_path / "a.json")
    text = " ".join(run("compare", BEFORE, AFTER, *options).stdout.split())

    assert "the program without a profiler: 2.00x faster, median 2.00 s to 1.00 s" in text


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([BEFORE], "compare takes BEFORE and AFTER"),
        ([BEFORE, AFTER, "--problem", "slow"], "are for a record"),
        ([BEFORE, AFTER, "--baseline", "x"], "AFTER alone"),
        ([BEFORE, AFTER, "--update-baseline"], "--baseline DIR"),
        ([BEFORE, AFTER, "--map", "gemm"], "is not OLD=NEW"),
        ([BEFORE, AFTER, "--map", "gemm=x"], "BEFORE has no kernel 'gemm'"),
        ([BEFORE, AFTER, "--allow", "clock"], "is not one of 'gpu', 'kind', 'rule', 'all'"),
        ([BEFORE, AFTER, "--expect", "x"], "is not understood"),
        ([BEFORE, AFTER, "--time-before", "x"], "one timing has nothing to compare with"),
    ],
)
def test_wrong_usage_says_what_to_type(argv: list[str], said: str) -> None:
    assert said in run("compare", *argv, code=2).stderr


def test_an_unreadable_side_is_named() -> None:
    result = run("compare", BEFORE, ROOT / "README.md", code=3)

    assert "README.md" in result.stderr
    assert result.stdout == ""


@pytest.fixture
def in_part(tmp_path: Path) -> Path:
    """A capture of which one file is whole and one ends early; one is a link to nothing."""
    folder = tmp_path / "private" / "capture"
    folder.mkdir(parents=True)
    shutil.copy(AFTER, folder / "a.ncu-rep")
    (folder / "cut.ncu-rep").write_bytes(Path(BEFORE).read_bytes()[:3000])
    (folder / "gone.ncu-rep").symlink_to("nothing")
    return folder


NOT_READ = (
    "cannot read cut.ncu-rep: it ends inside the block that begins at byte 1562",
    "cannot read gone.ncu-rep: it is a link to something that is not there",
)


def test_what_is_not_read_is_said_wherever_the_comparison_goes(
    in_part: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an archived answer of gates that passed would hide that kernels were not judged."""
    summary, junit, folder = (tmp_path / name for name in ("sum.md", "j.xml", "pr"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    sides = ("compare", BEFORE, in_part)

    table = run(*sides, "--junit", junit, "--fail-on", "gone", code=3)
    data = json.loads(run(*sides, "--json", code=3).stdout)
    markdown = run(*sides, "--format", "markdown", code=3).stdout
    run("compare", BEFORE, in_part, AFTER, "--json", "-o", tmp_path / "walk.json", code=3)
    run("report", *sides[1:], "-o", folder, "--no-picture", code=3)

    comment, page, walk = (
        (tmp_path / name).read_text() for name in ("pr/comment.md", "pr/page.html", "walk.json")
    )
    for line in NOT_READ:
        assert line in table.stderr.replace(f"{in_part}/", "")
        assert f"error: AFTER: {line}" in table.stdout
        assert f"AFTER: {line}" in page
        assert f"AFTER: {line}" in walk
        assert f"BEFORE: {line}" in walk
        for text in (markdown, summary.read_text(), comment):
            assert f"> error: AFTER: {line}  ".replace("-", "\\-") in text.replace("-", "\\-")
    assert "1 of 1 gate checks passed for what was read\n" in summary.read_text()
    assert data["before"]["unread"] == []
    assert [(file["path"], file["launches"]) for file in data["after"]["unread"]] == [
        ("cut.ncu-rep", 0),
        ("gone.ncu-rep", 0),
    ]
    suite = ET.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "0", "2")
    errors = {case.get("name"): case.find("error") for case in suite[:2]}
    assert [f"cannot read {name}: {e.get('message')}" for name, e in errors.items()] == [*NOT_READ]
    for text in (markdown, comment, page, walk, junit.read_text(), json.dumps(data)):
        assert "private" not in text


def test_what_is_not_read_is_said_wherever_the_analysis_goes(in_part: Path, tmp_path: Path) -> None:
    table, markdown, data = (
        run("analyze", in_part, "--format", form, code=3).stdout
        for form in ("table", "markdown", "json")
    )
    svg, page = (tmp_path / name for name in ("p.svg", "p.html"))
    run("plot", in_part, "-o", svg, code=3)
    run("plot", in_part, "-o", page, code=3)
    run("report", in_part, "-o", tmp_path / "pr", "--no-picture", code=3)

    comment = (tmp_path / "pr" / "comment.md").read_text()
    for text in (table, markdown, comment, page.read_text()):
        assert all(line in text for line in NOT_READ)
    picture = ET.parse(svg).getroot()
    assert all(line in "".join(picture.itertext()) for line in NOT_READ)
    assert [f"cannot read {f['path']}: {f['why']}" for f in json.loads(data)["unread"]] == [
        *NOT_READ
    ]


def test_a_whole_capture_lacks_nothing() -> None:
    assert "cannot read" not in run("compare", BEFORE, AFTER).stdout
    assert json.loads(run("analyze", AFTER, "--json").stdout)["unread"] == []


def test_what_a_change_brought_with_it_is_named() -> None:
    # The change undone: the conflicts are AFTER's alone.
    text = " ".join(run("compare", AFTER, BEFORE).stdout.split())

    assert "new after the change: bank conflicts: 93.9 % of 69,206,016 shared-memory wavefr" in text
    assert "new after the change" not in run("compare", BEFORE, AFTER).stdout


# --- roofline report -----------------------------------------------------------------------------

PICTURES = {"roofline.svg", "roofline.png", "roofline-dark.svg", "roofline-dark.png"}


def test_a_folder_for_the_pull_request(tmp_path: Path) -> None:
    folder = tmp_path / "pr"

    result = run("report", BEFORE, AFTER, "-o", folder, "--title", "No bank\n  conflicts")

    assert {p.name for p in folder.iterdir()} == {
        "comment.md",
        "page.html",
        "analysis.json",
        "compare.json",
        *PICTURES,
    }
    assert set(result.stdout.split()) == {str(p) for p in folder.iterdir()}
    comment = (folder / "comment.md").read_text()
    assert comment.startswith("<!-- roofline -->\n## No bank conflicts\n")
    assert "2.28x faster" in comment
    for name in PICTURES:
        assert (folder / name).stat().st_size > 1000
    assert (folder / "roofline.png").read_bytes() != (folder / "roofline-dark.png").read_bytes()
    schema = json.loads((ROOT / "roofline/schemas/analysis-1.schema.json").read_text())
    jsonschema.validate(json.loads((folder / "analysis.json").read_text()), schema)


def test_one_report_is_described(tmp_path: Path) -> None:
    run("report", SAMPLES / "h100_mix.ncu-rep", "-o", tmp_path / "pr", "--top", "3")

    comment = (tmp_path / "pr" / "comment.md").read_text()
    assert comment.count("| **") == 3
    assert not (tmp_path / "pr" / "compare.json").exists()


def test_a_report_is_compared_with_its_baseline(tmp_path: Path) -> None:
    run("compare", "--baseline", tmp_path / "perf", "--update-baseline", BEFORE)

    argv = ("--baseline", tmp_path / "perf", AFTER, "--no-picture")
    run("report", *argv, "-o", tmp_path / "pr")

    assert "2.28x faster" in (tmp_path / "pr" / "comment.md").read_text()
    compared = json.loads((tmp_path / "pr" / "compare.json").read_text())
    assert compared["pairs"][0]["outcome"] == "faster"
    other = tmp_path / "none"
    missing = run(
        "report", "--baseline", other, AFTER, "-o", tmp_path / "no", "--no-picture", code=3
    )
    assert "no baseline" in missing.stderr
    assert not (tmp_path / "no").exists()


def test_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "compare.json").write_text("mine")

    result = run("report", BEFORE, AFTER, "-o", tmp_path, "--no-picture", code=2)

    assert "exists already" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["compare.json"]
    run("report", BEFORE, AFTER, "-o", tmp_path, "--no-picture", "--force")
    assert (tmp_path / "compare.json").read_text() != "mine"


def test_what_was_expected_of_the_step_is_told_in_a_report(tmp_path: Path) -> None:
    argv = ("--no-picture", "--expect", "step=2x", "-o", tmp_path / "pr")
    run("report", BEFORE, AFTER, *argv)

    said = (tmp_path / "pr" / "comment.md").read_text("utf-8")
    assert "--expect step=2x: not testable" in said
    # The options are not of this command.
    assert "roofline compare takes them: --time-before and --time-after" in said


def test_a_refused_comparison_leaves_no_folder(tmp_path: Path) -> None:
    other = report(tmp_path / "other.ncu-rep", **OTHER_GPU)  # type: ignore[arg-type]

    run("report", BEFORE, other, "-o", tmp_path / "pr", code=2)

    assert not (tmp_path / "pr").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([BEFORE, AFTER, AFTER], "report takes one or two"),
        ([BEFORE, "--expect", "x=2x"], "one report has nothing to compare with"),
        ([BEFORE, "--noise", "3"], "--noise is for a comparison"),
        ([BEFORE, "--step", "x"], "--step is for a comparison"),
        ([BEFORE, "--timeline", "x.json"], "--timeline is for a comparison"),
        ([BEFORE, AFTER, "--baseline", "perf"], "AFTER alone"),
        ([BEFORE, "--image-base", "javascript:x"], "not an http(s) address"),
        ([BEFORE, "--image-base", "https://a.example", "--no-picture"], "there is no picture"),
    ],
)
def test_what_report_refuses(tmp_path: Path, argv: list[str], said: str) -> None:
    assert said in run("report", *argv, "-o", tmp_path / "pr", code=2).stderr


def test_a_folder_below_nothing_says_how_to_make_it(tmp_path: Path) -> None:
    result = run("report", BEFORE, "-o", tmp_path / "a" / "b", "--no-picture", code=2)

    assert "mkdir -p" in result.stderr


def trace(path: Path) -> Path:
    """A PyTorch trace of three steps of 100 us: axpy for 40 us, then another kernel for 60."""
    events: list[dict[str, object]] = []
    shape = {"device": 0, "stream": 7, "grid": [864, 1, 1], "block": [256, 1, 1]}
    for step in range(3):
        start = 1000.0 + 100 * step
        events.append(
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
             "tid": 1, "ts": start, "dur": 100.0}
        )  # fmt: skip
        for name, begin, long in (("axpy", 0.0, 40.0), ("rest", 40.0, 60.0)):
            events.append(
                {"ph": "X", "cat": "kernel", "name": f"void {name}(float *, int)", "pid": 0,
                 "tid": 7, "ts": start + begin, "dur": long, "args": shape}
            )  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_a_timeline_turns_a_change_into_a_gain_of_the_step(tmp_path: Path) -> None:
    pytest.importorskip("roofline.timeline")
    before = report(tmp_path / "b.ncu-rep")
    after = report(tmp_path / "a.ncu-rep", **{"gpu__time_duration.sum": 0.5e6})
    options = ("--timeline", trace(tmp_path / "t.json"), "--format", "json")

    (pair,) = json.loads(run("compare", before, after, *options).stdout)["pairs"]

    # 40 % of the step, twice as fast: 1 / (0.6 + 0.2).
    assert pair["step"]["share"] == pytest.approx(0.4)
    assert pair["step"]["gain"] == pytest.approx(1.25)


def test_a_timeline_of_something_else_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("roofline.timeline")

    result = run("compare", BEFORE, AFTER, "--timeline", trace(tmp_path / "t.json"), code=2)

    assert "no kernel of BEFORE has a share of a step" in result.stderr
