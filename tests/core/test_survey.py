"""Reading in parts by other processes gives what reading here gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import roofline
from roofline.errors import InputError, UsageError
from roofline.model import Analysis
from roofline.reader import batch, spread, survey
from roofline.repfile import require_whole
from roofline.repfile.writer import compressed
from tests import strange
from tests.makers import measurement
from tests.shared import REPORTS

KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
# Dies of two reports at once, and of the one named "bad" alone.
PICKY = """
import os, sys
sys.path[:] = {path!r}
from roofline.reader import packing, worker
data = sys.stdin.buffer.read()
batch = packing.unpack(data)
if len(batch) > 1 or batch[0].path.name.startswith("bad"):
    print("no more room", file=sys.stderr)
    os._exit(7)
read, write = os.pipe()
os.write(write, data)
os.close(write)
os.dup2(read, 0)
worker.main()
"""


def analyzed(path: Path, jobs: int | None = None) -> tuple[Analysis, list[str]]:
    errors: list[InputError] = []
    analysis = roofline.analyze(path, jobs=jobs, on_error=errors.append)
    return analysis, [str(error) for error in errors]


@pytest.fixture
def in_parts(monkeypatch):
    """A function that sets how many bytes of a report one process reads."""
    return lambda size: monkeypatch.setattr(batch, "PART_BYTES", size)


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


def test_a_compressed_report_is_cut_by_what_it_holds(tmp_path, in_parts):
    plain = strange.many(tmp_path / "many.ncu-rep", 60)
    packed = tmp_path / "many.ncu-repz"
    packed.write_bytes(compressed(plain.read_bytes()))
    assert require_whole(packed).content_bytes == plain.stat().st_size
    in_parts(plain.stat().st_size // 4 + 1)

    results = roofline.analyze(packed, jobs=2).results

    assert len(list(batch.batches([packed]))) == 4
    assert [r.measurement.index for r in results] == list(range(60))
    assert [r.measurement.name for r in results] == [f"kernel{i % 10}" for i in range(60)]


def test_parts_are_small_and_hold_every_result_once(tmp_path, in_parts):
    path = strange.many(tmp_path / "many.ncu-rep", 100)
    size = path.stat().st_size // 7
    in_parts(size)

    found = list(batch.batches([path, path]))

    parts = [part for items in found for part in items if isinstance(part, batch.Part)]
    for one in (parts[: len(parts) // 2], parts[len(parts) // 2 :]):
        numbers = [part.first + i for part in one for i in range(len(part.results))]
        assert numbers == list(range(100))
        assert [part.last for part in one] == [False] * (len(one) - 1) + [True]
    for items in found:
        assert sum(map(batch.share, items)) <= size * 1.1


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


def test_a_process_that_dies_is_an_error_of_its_file(tmp_path, in_parts, monkeypatch):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(spread, "_WORKER", KILLED)

    with pytest.raises(InputError, match="ended with signal 9") as caught:
        roofline.analyze(path)
    assert str(path) in caught.value.what
    assert caught.value.hint


def test_one_file_that_a_process_dies_of_does_not_lose_the_others(tmp_path, in_parts, monkeypatch):
    for name in ("a", "bad", "c", "d"):
        strange.write(tmp_path, "two launches").rename(tmp_path / f"{name}.ncu-rep")
    in_parts(2 * (tmp_path / "a.ncu-rep").stat().st_size)
    monkeypatch.setattr(spread, "_WORKER", PICKY)

    analysis, errors = analyzed(tmp_path)

    assert [source.path for source in analysis.sources] == ["a.ncu-rep", "c.ncu-rep", "d.ncu-rep"]
    assert len(errors) == 1
    assert (
        f"{tmp_path / 'bad.ncu-rep'}: the process that read it ended with exit code 7" in errors[0]
    )
    assert "no more room" in errors[0]


@pytest.mark.parametrize("before", ["print('hello')", "pass"])
def test_what_is_printed_before_the_answer_is_no_part_of_it(
    before, tmp_path, in_parts, monkeypatch
):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(spread, "_WORKER", f"{before}; {spread._WORKER}")

    assert len(roofline.analyze(path).results) == 30


def test_an_end_without_an_answer_is_an_error(tmp_path, in_parts, monkeypatch):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(spread, "_WORKER", "print('hello')")

    with pytest.raises(InputError, match="exit code 0"):
        roofline.analyze(path)


def test_an_interpreter_that_cannot_start(tmp_path, in_parts, monkeypatch):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(InputError, match="No such file"):
        roofline.analyze(path)

    monkeypatch.setattr(sys, "executable", "")  # none that could be started: all is read here
    assert len(roofline.analyze(path).results) == 30


def test_after_an_error_nothing_more_of_that_file_is_taken(tmp_path, monkeypatch):
    path, other = Path("broken.ncu-rep"), Path("other.ncu-rep")
    error = InputError("cannot read all of broken.ncu-rep")

    def measured(place: Path) -> batch.Measured:
        return batch.Measured(path=place, origin=None, measurement=measurement())

    refused = batch.Refused(path=path, error=error)
    events = [measured(path), refused, measured(other), measured(path), refused]
    monkeypatch.setattr(spread, "_answers", lambda batches, jobs: [((), events)])
    errors: list[InputError] = []

    taken = list(survey(strange.write(tmp_path, "two launches"), on_error=errors.append))

    assert [one.path for one in taken] == [path, other]
    assert errors == [error]


@pytest.mark.parametrize("parts", [1, 4])
def test_progress_never_goes_back_and_ends(tmp_path, in_parts, parts):
    path = strange.many(tmp_path / "many.ncu-rep", 40)
    size = path.stat().st_size
    in_parts(size // parts + 1)
    seen: list[tuple[int, int]] = []

    list(survey(path, on_progress=lambda done, total: seen.append((done, total))))

    assert len(seen) == parts + 1
    assert seen == sorted(seen)
    assert seen[0] == (0, size)
    assert seen[-1] == (size, size)


@pytest.mark.parametrize("jobs", [0, -1])
def test_no_process_is_too_few(jobs, tmp_path):
    with pytest.raises(UsageError, match="jobs is"):
        roofline.analyze(strange.write(tmp_path, "two launches"), jobs=jobs)


def test_survey_is_lazy_and_leaves_nothing_behind(tmp_path, in_parts):
    path = strange.many(tmp_path / "many.ncu-rep", 40)
    in_parts(path.stat().st_size // 8)

    measured = survey(path, jobs=2)
    assert next(measured).measurement.name == "kernel0"
    measured.close()  # type: ignore[attr-defined]
