from __future__ import annotations

from pathlib import Path

import pytest

from roofline.errors import InputError
from roofline.timeline import load_timeline, select
from roofline.timeline.events import Timeline
from roofline.timeline.model import Apart, Criteria
from tests.timeline.made import used

NEW = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
OLD = NEW.replace(",Name", ",GridXYZ,BlockXYZ,Name")


def read(folder: Path, *lines: str) -> Timeline:
    path = folder / "stats.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_timeline(path)


def test_a_summary_of_today(tmp_path: Path):
    timeline = read(
        tmp_path,
        "Processing [x.sqlite] with [cuda_gpu_kern_sum.py]... ",
        NEW,
        '75.0,300000,10,30000,1,1,1,0,"void k<int, 4>(int, float)"',
        "25.0,100000,50,2000,1,1,1,0,ncclDevKernel_AllReduce",
        "",
        " ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):",
        "Time (%),Total Time (ns),Count,Operation",
        "100.0,5,1,[CUDA memcpy HtoD]",
    )

    assert [(t.identity.base_name, t.instances, t.total_ns) for t in timeline.totals] == [
        ("k", 10, 300e3),
        ("ncclDevKernel_AllReduce", 50, 100e3),
    ]
    selection = select(timeline)
    (kernel,) = selection.kernels
    # 300 of 400 us of kernel time; of the wall time nothing is known.
    assert kernel.kernel_share == pytest.approx(0.75)
    assert kernel.exposed_share is None
    assert kernel.speedup_at_most == (None, None)
    with pytest.raises(InputError, match="nor what launched a kernel"):
        select(timeline, Criteria(by="op"))
    assert selection.selected.use is None
    assert selection.selected.apart[0].apart is Apart.COMMUNICATION
    assert [n.code for n in selection.notes] == ["no_wall_time"]


def test_the_layout_of_2022_has_a_row_for_each_grid(tmp_path: Path):
    row = "16.4,{},{},1,1,1,1,0,{},{},k"
    timeline = read(
        tmp_path,
        OLD,
        row.format(30000, 3, '"   8    4    1"', '" 128    1    1"'),
        row.format(10000, 1, '"   2    1    1"', '" 128    1    1"'),
    )

    assert [t.identity.grid for t in timeline.totals] == [(8, 4, 1), (2, 1, 1)]
    assert [k.kernel_share for k in select(timeline).kernels] == [0.75, 0.25]


@pytest.mark.parametrize(
    ("unit", "text", "seconds"),
    [("ns", "1500", 1.5e-6), ("us", "1.5", 1.5e-6), ("ms", '"1,500.5"', 1.5005), ("s", "2", 2.0)],
)
def test_the_unit_is_in_the_header(tmp_path: Path, unit: str, text: str, seconds: float):
    header = NEW.replace("Total Time (ns)", f"Total Time ({unit})")
    timeline = read(tmp_path, header, f"100.0,{text},1,1,1,1,1,0,k")
    assert timeline.totals[0].total_ns == pytest.approx(seconds * 1e9)


def test_quoted_headers(tmp_path: Path):
    header = ",".join(f'"{c}"' for c in NEW.split(","))
    timeline = read(tmp_path, header, '"100.0","5","1","1","1","1","1","0","k"')
    assert timeline.totals[0].instances == 1


def test_a_gpu_trace_is_a_timeline(tmp_path: Path):
    timeline = read(
        tmp_path,
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name",
        "1000,200,1,8,4,1,128,1,1,NVIDIA A100 (2),1,7,k",
        f"1300,100,2,,,,,,,NVIDIA A100 (2),1,{'9' * 30},[CUDA memcpy HtoD]",  # no stream
    )

    assert timeline.events.start.tolist() == [1000, 1300]
    assert timeline.events.end.tolist() == [1200, 1400]
    assert timeline.events.device.tolist() == [2, 2]
    assert timeline.devices[2].name == "NVIDIA A100"
    # 200 ns of kernel, 100 of copy, 100 idle: 400 in all.
    use = used(select(timeline))
    assert (use.kernel_share, use.idle_s) == (0.5, pytest.approx(100e-9))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("SKIPPED: x.sqlite does not contain CUDA kernel data.",), "no CUDA kernel data"),
        ((NEW,), "no kernel summary"),
    ],
)
def test_a_report_without_kernels_is_refused(tmp_path: Path, lines: tuple[str, ...], reason: str):
    with pytest.raises(InputError, match=reason):
        read(tmp_path, *lines)
