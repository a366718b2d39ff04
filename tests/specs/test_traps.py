"""Where other tables are wrong, each with the right value and the working."""

from __future__ import annotations

import pytest

from roofline.model import Device
from roofline.specs import Spec, load

REGISTRY = load()


def gpu(key: str) -> Spec:
    return REGISTRY.specs[key]


def tera(key: str, operation: str, **how: str) -> float:
    """Peak in 10^12 operations a second; ``how`` maps an operation key to its accumulator."""
    return gpu(key).peaks(accumulate=how).operations_per_s[operation] / 1e12


@pytest.mark.parametrize(
    ("key", "operation", "right"),
    [
        # 132 SMs x 4096 x 1830 MHz; 1979 is sparse, 1071 is the boost clock of 1980 MHz
        ("h100-sxm5-80gb", "tensor_bf16", 989.4),
        ("h100-sxm5-80gb", "tensor_fp8", 1978.9),
        ("h100-sxm5-80gb", "tensor_tf32", 494.7),  # 156 is the A100's
        ("h100-pcie-80gb", "tensor_bf16", 756.4),  # 114 x 4096 x 1620 MHz
        ("h100-nvl-94gb", "tensor_bf16", 835.3),  # 132 x 4096 x 1545 MHz
        ("h200-sxm-141gb", "tensor_bf16", 989.4),
        ("a100-sxm4-80gb", "tensor_bf16", 311.9),  # 108 x 2048 x 1410 MHz; 624 is sparse
        ("a10", "tensor_fp16", 125.0),  # 72 x 1024 x 1695 MHz
        ("a10g", "tensor_fp16", 70.0),  # 80 x 512 x 1710 MHz; 125 is the A10's
        ("a10g", "tensor_bf16", 70.0),
        ("a2", "tensor_fp16", 18.1),  # 36 is sparse
        ("a40", "tensor_fp16", 149.7),
        ("l4", "tensor_bf16", 121.2),  # 58 x 1024 x 2040 MHz; 242 is sparse
        ("l4", "tensor_fp8", 242.3),  # 485 is sparse
        ("l40", "tensor_fp16", 181.0),  # 142 x 512 x 2490 MHz: half of the L40S
        ("l40s", "tensor_bf16", 366.4),  # 733 is sparse
        ("l20", "tensor_fp16", 118.7),
        ("rtx-3090", "tensor_fp16", 71.2),  # 82 x 512 x 1695 MHz; 142 accumulates in FP16
        ("rtx-4090", "tensor_fp16", 165.2),
        ("rtx-4090", "tensor_fp8", 330.3),
        ("rtx-5090", "tensor_fp16", 209.5),  # 838 is sparse with FP16 accumulation
        ("rtx-5070", "tensor_fp16", 61.7),  # 246 likewise
        ("rtx-4070-laptop", "tensor_fp16", 31.2),  # 36 x 512 x 1695 MHz; 147 in another table
        ("rtx-a6000", "tensor_fp16", 154.8),  # 310 is sparse
        ("rtx-a5000", "tensor_fp16", 111.1),  # 222 is sparse
        ("rtx-a4000", "tensor_fp16", 76.7),  # 153 is sparse
        ("h800-sxm5", "fp64", 1.05),  # 132 x 4 x 1980 MHz; 33.5 is the H100's
        ("h20", "tensor_bf16", 148.0),  # 78 x 1024 x 1853 MHz
        ("b200-sxm-180gb", "tensor_bf16", 2250.2),  # 148 x 8192 x 1856 MHz
        ("gb300", "tensor_fp4", 15002),  # 152 x 49152 x 2008 MHz; 20 PFLOP/s are sparse
        ("b300-sxm-288gb", "fp64", 1.2),
        ("b300-sxm-288gb", "tensor_int8", 154.0),  # at 2032 MHz: no longer on the tensor cores
        ("t4", "tensor_fp16", 65.1),
    ],
)
def test_peaks_that_other_tables_have_wrong(key: str, operation: str, right: float) -> None:
    assert tera(key, operation) == pytest.approx(right, rel=0.005)


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("l4", 300e9),  # 3350 is an H100
        ("h200-sxm-141gb", 4.8e12),
        ("h100-sxm5-80gb", 3.352e12),
        ("h100-pcie-80gb", 2.039e12),
        ("a100-sxm4-40gb", 1.555e12),  # 2039 is the 80 GB part
        ("a100-pcie-80gb", 1.935e12),
        ("v100-sxm2-16gb", 898e9),  # 1130 is the V100S
        ("v100s-pcie-32gb", 1.134e12),
        ("rtx-2080-ti", 616e9),  # 637 by the report's own peak_sustained x clock
        ("gh200-96gb", 4.023e12),
        ("t4", 320e9),
        ("rtx-pro-6000-blackwell-server", 1.597e12),  # 1792 is the Workstation card
        ("b200-sxm-180gb", 7.67e12),  # 7680 bits at 3996 MHz; 4.1 TB/s is one die
    ],
)
def test_bandwidths_that_other_tables_have_wrong(key: str, right: float) -> None:
    assert gpu(key).dram_bytes_per_s == pytest.approx(right, rel=0.005)


@pytest.mark.parametrize(
    ("key", "sms", "l2_mib"),
    [("a10g", 80, 6), ("l4", 58, 48), ("a100-pcie-80gb", 108, 40), ("h200-sxm-141gb", 132, 60)],
)
def test_shapes_that_other_tables_have_wrong(key: str, sms: int, l2_mib: float) -> None:
    assert (gpu(key).sm_count, gpu(key).l2_bytes) == (sms, l2_mib * 2**20)


def test_fp16_accumulation_doubles_the_rate_of_geforce_cards_only() -> None:
    for key, fp32, fp16 in [("rtx-4090", 165.2, 330.3), ("rtx-2080-ti", 53.8, 107.6)]:
        assert tera(key, "tensor_fp16") == pytest.approx(fp32, rel=0.005)
        assert tera(key, "tensor_fp16", tensor_fp16="fp16") == pytest.approx(fp16, rel=0.005)
    assert tera("l4", "tensor_fp16", tensor_fp16="fp16") == tera("l4", "tensor_fp16")


def test_hopper_code_without_wgmma_has_a_roof_of_its_own() -> None:
    # 132 x 2730.67 x 1830 MHz = 659.6, two thirds of 989.4; FP8 has no such rate on record.
    slow = gpu("h100-sxm5-80gb").peaks(tensor_path="mma_sync").operations_per_s

    assert slow["tensor_bf16"] / 1e12 == pytest.approx(659.6, rel=0.001)
    assert slow["tensor_fp64"] / 1e12 == pytest.approx(66.9, rel=0.001)
    assert slow["tensor_bf16_sparse"] == pytest.approx(1.5 * slow["tensor_bf16"])
    assert "tensor_fp8" not in slow
    assert gpu("h100-sxm5-80gb").peaks(tensor_path="wgmma") == gpu("h100-sxm5-80gb").peaks()


def test_blackwell_code_without_tcgen05_has_a_roof_of_its_own() -> None:
    assert gpu("b200-sxm-180gb").rates(tensor_path="mma_sync")["tensor_bf16"] == 2048


def test_mma_sync_is_the_only_path_elsewhere_and_changes_nothing() -> None:
    assert gpu("rtx-4090").rates(tensor_path="mma_sync") == gpu("rtx-4090").rates()


def test_an_export_cut_is_not_lifted_by_the_slower_path() -> None:
    assert gpu("h20").rates(tensor_path="mma_sync")["tensor_bf16"] == 1024


def test_block_scaled_fp4_is_not_halved_on_geforce() -> None:
    assert tera("rtx-5090", "tensor_fp4") == pytest.approx(1676, rel=0.005)


def test_fp4_sparse_on_b300_is_a_third_above_dense() -> None:
    # 148 x 65536 x 1856 MHz = 18.0 PFLOP/s over 148 x 49152 x 1856 MHz = 13.5
    assert tera("b300-sxm-288gb", "tensor_fp4_sparse") == pytest.approx(18000, rel=0.005)
    assert tera("b300-sxm-288gb", "tensor_fp4") == pytest.approx(13501, rel=0.005)


def test_cards_without_tensor_cores_have_no_tensor_peak() -> None:
    for key in ("gtx-1650", "gtx-1660-ti", "gtx-1660-super", "p100-sxm2-16gb"):
        assert not [k for k in gpu(key).peaks().operations_per_s if k.startswith("tensor")]


def test_what_no_document_states_is_absent_rather_than_guessed() -> None:
    assert "tensor_fp16" not in gpu("rtx-5090-d").rates()
    assert "tensor_int8" not in gpu("l20").rates()


def test_without_an_sm_count_the_published_figures_are_all_there_is() -> None:
    peaks = gpu("b100").peaks()

    assert peaks.operations_per_s["tensor_bf16"] == 1750e12
    assert "published" in peaks.source


def test_fewer_sms_scale_the_compute_peaks_and_not_the_bandwidth() -> None:
    whole, half = gpu("a100-sxm4-80gb").peaks(), gpu("a100-sxm4-80gb").peaks(sm_count=54)

    assert half.operations_per_s["fp32"] == whole.operations_per_s["fp32"] / 2
    assert half.dram_bytes_per_s == whole.dram_bytes_per_s


def test_cuda_core_peaks_use_boost_where_tensor_peaks_use_the_tensor_clock() -> None:
    # 132 x 256 x 1980 MHz = 66.9; at the tensor clock it would be 61.8.
    assert tera("h100-sxm5-80gb", "fp32") == pytest.approx(66.9, rel=0.001)
    assert tera("h100-sxm5-80gb", "tensor_fp64") == pytest.approx(66.9, rel=0.001)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("NVIDIA L4", "l4"),
        ("NVIDIA L40", "l40"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA A10G", "a10g"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("NVIDIA A2", "a2"),
        ("NVIDIA RTX A2000", "rtx-a2000-6gb"),
        ("NVIDIA B200", "b200-sxm-180gb"),
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"),
        ("NVIDIA GeForce RTX 5090 D", "rtx-5090-d"),
    ],
)
def test_a_name_inside_another_name_is_not_taken_for_it(name: str, key: str) -> None:
    found = REGISTRY.find(Device(name=name))

    assert (found.how, found.spec and found.spec.key) == ("name", key)
