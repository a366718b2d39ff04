from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.counters.opcodes import TensorWork, parse_mma, plain_mix, tensor_mix


@pytest.mark.parametrize(
    ("opcode", "key", "operations", "accumulate"),
    [
        # 2 x M x N x K, written out
        ("HMMA.16816.F32.BF16", "tensor_bf16", 2 * 16 * 8 * 16, "fp32"),
        ("HMMA.16816.F32", "tensor_fp16", 2 * 16 * 8 * 16, "fp32"),
        ("HMMA.16816.F16", "tensor_fp16", 2 * 16 * 8 * 16, "fp16"),
        ("HMMA.1688.F32.TF32", "tensor_tf32", 2 * 16 * 8 * 8, "fp32"),
        ("HMMA.1684.F32.TF32", "tensor_tf32", 2 * 16 * 8 * 4, "fp32"),
        ("HMMA.1688.F32", "tensor_fp16", 2 * 16 * 8 * 8, "fp32"),
        ("HMMA.SP.16832.F32.BF16", "tensor_bf16_sparse", 2 * 16 * 8 * 32, "fp32"),
        ("IMMA.16832.S8.S8", "tensor_int8", 2 * 16 * 8 * 32, None),
        ("IMMA.8816.U8.S8.SAT", "tensor_int8", 2 * 8 * 8 * 16, None),
        ("IMMA.16864.S4.S4.SAT", "tensor_int4", 2 * 16 * 8 * 64, None),
        ("IMMA.SP.168128.S4.S4", "tensor_int4_sparse", 2 * 16 * 8 * 128, None),
        ("BMMA.168256.XOR.POPC", "tensor_int1", 2 * 16 * 8 * 256, None),
        ("BMMA.88128.XOR.POPC", "tensor_int1", 2 * 8 * 8 * 128, None),
        ("DMMA.884", "tensor_fp64", 2 * 8 * 8 * 4, None),
        ("DMMA.16x8x8", "tensor_fp64", 2 * 16 * 8 * 8, None),
        ("QMMA.16832.F32.E4M3.E4M3", "tensor_fp8", 2 * 16 * 8 * 32, "fp32"),
        ("QMMA.16832.F32.E4M3.E2M1", "tensor_fp8", 2 * 16 * 8 * 32, "fp32"),
        ("QMMA.16832.F32.E3M2.E3M2", "tensor_fp6", 2 * 16 * 8 * 32, "fp32"),
        ("OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X", "tensor_fp4", 2 * 16 * 8 * 64, "fp32"),
        # a warpgroup instruction is executed by four warps, each counts a quarter
        ("HGMMA.64x128x16.F32.BF16", "tensor_bf16", 2 * 64 * 128 * 16 / 4, "fp32"),
        ("HGMMA.64x256x16.F16", "tensor_fp16", 2 * 64 * 256 * 16 / 4, "fp16"),
        ("HGMMA.SP.64x128x32.F32.BF16", "tensor_bf16_sparse", 2 * 64 * 128 * 32 / 4, "fp32"),
        ("QGMMA.64x128x32.F32.E4M3.E4M3", "tensor_fp8", 2 * 64 * 128 * 32 / 4, "fp32"),
        ("IGMMA.64x64x32.S8.S8", "tensor_int8", 2 * 64 * 64 * 32 / 4, None),
        ("BGMMA.64x8x256.AND.POPC", "tensor_int1", 2 * 64 * 8 * 256 / 4, None),
        # Volta: four steps into FP32, two into FP16 make one 16x16x4 product of 2048 operations
        ("HMMA.884.F32.F32.STEP0", "tensor_fp16", 512, "fp32"),
        ("HMMA.884.F16.F16.STEP1", "tensor_fp16", 1024, "fp16"),
    ],
)
def test_an_mma_opcode_carries_shape_and_types(opcode, key, operations, accumulate):
    mma = parse_mma(opcode)

    assert mma is not None
    assert (mma.key, mma.operations, mma.accumulate) == (key, operations, accumulate)


@pytest.mark.parametrize("opcode", ["HFMA2.MMA", "FFMA", "MMA", "LDSM.16.M88.4", "UTCCP.T.S", ""])
def test_other_opcodes_are_no_matrix_instructions(opcode):
    assert parse_mma(opcode) is None


@pytest.mark.parametrize("opcode", ["UTCHMMA", "UTCOMMA.4X", "UTCQMMA.2CTA", "UTCIMMA"])
def test_tensor_memory_opcodes_state_no_shape(opcode):
    mix = tensor_mix({opcode: 100.0})

    assert mix.operations == {}
    assert mix.shapeless == (opcode,)


def test_a_768_cubed_int8_gemm_is_exact():
    # 768^3 multiply-adds over tiles of 16 x 8 x 32: 48 x 96 x 24 = 110,592 warp instructions
    mix = tensor_mix({"IMMA.16832.S8.S8.SAT": 110_592.0, "LDSM.16.M88.4": 5.0})

    assert mix.operations == {"tensor_int8": 905_969_664.0}
    assert mix.path == "mma_sync"


def test_a_hopper_gemm_counts_each_warpgroup_instruction_once():
    # 4096^3 in tiles of 64 x 128 x 16: 64 x 32 x 256 = 524,288 instructions, each by four warps
    mix = tensor_mix({"HGMMA.64x128x16.F32.BF16": 4 * 524_288.0})

    assert mix.operations == {"tensor_bf16": 2.0 * 4096**3}
    assert mix.path == "wgmma"


def test_sparse_stays_apart_from_dense():
    mix = tensor_mix({"HMMA.16816.F32.BF16": 1.0, "HMMA.SP.16832.F32.BF16": 1.0})

    assert mix.operations == {"tensor_bf16": 4096.0, "tensor_bf16_sparse": 8192.0}


def test_the_accumulator_of_most_operations_is_named():
    mix = tensor_mix({"HMMA.16816.F16": 3.0, "HMMA.16816.F32": 1.0})

    assert mix.accumulate == {"tensor_fp16": "fp16"}


def test_two_paths_in_one_kernel_name_none():
    mix = tensor_mix({"HMMA.16816.F32.BF16": 1.0, "HGMMA.64x128x16.F32.BF16": 4.0})

    assert mix.path is None


def test_plain_operations_by_thread():
    # FADD 1, FMUL 1, FFMA 2, packed FFMA2 4; HFMA2 works on two lanes: 4
    found = plain_mix(
        {
            "FADD.FTZ": 10.0,
            "FMUL": 10.0,
            "FFMA": 10.0,
            "FFMA2": 1.0,
            "DADD": 1.0,
            "DFMA": 1.0,
            "HFMA2": 10.0,
            "HFMA2.MMA": 1.0,
            "HADD2.F32": 99.0,
            "HADD2.BF16_V2": 10.0,
            "IADD3": 99.0,
        }
    )

    assert found == {"fp32": 44.0, "fp64": 3.0, "fp16": 44.0, "bf16": 20.0}


@given(
    st.dictionaries(st.sampled_from(["HMMA.16816.F32", "DMMA.884", "FFMA"]), st.integers(0, 10**9))
)
def test_operations_are_linear_in_executions(executions):
    once = tensor_mix({k: float(v) for k, v in executions.items()}).operations
    twice = tensor_mix({k: 2.0 * v for k, v in executions.items()}).operations

    assert twice == {key: 2 * value for key, value in once.items()}


def test_a_mix_is_frozen_and_built_by_name():
    mix = tensor_mix({"HMMA.16816.F32": 1.0})

    with pytest.raises(FrozenInstanceError):
        mix.path = "wgmma"
    with pytest.raises(TypeError):
        TensorWork({}, {}, None)
    assert not hasattr(mix, "__dict__")
