"""Predict, compare, history: one record from the prediction to its judgement."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from roofline.cli import cli
from roofline.compare.record import read_record
from roofline.errors import InputError

SAMPLES = Path(__file__).parents[2] / "sample_reports"
BEFORE, AFTER = SAMPLES / "a100_transpose_before.ncu-rep", SAMPLES / "a100_transpose_after.ncu-rep"


def run(*argv: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, argv)), catch_exceptions=False)


def test_an_open_entry_is_closed_by_the_comparison(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    wanted = ("--expect", "transpose=2x..2.5x", "--expect", "bytes=-40%", "--because", "l1")

    assert run("predict", BEFORE, *wanted, "--record", log, "--hypothesis", "pad").exit_code == 0
    (head,) = read_record(log)
    digest = hashlib.sha256(BEFORE.read_bytes()).hexdigest()
    assert (head.status, head.digest) == ("open", digest)
    done = run("compare", BEFORE, AFTER, "--record", log)

    assert "entry 2 of" in done.stderr
    assert "closes entry 1" in done.stderr
    closing = read_record(log)[1]
    assert (closing.closes, closing.hypothesis) == (1, "pad")
    judged = {p.claim: p.judgement for p in closing.judged}
    assert judged["--expect transpose=2x..2.5x"] == "confirmed"
    assert judged["--expect bytes=-40%"] == "short"
    assert judged["--because l1"] == "confirmed"
    # What is closed is not judged again.
    assert "closes" not in run("compare", BEFORE, AFTER, "--record", log).stderr


def test_what_speaks_against_a_prediction_stays_in_the_record(tmp_path: Path) -> None:
    log, late = tmp_path / "log.md", tmp_path / "after.ncu-rep"
    for wanted in ("transpose=3x", "transpose=2x..2.5x"):
        run("predict", BEFORE, "--expect", wanted, "--record", log)
    late.write_bytes(AFTER.read_bytes())
    os.utime(late, (1e9, 1e9))
    # The second entry only: 2x becomes 1x.
    log.write_text(log.read_text().replace("transpose=2x..", "transpose=1x.."))
    options = ("--record", log, "--expect", "transpose=2.2x..2.4x")
    said = run("compare", BEFORE, late, *options).stderr

    assert "entry 1 about the same BEFORE stays open" in said
    closing = read_record(log)[2]
    assert (closing.closes, closing.older, closing.edited) == (2, True, True)
    assert {one.claim: one.late for one in closing.judged} == {
        "--expect transpose=1x..2.5x": False,
        "--expect transpose=2.2x..2.4x": True,
    }
    for text in (said, log.read_text(), " ".join(run("history", log).stdout.split())):
        assert "warning: AFTER's file is older than the predictions of entry 2" in text
        assert "warning: the predictions of entry 2 were edited since" in text
    assert "stated now, with the result: --expect transpose=2.2x" in log.read_text().replace(
        "\\", ""
    )
    assert "transpose=2.2x..2.4x: confirmed (stated with the result)" in text


def test_a_prediction_that_nobody_touched_has_no_warning(tmp_path: Path) -> None:
    log, late = tmp_path / "log.md", tmp_path / "after.ncu-rep"
    run("predict", BEFORE, "--expect", "transpose=2x..2.5x", "--record", log)
    late.write_bytes(AFTER.read_bytes())
    os.utime(late, (4e9, 4e9))

    assert "warning" not in run("compare", BEFORE, late, "--record", log).stderr
    assert "warning" not in (told := run("history", log).stdout)
    assert "stated with" not in told


def test_what_the_report_says_of_a_prediction_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    claims = ("--because", "tail_effect", "--because", "debug_build")
    done = run("predict", BEFORE, *claims, "--record", log)

    assert "tail_effect: no cause of BEFORE, so compare would refute it" in done.stderr
    lacks = "debug_build: BEFORE lacks what tells it, so compare could not test it"
    assert lacks in done.stderr
    (bound,) = re.findall(r"roofline: (transpose\w*: .*up to \S+x)", done.stderr)
    assert bound in log.read_text("utf-8").replace("\\", "")


def test_another_before_leaves_an_entry_open(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    run("predict", AFTER, "--expect", "transpose=2x", "--record", log)

    assert "closes" not in run("compare", BEFORE, AFTER, "--record", log).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing is predicted"),
        (("--expect", "nothere=2x"), "no kernel of BEFORE is named 'nothere'"),
        (("--expect", "transpose=2"), "is not understood"),
    ],
)
def test_what_cannot_be_judged_is_not_written(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = run("predict", BEFORE, *words, "--record", tmp_path / "log.md")

    assert (done.exit_code, said in done.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "said"),
    [("recorded", '"2026-11-infT08"'), ("predictions", "7"), ("entry", "[]"), ("before", '"a"')],
)
def test_an_open_entry_that_is_damaged_is_refused(tmp_path: Path, line: str, said: str) -> None:
    log = tmp_path / "log.md"
    assert run("predict", BEFORE, "--expect", "transpose=2x", "--record", log).exit_code == 0
    key = line.rstrip("_")
    log.write_text(re.sub(rf"^{key}: .*$", f"{line}: {said}", log.read_text(), flags=re.M))

    done = run("compare", BEFORE, AFTER, "--record", log)
    assert (done.exit_code, "the head of entry " in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("before_s", "-1"),
        ("after_s", "0"),
        ("program", "[0, 0.2]"),
        ("at_ceilings", '{"total_s": 0, "floor_s": 0, "worth_s": 0, "measured": false}'),
        ("at_ceilings", '{"total_s": 1, "floor_s": -1, "worth_s": 1, "measured": false}'),
        (
            "figures",
            '[{"name": "r", "ratio": 0, "low": 0, "high": 1, "pairs": 6, "outcome": "slower"}]',
        ),
    ],
)
def test_a_time_that_was_edited_to_zero_or_below_is_refused(
    tmp_path: Path, line: str, said: str
) -> None:
    log = tmp_path / "log.md"
    assert run("compare", BEFORE, AFTER, "--record", log).exit_code == 0
    text = log.read_text()
    log.write_text(text.replace("\ndevices: ", f"\n{line}: {said}\ndevices: "))  # the last counts
    assert log.read_text() != text

    with pytest.raises(InputError, match="the head of entry 1 is damaged") as refused:
        read_record(log)
    assert refused.value.why == "a time or a ratio is not above 0"


def test_ceilings_that_were_edited_to_a_number_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    assert run("compare", BEFORE, AFTER, "--record", log).exit_code == 0
    log.write_text(re.sub(r"^at_ceilings: .*$", "at_ceilings: 0", log.read_text(), flags=re.M))

    done = run("history", log)
    assert (done.exit_code, "the head of entry 1 is damaged" in done.stderr) == (3, True)


def test_words_and_rules_between_the_entries_are_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    log.write_text("# Mine\n\n---\n\nNote: why\n\n---\n")
    words = "\nmore\n\n---\nNote: a rule above\n\n---\n\nand below\n"
    assert (
        run("predict", BEFORE, "--expect", "transpose=2x", "--record", tmp_path / "x").exit_code
        == 0
    )
    one = (tmp_path / "x").read_text()
    log.write_text(log.read_text() + words + one + words)
    assert run("compare", BEFORE, AFTER, "--record", log).exit_code == 0

    assert [(stage.entry, stage.closes) for stage in read_record(log)] == [(1, None), (2, 1)]


def test_one_capture_on_both_sides_tests_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "copy.ncu-rep"
    copy.write_bytes(BEFORE.read_bytes())
    asked = ("--expect", "transpose=same", "--expect", "transpose=1.2x")
    for other in (BEFORE, copy):
        told = " ".join(run("compare", BEFORE, other, *asked).stdout.split())
        assert "warning: BEFORE and AFTER have the same figures to the last digit" in told
        assert "transpose=same: not testable (one capture stands on both sides)" in told
        assert "transpose=1.2x: not testable (one capture stands on both sides)" in told
    run("report", BEFORE, copy, "-o", tmp_path / "pr")
    assert "the same figures to the last digit" in (tmp_path / "pr" / "comment.md").read_text()
    assert "last digit" not in run("compare", BEFORE, AFTER).stdout


def test_predict_says_what_to_type_after_the_change(tmp_path: Path) -> None:
    log = tmp_path / "my log.md"
    done = run("predict", BEFORE, "--expect", "transpose=2x", "--record", log)
    assert f"after the change: roofline compare {BEFORE} AFTER --record '{log}'" in done.stderr


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    log.write_text("---\nschema: {\n---\n")
    with pytest.raises(InputError, match="damaged"):
        read_record(log)


def test_a_comment_says_when_its_predictions_were_stated(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    run("predict", BEFORE, "--expect", "transpose=2x..2.5x", "--record", log)
    stated, text = read_record(log)[0].recorded or "", log.read_text()
    asked = ("report", BEFORE, AFTER, "--no-picture", "--record", log, "-o")
    assert run(*asked, tmp_path / "pr").exit_code == 0

    comment = (tmp_path / "pr" / "comment.md").read_text().replace("\\", "")
    when = stated.replace("T", " ")[:16]
    assert f"- predictions stated {when} (entry 1 of the record)" in comment
    assert "expected: --expect transpose=2x..2.5x: confirmed" in comment
    assert log.read_text() == text
    run("compare", BEFORE, AFTER, "--record", log)
    assert "has no open predictions of this BEFORE" in run(*asked, tmp_path / "more").stderr
    assert run("report", AFTER, "--no-picture", "--record", log, "-o", tmp_path).exit_code == 2
