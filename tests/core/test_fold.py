import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.fold import fold, key_of
from roofline.model import Device, Peaks, Stall
from tests.makers import measurement, unit


def test_one_launch_is_itself():
    only = measurement()

    assert fold([only]) is only


def test_intensity_of_a_group_is_a_sum_over_a_sum():
    # 10 over 1 and 30 over 9 bytes: 40/10 = 4, where the mean of the ratios would be 6.67
    folded = fold(
        [
            measurement(operations={"fp32": 10.0}, dram_bytes=1.0),
            measurement(operations={"fp32": 30.0}, dram_bytes=9.0),
        ]
    )

    assert folded.arithmetic_intensity == 4.0


def test_utilisation_is_weighted_by_time():
    # 1 ms at 90 % and 3 ms at 50 %: 2.4 ms of 4
    folded = fold(
        [
            measurement(duration_s=1e-3, units=(unit("dram", 90.0),)),
            measurement(duration_s=3e-3, units=(unit("dram", 50.0),)),
        ]
    )

    assert folded.units[0].percent == pytest.approx(60.0)
    assert folded.duration_s == pytest.approx(4e-3)
    assert folded.count == 2


def test_what_one_launch_lacks_the_sum_lacks():
    folded = fold([measurement(), measurement(dram_bytes=None, operations={}, units=())])

    assert folded.dram_bytes is None
    assert folded.total_operations is None
    assert folded.units == ()


def test_facts_stay_where_all_agree():
    folded = fold(
        [
            measurement(registers_per_thread=32.0, occupancy_limiter="registers"),
            measurement(registers_per_thread=32.0, occupancy_limiter="warps"),
        ]
    )

    assert folded.registers_per_thread == 32.0
    assert folded.occupancy_limiter is None


def test_stall_shares_are_weighted_by_time():
    folded = fold(
        [
            measurement(duration_s=1.0, stalls=(Stall(reason="wait", share=1.0),)),
            measurement(duration_s=3.0, stalls=(Stall(reason="barrier", share=1.0),)),
        ]
    )

    assert [(s.reason, s.share) for s in folded.stalls] == [("barrier", 0.75), ("wait", 0.25)]


def test_peaks_are_what_the_device_could_do_in_that_time():
    def at(rate: float) -> Peaks:
        return Peaks(
            kind="report", source="", dram_bytes_per_s=rate, operations_per_s={"fp32": rate}
        )

    folded = fold(
        [measurement(duration_s=1.0, peaks=at(2e12)), measurement(duration_s=1.0, peaks=at(4e12))]
    )

    assert folded.peaks.dram_bytes_per_s == 3e12
    assert folded.peaks.operations_per_s == {"fp32": 3e12}


@pytest.mark.parametrize(
    "other",
    [
        {"grid": (101, 1, 1)},
        {"block": (128, 1, 1)},
        {"demangled": "void kernel(int *)"},
        {"device": Device(name="NVIDIA Other")},
    ],
)
def test_a_kernel_is_its_name_grid_block_and_device(other):
    assert key_of(measurement()) == key_of(measurement(index=7, duration_s=2.0))
    assert key_of(measurement()) != key_of(measurement(**other))


amounts = st.lists(
    st.tuples(st.floats(1e-6, 1.0), st.floats(1.0, 1e9), st.floats(1.0, 1e9), st.floats(0, 100)),
    min_size=1,
    max_size=6,
)


@given(amounts)
def test_a_fold_lies_between_its_launches_and_forgets_their_order(launches):
    members = [
        measurement(duration_s=t, dram_bytes=b, operations={"fp32": o}, units=(unit("dram", u),))
        for t, b, o, u in launches
    ]
    folded, backwards = fold(members), fold(members[::-1])

    intensities = [m.arithmetic_intensity for m in members]
    assert min(intensities) * 0.999 <= folded.arithmetic_intensity <= max(intensities) * 1.001
    percents = [m.units[0].percent for m in members]
    assert min(percents) - 1e-6 <= folded.units[0].percent <= max(percents) + 1e-6
    assert folded.duration_s == pytest.approx(backwards.duration_s)
    assert folded.units[0].percent == pytest.approx(backwards.units[0].percent)
