from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.compare.pairing import pair
from roofline.errors import UsageError
from roofline.model import Analysis, Kind
from tests.compare.pairs import capture, launch
from tests.makers import TOY_DEVICE


def named(analysis: Analysis, positions: tuple[int, ...]) -> list[str]:
    return [analysis.groups[i].result.measurement.demangled for i in positions]


def pairs_of(before: Analysis, after: Analysis, **options: Any) -> dict[str, str]:
    """BEFORE's names to AFTER's, each side joined by "+"."""
    return {
        "+".join(sorted(named(before, m.before))): "+".join(sorted(named(after, m.after)))
        for m in pair(before, after, **options)
    }


def kernel(name: str, **values: Any) -> Any:
    return launch(name, demangled=name, **values)


def test_the_same_kernel_at_two_sizes_pairs_by_grid() -> None:
    small, large = kernel("gemm", grid=(8, 1, 1)), kernel("gemm", grid=(64, 1, 1), us=9000)

    before, after = capture(small, large), capture(large, small)

    matches = pair(before, after)
    assert len(matches) == 2
    for match in matches:
        grids = {
            side.groups[i].result.measurement.grid
            for side, positions in ((before, match.before), (after, match.after))
            for i in positions
        }
        assert len(grids) == 1
        assert match.how.code == "by_name_and_launch"


def test_template_arguments_changed() -> None:
    before = capture(kernel("void gemm<128>(int)"), kernel("void norm<4>(int)"))
    after = capture(kernel("void norm<8>(int)"), kernel("void gemm<256>(int)"))

    assert pairs_of(before, after) == {
        "void gemm<128>(int)": "void gemm<256>(int)",
        "void norm<4>(int)": "void norm<8>(int)",
    }


def test_of_several_instantiations_the_most_alike_pair() -> None:
    before = capture(kernel("void ew<Add, 2>(int)"), kernel("void ew<Multiply, 2>(int)"))
    after = capture(kernel("void ew<Multiply, 4>(int)"), kernel("void ew<Add, 4>(int)"))

    assert pairs_of(before, after) == {
        "void ew<Add, 2>(int)": "void ew<Add, 4>(int)",
        "void ew<Multiply, 2>(int)": "void ew<Multiply, 4>(int)",
    }


def test_one_launch_shape_became_two_that_do_its_work() -> None:
    before = capture(kernel("gemm", grid=(100, 1, 1), operations={"fp32": 90e6}))
    after = capture(
        kernel("gemm", grid=(70, 1, 1), operations={"fp32": 60e6}),
        kernel("gemm", grid=(30, 1, 1), operations={"fp32": 30e6}),
    )

    (match,) = pair(before, after)

    assert match.kind == "one_to_many"
    assert pair(after, before)[0].kind == "many_to_one"


def test_two_shapes_with_far_more_work_are_no_split() -> None:
    before = capture(kernel("gemm", grid=(100, 1, 1), operations={"fp32": 90e6}))
    after = capture(
        kernel("gemm", grid=(70, 1, 1), operations={"fp32": 90e6}),
        kernel("gemm", grid=(30, 1, 1), operations={"fp32": 90e6}),
    )

    (match,) = pair(before, after)

    assert match.kind == "one_to_one"


def test_unlike_names_do_not_pair_by_guess() -> None:
    before = capture(kernel("softmax"), kernel("gemm"))
    after = capture(kernel("gemm"), kernel("layernorm", grid=(7, 1, 1)))

    assert pairs_of(before, after) == {"gemm": "gemm"}


def test_the_only_kernel_on_each_side_pairs_whatever_its_name() -> None:
    (match,) = pair(capture(kernel("naive")), capture(kernel("fast", grid=(3, 1, 1))))

    assert match.how.code == "by_being_alone"


def test_a_range_never_pairs_with_a_kernel() -> None:
    assert pair(capture(kernel("a")), capture(kernel("a", kind=Kind.RANGE))) == ()


def test_maps_make_a_fusion_one_pair() -> None:
    before = capture(kernel("scale"), kernel("softmax"), kernel("gemm"))
    after = capture(kernel("fused_attention"), kernel("gemm"))

    found = pairs_of(before, after, maps=[("scale", "fused"), ("softmax", "fused")])

    assert found == {"scale+softmax": "fused_attention", "gemm": "gemm"}


def test_a_map_to_nothing_names_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"(?s)AFTER has no kernel 'sofmax'.*softmax"):
        pair(capture(kernel("softmax")), capture(kernel("softmax")), maps=[("softmax", "sofmax")])


LAUNCHES = st.lists(
    st.builds(
        lambda name, grid, us: kernel(name, grid=(grid, 1, 1), us=us),
        st.sampled_from(["gemm", "gemm_v2", "void gemm<4>(int)", "softmax", "softmax_kernel", "x"]),
        st.sampled_from([1, 8, 64]),
        st.sampled_from([10.0, 100.0]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(before=LAUNCHES, after=LAUNCHES)
def test_pairing_is_a_partial_matching(before: list[Any], after: list[Any]) -> None:
    left, right = capture(*before), capture(*after)

    matches = pair(left, right)

    for positions, groups in (
        (Counter(p for m in matches for p in m.before), left.groups),
        (Counter(p for m in matches for p in m.after), right.groups),
    ):
        assert all(count == 1 for count in positions.values())
        assert set(positions) <= set(range(len(groups)))


@settings(max_examples=30, deadline=None)
@given(launches=LAUNCHES)
def test_a_capture_pairs_with_itself_kernel_by_kernel(launches: list[Any]) -> None:
    side = capture(*launches)

    matches = pair(side, side)

    assert sorted(m.before for m in matches) == [(i,) for i in range(len(side.groups))]
    assert all(m.before == m.after for m in matches)


def on(gpu: str | None, name: str, **values: Any) -> Any:
    return kernel(name, device=replace(TOY_DEVICE, name=gpu), **values)


def test_only_kernels_of_one_gpu_pair_where_both_sides_have_several() -> None:
    # One name on both, in another order; and on each a kernel that is the only one.
    before = capture(on("A", "gemm", us=1), on("B", "gemm", us=9), on("C", "old"))
    after = capture(on("B", "gemm", us=8), on("A", "gemm", us=2), on("C", "tuned"))
    found = [
        tuple(
            side.groups[i].result.measurement.device.name
            for side, (i,) in ((before, m.before), (after, m.after))
        )
        for m in pair(before, after)
    ]

    assert sorted(found) == [("A", "A"), ("B", "B"), ("C", "C")]
    assert [m.how.code for m in pair(before, after)][-1] == "by_being_alone"
    # A GPU that one side alone has pairs with none; where none is common, all is compared.
    assert len(pair(before, capture(on("D", "gemm"), on("A", "gemm")))) == 1
    assert len(pair(capture(on("A", "gemm")), capture(on("B", "gemm")))) == 1
    assert len(pair(capture(on(None, "gemm")), capture(on("B", "gemm"), on("A", "x")))) == 1
    # What a map names may be of another GPU.
    crossed = pair(before, after, maps=[("gemm", "tuned")])
    assert [(len(m.before), len(m.after)) for m in crossed] == [(2, 1)]
