"""Counters that prove causes, read from what a report holds."""

import pytest

from roofline.counters.evidence import counts_of, ratios_of
from roofline.counters.measure import measure
from tests.metrics import launch

OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
PCT = ".avg.pct_of_peak_sustained_elapsed"


def counts(values=None, **other):
    return counts_of(launch(values, **other).metrics)


@pytest.mark.parametrize(
    ("values", "name", "count"),
    [
        (
            {
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 60.0,
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 5.0,
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 70.0,
            },
            "shared_conflicts",
            65.0,
        ),
        (
            {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 70.0},
            "shared_conflicts",
            70.0,
        ),
        (
            {
                "smsp__inst_executed_op_shared_ld.sum": 3.0,
                "smsp__inst_executed_op_shared_st.sum": 4.0,
            },
            "shared_requests",
            7.0,
        ),
        (
            {"memory_l2_sectors_global": 40.0, "memory_l2_sectors_global_ideal": 10.0},
            "excess_sectors",
            30.0,
        ),
        (
            {
                "memory_l2_theoretical_sectors_global": 40.0,
                "memory_l2_theoretical_sectors_global_ideal": 10.0,
            },
            "excess_sectors",
            30.0,
        ),
        ({"gpc__cycles_elapsed.max": 9.0}, "elapsed_cycles", 9.0),
        ({"gpc__cycles_elapsed.max": 9.0, "sm__cycles_elapsed.max": 8.0}, "elapsed_cycles", 8.0),
        (
            {
                "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 9.5e8,
                "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 4e8,
            },
            "local_sectors",
            1.35e9,
        ),
    ],
)
def test_counts_of_every_spelling(values, name, count):
    assert counts(values)[name] == count


def test_half_of_a_sum_is_no_count():
    assert counts({"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 9.5e8}) == {}
    assert counts({"memory_l2_theoretical_sectors_global": -1.0}) == {}


def test_the_opcode_mix_by_what_instructions_are_for():
    mix = {
        "MOV": 4.0,
        "MOV.SPILL": 1.0,
        "MOVM.16.MT88": 9.0,
        "DFMA": 5.0,
        "DADD.RM": 2.0,
        "MUFU.RCP64H": 1.0,
        "MUFU.RCP": 7.0,
        "FCHK": 2.0,
        "I2F.U32": 3.0,
        "F2I.TRUNC": 4.0,
        "F2FP.BF16.PACK_AB": 9.0,
        "LDC.64": 6.0,
        "LDC": 1.0,
    }
    found = counts(instanced={OPCODES: mix})

    assert found == {
        "instructions": sum(mix.values()),
        "moves": 5.0,
        "fp64_instructions": 8.0,
        "fp64_separate": 2.0,
        "fp64_adds": 2.0,
        "fp64_fused": 5.0,
        "fp32_separate": 0.0,
        "fp32_adds": 0.0,
        "fp32_fused": 0.0,
        "fp64_divisions": 1.0,
        "fp64_conversions": 0.0,
        "fp32_divisions": 2.0,
        "conversions": 7.0,
        "special_functions": 8.0,
        "to_float": 3.0,
        "to_integer": 4.0,
        "constant_loads": 7.0,
    }


def numbers(**values):
    given = {"registers_per_thread": 134.0, "theoretical_occupancy_percent": 25.0, "waves": 10.0}
    return given | values


def test_fewer_registers_and_another_block_by_the_reports_own_curves():
    curves = {
        # The most warps down to 3/4 of 134, at the most registers that allow them.
        "launch__occupancy_per_register_count": {"96": 24.0, "104": 16.0, "128": 16.0, "136": 8.0},
        # Whole warps of 64 to 512 threads; of those with 12 warps the nearest to 256.
        "launch__occupancy_per_block_size": {
            "32": 48.0,
            "48": 48.0,
            "128": 12.0,
            "192": 12.0,
            "256": 8.0,
            "1024": 40.0,
        },
    }
    metrics = launch({"launch__block_size": 256.0}, instanced=curves).metrics

    assert ratios_of(metrics, {}, numbers()) == {
        "fewer_registers": 128.0,
        "fewer_registers_warps": 16.0,
        "other_block": 192.0,
        "other_block_warps": 12.0,
    }
    assert ratios_of(metrics, {}, numbers(registers_per_thread=None)) == {}
    # There is no fifth more to win, or the blocks do not even fill the GPU twice.
    assert ratios_of(metrics, {}, numbers(theoretical_occupancy_percent=84.0)) == {}
    assert ratios_of(metrics, {}, numbers(waves=1.9)) == {}
    assert ratios_of(launch().metrics, {}, numbers()) == {}


CODE = {
    str(place): text
    for place, text in enumerate(
        (
            *("MOV R2, R2 ", "@P0 MOV R4, R4", "MOV R2, R3", "MOV R2, R22", "IMAD.MOV R2, R2, R2"),
            *("MOV R7, R7", "IADD3 R1, R1, 0x1, RZ", "LDG.E R2, [R2]", "STG.E [R2], R4", "EXIT"),
            *("NOP",) * 10,
        )
    )
}


@pytest.mark.parametrize(
    ("mix", "code", "share"),
    [
        ({"MOV": 30.0, "FADD": 70.0}, CODE, 0.15),  # three of twenty
        ({}, CODE, 0.15),
        ({"MOV": 14.0, "FADD": 86.0}, CODE, None),  # few moves: the code is not read
        ({"MOV": 30.0, "FADD": 70.0}, dict(list(CODE.items())[:15]), None),
    ],
)
def test_moves_of_a_register_onto_itself(mix, code, share):
    instanced = {"inst_executed": dict.fromkeys(code, 1.0), OPCODES: mix}
    metrics = launch(instanced=instanced, code=code).metrics

    assert ratios_of(metrics, counts_of(metrics), {}).get("repeated_moves") == share


def test_evidence_is_a_part_of_a_measurement():
    measured = measure(
        launch(
            {
                f"l1tex__lsuin_requests{PCT}": 11.5,
                "smsp__thread_inst_executed_per_inst_executed.ratio": 31.9,
                "sm__cycles_active.avg": 50.0,
                "sm__cycles_active.max": 100.0,
            }
        )
    )

    assert measured.ratios == {"requests_percent": 11.5, "lanes": 31.9, "sm_balance": 0.5}
