"""Public timelines, where they are at hand, and what other tools say about them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import InputError
from roofline.timeline import load_timeline, select
from roofline.timeline.events import Timeline
from roofline.timeline.model import Criteria, First, Selection
from roofline.timeline.replay import Schedule
from roofline.timeline.selection import device_events
from tests.shared import SHARED
from tests.timeline.made import used

FOLDER = None if SHARED is None else SHARED / "timelines"
FILES = sorted(p for p in FOLDER.iterdir() if p.suffix != ".md") if FOLDER else []
pytestmark = pytest.mark.skipif(not FILES, reason="the public timelines are not at hand")

REFUSED = {
    "hta_cpu_only_gloo": "only the CPU",
    "hta_a100_cupti_ranges_nokernels": "range profiling",
}


@cache
def loaded(path: Path) -> Timeline:
    """A timeline that is read once for all tests."""
    return load_timeline(path)


def found(name: str, **wanted: Any) -> Selection:
    path = next(p for p in FILES if p.name.startswith(name))
    return select(loaded(path), Criteria(**wanted))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_file_is_read_or_refused_with_the_reason(path: Path):
    name = path.name.partition(".")[0]
    if name in REFUSED:
        with pytest.raises(InputError, match=REFUSED[name]):
            load_timeline(path)
        return
    selection = select(loaded(path))
    for device in selection.devices:
        use = device.use
        assert use is not None
        assert 0 < use.kernel_s <= use.busy_s <= use.wall_s
        for kernel in (*device.kernels, *device.apart):
            assert 0 <= (kernel.exposed_share or 0) <= (kernel.wall_share or 0) <= 1
    odd = {"stream_overlap", "no_valid_time", "outside_ranges", "pauses", "unknown_tables"}
    assert not odd & {note.code for note in selection.notes}
    streamed = select(load_timeline(path, stream=True))  # without operators
    plain = tuple(replace(k, source=None, useful=None) for k in selection.kernels)
    assert tuple(replace(k, source=None, useful=None) for k in streamed.kernels) == plain


def test_holistic_trace_analysis_agrees():
    # Its temporal breakdown of the first four steps, in us.
    selection = found("hta_v100_2gpu_ddp", keep=(1, 4))
    device, use = selection.selected, used(selection)
    assert device.span_s == pytest.approx(1.396669, rel=1e-3)
    assert device.span_idle_s == pytest.approx(0.643612, rel=1e-3)
    assert use.compute_s == pytest.approx(0.496485, rel=1e-3)
    assert use.communication_s == pytest.approx(0.238274, rel=1e-3)


def test_the_last_step_of_the_ddp_trace_is_left_out():
    device = found("hta_v100_2gpu_ddp").selected
    assert device.counted == 3
    assert device.steady is True
    assert {s.launches for s in device.steps} == {4458}


def test_gaps_are_worth_more_than_what_ncu_can_help_on_ddp():
    # Idle 46.5 % of the wall time, compute kernels 35.3 %.
    selection = found("hta_v100_2gpu_ddp")
    assert selection.selected.first is First.GAPS
    assert used(selection).without_gaps_at_most == pytest.approx(1.87, abs=0.01)
    assert used(selection).without_compute_at_most == pytest.approx(1.55, abs=0.01)


@pytest.mark.parametrize(
    ("name", "replay", "amdahl"),
    [
        ("hta_v100_2gpu_ddp", 1.00, 1.22),
        ("kineto_2021_v100_resnet50", 1.00, 1.53),
        ("tracelens_h100_vit", 1.00, 1.09),
        ("tracelens_h100_qwen", 1.07, 1.82),  # without the tail of the step before
    ],
)
def test_what_kernels_twice_as_fast_would_buy(name: str, replay: float, amdahl: float):
    # Another replay of the same traces has these; it counts every step, and so do we here.
    saved = found(name, keep="all").selected.twice_saves
    assert saved is not None
    low, high = (1 / (1 - share) for share in saved)
    assert low == pytest.approx(replay, abs=0.015)
    assert high == pytest.approx(amdahl, abs=0.04)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_replay_of_a_real_timeline_has_no_error(path: Path):
    if path.name.partition(".")[0] in REFUSED:
        return
    timeline = loaded(path)
    for index in {d.index for d in select(timeline).devices}:
        _, part = device_events(timeline, Criteria(), index)
        schedule = Schedule.of(part.events, timeline.calls, part.waiting, part.is_copy)
        played, _ = schedule.run(part.events.end - part.events.start)
        assert played == part.events


def test_an_all_reduce_that_hardly_shows():
    # Of the 609.232 ms from the second step on, 80.480 are in it, 0.662 of them alone.
    device = found("hta_v100_2gpu_dlrm", keep=(2, 6), by="name").selected
    (reduce,) = [k for k in device.apart if "AllReduce" in k.name]
    assert reduce.wall_share == pytest.approx(80.480 / 609.232, abs=1e-5)
    assert reduce.exposed_share == pytest.approx(0.662 / 609.232, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "steps", "launches", "before"),
    [
        ("hta_v100_2gpu_dlrm", 6, 2503, 614),
        ("kineto_2021_v100_resnet50", 6, 1547, 733),
        ("tracelens_h100_qwen", 1, 1198, 509),
        ("tracelens_h100_vit", 1, 156, 0),
    ],
)
def test_the_tail_of_earlier_work_is_in_no_step(name: str, steps: int, launches: int, before: int):
    selection = found(name)
    assert [s.launches for s in selection.selected.steps] == [launches] * steps
    told = [n.facts["missing"] for n in selection.notes if n.code == "launched_before"]
    assert told == [before] * (before > 0)


@pytest.mark.parametrize("name", ["tracelens_h100_qwen", "tracelens_h100_vit"])
def test_a_step_is_what_the_profiler_marked_on_the_gpu(name: str):
    # Kineto marks the step on the GPU, too: from the first event that it launched to the last.
    path = next(p for p in FILES if p.name.startswith(name))
    content = json.loads(gzip.decompress(path.read_bytes()), strict=False)
    spans = {
        e["cat"]: (e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6)
        for e in content["traceEvents"]
        if e.get("name") == "ProfilerStep#6"
    }
    marked, ran = spans["gpu_user_annotation"], spans["user_annotation"]
    (only,) = found(name).selected.steps
    begin = only.start_s + loaded(path).origin / 1e9
    assert begin <= marked[0]
    assert begin + only.wall_s == pytest.approx(max(marked[1], ran[1]), abs=2e-6)
    own = found(name, start=None).selected.span_s
    assert own == pytest.approx(marked[1] - marked[0], abs=3e-6)  # it is widened by 1 ns


def test_a_step_that_is_mostly_gaps():
    selection = found("tracelens_h100_vit")
    assert used(selection).kernel_share == pytest.approx(0.16, abs=0.01)
    device = selection.selected
    assert (device.first, device.host_paced, device.launch_bound) == (First.GAPS, True, True)
    assert device.small_grid_share == pytest.approx(0.78, abs=0.01)


def test_a_step_that_is_mostly_kernels():
    selection = found("tracelens_h100_qwen")
    assert used(selection).kernel_share == pytest.approx(0.90, abs=0.01)
    assert (selection.selected.first, selection.selected.host_paced) == (First.KERNELS, False)


def test_a_loader_that_the_step_waits_for():
    # A step of 141 to 168 ms: the host waits 2.2 to 2.7 ms for the GPU, and the GPU for batches.
    device = found("kineto_2021_v100_resnet50").selected
    assert (device.first, device.host_paced) == (First.GAPS, True)
    assert (device.host_wait_s or 0) / device.counted == pytest.approx(2.3e-3, abs=0.2e-3)
    loading, optimizer, *_ = device.idle
    assert (loading.code, optimizer.code) == ("data_loading", "optimizer")
    assert loading.longest.inside == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def test_launches_bind_where_gaps_are_short_and_many():
    # Three gaps listed would be 2 % of it: half of the idle time is in gaps of 10 to 100 us.
    device = found("hta_v100_2gpu_ddp", keep="all").selected
    assert (device.host_paced, device.launch_bound) == (True, True)
    idle_s = sum(band.total_s for band in device.gap_bands)
    shares = [band.total_s / idle_s for band in device.gap_bands]
    assert shares[:3] == [pytest.approx(s, abs=0.03) for s in (0.03, 0.50, 0.38)]
    assert sum(band.gaps for band in device.gap_bands) == pytest.approx(22_049, rel=0.01)


def test_two_processes_on_two_gpus_are_kept_apart():
    selection = found("nsysai_h100")
    assert [d.index for d in selection.devices] == [0, 1]
    assert selection.kernels[0].base_name == "flash_fwd_kernel"


def test_a_complete_small_export():
    selection = found("nsysai_rtx3080")
    assert selection.selected.device.name == "NVIDIA GeForce RTX 3080"
    assert selection.selected.device.compute_capability == "8.6"


def test_all_base_names_are_identifiers():
    for path in FILES:
        if path.name.partition(".")[0] not in REFUSED:
            for device in select(loaded(path)).devices:
                assert all(k.base_name.isidentifier() for k in device.kernels)


def test_two_ranks_wait_for_each_other_more_than_for_the_network():
    # 33 collectives; last start - first start, and last start to first end, summed by hand.
    job = found("nsysai_h100").job
    assert job is not None
    assert job.count == 33
    assert job.skew_s == pytest.approx(13.375816e-3, rel=1e-6)
    assert job.transfer_s == pytest.approx(5.739662e-3, rel=1e-6)
    assert [r.last for r in job.ranks] == [11, 22]


def test_useful_rates_before_any_counter_is_read():
    # 2 m n k of every matrix product over the time of the kernels that it launched.
    for name, rate, share in (
        ("tracelens_h100_qwen", 623e12, 0.63),
        ("tracelens_h100_vit", 182e12, 0.184),
    ):
        work = {(u.kind, u.precision): u for u in found(name).selected.useful}
        products = work["matmul", "tensor_bf16"]
        assert products.flop_per_s == pytest.approx(rate, rel=1e-3)
        assert products.peak_share == pytest.approx(share, rel=2e-3)


def test_operators_and_modules_of_a_public_trace():
    assert {"aten::addmm", "aten::gelu"} <= {
        k.name for k in found("tracelens_h100_vit", by="op").kernels
    }
    device = found("tracelens_h100_vit", by="module", own_names=True)
    modules = {k.name for k in device.kernels}
    assert {"ViTOutput", "ViTIntermediate"} <= modules
