import pytest

from roofline.counters import tensor
from roofline.counters.opcodes import TensorWork
from roofline.counters.recipes import QuantityReader
from roofline.counters.tensor import OPCODES
from roofline.model import Metrics
from tests.metrics import PlainMetrics


def tensor_work(metrics: Metrics) -> TensorWork:
    return tensor.tensor_work(QuantityReader(metrics))


P = "sm__ops_path_tensor_"
PIPE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"


def path(**counts: float) -> PlainMetrics:
    return PlainMetrics({f"{P}{name}.sum": value for name, value in counts.items()})


def test_the_opcode_mix_comes_first():
    metrics = PlainMetrics(
        {f"{P}src_bf16_dst_fp32.sum": 4096.0 * 100},
        instanced={OPCODES: {"HMMA.16816.F32.BF16": 100.0}},
    )

    work = tensor_work(metrics)

    assert work.operations == {"tensor_bf16": 409_600.0}
    assert work.how == "opcode mix"
    assert work.notes == ()


@pytest.mark.parametrize(("counted", "noted"), [(99.5, False), (101.1, True), (98.9, True)])
def test_a_difference_over_one_percent_between_the_sources_is_a_note(counted, noted):
    metrics = PlainMetrics(
        {f"{P}src_bf16_dst_fp32.sum": 4096.0 * counted},
        instanced={OPCODES: {"HMMA.16816.F32.BF16": 100.0}},
    )

    codes = [note.code for note in tensor_work(metrics).notes]

    assert codes == (["tensor_sources_differ"] if noted else [])


def test_only_types_that_both_sources_count_are_compared():
    metrics = PlainMetrics(
        {f"{P}src_bf16_dst_fp32.sum": 4096.0 * 100},
        instanced={OPCODES: {"HMMA.16816.F32.BF16": 100.0, "IMMA.16832.S8.S8": 50.0}},
    )

    assert tensor_work(metrics).notes == ()


def test_executions_by_address_stand_in_for_a_missing_mix():
    metrics = PlainMetrics(
        {PIPE: 40.0},
        instanced={"inst_executed": {"16": 10.0, "32": 5.0, "48": 7.0}},
        code={"16": "@P0 HMMA.16816.F32 R4, R8, R12, R4 ;", "32": "FFMA R0, R1, R2, R3 ;"},
    )

    work = tensor_work(metrics)

    assert work.operations == {"tensor_fp16": 40_960.0}
    assert work.how == "executions by address with SASS"


def test_a_mix_without_matrix_instructions_measures_none():
    work = tensor_work(PlainMetrics({PIPE: 0.9}, instanced={OPCODES: {"HFMA2.MMA": 10.0}}))

    assert work.operations == {}
    assert work.how == "opcode mix: no tensor instructions"
    assert work.active is False


def test_halves_are_never_added_to_their_parent():
    work = tensor_work(
        path(
            src_fp16_dst_fp32=300.0,
            src_fp16_dst_fp32_sparsity_off=200.0,
            src_fp16_dst_fp32_sparsity_on=100.0,
        )
    )

    assert work.operations == {"tensor_fp16": 200.0, "tensor_fp16_sparse": 100.0}
    assert work.accumulate["tensor_fp16"] == "fp32"
    assert work.notes == ()


def test_hopper_half_precision_is_counted_once():
    # all of fp16 is 700 = 400 by warpgroups + 200 into FP32 + 100 into FP16
    work = tensor_work(
        path(
            src_fp16=700.0,
            op_hgmma_src_fp16_sparsity_off=400.0,
            op_hgmma_src_fp16_sparsity_on=0.0,
            op_hmma_src_fp16_dst_fp32_sparsity_off=200.0,
            op_hmma_src_fp16_dst_fp32_sparsity_on=0.0,
            op_hmma_src_fp16_dst_fp16_sparsity_off=100.0,
            op_hmma_src_fp16_dst_fp16_sparsity_on=0.0,
        )
    )

    assert work.operations == {"tensor_fp16": 700.0}


def test_hopper_parent_beside_a_part_is_counted_once():
    work = tensor_work(path(src_fp16=700.0, op_hmma_src_fp16_dst_fp32_sparsity_off=200.0))

    assert work.operations == {"tensor_fp16": 700.0}


def test_a_parent_alone_says_that_sparsity_is_unknown():
    work = tensor_work(path(src_int8=128.0))

    assert work.operations == {"tensor_int8": 128.0}
    assert [note.code for note in work.notes] == ["sparsity_unknown"]


def test_turing_counts_all_halves_under_one_name():
    work = tensor_work(path(src_fp16_bf16_tf32_dst_fp32=137_438_953_472.0))

    assert work.operations == {"tensor_fp16": 2.0 * 4096**3}


def test_tensor_memory_needs_the_counters():
    metrics = PlainMetrics(
        {
            f"{P}src_fp4_dst_fp32.sum": 30_064_771_072.0,
            f"{P}op_utcomma_src_fp4_dst_fp32_sparsity_off.sum": 30_064_771_072.0,
            f"{P}op_utcomma_src_fp4_dst_fp32_sparsity_on.sum": 0.0,
        },
        instanced={OPCODES: {"UTCOMMA.4X": 7168.0}},
    )

    work = tensor_work(metrics)

    assert work.operations == {"tensor_fp4": 30_064_771_072.0}
    assert work.how == "sm__ops_path_tensor counters"
    assert work.path == "tcgen05"


def test_tensor_memory_opcodes_alone_are_not_guessed():
    work = tensor_work(PlainMetrics(instanced={OPCODES: {"UTCHMMA": 100.0}}))

    assert work.operations == {}
    assert work.how is None
    assert work.active is True


@pytest.mark.parametrize(
    ("activity", "active", "codes"),
    [
        ({PIPE: 45.0}, True, []),
        ({PIPE: 0.9}, False, ["tensor_activity_faint"]),
        ({PIPE: 0.0}, False, []),
        ({"sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active": 0.1}, True, []),
        ({}, None, []),
    ],
)
def test_activity_alone_measures_no_operations(activity, active, codes):
    work = tensor_work(PlainMetrics(activity))

    assert work.how is None
    assert work.active is active
    assert [note.code for note in work.notes] == codes


def test_matrix_instructions_in_the_mix_are_activity():
    work = tensor_work(PlainMetrics(instanced={OPCODES: {"HMMA.16816.F32": 1.0}}))

    assert work.operations == {"tensor_fp16": 4096.0}
    assert work.active is True


def test_counters_that_stayed_at_zero_counted_nothing():
    work = tensor_work(path(src_int8_sparsity_off=0.0, src_int8_sparsity_on=0.0))

    assert work.operations == {}
    assert work.active is False
    assert work.notes == ()


def test_hopper_half_precision_by_warps_alone_is_counted():
    # 300 dense and 200 sparse, whatever they were accumulated in
    work = tensor_work(
        path(op_hmma_src_fp16_sparsity_off=300.0, op_hmma_src_fp16_sparsity_on=200.0)
    )

    assert work.operations == {"tensor_fp16": 300.0, "tensor_fp16_sparse": 200.0}
    assert work.path == "mma_sync"
