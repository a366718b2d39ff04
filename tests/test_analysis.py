from pathlib import Path

import pytest

import roofline
from roofline.errors import InputError
from roofline.model import Bound, Rule
from roofline.text import verdict as said
from roofline.text.notes import note_text
from tests import strange


@pytest.mark.parametrize("name", strange.WHOLE)
def test_every_launch_has_a_verdict_or_says_why_not(tmp_path, name):
    analysis = roofline.analyze(strange.write(tmp_path, name))

    assert len(analysis.results) == len(strange.WHOLE[name])
    for result in analysis.results:
        verdict = result.verdict
        assert said.claim(result)
        if verdict.bound is Bound.UNKNOWN:
            assert said.cause(result)
            assert verdict.missing


def test_groups_cover_every_launch_once_and_shares_add_up(tmp_path):
    analysis = roofline.analyze(strange.many(tmp_path / "many.ncu-rep", 105))

    positions = sorted(i for group in analysis.groups for i in group.launches)
    assert positions == list(range(105))
    assert len(analysis.groups) == 10
    assert sum(group.share for group in analysis.groups) == pytest.approx(1.0)
    assert [g.total_s for g in analysis.groups] == sorted(
        (g.total_s for g in analysis.groups), reverse=True
    )


def test_sources_are_last_parts_of_paths_and_told_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        strange.write(tmp_path / folder, "range")

    analysis = roofline.analyze(tmp_path)

    assert [source.path for source in analysis.sources] == ["range.ncu-rep", "range.ncu-rep (2)"]


def test_what_is_not_read_is_a_value_without_its_folder(tmp_path):
    """Also of a path that leads to no report."""
    strange.write(tmp_path, "two launches")
    strange.write(tmp_path, "empty")
    errors = []

    found = roofline.analyze(tmp_path / "none*.ncu-rep", tmp_path, on_error=errors.append)

    assert len(errors) == len(found.unread) == 2
    assert [(file.path, file.launches) for file in found.unread] == [
        ("none*.ncu-rep", 0),
        ("broken.ncu-rep", 0),
    ]
    assert found.unread[0].why == "no report matches none*.ncu-rep"
    assert str(tmp_path) not in repr(found.unread)
    assert roofline.analyze(tmp_path / "two_launches.ncu-rep").unread == ()


def test_two_captures_of_a_kernel_are_two_unless_they_are_merged(tmp_path):
    for name in ("before", "after"):
        strange.write(tmp_path, "two launches").rename(tmp_path / f"{name}.ncu-rep")

    apart = roofline.analyze(tmp_path)
    merged = roofline.analyze(tmp_path, merge=True)

    assert len(apart.groups) == 2 * len(merged.groups)
    for source in ("before.ncu-rep", "after.ncu-rep"):
        shares = [g.share for g in apart.groups if g.result.measurement.source == source]
        assert sum(shares) == pytest.approx(1.0)
    assert sum(g.share for g in merged.groups) == pytest.approx(1.0)
    assert (apart.merged, merged.merged) == (False, True)


def test_a_launch_of_which_less_was_measured_takes_nothing_from_the_others(tmp_path):
    lacking = strange.launch(metrics={"dram__bytes_read.sum": None})
    path = tmp_path / "uneven.ncu-rep"
    path.write_bytes(strange.report(strange.launch(), lacking))

    (group,) = roofline.analyze(path).groups

    measured = group.result.measurement
    assert (measured.count, measured.dram_bytes) == (1, 1.5e9)
    assert group.total_s == pytest.approx(2e-3)
    (said_of_it,) = (note for note in measured.notes if note.code == "launches_measured_less")
    assert note_text(said_of_it) == (
        "measured of 1 of 2 launches: the others lack dram_bytes, dram_read_bytes"
    )


def test_nothing_readable_is_an_error(tmp_path):
    path = strange.write(tmp_path, "empty")

    with pytest.raises(InputError):
        roofline.analyze(path)
    with pytest.raises(InputError, match="no kernels"):
        roofline.analyze(path, on_error=lambda error: None)


def test_thresholds_reach_the_rule(tmp_path):
    path = strange.write(tmp_path, "two launches")

    assert roofline.analyze(path).results[0].verdict.bound is not Bound.LATENCY
    strict = roofline.analyze(path, rule=Rule(latency=99.9))
    assert strict.rule == Rule(latency=99.9)
    assert strict.results[0].verdict.bound is Bound.LATENCY


def test_the_public_names_are_there():
    for name in roofline.__all__:
        assert getattr(roofline, name) is not None
    with pytest.raises(AttributeError):
        _ = roofline.nonsense


def test_every_type_that_the_api_hands_out_can_be_named(tmp_path):
    path = strange.write(tmp_path, "two launches")
    (launch, *_), analysis = list(roofline.read(path)), roofline.analyze(path)
    result = analysis.results[0]
    handed_out = (launch, analysis, analysis.groups[0], result, result.peaks, result.verdict)

    for value in (*handed_out, result.measurement, result.verdict.bound):
        assert type(value).__name__ in roofline.__all__


def test_failed_launches_do_not_spoil_the_sums_of_the_others(tmp_path):
    path = strange.write(tmp_path, "duration NaN")
    analysis = roofline.analyze(path)
    (group,) = analysis.groups

    assert group.total_s == group.result.measurement.duration_s == pytest.approx(1e-3)
    assert group.result.verdict.bound is analysis.results[1].verdict.bound
    codes = {note.code for note in group.result.measurement.notes}
    assert {"launches_without_duration", "mixed_verdicts"} <= codes


def test_a_computed_report_says_so(tmp_path):
    sample = Path(__file__).parents[1] / "sample_reports" / "h100_copy.ncu-rep"
    (note,) = roofline.analyze(sample).sources[0].notes

    assert note.code == "computed"
    assert "not captured" in note_text(note)
    assert roofline.analyze(strange.write(tmp_path, "two launches")).sources[0].notes == ()
