"""Processes that read: where they die, cannot be started, print, or are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import roofline
from roofline.errors import InputError
from roofline.reader import spread
from tests import strange
from tests.core.conftest import analyzed

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
    assert source.notes[0].text == "an error while it was read left 13 of 30 launches"


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
