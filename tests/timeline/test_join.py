"""Floors of a report times shares of a timeline: what the step gains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from roofline.model import Device
from roofline.render import joined as render_joined
from roofline.render.selection_json import joined_document
from roofline.timeline.join import Coverage, join
from roofline.timeline.model import (
    Apart,
    Criteria,
    KernelShare,
    Selection,
    TimelineDevice,
    Use,
    Useful,
)
from tests.makers import analysis, measurement, result, verdict


def share(base: str, exposed: float, wall: float | None = None, **values: Any) -> KernelShare:
    given: dict[str, Any] = {
        "name": f"void {base}(float *)",
        "base_name": base,
        "grid": (100, 1, 1),
        "block": (256, 1, 1),
        "device": 0,
        "instances": 3,
        "total_s": 1e-3,
        "kernel_share": wall or exposed,
        "exposed_share": exposed,
        "wall_share": wall or exposed,
    }
    return KernelShare(**(given | values))


def selection(*kernels: KernelShare, apart: tuple[KernelShare, ...] = ()) -> Selection:
    times = dict.fromkeys(("kernel_s", "compute_s", "busy_s"), 0.9)
    use = Use(**(dict.fromkeys(Use.__slots__, 0.0) | times | {"wall_s": 1.0}))
    device = TimelineDevice(
        index=0, device=Device(name="NVIDIA Toy"), use=use, steps=(), kernels=kernels, apart=apart
    )
    return Selection(file="t.json", format="kineto", steps="recording", devices=(device,), device=0)


def profiled(name: str, *, floor: float | None = 0.25e-3, **values: Any) -> Any:
    """1 ms with a floor of 0.25 ms: three quarters could go."""
    return result(measurement(name, **values), verdict(floor_s=floor))


def test_a_floor_becomes_a_gain_for_the_step():
    # 40 % of the step, three quarters of that to win: 30 %, so 1 / 0.7.
    found = join(analysis(profiled("k")), selection(share("k", 0.4)))

    (kernel,) = found.kernels
    assert kernel.saved_at_most == (pytest.approx(0.3), pytest.approx(0.3))
    assert kernel.step_speedup_at_most[0] == pytest.approx(1 / 0.7)
    assert not found.unprofiled
    assert not found.unmatched


def test_overlap_gives_a_range():
    # Alone for 20 %, running for 40 %: 15 % to 30 %.
    (kernel,) = join(analysis(profiled("k")), selection(share("k", 0.2, 0.4))).kernels
    assert kernel.saved_at_most == (pytest.approx(0.15), pytest.approx(0.3))


def test_the_rank_is_by_gain_not_by_share():
    # big: 50 % of the step, 10 % to win: 5 %. small: 20 % and three quarters: 15 %.
    found = join(
        analysis(profiled("big", floor=0.9e-3), profiled("small")),
        selection(share("big", 0.5), share("small", 0.2)),
    )
    assert [k.share.base_name for k in found.kernels] == ["small", "big"]


def test_a_floor_above_the_duration_saves_nothing():
    (kernel,) = join(analysis(profiled("k", floor=1.2e-3)), selection(share("k", 0.4))).kernels
    assert kernel.saved_at_most == (0, 0)
    assert kernel.step_speedup_at_most == (1, 1)


@pytest.mark.parametrize("values", [{"floor": None}, {"duration_s": None}])
def test_without_a_floor_the_gain_is_not_known(values: dict[str, Any]):
    (kernel,) = join(analysis(profiled("k", **values)), selection(share("k", 0.4))).kernels
    assert kernel.saved_at_most == kernel.step_speedup_at_most == (None, None)


def test_without_wall_time_the_gain_is_not_known():
    known = share("k", 0.4, exposed_share=None, wall_share=None)
    (kernel,) = join(analysis(profiled("k")), selection(known)).kernels
    assert kernel.saved_at_most == (None, None)


def test_grid_and_block_tell_kernels_apart():
    small = share("k", 0.1, grid=(1, 1, 1))
    found = join(analysis(profiled("k")), selection(share("k", 0.4), small))
    assert found.kernels[0].share.exposed_share == 0.4
    assert found.unprofiled == (small,)


def test_a_timeline_without_grids_matches_by_name():
    found = join(analysis(profiled("k")), selection(share("k", 0.4, grid=None, block=None)))
    assert len(found.kernels) == 1


def test_a_mangled_symbol_is_not_needed_where_demanglers_differ():
    gnu = share("k", 0.4, name="void n::k<4, true>(float*)")
    other = share("k", 0.1, name="void n::k<8, true>(float*)")
    edg = profiled("k", demangled="void n::k<(int)4, (bool)1>(T1)")
    assert join(analysis(edg), selection(gnu, other)).kernels[0].share is gnu


def test_what_could_be_several_is_said_to_be():
    two = (share("k", 0.4, name="void k<A>()"), share("k", 0.1, name="void k<B>()"))
    found = join(analysis(profiled("k", demangled="void k<C>(int)")), selection(*two))
    assert not found.kernels
    assert len(found.ambiguous) == 1
    assert found.unprofiled == two


def test_what_was_asked_for_and_not_found():
    wanted = share("wanted", 0.4, chosen=True)
    other = share("other", 0.1)
    found = join(analysis(profiled("stray")), selection(wanted, other))
    assert found.unprofiled == (wanted, other)
    assert [g.result.measurement.name for g in found.unmatched] == ["stray"]


def test_a_short_kernel_that_was_profiled_is_joined():
    short = share("s", 0.01, apart=Apart.SHORT)
    assert join(analysis(profiled("s")), selection(apart=(short,))).kernels[0].share is short


def joined() -> Any:
    return join(
        analysis(profiled("k"), profiled("stray")),
        selection(share("k", 0.2, 0.4), share("wanted", 0.3, chosen=True), share("other", 0.1)),
    )


def test_the_table_says_gains_and_what_is_missing():
    text = render_joined.render(joined())
    assert "1.18x to 1.43x" in text  # 1 / 0.85 and 1 / 0.7
    assert "25.0 %" in text  # floor of duration
    assert "asked for and not in the report: wanted 30.0 % (exposed, of the wall time)" in text
    assert "not profiled: other 10.0 %" in text
    assert "profiled, but not in the timeline: stray" in text


def test_what_was_profiled_is_held_against_all_that_matches():
    names = ("gemm_a", "gemm_b", "softmax", "sliver")
    walls = (0.3, 0.2, 0.4, 0.1)
    kernels = [share(n, 0.1, w, total_s=10 * w) for n, w in zip(names, walls, strict=True)]
    profiled_ = analysis(profiled("gemm_a"), profiled("softmax"), profiled("stray"))
    everything = join(profiled_, selection(*kernels))
    assert everything.coverage == Coverage(
        words=(), kernels=2, of_kernels=4, time_share=pytest.approx(0.7), wall_share=0.7
    )
    # Of two that are GEMMs one was profiled: 3 of 5 s, 30 % of the step.
    asked = replace(selection(*kernels), steps="ranges", asked=Criteria(kernels=("gemm",)))
    gemms = join(profiled_, asked)
    assert gemms.coverage.kernels == 1
    for rendered in (render_joined.render(gemms), render_joined.markdown(gemms)):
        line = "Profiled: 1 of 2 gemm kernels, 60.0 % of their time, 30.0 % of the step\n"
        assert line in rendered
    document = msgspec.to_builtins(joined_document(gemms))["coverage"]
    assert document == {
        "words": ("gemm",),
        "kernels": 1,
        "of_kernels": 2,
        "time_share": pytest.approx(0.6),
        "wall_share": pytest.approx(0.3),
    }


def test_without_a_wall_time_only_the_kernels_time_is_said():
    known = share("k", 0.1, wall_share=None)
    found = join(analysis(profiled("k")), replace(selection(known), steps="summary"))
    assert "Profiled: 1 of 1 kernel, 100.0 % of their time\n" in render_joined.render(found)


def test_kernels_of_one_name_are_listed_once():
    others = [share("gemm", 0.05, grid=(i, 1, 1)) for i in range(3)]
    found = join(
        analysis(profiled("k")), selection(share("conv", 0.1), *others, share("add", 0.01))
    )
    text = render_joined.render(found)
    assert "not profiled: gemm 15.0 % in 3 kernels, conv 10.0 %, add 1.0 % (exposed" in text


def test_markdown_has_the_same():
    text = render_joined.markdown(joined())
    assert "| 1 | `k(float *)` |" in text or "| 1 | `k` |" in text
    assert "1.18x to 1.43x" in text
    assert "not in the report: wanted" in text


def test_the_document_is_complete():
    document = msgspec.to_builtins(joined_document(joined()))
    (kernel,) = document["kernels"]
    assert kernel["saved_at_most"] == (pytest.approx(0.15), pytest.approx(0.3))
    assert kernel["launches"] == (0,)
    assert [k["base_name"] for k in document["unprofiled"]] == ["wanted", "other"]
    assert document["unmatched"] == [(1,)]


def test_nothing_in_common():
    text = render_joined.render(join(analysis(profiled("a")), selection(share("b", 0.4))))
    assert "No profiled kernel is in the timeline." in text


def asked(flop: float, moved: float, *, alike: bool = True) -> Useful:
    """Three calls of a matrix product that together ask for so much."""
    how: dict[str, Any] = {"kind": "matmul", "precision": "tensor_bf16", "time_s": 1e-3}
    return Useful(flop=flop, compulsory_bytes=moved, calls=3, alike=alike, **how)


def test_counters_are_held_against_what_the_shapes_ask_for():
    # 1.5e9 operations where 1e9 are asked for, 8 MB where 2 MB would do.
    counted = profiled("k", operations={"tensor_bf16": 1.5e9}, dram_bytes=8e6)
    joined = join(analysis(counted), selection(share("k", 0.4, useful=asked(3e9, 6e6))))
    (kernel,) = joined.kernels
    assert kernel.executed_of_useful == pytest.approx(1.5)
    assert kernel.moved_of_compulsory == pytest.approx(4)
    said = "k executes 1.5 times the operations asked for and moves 4 times the compulsory bytes"
    assert said in render_joined.render(joined)
    assert joined_document(joined).kernels[0].moved_of_compulsory == pytest.approx(4)


def test_launches_that_ask_for_different_work_have_no_ratio():
    work = asked(3e9, 6e6, alike=False)
    (kernel,) = join(analysis(profiled("k")), selection(share("k", 0.4, useful=work))).kernels
    assert kernel.executed_of_useful is None
