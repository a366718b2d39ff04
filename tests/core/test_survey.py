"""Reading in parts by other processes gives what reading here gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import roofline
from roofline.errors import InputError, UsageError
from roofline.reader import batch, spread, survey
from tests import strange
from tests.core.conftest import analyzed
from tests.makers import measurement
from tests.shared import REPORTS


@pytest.fixture
def folder(tmp_path):
    """Every strange file, broken or whole."""
    for name in (*strange.BROKEN, *strange.WHOLE):
        place = tmp_path / name.replace(" ", "_").replace("%", "percent")
        place.mkdir()
        strange.write(place, name)
    return tmp_path


@pytest.mark.parametrize("size", [3000, 20_000])
@pytest.mark.parametrize("jobs", [1, 3])
def test_parts_give_the_same_answer_and_the_same_errors_in_order(folder, in_parts, size, jobs):
    here = analyzed(folder)
    in_parts(size)
    assert len(list(batch.batches(sorted(folder.rglob("*.ncu-rep"))))) > 2

    assert analyzed(folder, jobs) == here
    assert len(here[1]) == len(strange.BROKEN)


@pytest.mark.skipif(not REPORTS, reason="no public reports beside the repository")
def test_parts_of_real_reports_give_the_same_answer(in_parts):
    parent = REPORTS[0].parent
    here = analyzed(parent)
    in_parts(1 << 20)

    assert analyzed(parent) == here


def test_little_is_read_here_and_much_elsewhere(tmp_path):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    code = (
        "import sys, roofline\n"
        "from roofline.reader import batch\n"
        "batch.PART_BYTES = int(sys.argv[2])\n"
        "count = len(roofline.analyze(sys.argv[1]).results)\n"
        "print(count, 'ncu_report' in sys.modules)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code, path, str(size)],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for size in (1 << 30, path.stat().st_size // 3)
    ]

    assert said == ["30 True\n", "30 False\n"]


def test_a_file_that_changes_while_it_is_read_is_not_mixed(tmp_path, in_parts):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    other = strange.many(tmp_path / "other.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    errors: list[InputError] = []

    events = survey(path, jobs=1)
    taken = [next(events)]
    other.replace(path)
    for event in events:
        if isinstance(event, batch.Refused):
            errors.append(event.error)
        else:
            taken.append(event)

    assert len(errors) == 1
    assert "replaced or changed" in str(errors[0])
    assert len(taken) < 30


def test_after_an_error_nothing_more_of_that_file_is_taken(tmp_path, monkeypatch):
    path, other = Path("broken.ncu-rep"), Path("other.ncu-rep")
    refused = batch.Refused(path=path, error=InputError("cannot read all of it"), results=9)

    def measured(place: Path) -> batch.Measured:
        return batch.Measured(path=place, origin=None, measurement=measurement())

    events = [measured(path), refused, measured(other), measured(path), refused]

    def in_vain():
        raise AssertionError("a batch of a file that is lost")
        yield

    answers = [((refused, batch.Refused(path=other, error=refused.error)), events)]
    answers.append(((refused,), in_vain()))
    monkeypatch.setattr(spread, "_answers", lambda todo, jobs: answers)

    taken = list(survey(strange.write(tmp_path, "two launches")))

    assert [one.path for one in taken] == [path, path, other]


@pytest.mark.parametrize("parts", [1, 4])
def test_progress_never_goes_back_and_ends(tmp_path, in_parts, parts):
    path = strange.many(tmp_path / "many.ncu-rep", 40)
    size = path.stat().st_size
    in_parts(size // parts + 1)
    seen: list[tuple[int, int]] = []

    list(survey(path, on_progress=lambda done, total: seen.append((done, total))))

    assert len(seen) in (parts + 1, parts + 2)
    assert seen == sorted(seen)
    assert seen[0] == (0, size)
    assert seen[-1] == (size, size)


@pytest.mark.parametrize("jobs", [0, -1, 1025, 10**20, 2.0, "2", True])
def test_jobs_are_a_number_of_processes(jobs, tmp_path):
    with pytest.raises(UsageError, match=f"jobs is {jobs!r}: it is a whole number from 1 to 1024"):
        roofline.analyze(strange.write(tmp_path, "two launches"), jobs=jobs)


def test_survey_is_lazy_and_leaves_nothing_behind(tmp_path, in_parts, monkeypatch):
    real, started = subprocess.Popen, []

    def noted(*args, **settings):
        started.append(real(*args, **settings))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    path = strange.many(tmp_path / "many.ncu-rep", 40)
    in_parts(path.stat().st_size // 8)

    measured = survey(path, jobs=2)
    first = next(measured)
    assert isinstance(first, batch.Measured)
    assert first.measurement.name == "kernel0"
    assert 2 <= len(started) < 8
    assert any(child.poll() is None for child in started)
    measured.close()

    assert all(child.poll() is not None for child in started)
