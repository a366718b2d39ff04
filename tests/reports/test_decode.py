import copy
import dataclasses
import math
import pickle
import shutil
from pathlib import Path

import pytest

from roofline.counters.measure import measure
from roofline.errors import InputError
from roofline.model import Kind
from roofline.reports import nvidia, read
from roofline.reports.find import files_of
from roofline.text.notes import note_text
from tests import strange

SAMPLES = Path(__file__).parents[2] / "sample_reports"


@pytest.mark.parametrize("name", strange.BROKEN)
def test_each_kind_of_broken_file_is_one_clear_error(tmp_path, name):
    path = strange.write(tmp_path, name)

    with pytest.raises(InputError) as caught:
        list(read(path))

    assert caught.value.exit_code == 3
    assert str(path) in caught.value.what
    assert caught.value.why
    assert caught.value.hint


def test_different_breaks_have_different_messages(tmp_path):
    said = set()
    for name in ("empty", "garbage", "cut by one byte", "no kernels", "sqlite"):
        with pytest.raises(InputError) as caught:
            list(read(strange.write(tmp_path, name)))
        said.add(caught.value.why)

    assert len(said) == 5


@pytest.mark.parametrize("name", strange.WHOLE)
def test_strange_but_whole_files_give_all_their_launches(tmp_path, name):
    launches = list(read(strange.write(tmp_path, name)))

    assert len(launches) == len(strange.WHOLE[name])
    for launch in launches:
        measured = measure(launch)
        assert measured.name
        assert measured.duration_s is None or measured.duration_s > 0


def test_a_format_of_another_version_is_read_by_ncu_report_and_that_is_said(tmp_path):
    path = tmp_path / "newer.ncu-rep"
    path.write_bytes(strange.report(strange.launch(), capture=strange.NEWER))

    (launch,) = read(path)

    assert isinstance(launch.metrics, nvidia.NvidiaMetrics)
    assert measure(launch).duration_s == 1e-3
    (note,) = measure(launch).notes
    assert note.code == "unknown_format"
    assert "version 99, not 7" in note_text(note)


def test_what_ncu_report_does_not_know_is_an_error_and_not_an_empty_answer(tmp_path, monkeypatch):
    # What it does not understand it loads as nothing, without an exception.
    monkeypatch.setattr(nvidia.NvidiaReport, "__len__", lambda self: 0)
    path = strange.write(tmp_path, "two launches")

    with pytest.raises(InputError, match="it holds 2 results, 0 could be loaded") as caught:
        list(read(path, reader="ncu-report"))
    assert "pip install --upgrade ncu-report" in (caught.value.hint or "")
    assert caught.value.exit_code == 3


def test_missing_and_unreadable_and_folder_are_told_apart(tmp_path):
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match="No such file"):
        list(read(tmp_path / "gone.ncu-rep"))
    with pytest.raises(InputError, match="no reports in"):
        list(read(tmp_path / "nothing"))
    with pytest.raises(InputError, match="no report matches"):
        list(read(str(tmp_path / "*.ncu-rep")))


def test_one_bad_file_among_many_does_not_lose_the_others(tmp_path):
    strange.write(tmp_path, "empty")
    strange.write(tmp_path, "two launches")
    errors: list[InputError] = []

    launches = list(read(tmp_path, on_error=errors.append))

    assert [launch.name for launch in launches] == ["first", "second"]
    assert len(errors) == 1


def test_files_folders_and_patterns_together_read_each_file_once(tmp_path):
    path = strange.write(tmp_path, "two launches")
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    shutil.copy(path, inner / "again.ncu-rep")

    found = list(read(path, tmp_path, str(tmp_path / "*.ncu-rep")))

    assert len(found) == 4
    assert files_of([tmp_path / "**" / "*.ncu-rep"]) == sorted([path, inner / "again.ncu-rep"])


def test_a_name_with_brackets_that_exists_is_a_file(tmp_path):
    path = strange.write(tmp_path, "two launches").rename(tmp_path / "a[1].ncu-rep")

    assert files_of([path]) == [path]


def test_kinds_of_results(tmp_path):
    launches = list(read(strange.write(tmp_path, "all kinds")))

    assert [launch.kind for launch in launches] == [
        Kind.KERNEL,
        Kind.RANGE,
        Kind.GRAPH,
        Kind.KERNEL,
    ]


def test_processes_and_devices_and_nvtx(tmp_path):
    assert [x.process for x in read(strange.write(tmp_path, "two processes"))] == [11, 12, 11]
    devices = [measure(x).device.name for x in read(strange.write(tmp_path, "two GPUs"))]
    assert devices[1] == "NVIDIA H100 80GB HBM3"
    assert devices[0] != devices[1]
    inside, outside = read(strange.write(tmp_path, "nested NVTX"))
    assert inside.nvtx == ("step 3", "backward")
    assert outside.nvtx == ()


def test_a_metric_of_another_result_of_the_file_is_absent_from_this_one(tmp_path):
    only = {"launch__registers_per_thread": 32.0}
    path = tmp_path / "two.ncu-rep"
    path.write_bytes(
        strange.report(strange.launch("with", metrics=only), strange.launch("without"))
    )
    has, lacks = (launch.metrics for launch in read(path))

    for name in only:
        assert has.has(name)
        assert has.any_of(frozenset({name, "no__metric"}))
        assert has.number(name) == 32.0
        assert not lacks.has(name)
        assert not lacks.any_of(frozenset({name, "no__metric"}))
        assert lacks.number(name) is None
        assert lacks.text(name) is None
        assert lacks.instances(name) == {}
        assert name in has.names()
        assert name not in lacks.names()


def test_a_number_is_found_however_each_result_writes_it(tmp_path):
    one, path = tmp_path / "one.ncu-rep", tmp_path / "two.ncu-rep"
    values = [1.5, math.nan, 2.5, 7, 0.5]
    some = [strange.launch(metrics={"sm__some.sum": value}) for value in values]
    for file in (one, path):
        file.write_bytes(strange.report(*some))

    found = []
    for launch in (*read(one), *read(path)):
        assert launch.metrics.number("gpu__time_duration.sum") == 1e-3
        found.append(launch.metrics.number("sm__some.sum"))
        assert bool(launch.metrics.notes()) == (found[-1] is None)

    assert found == [1.5, None, 2.5, 7.0, 0.5] * 2


def test_what_files_share_does_not_grow_with_their_number():
    known = []
    for _ in range(2):
        launches = [*read(SAMPLES)]
        assert all(measure(launch).name for launch in launches)
        known.append(sum(len(launch.metrics.memo) for launch in launches))

    assert known[0] == known[1] > 0


def test_progress_counts_files(tmp_path):
    strange.write(tmp_path, "two launches")
    strange.write(tmp_path, "range")
    seen: list[tuple[int, int]] = []

    list(read(tmp_path, on_progress=lambda done, total: seen.append((done, total))))

    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_the_file_says_who_wrote_it(tmp_path):
    launch = next(read(strange.write(tmp_path, "two launches")))

    assert launch.ncu_version == "2024.1.1.0"
    assert launch.settings["clock_control"] == "Base"


@pytest.mark.parametrize("reader", ["protobuf", "ncu-report"])
def test_launches_pickle_copy_and_compare(tmp_path, reader):
    first, second = read(strange.write(tmp_path, "two launches"), reader=reader)

    for again in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert again == first != second
        assert measure(again) == measure(first)
    assert dataclasses.asdict(first)["metrics"] == first.metrics


def test_rules_whose_bytes_are_damaged_are_refused(tmp_path):
    path = strange.write(tmp_path, "two launches")
    launch = next(read(path))
    launch.metrics._entry = launch.metrics._entry + b"\xff"
    with pytest.raises(InputError, match=r"cannot read all of .*: bytes of result 1 are damaged"):
        list(launch.metrics.rules)
