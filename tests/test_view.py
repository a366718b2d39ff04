from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline import analyze
from roofline.errors import UsageError
from roofline.model import Action, Device, Group
from roofline.view import SORT_KEYS, Choice, choose, chosen, gain_s, matching
from tests.makers import TOY_DEVICE, analysis, group, measurement, result, verdict
from tests.shared import REPORTS


def three():
    """1, 6 and 3 ms: 10, 60 and 30 % of the time profiled."""
    return analysis(
        result(measurement("axpy", duration_s=1e-3), verdict(gain=1 / 0.9)),
        result(measurement("sgemm", duration_s=6e-3), verdict(gain=6 / 5.95)),
        result(measurement("gemv", duration_s=3e-3), verdict(gain=3.0)),
    )


def names(part) -> list[str]:
    return [g.result.measurement.name for g in part.analysis.groups]


def test_longest_first_and_nothing_lost():
    part = chosen(three())

    assert names(part) == ["sgemm", "gemv", "axpy"]
    assert [r.measurement.name for r in part.analysis.results] == ["axpy", "sgemm", "gemv"]
    assert part.order == (1, 2, 0)
    assert part.shares == pytest.approx((0.1, 0.6, 0.3))
    assert part.filters == ()


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        (Choice(kernels=(re.compile("gem"),)), ["sgemm", "gemv"]),
        (Choice(kernels=(re.compile("^void axpy"),)), ["axpy"]),  # the signature counts too
        (Choice(kernels=(re.compile("sg"), re.compile("xp"))), ["sgemm", "axpy"]),
        (Choice(kernel_names=("gemv", "gem")), ["gemv"]),
        (Choice(kernels=(re.compile("ax"),), kernel_names=("gemv",)), ["gemv", "axpy"]),
        (Choice(devices=("H100", "toy"), top=1), ["sgemm"]),
        (Choice(top=2), ["sgemm", "gemv"]),
        (Choice(min_share=0.2), ["sgemm", "gemv"]),
        (Choice(sort="name"), ["axpy", "gemv", "sgemm"]),
        (Choice(sort="gain"), ["gemv", "axpy", "sgemm"]),
        (Choice(devices=("toy",)), ["sgemm", "gemv", "axpy"]),
        (Choice(devices=("H100",)), []),
        (Choice(kernels=(re.compile("gem"),), sort="name", top=1), ["gemv"]),
    ],
)
def test_choices(choice, left):
    # gain: gemv could save 3.0 - 1.0 ms, axpy 1.0 - 0.9, sgemm 6.0 - 5.95.
    assert names(choose(three(), choice)) == left


@pytest.mark.parametrize(
    "name",
    ["sum", "void sum<4, true, float *>(float *)", "void sum<(int)4, (bool)1, float*>(T3)"],
)
def test_a_name_is_the_function_or_a_signature_in_any_spelling(name):
    one = result(measurement("sum", demangled="void sum<(int)4, (bool)1, float *>(T3)"))
    other = result(measurement("sum2", demangled="void sum2<(int)4, (bool)1, float *>(T3)"))

    assert names(choose(analysis(one, other), Choice(kernel_names=(name,)))) == ["sum"]
    assert names(choose(analysis(other), Choice(kernel_names=(name,)))) == []


def test_shares_still_refer_to_all():
    part = choose(three(), Choice(kernels=(re.compile("gemv"),)))

    assert part.shares == pytest.approx((0.3,))
    assert part.analysis.groups[0].share == pytest.approx(0.3)
    assert (part.total_launches, part.total_groups) == (3, 3)
    assert part.total_s == pytest.approx(10e-3)
    assert part.filters == ("--kernel gemv",)


def repeated():
    """Kernel a at 0 and 2 (1 and 5 ms), b at 1 (2 ms)."""
    a0, b, a1 = (
        result(measurement(n, index=i, duration_s=t))
        for i, (n, t) in enumerate([("a", 1e-3), ("b", 2e-3), ("a", 5e-3)])
    )
    return replace(
        analysis(a0, b, a1),
        groups=(group(a0, a1, positions=(0, 2), share=0.75), group(b, positions=(1,), share=0.25)),
    )


def test_launches_are_ordered_and_cut_one_by_one():
    part = choose(repeated(), Choice(launches=True, top=2))

    chosen = [part.analysis.results[p].measurement.index for p in part.order]
    assert chosen == [2, 1]  # 5 ms and 2 ms
    assert [g.launches for g in part.analysis.groups] == [(1,), (0,)]  # renumbered


def test_kernels_keep_all_their_launches():
    part = choose(repeated(), Choice(top=1))

    assert [r.measurement.index for r in part.analysis.results] == [0, 2]
    assert part.analysis.groups[0].launches == (0, 1)


def test_a_device_is_an_index_or_a_part_of_a_name():
    first, second = (
        result(measurement(f"on{i}", device=replace(TOY_DEVICE, index=i))) for i in range(2)
    )
    nameless = result(measurement("lost", device=Device()))
    both = analysis(first, second, nameless)

    assert names(choose(both, Choice(devices=("1",)))) == ["on1"]
    assert names(choose(both, Choice(devices=("nvidia t",)))) == ["on0", "on1"]


def test_unknown_values_come_last():
    unknown = result(measurement("unknown", duration_s=None), verdict(gain=None))
    part = analysis(unknown, result(measurement("known")))

    assert names(choose(part, Choice(sort="time"))) == ["known", "unknown"]
    assert names(choose(part, Choice(sort="gain"))) == ["known", "unknown"]
    assert names(choose(part, Choice(min_share=0.01))) == ["known"]


def test_matching_prefers_the_exact_name():
    both = analysis(result(measurement("gemm")), result(measurement("gemm_large", duration_s=9e-3)))

    def found(text: str) -> list[str]:
        return [g.result.measurement.name for g in matching(both, text)]

    assert found("gemm") == ["gemm"]
    assert found("gem") == ["gemm_large", "gemm"]
    assert found("nothing") == []
    with pytest.raises(UsageError, match="not a regular expression"):
        found("float *)")


@pytest.mark.parametrize("wrong", [{"min_share": float("nan")}, {"min_share": 2.0}, {"sort": "x"}])
def test_what_is_no_choice_is_refused(wrong):
    with pytest.raises(UsageError):
        Choice(**wrong)


def test_bounds():
    judged = result(measurement(duration_s=1e-3), verdict(gain=1.25))

    assert gain_s(judged) == pytest.approx(0.2e-3)
    assert gain_s(result(measurement(duration_s=1e-3), verdict(gain=None))) is None


def test_by_gain_what_saves_most_comes_first_and_what_is_left_alone_last():
    # 10 ms with 1.11x save 1 ms, 4 ms with 1.5x 1.33 ms; 50 ms are as near their ceiling as can be.
    small = result(measurement("small", duration_s=10e-3))
    large = result(measurement("large", duration_s=4e-3), verdict(gain=1.5, gain_by="waste"))
    full = result(measurement("full", duration_s=50e-3), verdict(action=Action.LEAVE))

    ranked = choose(analysis(small, full, large), Choice(sort="gain"))

    assert names(ranked) == ["large", "small", "full"]
    assert [row.saved_s for row in ranked.rows(launches=False)] == [
        pytest.approx(4e-3 / 3),
        pytest.approx(1e-3),
        None,
    ]


def test_by_gain_what_is_proven_comes_before_the_room_under_a_ceiling():
    room = result(measurement("room", duration_s=6e-3), verdict(gain=2.0, gain_by="headroom"))
    waste = result(measurement("waste", duration_s=1e-3), verdict(gain=2.0, gain_by="waste"))
    # 0.5 % of the time: too little to come first
    tiny = result(measurement("tiny", duration_s=7e-5), verdict(gain=2.0, gain_by="waste"))
    rest = result(measurement("rest", duration_s=0.0), verdict(gain=1.0, gain_by="headroom"))

    ranked = choose(analysis(tiny, room, rest, waste), Choice(sort="gain"))

    assert names(ranked) == ["waste", "room", "tiny", "rest"]


@pytest.mark.skipif(not REPORTS, reason="no public reports at hand")
def test_by_gain_the_kernel_that_its_author_made_faster_comes_first():
    before, after = (
        analyze(next(path for path in REPORTS if path.stem.endswith(version)))
        for version in ("MW_Baseline", "MW_DivToMult")
    )
    came = {
        g.result.measurement.name: g.total_s - after[g.result.measurement.name].total_s
        for g in before.groups
    }

    first = choose(before, Choice(sort="gain")).analysis.groups[0].result

    assert first.measurement.name == max(came, key=came.get) == "compute_tendencies_x_279_gpu"
    assert first.verdict.gain == pytest.approx(1.86, abs=0.005)  # 1.78 came


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(1e-9, 1)), min_size=1, max_size=8),
    st.sampled_from(list(SORT_KEYS)),
    st.booleans(),
    st.none() | st.integers(1, 4),
)
def test_whatever_is_chosen_fits_together(kernels, sort, launches, top):
    results = tuple(
        result(measurement(n, index=i, duration_s=t)) for i, (n, t) in enumerate(kernels)
    )
    total = sum(t for _, t in kernels)
    groups = tuple(
        group(
            *(results[i] for i in places),
            positions=tuple(places),
            share=sum(kernels[i][1] for i in places) / total,
        )
        for name in dict.fromkeys(n for n, _ in kernels)
        if (places := [i for i, (n, _) in enumerate(kernels) if n == name])
    )
    everything = replace(analysis(*results), groups=groups)

    part = choose(everything, Choice(sort=sort, launches=launches, top=top))

    indices = [r.measurement.index for r in part.analysis.results]
    assert indices == sorted(indices)
    assert sorted(part.order) == list(range(len(indices)))
    assert sorted(p for g in part.analysis.groups for p in g.launches) == list(range(len(indices)))
    assert len(part.order if launches else part.analysis.groups) <= (top or len(kernels))
    for kept in part.analysis.groups:
        assert _kernels(part, kept) == {kept.result.measurement.name}


def _kernels(part, kept: Group) -> set[str]:
    return {part.analysis.results[p].measurement.name for p in kept.launches}
