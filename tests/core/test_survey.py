"""Reading in parts by other processes gives what reading here gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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

# Readers that die, but say first that they have begun, as the real one does.
KILLED = """
import os, signal
from roofline.reader import worker
os.write(1, worker.READY)
os.kill(os.getpid(), signal.SIGKILL)
"""
# Dies of any batch in which the result of that number, or the report of that name, is.
PICKY = """
import os, sys
sys.path[:] = {path!r}
from roofline.reader import packing, worker
data = sys.stdin.buffer.read()
for item in packing.unpack(data):
    numbers = range(item.first, item.first + len(item.results))
    if 13 in numbers or item.path.name.startswith("bad"):
        os.write(1, worker.READY)
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
    assert require_whole(packed).result_bytes == require_whole(plain).result_bytes
    in_parts(plain.stat().st_size // 4 + 1)

    results = roofline.analyze(packed, jobs=2).results

    assert len(list(batch.batches([packed]))) in (4, 5)
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
    assert all(sum(part.sizes) <= size for part in parts)


def test_parts_are_cut_by_bytes_and_not_by_numbers(tmp_path, in_parts):
    large = strange.launch("large", metrics={"breakdown:sm__throughput.avg": "x" * 20_000})
    path = tmp_path / "mixed.ncu-rep"
    path.write_bytes(strange.report(*[large] * 10, *[strange.launch("small")] * 40))
    in_parts(40_000)

    parts = [part for items in batch.batches([path]) for part in items]

    assert all(isinstance(part, batch.Part) and sum(part.sizes) <= 40_000 for part in parts)
    assert len(parts[0].results) == 1  # type: ignore[union-attr]
    assert len(parts[-1].results) > 10  # type: ignore[union-attr]
    assert sum(len(part.results) for part in parts) == 50  # type: ignore[union-attr]


def test_bytes_of_results_are_those_of_the_file(tmp_path):
    path = strange.many(tmp_path / "many.ncu-rep", 100)
    sizes = require_whole(path).result_bytes

    assert len(sizes) == 100
    assert path.stat().st_size - 100 < sum(sizes) <= path.stat().st_size


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

    with pytest.raises(InputError, match="result 1 of 30 ended with signal 9") as caught:
        roofline.analyze(path)
    assert caught.value.what == f"cannot read {path}"
    assert caught.value.hint


def test_of_a_file_that_processes_die_of_all_before_that_result_is_kept_and_said_to_be_partial(
    tmp_path, in_parts, monkeypatch
):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(spread, "_WORKER", PICKY)

    analysis, errors = analyzed(path)

    assert [r.measurement.index for r in analysis.results] == list(range(13))
    assert len(errors) == 1
    assert f"cannot read all of {path}: the process that read result 14 of 30" in errors[0]
    assert "exit code 7: no more room" in errors[0]
    (source,) = analysis.sources
    assert [note.code for note in source.notes] == ["partial"]
    assert source.notes[0].text == "not read to its end: 13 of 30 launches"


def test_one_file_that_processes_die_of_does_not_lose_the_others(tmp_path, in_parts, monkeypatch):
    for name in ("a", "bad", "c", "d"):
        strange.write(tmp_path, "two launches").rename(tmp_path / f"{name}.ncu-rep")
    in_parts(2 * (tmp_path / "a.ncu-rep").stat().st_size)
    monkeypatch.setattr(spread, "_WORKER", PICKY)

    analysis, errors = analyzed(tmp_path)

    assert [source.path for source in analysis.sources] == ["a.ncu-rep", "c.ncu-rep", "d.ncu-rep"]
    assert all(source.launches == 2 and not source.notes for source in analysis.sources)
    assert len(errors) == 1
    assert (
        f"cannot read {tmp_path / 'bad.ncu-rep'}: the process that read result 1 of 2" in errors[0]
    )


def test_readers_that_die_before_they_begin_are_not_made_up_for_here(
    tmp_path, in_parts, monkeypatch
):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(
        spread, "_WORKER", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    monkeypatch.setattr(spread, "events_of", None)  # nothing is read here

    with pytest.raises(InputError, match="result 1 of 30 ended with signal 9"):
        roofline.analyze(path)


def test_a_reader_that_leaves_in_the_middle_is_no_answer(tmp_path, in_parts, monkeypatch):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    leave = "import os; from roofline.reader import worker; os.write(1, worker.READY); os._exit(0)"
    monkeypatch.setattr(spread, "_WORKER", leave)

    with pytest.raises(InputError, match="result 1 of 30 ended with exit code 0"):
        roofline.analyze(path)


def test_what_is_printed_before_the_answer_is_no_part_of_it(tmp_path, in_parts, monkeypatch):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(spread, "_WORKER", f"print('hello', flush=True); {spread._WORKER}")
    monkeypatch.setattr(spread, "events_of", None)  # nothing is read here

    assert len(roofline.analyze(path).results) == 30


NO_WORKERS = {
    "a program that is no Python": "/bin/true",
    "a program that is not there": "/gone/python",
    "a program of other words": "/bin/cat",
    "none": "",
}


@pytest.mark.parametrize("executable", NO_WORKERS.values(), ids=NO_WORKERS)
def test_where_no_process_can_be_started_all_is_read_here(
    executable, tmp_path, in_parts, monkeypatch
):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(sys, "executable", executable)

    assert len(roofline.analyze(path).results) == 30


def test_a_python_that_cannot_start_is_no_reason_not_to_read(tmp_path, in_parts, monkeypatch):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setenv("PYTHONHOME", "/gone")

    assert len(roofline.analyze(path).results) == 30


def test_what_is_no_text_in_the_search_path_is_left_out_as_python_does(
    tmp_path, in_parts, monkeypatch
):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    in_parts(path.stat().st_size // 3)
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path, None])
    monkeypatch.setattr(spread, "events_of", None)  # nothing is read here

    assert len(roofline.analyze(path).results) == 30


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


def test_survey_is_lazy_and_leaves_nothing_behind(tmp_path, in_parts):
    path = strange.many(tmp_path / "many.ncu-rep", 40)
    in_parts(path.stat().st_size // 8)

    measured = survey(path, jobs=2)
    first = next(measured)
    assert isinstance(first, batch.Measured)
    assert first.measurement.name == "kernel0"
    measured.close()


SLEEPING = """
import os, pathlib, sys, time
from roofline.reader import worker
(pathlib.Path({folder!r}) / f"{{os.getpid()}}.pid").touch()
time.sleep(120)
"""
INTERRUPTED = """
import sys
from roofline.reader import batch, spread
batch.PART_BYTES, spread._WORKER = int(sys.argv[2]), sys.argv[3]
from roofline.cli import cli
cli(["analyze", sys.argv[1], "--jobs", "2"])
"""


def test_an_interrupt_ends_the_processes_too(tmp_path):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    sleeping = SLEEPING.format(folder=str(tmp_path)).replace("{", "{{").replace("}", "}}")
    size = str(path.stat().st_size // 3)
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, path, size, sleeping],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    deadline = time.monotonic() + 60
    while len(pids := list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2

    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)

    assert (running.returncode, said) == (130, "roofline: interrupted\n")
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.stem), 0)


def test_readers_end_when_who_asked_is_gone(tmp_path):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    slow = (
        "import os, pathlib, sys, time; sys.path[:] = {path!r}\n"
        "from roofline.reader import worker\n"
        f"(pathlib.Path({str(tmp_path)!r}) / f'{{{{os.getpid()}}}}.pid').touch(); "
        "worker.events_of = lambda batch: time.sleep(120); worker.main()"
    )
    size = str(path.stat().st_size // 3)
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, path, size, slow], cwd=Path(__file__).parents[2]
    )
    deadline = time.monotonic() + 60
    while len(pids := list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2
    time.sleep(0.5)
    running.kill()
    running.wait()

    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def alive(file: Path) -> bool:
    """Whether the process of that number runs; one that only waits for its parent does not."""
    try:
        state = Path(f"/proc/{file.stem}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
