"""What launched a kernel, and the work that shapes ask for: worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import InputError
from roofline.render.selection import useful as lines_of_work
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Criteria, From, KernelShare, TimelineDevice
from roofline.timeline.operations import FORMULAS, Operation, operation
from tests.timeline import made
from tests.timeline.made import event, kernel, launched, trace, write

BF16 = ["c10::BFloat16"] * 8


def op(name: str, start: float, lasted: float, dims: Any = None, **more: Any) -> dict[str, Any]:
    shaped = {} if dims is None else {"Input Dims": dims, "Input type": BF16[: len(dims)]}
    return event("cpu_op", name, start, lasted, **(shaped | more))


def chosen(folder: Path, *events: Any, **wanted: Any) -> TimelineDevice:
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3"}
    content = trace(*events, deviceProperties=[device])
    return select(load_timeline(write(folder, content)), Criteria(**wanted)).selected


def rows(device: TimelineDevice) -> dict[str, KernelShare]:
    return {k.name: k for k in (*device.kernels, *device.apart)}


def work(name: str, dims: Any, values: Any = (), dtype: str = "c10::BFloat16") -> Operation:
    types = json.dumps([dtype] * len(dims))
    found = operation(name, json.dumps(dims).encode(), types.encode(), json.dumps(values).encode())
    assert found is not None
    return found


def test_a_product_of_matrices():
    # 2 * 3 * 5 * 4; 3 x 4, 4 x 5 and 3 x 5 of two bytes each.
    found = work("aten::mm", [[3, 4], [4, 5]])
    assert (found.flop, found.compulsory_bytes) == (120, 94)


def test_an_added_vector_and_a_batch():
    assert work("aten::addmm", [[5], [3, 4], [4, 5]]).compulsory_bytes == 104
    assert work("aten::bmm", [[7, 3, 4], [7, 4, 5]]).flop == 840


def test_attention_forwards_and_backwards():
    # Two products of 2 * L * L * width for each of batch x heads; backwards four.
    shape = [2, 3, 10, 8]
    values = ["", "", "", "0.0", "False"]
    whole = 2 * 2 * (2 * 3) * 10 * 10 * 8
    name = "aten::_scaled_dot_product_flash_attention"
    assert work(name, [shape] * 3, values).flop == whole
    values[4] = "True"  # 55 of 100 pairs are left
    assert work(name, [shape] * 3, values).flop == pytest.approx(whole * 0.55)
    back = work(f"{name}_backward", [shape] * 5, ["0.0"] * 11 + ["False"])
    assert back.flop == 2 * whole


def test_a_convolution():
    # 224 / 16 = 14: 4 images of 14 x 14 points and 768 channels, each of 3 x 16 x 16 products.
    values = ["", "", "", "[16, 16]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    found = work("aten::convolution", [[4, 3, 224, 224], [768, 3, 16, 16], [768]], values)
    assert found.flop == 2 * 4 * 14 * 14 * 768 * 3 * 16 * 16


def test_the_gradients_of_a_convolution_that_are_asked_for():
    dims = [[4, 8, 10, 10], [4, 3, 12, 12], [8, 3, 3, 3]]
    values = ["", "", "", "[8]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    both = work("aten::convolution_backward", dims, [*values, "[True, True, True]"])
    one = work("aten::convolution_backward", dims, [*values, "[False, True, False]"])
    assert one.flop == 2 * (4 * 8 * 10 * 10) * 3 * 3 * 3
    assert both.flop == 2 * one.flop


@pytest.mark.parametrize("name", [*FORMULAS, "aten::relu"])
@pytest.mark.parametrize("text", [b"", b"[]", b"[[], []]", b'"x"', b"[1, 2, 3]", b"{"])
def test_arguments_that_are_none(name: str, text: bytes):
    assert operation(name, text, b'["float", "float"]', text) is None


def test_the_innermost_operator_counts_and_a_call_counts_once(tmp_path: Path):
    # aten::linear holds aten::addmm, which launches a product of 1000 us and a reduction of 250.
    device = chosen(
        tmp_path,
        op("aten::linear", 0, 50),
        op("aten::addmm", 5, 40, [[4096], [4096, 4096], [4096, 4096]]),
        launched(1, "gemm", 100, 1000, asked=10),
        launched(2, "splitKreduce", 1200, 250, asked=20),
        launched(3, "relu", 2000, 10, asked=48),
        launched(4, "unknown", 3000, 10, asked=70),
    )
    (found,) = device.useful
    flop = 2 * 4096**3
    assert found.calls == 1
    assert found.flop_per_s == pytest.approx(flop / 1.25e-3)
    assert found.peak_share == pytest.approx(flop / 1.25e-3 / 989.4e12, rel=1e-3)
    sources = {name: k.source for name, k in rows(device).items()}
    assert sources == {
        "gemm": "aten::addmm",
        "splitKreduce": "aten::addmm",
        "relu": "aten::linear",
        "unknown": None,
    }
    product = rows(device)["gemm"].useful
    assert product is not None
    assert product.flop_per_s == pytest.approx(flop / 1e-3)
    assert rows(device)["splitKreduce"].useful is None


def test_useful_operations_say_which_launches_they_cover(tmp_path: Path):
    # Two of three products have shapes: 2 ms of 2.5 ms; of the third they were not recorded.
    shapes = [[4096, 4096], [4096, 4096]]
    events = (
        event("python_function", "nn.Module: Block_3", 0, 100),
        event("user_annotation", "forward", 0, 100),
        op("aten::mm", 0, 20, shapes),
        op("aten::mm", 30, 20, shapes),
        op("aten::other", 60, 20),
        *(launched(i + 1, "gemm", 1100 * i + 100, 1000, asked=30 * i + 5) for i in (0, 1)),
        launched(3, "gemm", 3000, 500, asked=65),
        launched(4, "relu", 4000, 10, asked=90),
    )
    device = chosen(tmp_path, *events)
    (found,) = device.useful
    for by in ("op", "module", "nvtx"):  # whatever is ranked, these figures are of kernels
        ranked = chosen(tmp_path, *events, by=by)
        assert ranked.useful == device.useful
        assert ranked.sm_coverage == device.sm_coverage
    assert (found.calls, found.launches, found.kind_launches) == (2, 2, 3)
    assert found.kind_time_s == pytest.approx(2.5e-3)
    (line,) = lines_of_work(device)
    covered = "2 calls with shapes made 2 of 3 gemm launches, 2.00 ms of 2.50 ms"
    assert line.endswith(f"{covered}; the others are not in it")


def test_other_threads_do_not_launch(tmp_path: Path):
    device = chosen(
        tmp_path, op("aten::mm", 0, 50, tid=7), launched(1, "gemm", 100, 1000, asked=10)
    )
    assert rows(device)["gemm"].source is None


def test_rows_by_operator_module_and_range(tmp_path: Path):
    events = (
        event("python_function", "nn.Module: Block_3", 0, 100),
        event("python_function", "nn.Module: Linear_7", 1, 90),
        event("user_annotation", "forward", 0, 100),
        op("aten::mm", 2, 80),
        launched(1, "gemm_a", 200, 100, asked=10),
        launched(2, "gemm_b", 300, 50, asked=20),
        launched(3, "ncclDevKernel_AllReduce", 400, 10, asked=30),
        kernel("lost", 500, 20),
    )
    for by, name in (("op", "aten::mm"), ("module", "Block"), ("nvtx", "forward")):
        device = chosen(tmp_path, *events, by=by, own_names=True)
        assert {k.name: k.total_s for k in device.kernels} == pytest.approx(
            {name: 150e-6, "(not known)": 20e-6}
        )
        assert [k.apart for k in device.apart] == ["communication"]
    hidden = chosen(tmp_path, *events, by="module").kernels
    assert [k.name for k in hidden] == ["(own name 1)", "(not known)"]
    selection = select(load_timeline(write(tmp_path, trace(*events))), Criteria(by="op"))
    assert not selection.requests  # ncu finds kernels, not operators


@pytest.mark.parametrize(
    ("by", "hint"),
    [("op", "ProfilerActivity.CPU"), ("module", "with_stack=True"), ("nvtx", "record_function")],
)
def test_a_trace_that_names_none_is_refused(tmp_path: Path, by: From, hint: str):
    with pytest.raises(InputError, match=rf"names no .*{by[:2]}|names no range") as refused:
        chosen(tmp_path, launched(1, "gemm", 10, 100), by=by)
    assert hint in (refused.value.hint or "")


def test_ranges_of_an_export(tmp_path: Path):
    export = made.Export(tmp_path / "a.sqlite", made.KERNELS, made.CALLS, made.NVTX)
    export.range("attention", 0, 1000)
    export.range("aten::mm, op_id = 7", 100, 900)
    export.call("cudaLaunchKernel", 200, 250, 1)
    export.kernel("gemm", 2000, 9000, correlation=1)
    timeline = load_timeline(export.done())
    assert select(timeline).kernels[0].source == "aten::mm"
    ranked = select(timeline, Criteria(by="nvtx", own_names=True)).kernels
    assert [k.name for k in ranked] == ["attention"]
