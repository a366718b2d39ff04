"""Many reports are read by several processes, and the answer is that of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import roofline
from roofline.counters.measure import measure
from roofline.errors import InputError, UsageError
from roofline.model import Analysis, Launch, Measurement
from roofline.reports import LaunchRead, Refused, pool, read_all
from tests import strange
from tests.shared import REPORTS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def in_processes(monkeypatch):
    """However little there is to read, processes read it."""
    monkeypatch.setattr(pool, "POOL_BYTES", 0)


@pytest.fixture
def folder(tmp_path):
    """Every strange file, broken or whole."""
    for name in (*strange.BROKEN, *strange.WHOLE):
        place = tmp_path / name.replace(" ", "_").replace("%", "percent")
        place.mkdir()
        strange.write(place, name)
    return tmp_path


def some(folder: Path, *names: str) -> None:
    for name in names:
        strange.write(folder, "two launches").rename(folder / f"{name}.ncu-rep")


def analyzed(path: Path, jobs: int | None = None) -> tuple[Analysis, list[str]]:
    errors: list[InputError] = []
    analysis = roofline.analyze(path, jobs=jobs, on_error=errors.append)
    return analysis, [str(error) for error in errors]


@pytest.mark.usefixtures("in_processes")
def test_processes_give_the_same_answer_and_the_same_errors_in_order(folder):
    here = analyzed(folder, jobs=1)

    assert analyzed(folder, jobs=2) == here
    assert len(here[1]) == len(strange.BROKEN)


@pytest.mark.skipif(not REPORTS, reason="no public reports beside the repository")
def test_public_reports_are_the_same_from_processes():
    parent = REPORTS[0].parent
    assert sum(path.stat().st_size for path in REPORTS) > pool.POOL_BYTES

    assert analyzed(parent, jobs=2) == analyzed(parent, jobs=1)


@pytest.mark.parametrize(("threads", "forked"), [(0, True), (1, False)])
@pytest.mark.skipif(sys.platform != "linux", reason="processes are started, not forked")
def test_a_process_is_forked_where_no_other_thread_could_hold_a_lock(tmp_path, threads, forked):
    some(tmp_path, "a", "b")
    code = (
        "import os, sys, threading, time, roofline, roofline.analysis\n"
        "from roofline.reports import pool\n"
        "ours, parent, pool.POOL_BYTES = roofline.analysis.judged, os.getpid(), 0\n"
        "def judged(launch, source, judge):\n"
        "    os.write(1, b'here\\n' if os.getpid() == parent else b'there\\n')\n"
        "    return ours(launch, source, judge)\n"
        "roofline.analysis.judged = judged\n"
        f"for _ in range({threads}):\n"
        "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "roofline.analyze(sys.argv[1], jobs=2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    # What is started has only what can be imported, which the function of a script cannot be.
    assert done.stdout.splitlines() == ["there"] * 4 * forked
    assert ("Can't pickle <function judged" in done.stderr) is not forked
    assert done.returncode == (0 if forked else 1)


@pytest.mark.parametrize(("size", "loaded"), [(1 << 30, True), (0, False)])
def test_little_is_read_here_and_much_elsewhere(tmp_path, size, loaded):
    some(tmp_path, "a", "b")
    code = (
        "import sys, roofline\n"
        "from roofline.reports import pool\n"
        f"pool.POOL_BYTES = {size}\n"
        "count = len(roofline.analyze(sys.argv[1], jobs=2).results)\n"
        "print(count, 'google.protobuf' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == f"4 {loaded}\n"


def test_a_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "reports").mkdir()
    some(tmp_path / "reports", "a", "b")
    script = tmp_path / "script.py"
    script.write_text(
        "import roofline\nfrom roofline.reports import pool\npool.POOL_BYTES = 0\n"
        f"print(len(roofline.analyze({str(tmp_path / 'reports')!r}, jobs=2).results))\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == ("4\n", "")


def dies_of_bad(launch: Launch, source: str) -> Measurement:
    if source.startswith("bad"):
        os._exit(7)
    return measure(launch, source)


@pytest.mark.usefixtures("in_processes")
def test_a_file_that_processes_die_of_is_refused_and_loses_no_other(tmp_path):
    some(tmp_path, "a", "bad", "c", "d")

    events = list(read_all(tmp_path, work=dies_of_bad, kind=Measurement, jobs=2))

    assert [event.path.stem for event in events] == ["a", "a", "bad", "c", "c", "d", "d"]
    (refused,) = (event for event in events if isinstance(event, Refused))
    assert str(refused.error).startswith(
        f"cannot read {tmp_path / 'bad.ncu-rep'}: the process that read it died"
    )


@pytest.mark.usefixtures("in_processes")
@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_never_goes_back_and_ends(tmp_path, jobs):
    some(tmp_path, "a", "b", "c")
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    seen: list[tuple[int, int]] = []

    list(
        read_all(
            tmp_path,
            work=measure,
            kind=Measurement,
            jobs=jobs,
            on_progress=lambda done, total: seen.append((done, total)),
        )
    )

    assert len(seen) >= 4
    assert seen == sorted(seen)
    assert seen[0] == (0, size)
    assert seen[-1] == (size, size)


@pytest.mark.parametrize("jobs", [0, -1, 1025, 10**20, 2.0, "2", True])
def test_jobs_are_a_number_of_processes(jobs, tmp_path):
    with pytest.raises(UsageError, match=f"jobs is {jobs!r}: it is a whole number from 1 to 1024"):
        roofline.analyze(strange.write(tmp_path, "two launches"), jobs=jobs)


def test_a_file_that_is_replaced_while_it_is_read_is_not_mixed(tmp_path):
    path = strange.many(tmp_path / "many.ncu-rep", 30)
    other = strange.write(tmp_path, "two launches")

    events = read_all(path, work=measure, kind=Measurement)
    first = next(events)
    other.replace(path)

    assert [e.value.name for e in (first, *events) if isinstance(e, LaunchRead)] == [
        f"kernel{i % 10}" for i in range(30)
    ]


WAITING = """
import os, pathlib, sys, time
sys.path.insert(0, {root!r})
def wait(launch, source, judge):
    (pathlib.Path(source).parent / f"{{os.getpid()}}.pid").touch()
    time.sleep(120)
"""
INTERRUPTED = """
import sys
sys.path[:0] = [{root!r}, {folder!r}]
import roofline.analysis, waiting
from roofline.reports import pool
pool.POOL_BYTES, roofline.analysis.judged = 0, waiting.wait
from roofline.cli import cli
cli(["analyze", {folder!r}, "--jobs", "2"])
"""


def waiting(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A command whose two processes are at work, and their numbers."""
    some(folder, "a", "b", "c")
    names = {"root": str(ROOT), "folder": str(folder)}
    (folder / "waiting.py").write_text(WAITING.format(**names))
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(**names)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(pids := list(folder.glob("*.pid"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2
    return running, [int(pid.stem) for pid in pids]


def alive(pid: int) -> bool:
    """Whether the process of that number runs; one that only waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("group", [False, True])
def test_an_interrupt_ends_the_processes_too(tmp_path, group):
    running, pids = waiting(tmp_path)

    (os.killpg if group else os.kill)(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)

    assert (running.returncode, said) == (130, "roofline: interrupted\n")
    assert not any(map(alive, pids))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_when_the_one_that_started_them_is_gone(tmp_path, number):
    running, pids = waiting(tmp_path)

    running.send_signal(number)
    running.communicate(timeout=60)

    deadline = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))
