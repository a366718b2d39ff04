"""Ranks of one job: times in us, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline import api
from roofline.errors import InputError
from roofline.render import job as render
from roofline.render import selection_json
from roofline.render.selection import render as selection_text
from roofline.timeline import load_timeline, select, select_ranks
from roofline.timeline.load import names_apart, timeline_files
from roofline.timeline.model import Criteria, Job, Selection
from tests.timeline.made import event, kernel, launched, step, trace, write

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def reduce(start: float, lasted: float, *, device: int = 0, **args: Any) -> dict[str, Any]:
    return kernel(REDUCE, start, lasted, device=device, stream=20, **args)


def told(
    start: float, lasted: float, *, group: str = "0", seq: int | None = None, **also: Any
) -> Any:
    """An all-reduce of 1,000,000 floats over two ranks, as PyTorch describes it."""
    more: dict[str, Any] = {"Collective name": "allreduce", "Process Group Name": group}
    more |= {"In msg nelems": 1_000_000, "Out msg nelems": 1_000_000, "dtype": "Float"}
    more |= {"Group size": 2} | ({} if seq is None else {"Seq": seq})
    return reduce(start, lasted, **more, **also)


def found(folder: Path, *ranks: list[Any], told_rank: bool = True) -> Selection:
    """A selection from one file for each rank, each in a folder of its own."""
    timelines = []
    for number, events in enumerate(ranks):
        place = folder / f"rank{number}"
        place.mkdir()
        keys = {"distributedInfo": {"rank": number, "world_size": len(ranks)}} if told_rank else {}
        timelines.append(load_timeline(write(place, trace(*events, **keys))))
    return select_ranks(timelines)


def job_of(*args: Any, **more: Any) -> Job:
    job = found(*args, **more).job
    assert job is not None
    return job


def test_devices_of_one_file_are_compared_by_their_starts(tmp_path: Path):
    # Device 1 comes 30 us and then 10 us after device 0, which then waits; once it is the reverse.
    early = [reduce(t, lasted) for t, lasted in ((0, 50), (100, 30), (220, 20))]
    late = [reduce(t, n, device=1) for t, n in ((30, 20), (110, 20), (200, 40))]
    own = event("cpu_op", "aten::add", 290, 5), launched(1, "a", 300, 5, asked=292)
    path = write(tmp_path, trace(*own, *early, *late))
    job = select(load_timeline(path)).job
    assert job is not None
    assert job.one_clock
    assert job.matched_by == "order"
    assert job.skew_s == pytest.approx(60e-6)
    assert job.transfer_s == pytest.approx(60e-6)
    assert [(r.number, r.last) for r in job.ranks] == [(0, 1), (1, 2)]
    assert [r.waited_s for r in job.ranks] == pytest.approx([40e-6, 20e-6])
    # Collectives keep their names, and are matched, whatever is ranked.
    assert select(load_timeline(path), Criteria(by="op")).job == job


def test_files_need_no_common_clock(tmp_path: Path):
    # The second file's clock is 1 s ahead; its rank arrives 80 us late in all of four steps.
    early = [[step(i, 1000 * i, 990), told(1000 * i + 100, 100)] for i in range(1, 5)]
    late = [[step(i, 1e6 + 1000 * i, 990), told(1e6 + 1000 * i, 20)] for i in range(1, 5)]
    extra = kernel("gemm", 1100, 5), kernel("gemm", 1e6 + 1100, 5)
    job = job_of(tmp_path, [*early, extra[0]], [*late, extra[1]])
    assert not job.one_clock
    assert job.steps == 2  # the first and the last are left out
    assert job.skew_s == pytest.approx(160e-6)
    assert job.transfer_s == pytest.approx(40e-6)
    assert job.latest.number == 1
    assert render.verdict(job) == (
        "Skew 80.0 µs a step, transfer 20.0 µs, rank 1 is last in 2 of 2, which is 100.0 % of the "
        "skew: load balance, not network."
    )
    (late,) = render.latest(job)
    assert late == (
        "Rank 1 comes late to 2 of 2 collectives: the first to come waits 80.0 µs a step for it "
        "(8.0 %)."
    )
    _, _, waits, work, _ = render.lines(job)
    assert waits.endswith("waited 160 µs in all for others")
    assert ": 2 over 2 ranks, skew 160 µs, transfer 40.0 µs in all" in work


def test_the_kernels_are_those_of_the_rank_that_is_waited_for(tmp_path: Path):
    ranks = [[told(0, 100), kernel("a", 200, 900)], [told(500, 20), kernel("b", 700, 900)]]
    selection = found(tmp_path, *ranks)
    assert [k.name for k in selection.kernels] == ["b"]
    # Only inside of the launcher is a process rank 1.
    text = selection_text(selection)
    assert "Next, inside your launcher (torchrun --nproc-per-node N --no-python" in text
    assert "  roofline profile --rank 1 --kernel-name b " in text
    (request,) = json.loads(selection_json.render(selection))["requests"]
    assert request["command"].startswith("roofline profile --rank 1 --kernel-name b ")


def test_of_one_file_the_device_that_is_waited_for_is_ranked(tmp_path: Path):
    # Device 1 is last in one of three, for 90 of 110 us; device 0 has more kernel time.
    early = [reduce(t, lasted) for t, lasted in ((0, 110), (210, 20), (310, 20))]
    late = [reduce(t, lasted, device=1) for t, lasted in ((90, 20), (200, 30), (300, 30))]
    own = kernel("a", 400, 90), kernel("b", 400, 5, device=1)
    timeline = load_timeline(write(tmp_path, trace(*own, *early, *late)))
    selection = select(timeline)
    assert selection.job is not None
    assert [r.caused_s for r in selection.job.ranks] == pytest.approx([20e-6, 90e-6])
    assert (selection.device, selection.job.latest.last) == (1, 1)
    assert "device 1 is last in 1 of 3, which is 81.8 % of the skew: load balance" in (
        render.verdict(selection.job)
    )
    assert select(timeline, Criteria(device=(0, 1))).device == 0


def test_two_files_of_one_rank_are_refused(tmp_path: Path):
    content = trace(told(0, 100), kernel("a", 200, 9), distributedInfo={"rank": 1})
    timelines = [load_timeline(write(tmp_path, content, f"{n}.json")) for n in "ab"]
    with pytest.raises(InputError, match="json are of one rank: both say that they"):
        select_ranks(timelines)
    same = [told(0, 100), kernel("a", 200, 9)]
    with pytest.raises(InputError, match="same collectives at the same times"):
        found(tmp_path, same, same, told_rank=False)


@pytest.mark.parametrize("rank", [-1, True, "1", None])
def test_what_is_no_rank_is_none(tmp_path: Path, rank: Any):
    content = trace(kernel("a", 0, 9), distributedInfo={"rank": rank, "world_size": rank})
    timeline = load_timeline(write(tmp_path, content))
    assert (timeline.rank, timeline.world_size) == (None, None)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path):
    content = trace(told(0, 100), kernel("a", 200, 9), distributedInfo={"rank": 1})
    places = [tmp_path / name / "profile" for name in ("one", "two")]
    for place in places:
        place.mkdir(parents=True)
    files = [write(place, content, "trace.json") for place in places]
    said = "one/profile/trace.json and two/profile/trace.json are of one rank"
    with pytest.raises(InputError, match=said):
        api.select(*files)
    assert names_apart([*files, tmp_path / "other.json"])[2] == "other.json"
    assert api.select(files[0]).file == "trace.json"


def test_one_file_spelled_in_two_ways_counts_once(tmp_path: Path):
    file = write(tmp_path, trace(kernel("a", 0, 9)), "a.json")
    (tmp_path / "b.json").symlink_to(file)
    spelled = [tmp_path / "." / ".." / tmp_path.name / "a.json", tmp_path / "b.json", tmp_path]
    assert timeline_files(spelled) == spelled[:1]


def test_skew_and_transfer_that_weigh_alike_are_both_said(tmp_path: Path):
    # 100 us of waiting and 105 us of transfer.
    job = job_of(tmp_path, [told(0, 205), kernel("a", 300, 9)], [told(1, 105), kernel("a", 300, 9)])
    assert render.verdict(job).endswith(
        "both count: the transfer (network, size of the messages), and load balance."
    )


def test_a_rank_that_is_missing_is_named(tmp_path: Path):
    # Ranks 0 and 2 of a job of 8 processes; then 0 and 3 of one that does not tell how many.
    for world, numbers, said in (
        (8, (0, 2), "Missing: 6 of 8 ranks (1, 3, 4, 5 and 2 more)."),
        (None, (0, 3), "Missing: 2 of 4 ranks (1, 2)."),
        (2, (0, 1), None),
    ):
        timelines = []
        for number in numbers:
            content = trace(
                [told(0, 100 - number), kernel("a", 200, 9)],
                distributedInfo={"rank": number} | ({"world_size": world} if world else {}),
            )
            timelines.append(load_timeline(write(tmp_path, content, f"{number}.json")))
        job = select_ranks(timelines).job
        assert job is not None
        lines = [line for line in render.lines(job) if line.startswith("Missing")]
        assert lines == [f"{said} The others may wait for what is not here."] * (said is not None)


def test_what_causes_the_skew_is_said_beside_a_longer_transfer(tmp_path: Path):
    # Rank 1 is last by 30 us; all are inside for 70. A kernel beside it hides it, or does not.
    longer = "load balance. The transfer takes longer: network, or the size of the messages."
    for lasts, hidden in (
        (9, ""),
        (1100, " 100.0 % of communication runs beside compute, so neither"),
    ):
        folder = tmp_path / str(lasts)
        folder.mkdir()
        gemm = kernel("a", 0, lasts)
        said = render.verdict(job_of(folder, [told(9, 100), gemm], [told(39, 70), gemm]))
        assert "rank 1 is last in 1 of 1, which is 100.0 % of the skew: " + longer + hidden in said
        assert said.endswith("longer." if hidden else longer)


def test_bus_bandwidth_is_what_nccl_tests_count(tmp_path: Path):
    # All-reduce of 4 MB over 2 ranks: 2 * (2 - 1) / 2 of it on the wire; in 20 us: 200 GB/s.
    job = job_of(tmp_path, [told(0, 100), kernel("a", 200, 9)], [told(0, 20), kernel("a", 50, 9)])
    assert job.matched_by == "name"
    assert job.collectives[0].bus_bytes_per_s == pytest.approx(200e9)


def test_process_groups_are_kept_apart(tmp_path: Path):
    # Four ranks in two groups of two: nobody waits for another group.
    work = kernel("a", 900, 9)
    pairs = [("tp0", 100), ("tp0", 20), ("tp1", 300), ("tp1", 290)]
    ranks = [[told(0, lasted, group=group), work] for group, lasted in pairs]
    job = job_of(tmp_path, *ranks)
    assert {(c.ranks, round(c.skew_s * 1e6)) for c in job.collectives} == {
        ((0, 1), 80),
        ((2, 3), 10),
    }
    assert job.transfer_s == pytest.approx(310e-6)


def test_groups_of_one_name_are_told_apart_by_their_ranks(tmp_path: Path):
    work = kernel("a", 900, 9)
    listed = [("[0, 1]", 100), ("[0, 1]", 20), ([2, 3], 300), ([2, 3], 290)]
    ranks = [
        [told(0, lasted, group="tp", **{"Process Group Ranks": members}), work]
        for members, lasted in listed
    ]
    job = job_of(tmp_path, *ranks)
    assert [c.ranks for c in job.collectives] == [(2, 3), (0, 1)]
    assert job.skew_s == pytest.approx(90e-6)


def test_sequence_numbers_decide_where_recordings_begin_apart(tmp_path: Path):
    # Rank 0 has calls 5, 6, 7; rank 1 has 6, 7, 8. Only 6 and 7 are common.
    first = [told(100 * i, lasted, seq=5 + i) for i, lasted in enumerate((11, 12, 13))]
    second = [told(100 * i, lasted, seq=6 + i) for i, lasted in enumerate((10, 10, 10))]
    work = kernel("a", 900, 9)
    job = job_of(tmp_path, [*first, work], [*second, work])
    assert job.count == 2
    assert job.unmatched == 2
    assert job.skew_s == pytest.approx(5e-6)


def test_without_numbers_the_ends_tell_which_calls_are_the_same(tmp_path: Path):
    # Ends at 0, 70, 100, 190 and, on a clock of its own, at the distances 70, 100, 190.
    longer = [reduce(end - 10, 10) for end in (1000, 1070, 1100, 1190)]
    shorter = [reduce(5000 + end - 4, 4) for end in (70, 100, 190)]
    work = kernel("a", 9000, 9)
    job = job_of(tmp_path, [*longer, work], [*shorter, work], told_rank=False)
    assert job.count == 3
    assert job.unmatched == 1
    assert job.skew_s == pytest.approx(18e-6)


def test_of_ranks_that_come_together_none_is_last(tmp_path: Path):
    job = job_of(tmp_path, [told(0, 20), kernel("a", 50, 9)], [told(0, 20), kernel("a", 50, 9)])
    assert [r.last for r in job.ranks] == [0, 0]
    assert "no rank is last: the transfer takes longer" in render.verdict(job)


def test_launches_that_never_overlap_are_not_one_collective(tmp_path: Path):
    events = [reduce(0, 10), reduce(500, 10, device=1), kernel("a", 900, 9)]
    assert select(load_timeline(write(tmp_path, trace(*events)))).job is None


def test_files_without_common_collectives_say_so(tmp_path: Path):
    selection = found(tmp_path, [kernel("a", 0, 9)], [kernel("b", 0, 90)])
    assert selection.job is None
    assert [k.name for k in selection.kernels] == ["b"]
    assert "no_common_collective" in {n.code for n in selection.notes}


@pytest.mark.parametrize("others", [1, 2])
def test_a_file_that_ends_in_the_middle_is_left_out_and_named(tmp_path: Path, others: int):
    # What is left of it has the most kernel time, and none of its collectives counts.
    timelines = [
        load_timeline(write(tmp_path, trace([told(0, 100 - n), kernel("a", 200, 9)]), f"{n}.json"))
        for n in range(others)
    ]
    content = trace([told(0, 90), kernel("long", 200, 9000), kernel("b", 9999, 9)])
    cut = load_timeline(write(tmp_path, content[: content.index(b'"b"')], "cut.json"))
    assert cut.truncated
    for order in ([cut, *timelines], [*timelines, cut]):
        selection = select_ranks(order)
        assert not selection.truncated
        assert "a" in {k.name for k in selection.kernels}
        assert (selection.job is not None) == (others > 1)
        notes = {n.code: n.facts for n in selection.notes}
        assert notes["truncated_rank"] == {"file": "cut.json"}
        assert "no_common_collective" not in notes
    said = "cut.json ends in the middle: it is left out of the matching of ranks."
    assert said in " ".join(selection_text(selection).split())


def test_of_files_that_all_end_in_the_middle_the_longest_is_shown(tmp_path: Path):
    content = trace([kernel("a", 0, 9), kernel("a", 200, 9), kernel("b", 9999, 9)])
    timelines = [
        load_timeline(write(tmp_path, content[: content.index(end)], f"{n}.json"))
        for n, end in enumerate((b'"ts": 200', b'"b"'))
    ]
    selection = select_ranks(timelines)
    assert (selection.file, selection.truncated) == ("1.json", True)
    notes = [(n.code, n.facts) for n in selection.notes]
    assert ("truncated_rank", {"file": "0.json"}) in notes
    assert "no_common_collective" not in dict(notes)


def test_ranks_are_in_the_json(tmp_path: Path):
    selection = found(tmp_path, [told(0, 100)], [told(0, 20)])
    document = json.loads(selection_json.render(selection))["job"]
    assert [r["last"] for r in document["ranks"]] == [0, 1]
    assert document["collectives"][0]["skew_s"] == pytest.approx(80e-6)


def test_a_folder_gives_each_recording_once(tmp_path: Path):
    for name in ("a.json", "b.json.gz", "c.nsys-rep", "c.sqlite", "notes.txt"):
        write(tmp_path, b"", name)
    assert [p.name for p in timeline_files([tmp_path])] == ["a.json", "b.json.gz", "c.sqlite"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no timelines"):
        timeline_files([tmp_path / "empty"])
