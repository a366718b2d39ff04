import pytest

from roofline.counters.peaks import report_peaks
from roofline.counters.tensor import TensorWork
from roofline.model import Device
from tests.metrics import PlainMetrics

A4500 = Device(sm_count=56, dram_clock_max_hz=8.001e9, dram_bus_bits=320)


def peaks(values=None, device=A4500, *, sm=1e9, dram=None, tensor=None, l1=False):
    return report_peaks(
        PlainMetrics(values or {}),
        device,
        sm_clock_hz=sm,
        dram_clock_hz=dram,
        tensor=tensor or TensorWork(),
        l1_measured=l1,
    )


def test_dram_peak_is_bytes_a_cycle_at_the_measured_clock():
    found, notes = peaks({"dram__bytes.sum.peak_sustained": 80.0}, dram=7.5e9)

    assert found.dram_bytes_per_s == 6.0e11
    assert notes == ()


def test_an_implausible_dram_peak_is_not_believed():
    # 2080 Ti: 2 x 7.0 GHz x 352 bit / 8 = 616 GB/s, and the counters say 637
    device = Device(dram_clock_max_hz=7.0e9, dram_bus_bits=352)
    found, notes = peaks({"dram__bytes.sum.peak_sustained": 91.0}, device, dram=7.0e9)

    assert found.dram_bytes_per_s == pytest.approx(6.16e11)
    assert [note.code for note in notes] == ["dram_peak_implausible"]


@pytest.mark.parametrize(("clock", "peak"), [(7.5e9, 6.0e11), (None, 6.4008e11)])
def test_without_the_counter_bus_and_clock_tell(clock, peak):
    found, _ = peaks(dram=clock)

    assert found.dram_bytes_per_s == pytest.approx(peak)


def test_no_bus_no_peak():
    assert peaks(device=Device())[0].dram_bytes_per_s is None


def test_vector_peaks_count_an_fma_as_two_and_half_as_four():
    prefix = "sm__sass_thread_inst_executed_op_{}fma_pred_on.sum.peak_sustained"
    found, _ = peaks({prefix.format("f"): 7168.0, prefix.format("h"): 7168.0}, sm=2e9)

    assert found.operations_per_s == {"fp32": 2 * 7168 * 2e9, "fp16": 4 * 7168 * 2e9}
    assert "SM clock" in found.how["fp32"]


def test_tensor_peaks_are_dense_and_sparse_apart():
    prefix = "sm__ops_path_tensor_src_bf16_dst_fp32"
    found, _ = peaks(
        {
            f"{prefix}.sum.peak_sustained": 8192.0,
            f"{prefix}_sparsity_off.sum.peak_sustained": 4096.0,
            f"{prefix}_sparsity_on.sum.peak_sustained": 8192.0,
        }
    )

    assert found.operations_per_s == {"tensor_bf16": 4096e9, "tensor_bf16_sparse": 8192e9}


def test_a_parent_counter_has_the_sparse_peak_and_is_not_used():
    found, _ = peaks({"sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained": 8192.0})

    assert found.operations_per_s == {}


def test_mma_sync_has_a_lower_roof_on_hopper():
    prefix = "sm__ops_path_tensor_op_"
    values = {
        f"{prefix}hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained": 540_672.0,
        f"{prefix}hmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained": 360_448.0,
    }

    assert peaks(values)[0].operations_per_s["tensor_bf16"] == 540_672e9
    slow = peaks(values, tensor=TensorWork(path="mma_sync"))[0]
    assert slow.operations_per_s["tensor_bf16"] == 360_448e9


def test_single_bit_products_of_one_warp_have_their_own_roof():
    # GH200: 65,536 operations a cycle and SM by warpgroups, 43,690.67 by single warps
    values = {
        "sm__ops_path_tensor_src_int1.sum.peak_sustained": 65_536.0,
        "sm__ops_path_tensor_op_bmma_src_int1.sum.peak_sustained": 43_690.0,
    }

    assert peaks(values)[0].operations_per_s["tensor_int1"] == 65_536e9
    slow = peaks(values, tensor=TensorWork(path="mma_sync"))[0]
    assert slow.operations_per_s["tensor_int1"] == 43_690e9


def test_blackwell_ultra_has_roofs_of_fp8_and_fp6():
    prefix = "sm__ops_path_tensor_op_utcqmma_"
    found, _ = peaks(
        {
            f"{prefix}src_fp8_dst_fp32_sparsity_off.sum.peak_sustained": 16_384.0,
            f"{prefix}src_fp4_fp6_dst_fp32_sparsity_on.sum.peak_sustained": 32_768.0,
        }
    )

    assert found.operations_per_s == {"tensor_fp8": 16_384e9, "tensor_fp6_sparse": 32_768e9}


def test_without_a_clock_there_are_no_rates():
    prefix = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"

    assert peaks({prefix: 7168.0}, sm=None)[0].operations_per_s == {}


def test_l2_peak_from_its_own_percentage():
    # 1e9 sectors/s at 25 % are 4e9 sectors/s of 32 bytes
    found, _ = peaks(
        {
            "lts__t_sectors.sum.per_second": 1e9,
            "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": 25.0,
        }
    )

    assert found.l2_bytes_per_s == 1.28e11


def test_l1_peak_only_where_l1_is_measured():
    assert peaks()[0].l1_bytes_per_s is None
    assert peaks(l1=True)[0].l1_bytes_per_s == 128 * 56 * 1e9


def test_l2_peak_from_a_count_over_the_duration():
    # 1e6 sectors in 1/4 s are 4e6 sectors/s, at 25 % of 16e6 sectors/s of 32 bytes
    found, _ = peaks(
        {
            "lts__t_sectors.sum": 1e6,
            "gpu__time_duration.sum": 0.25,
            "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": 25.0,
        }
    )

    assert found.l2_bytes_per_s == 5.12e8
