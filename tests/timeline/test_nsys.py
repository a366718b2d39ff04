from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from roofline.errors import InputError
from roofline.text.notes import note_text
from roofline.timeline.events import BEFORE, UNKNOWN
from roofline.timeline.load import load_timeline
from tests.timeline.made import CALLS, COPIES, KERNELS, NVTX, Export

GRAPHS = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER)"


def export(folder: Path, *tables: str) -> Export:
    return Export(folder / "report.sqlite", *(tables or (KERNELS,)))


def with_kernel(folder: Path, *tables: str) -> Export:
    made = export(folder, KERNELS, *tables)
    made.kernel("k", 1, 2)
    return made


def test_a_kernel_with_nothing_but_its_table(tmp_path: Path):
    made = export(tmp_path)
    made.kernel("void a::k<int>(int)", 100, 350, mangled="_Z1kIiEvT_")
    timeline = load_timeline(made.done())

    (identity,) = timeline.identities
    assert (identity.name, identity.base_name) == ("void a::k<int>(int)", "k")
    assert identity.mangled == "_Z1kIiEvT_"
    assert (identity.grid, identity.block) == ((64, 2, 3), (32, 4, 2))
    assert timeline.events.start.tolist() == [100]
    assert timeline.events.end.tolist() == [350]
    assert not timeline.from_start


def test_the_largest_grid_survives(tmp_path: Path):
    made = export(tmp_path)
    grid, block = (2**31 - 1, 65535, 65535), (1024, 1024, 64)
    made.kernel("k", 1, 2, grid=grid, block=block)

    (identity,) = load_timeline(made.done()).identities
    assert (identity.grid, identity.block) == (grid, block)


def test_launches_are_joined_within_their_process(tmp_path: Path):
    made = export(tmp_path, KERNELS, CALLS)
    for pid, asked in ((1, 10), (2, 40)):
        made.call("cudaLaunchKernel_v7000", asked, asked + 5, 77, pid=pid)
        made.kernel("k", asked + 10, asked + 20, correlation=77, pid=pid, device=pid - 1)
    timeline = load_timeline(made.done())

    assert timeline.events.launch.tolist() == [10, 40]
    assert timeline.events.process.tolist() == [1, 2]
    assert set(timeline.call_names.values()) == {"cudaLaunchKernel"}


def test_events_are_in_order_of_start_whatever_the_rows(tmp_path: Path):
    made = export(tmp_path)
    for start in (300, 100, 200):
        made.kernel("k", start, start + 10)
    assert load_timeline(made.done()).events.start.tolist() == [100, 200, 300]


def test_more_rows_than_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("roofline.timeline.nsys._ROWS", 3)
    made = export(tmp_path)
    for i in range(10):
        made.kernel("k" if i % 2 else "other", i * 10, i * 10 + 5)
    timeline = load_timeline(made.done())

    assert timeline.events.start.tolist() == list(range(0, 100, 10))
    names = [timeline.identities[i].name for i in timeline.events.identity.tolist()]
    assert names == ["other", "k"] * 5


def test_values_that_are_no_integers_are_refused(tmp_path: Path):
    made = export(tmp_path)
    made.kernel("k", 0, 5)
    made.kernel("k", 10, 15)
    made.db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE start = 0")
    with pytest.raises(InputError, match="something else"):
        load_timeline(made.done())


def test_rows_that_were_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("roofline.timeline.nsys._ROWS", 4)
    made = export(tmp_path)
    for i in range(20):
        made.kernel("k", i * 10, i * 10 + 5)
    gone = "rowid BETWEEN 3 AND 15 OR rowid = 18"
    made.db.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE {gone}")
    starts = load_timeline(made.done()).events.start.tolist()
    assert starts == [0, 10, 150, 160, 180, 190]


def test_an_event_without_a_correlation_id_has_no_launch(tmp_path: Path):
    made = export(tmp_path, KERNELS, CALLS)
    made.call("cudaFree", 1, 2, 0)
    made.kernel("k", 10, 20, correlation=0, pid=1)
    timeline = load_timeline(made.done())
    assert timeline.events.launch.tolist() == [-1]
    assert timeline.events.process.tolist() == [1]


def test_names_of_ranges_by_text_or_by_id(tmp_path: Path):
    made = with_kernel(tmp_path, NVTX)
    made.range("step 1", 0, 10)
    made.range("step 2", 10, 20, by_id=True)
    made.range("step 3", 20, None)  # still open when the recording ended
    made.range("other", 0, 5)
    made.range("my domain", 0, 0, event=75, domain=3)
    made.range("step 4", 30, 40, domain=3)
    timeline = load_timeline(made.done(), step=r"^step \d+$")

    assert [(r.name, r.start, r.end) for r in timeline.ranges] == [
        ("step 1", 0, 10),
        ("step 2", 10, 20),
        ("step 4", 30, 40),
    ]
    assert [r.nvtx for r in timeline.ranges] == ["step 1", "step 2", "my domain@step 4"]


@pytest.mark.parametrize(
    ("name", "step", "nvtx"),
    [
        ("iteration 7", "iteration", "iteration 7"),
        ("7: iteration", "iteration", "7: iteration"),
        ("iteration of alice", "iteration", None),
        ("iteration of alice", "^iteration of alice$", "iteration of alice"),
        ("/home/alice/step 1", r"step \d", None),
        ("a" * 80, "a+", None),
    ],
)
def test_only_a_name_that_was_asked_for_is_repeated(
    tmp_path: Path, name: str, step: str, nvtx: str | None
):
    made = with_kernel(tmp_path, NVTX)
    made.range(name, 0, 10)
    (found,) = load_timeline(made.done(), step=step).ranges
    assert found.nvtx == nvtx


def test_copies_by_direction(tmp_path: Path):
    made = with_kernel(tmp_path, COPIES)
    for kind in (1, 8, 99):
        made.copy(10 * kind, 10 * kind + 5, kind=kind)
    names = [i.name for i in load_timeline(made.done()).identities]
    assert names == ["k", "memcpy HtoD", "memcpy DtoD", "memcpy other"]


def test_ordinals_become_gpu_indices(tmp_path: Path):
    # Two processes, each seeing one GPU as its device 0.
    made = export(tmp_path)
    made.db.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid)")
    gpu = "TARGET_INFO_GPU (id, name, computeMajor, computeMinor, smCount, totalMemory)"
    made.db.execute(f"CREATE TABLE {gpu}")
    made.insert("TARGET_INFO_GPU", 3, "NVIDIA H100", 9, 0, 132, 8e10)
    for pid, index in ((1, 0), (2, 3)):
        made.insert("TARGET_INFO_CUDA_DEVICE", index, 0, pid)
        made.kernel("k", pid, pid + 1, pid=pid)
    made.insert("TARGET_INFO_CUDA_DEVICE", "no index", 0, 1)  # damaged: it names no GPU
    timeline = load_timeline(made.done())

    assert timeline.events.device.tolist() == [0, 3]
    assert timeline.devices[3].name == "NVIDIA H100"


@pytest.mark.parametrize(
    ("first", "setting", "counted"),
    [
        (1, None, True),
        (2_610_905, None, False),  # correlation ids of a process that ran long before
        (1, ("META_DATA_EXPORT", "EXPORT_PARAM_TIMES_TO_EXPORT", "1/2"), False),
        (1, ("META_DATA_EXPORT", "EXPORT_PARAM_TIMES_TO_EXPORT", ""), True),
        (1, ("META_DATA_CAPTURE", "START_TRIGGER", "cudaProfilerApi"), False),
        (1, ("META_DATA_CAPTURE", "PROCESS_0:START_TRIGGER", "Immediate"), True),
    ],
)
def test_launches_can_be_counted_only_from_the_start(
    tmp_path: Path, first: int, setting: tuple[str, str, str] | None, counted: bool
):
    made = export(tmp_path, KERNELS, CALLS)
    made.call("cudaLaunchKernel", 10, 15, first)
    made.kernel("k", 20, 30, correlation=first)
    if setting is not None:
        made.db.execute(f"CREATE TABLE {setting[0]} (name TEXT, value TEXT)")
        made.db.execute(f"INSERT INTO {setting[0]} VALUES (?, ?)", setting[1:])
    assert load_timeline(made.done()).from_start is counted


def test_lost_events_are_said_in_our_words(tmp_path: Path):
    made = with_kernel(tmp_path)
    made.db.execute("CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT)")
    text = "Not all CUDA events might have been collected in /home/alice."
    made.insert("DIAGNOSTIC_EVENT", 2, text)
    (note,) = [n for n in load_timeline(made.done()).notes if n.code == "events_lost"]
    assert "alice" not in note_text(note)


def test_whole_graphs_are_refused(tmp_path: Path):
    made = export(tmp_path, GRAPHS, CALLS)
    made.insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 0, 1000)
    with pytest.raises(InputError, match="CUDA graphs") as refused:
        load_timeline(made.done())
    assert "--cuda-graph-trace=node" in str(refused.value.hint)


# 90 ns of graphs beside 10 ns of kernels is 90 %; 1 ns beside 999 is 0.1 %.
@pytest.mark.parametrize(("graphs", "kernels", "refused"), [(90, 10, True), (1, 999, False)])
def test_graphs_beside_kernels(tmp_path: Path, graphs: int, kernels: int, refused: bool):
    made = export(tmp_path, KERNELS, GRAPHS)
    made.kernel("k", 0, kernels)
    made.insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 0, graphs)
    path = made.done()
    if refused:
        with pytest.raises(InputError, match="90%"):
            load_timeline(path)
    else:
        assert load_timeline(path).notes[0].code == "graphs_left_out"


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ((CALLS,), "no kernel records"),
        ((KERNELS,), "no kernel records"),  # the table is there and empty
        (("CREATE TABLE NVTX_EVENTS (start)",), "CUDA was not traced"),
    ],
)
def test_exports_without_kernels_are_refused(tmp_path: Path, tables: tuple[str, ...], reason: str):
    with pytest.raises(InputError, match=reason):
        load_timeline(export(tmp_path, *tables).done())


@pytest.mark.parametrize(
    ("name", "reason"),
    [("cudaMalloc_v3020", "no kernel was launched"), ("cuLaunchKernelEx", "no kernel records")],
)
def test_calls_tell_whether_kernels_lack_or_none_ran(tmp_path: Path, name: str, reason: str):
    made = export(tmp_path, CALLS)
    made.call(name, 0, 1, 1)
    with pytest.raises(InputError, match=reason):
        load_timeline(made.done())


def test_another_database_is_refused(tmp_path: Path):
    path = tmp_path / "contacts.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE people (name TEXT)")
    with pytest.raises(InputError, match="not an Nsight Systems export"):
        load_timeline(path)


def test_a_damaged_database_is_refused(tmp_path: Path):
    made = export(tmp_path)
    for i in range(2000):
        made.kernel("k", i, i + 1)
    content = made.done().read_bytes()
    path = tmp_path / "cut.sqlite"
    path.write_bytes(content[: len(content) // 3])
    with pytest.raises(InputError, match="cannot read"):
        load_timeline(path)


def test_nothing_is_left_beside_the_file(tmp_path: Path):
    path = with_kernel(tmp_path).done()
    load_timeline(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("end", [999, None])
def test_times_that_cannot_be_are_left_out_and_said(tmp_path: Path, end: int | None):
    made = Export(tmp_path / "odd.sqlite", KERNELS)
    made.kernel("ok", 1000, 2000)
    made.kernel("odd", 1000, end)  # type: ignore[arg-type]
    timeline = load_timeline(made.done())
    assert [timeline.identities[i].name for i in timeline.events.identity] == ["ok"]
    assert [n.code for n in timeline.notes] == ["no_valid_time", "no_launch_record"]


def test_each_process_counts_its_own_launches(tmp_path: Path):
    # Ids 1 to 9 of process 1; process 2 was recorded from its id 8 on, process 3 not at all.
    made = Export(tmp_path / "two.sqlite", KERNELS, CALLS)
    for pid, known in ((1, (1, 9)), (2, (8, 9))):
        for correlation in known:
            made.call(
                "cudaLaunchKernel", 100 * correlation, 100 * correlation + 10, correlation, pid=pid
            )
    for i, (pid, correlation) in enumerate([(1, 9), (1, 5), (2, 8), (2, 7), (3, 4)]):
        made.kernel("k", 2000 + 100 * i, 2050 + 100 * i, correlation=correlation, pid=pid)
    events = load_timeline(made.done()).events
    assert events.launch.tolist() == [900, -1, 800, -1, -1]
    assert events.asked.tolist() == [900, 100, 800, BEFORE, UNKNOWN]
    assert {n.code: n.facts["missing"] for n in events.notes(untimed=0)} == {
        "launched_before": 1,
        "no_launch_record": 2,
    }
