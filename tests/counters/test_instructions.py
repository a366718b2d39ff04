"""Instructions by samples: the one that waits, what it waits for, and accesses that waste."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from roofline.counters.instructions import details
from roofline.model import Details, RuleResult
from roofline.reports import read
from tests.metrics import launch
from tests.shared import REPORTS

SAMPLES = "smsp__pcsamp_sample_count"
REASON = "smsp__pcsamp_warps_issue_stalled_"
START = 4096


def at(place: int) -> str:
    return str(START + 16 * place)


def sampled(
    code: list[str], where: Mapping[int, float], reasons: Mapping[int, str], **other: Any
) -> Details:
    """The details of ``code``, with samples by place and the reason of all of them."""
    instanced: dict[str, dict[str, float]] = {
        SAMPLES: {at(place): samples for place, samples in where.items()},
        "inst_executed": {at(place): 1.0 for place in range(len(code))},
    }
    for place, reason in reasons.items():
        instanced.setdefault(REASON + reason, {})[at(place)] = where[place]
    listing = {at(place): text for place, text in enumerate(code)}
    return details(launch(instanced=instanced, code=listing, **other))


def waits_for(code: list[str], place: int, reason: str = "long_scoreboard") -> str | None:
    """What the instruction at ``place`` waits for, by its SASS."""
    top = sampled(code, {place: 5000.0}, {place: reason}).sampled[0]
    return None if top.producer is None else top.producer.sass


MODIFIED = "sass__inst_executed_per_opcode_with_modifier_all"
PLAIN = "sass__inst_executed_per_opcode"


@pytest.mark.parametrize(
    ("mixes", "executed"),
    [
        # Of 100 instructions 55 are loads of two widths; the mix without modifiers is not added.
        (
            {
                MODIFIED: {"LDG.E": 40.0, "IADD3": 30.0, "LDG.E.64": 15.0, "EXIT": 15.0},
                PLAIN: {"BRA": 9.0},
            },
            {"LDG": 0.55, "IADD3": 0.3, "EXIT": 0.15},
        ),
        # Moves of registers are no multiply-adds, whatever their opcode says.
        (
            {MODIFIED: {"IMAD.MOV.U32": 6.0, "IMAD": 2.0, "MUFU.EX2": 1.5, "FADD.FTZ": 0.5}},
            {"IMAD.MOV": 0.6, "IMAD": 0.2, "MUFU.EX2": 0.15, "FADD": 0.05},
        ),
        ({PLAIN: {"FFMA": 3.0, "BRA": 1.0, "NOP": 0.0}}, {"FFMA": 0.75, "BRA": 0.25}),
        ({MODIFIED: {"BRA": 0.0}}, {}),
        ({}, {}),
    ],
)
def test_what_ran_most_is_told_by_opcode(
    mixes: Mapping[str, Mapping[str, float]], executed: Mapping[str, float]
) -> None:
    found = details(launch(instanced=mixes)).executed

    assert list(found.items()) == list(executed.items())


def test_the_last_load_that_writes_a_source_is_what_is_waited_for() -> None:
    code = [
        "LDG.E.64 R2, [R8.64]",
        "LDG.E R6, [R10.64]",
        "      DADD R4, R2, c[0x0][0x170]",
    ]

    assert waits_for(code, 2) == "LDG.E.64 R2, [R8.64]"


@pytest.mark.parametrize(
    ("code", "place", "found"),
    [
        # the second half of a 64-bit register, and a quarter of a 128-bit one
        (["LDG.E.64 R2, [R8.64]", "FADD R4, R3, R9"], 1, 0),
        (["LDG.E.128 R4, [R8.64]", "FADD R0, R7, R9"], 1, 0),
        (["LDG.E.128 R4, [R8.64]", "FADD R0, R8, R9"], 1, None),
        # what another instruction has written since is not the load's
        (["LDG.E R2, [R8.64]", "MOV R2, R9", "FADD R4, R2, R3"], 2, None),
        (["LDG.E R2, [R8.64]", "@P0 MOV R2, R9", "FADD R4, R2, R3"], 2, 0),
        # a store waits for its value, an address for both of its halves
        (["LDG.E.128 R8, [R2.64]", "STS.128 [R4.X16], R8"], 1, 0),
        (["LDG.E.64 R2, [R8.64]", "LDG.E R4, [R2.64+0x10]"], 1, 0),
        # behind a predicate, and of a predicate itself
        (["ATOMG.E.ADD.STRONG.GPU PT, R5, [R2.64], R7", "IADD3 R4, R5, 0x1, RZ"], 1, 0),
        (["LDG.E R5, [R2.64]", "ISETP.GE.AND P0, PT, R5, R6, PT"], 1, 0),
        # a loop: the load stands behind its use
        (
            [
                "MOV R9, 0x0",
                "FADD R9, R9, R2",
                "LDG.E R2, [R8.64]",
                f"@P0 BRA `(.L_x_0) {START + 16:#x}",
            ],
            1,
            2,
        ),
        # copies to shared memory are waited for without a register
        (["LDGSTS.E.128 [R2], [R4.64]", "LDGDEPBAR", "DEPBAR.LE SB0, 0x1"], 2, 0),
        # a load that waits for a register that another load still writes
        (["LDG.E R2, [R8.64]", "LDG.E R2, [R10.64]"], 1, 0),
    ],
)
def test_what_a_long_scoreboard_waits_for(code: list[str], place: int, found: int | None) -> None:
    assert waits_for(code, place) == (None if found is None else code[found])


def test_a_short_scoreboard_waits_for_shared_memory_or_a_slow_pipe() -> None:
    code = ["LDS R2, [R4]", "LDG.E R3, [R8.64]", "MUFU.RCP R5, R6", "FFMA R9, R2, R3, R5"]

    assert waits_for(code, 3, "short_scoreboard") == "MUFU.RCP R5, R6"
    assert waits_for([*code[:2], "FFMA R9, R2, R3, R7"], 2, "short_scoreboard") == "LDS R2, [R4]"
    assert waits_for(code, 3, "math_pipe_throttle") is None


def test_a_barrier_is_sampled_behind_itself_and_waits_for_other_warps() -> None:
    found = sampled(["BAR.SYNC 0x0", "LDS R2, [R4]"], {1: 2000.0}, {1: "barrier"})

    (top,) = found.sampled
    assert (top.for_warps, top.producer and top.producer.sass) == (True, "BAR.SYNC 0x0")
    assert found.warps_share == 1.0


def test_warps_that_poll_are_told_apart_from_those_that_work() -> None:
    code = ["SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [R4], R5", "@P2 BRA 0x9000", "FADD R2, R3, R4"]
    reasons = {0: "long_scoreboard", 1: "long_scoreboard", 2: "wait"}
    found = sampled(code, {0: 500.0, 1: 2500.0, 2: 1000.0}, reasons)

    assert [one.for_warps for one in found.sampled] == [True, False, True]
    assert found.warps_share == pytest.approx(3000 / 4000)


def test_shares_and_the_instruction_s_own_reason() -> None:
    code = ["FADD R2, R3, R4", "FMUL R5, R6, R7"]
    instanced = {
        SAMPLES: {at(0): 300.0, at(1): 900.0},
        REASON + "wait": {at(0): 100.0, at(1): 225.0},
        REASON + "math_pipe_throttle": {at(1): 450.0},
        REASON + "selected": {at(0): 200.0, at(1): 225.0},
    }
    listing = {at(place): text for place, text in enumerate(code)}
    found = details(launch(instanced=instanced, code=listing))

    first, second = found.sampled
    assert (first.sass, first.share, first.reason) == (code[1], 0.75, "math_pipe_throttle")
    assert first.reason_share == 0.5
    assert (second.share, second.reason) == (0.25, "wait")
    assert second.reason_share == pytest.approx(1 / 3)


def test_waits_are_summed_by_opcode_and_what_it_waits_for() -> None:
    code = ["LDG.E R2, [R8.64]", "FADD R4, R2, R3", "LDG.E R5, [R8.64]", "FADD R6, R5, R3"]
    reasons = {1: "long_scoreboard", 2: "lg_throttle", 3: "long_scoreboard"}
    found = sampled(code, {1: 600.0, 2: 100.0, 3: 300.0}, reasons)

    assert found.waits == {"FADD for LDG.E": pytest.approx(0.9), "LDG.E, lg_throttle": 0.1}


def test_few_or_spread_samples_name_nobody() -> None:
    few = sampled(["FADD R2, R3, R4"], {0: 999.0}, {0: "wait"})
    code = [f"FADD R{n}, R3, R4" for n in range(11)]
    spread = sampled(code, dict.fromkeys(range(11), 100.0), dict.fromkeys(range(11), "wait"))

    assert (few.samples, few.sampled) == (999.0, ())
    assert (spread.samples, spread.sampled) == (1100.0, ())
    assert sampled(code, {}, {}).samples is None


def test_lines_are_summed_and_only_the_file_s_name_is_kept() -> None:
    code = ["FADD R2, R3, R4", "FMUL R5, R6, R7", "FADD R8, R9, R9"]
    lines = {
        at(0): ("/home/ann/model.py", 12),
        at(1): ("/home/ann/model.py", 12),
        at(2): ("C:\\Users\\ann\\b.cu", 3),
    }
    files = {"/home/ann/model.py": "\n" * 11 + "    x = tl.load(p)\n"}
    where, reasons = {0: 500.0, 1: 250.0, 2: 250.0}, {0: "wait", 1: "wait", 2: "wait"}
    found = sampled(code, where, reasons, lines=lines, files=files)

    assert found.lines == {"model.py:12": 0.75, "b.cu:3": 0.25}
    assert [one.source for one in found.sampled] == [None] * 3
    shown = details(
        launch(instanced={SAMPLES: {at(0): 2000.0}}, lines=lines, files=files), source=True
    )
    assert shown.sampled[0].source == "x = tl.load(p)"


def test_an_unknown_architecture_has_addresses_and_lines() -> None:
    found = sampled(["???"], {0: 2000.0}, {0: "long_scoreboard"}, lines={at(0): ("a.F90", 7)})

    (top,) = found.sampled
    assert (top.sass, top.address, top.file, top.line) == (None, START, "a.F90", 7)


def test_excess_sectors_and_repeated_wavefronts_by_instruction() -> None:
    code = ["LDG.E R2, [R4.64]", "LDG.E R3, [R6.64]", "LDS R5, [R8]"]
    instanced = {
        "memory_l2_theoretical_sectors_global": {at(0): 1000.0, at(1): 100.0},
        "memory_l2_theoretical_sectors_global_ideal": {at(0): 125.0, at(1): 100.0},
        "memory_l1_wavefronts_shared": {at(2): 640.0},
        "memory_l1_wavefronts_shared_ideal": {at(2): 20.0},
    }
    values = dict.fromkeys(instanced, 0.0)
    listing = {at(place): text for place, text in enumerate(code)}
    found = details(launch(values, instanced=instanced, code=listing))

    assert (found.sectors, found.wavefronts) == (1100.0, 640.0)
    assert [(one.sass, one.sectors, one.wavefronts) for one in found.wasting] == [
        (code[0], 875.0, None),
        (code[2], None, 620.0),
    ]


def test_wavefronts_are_not_named_where_the_hardware_counted_no_conflict() -> None:
    instanced = {
        "memory_l1_wavefronts_shared": {at(0): 640.0},
        "memory_l1_wavefronts_shared_ideal": {at(0): 20.0},
    }
    conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
    none = {conflicts.format("ld"): 0.0, conflicts.format("st"): 0.0}

    assert details(launch(none, instanced=instanced)).wasting == ()
    some = none | {conflicts.format("ld"): 600.0}
    assert len(details(launch(some, instanced=instanced)).wasting) == 1


def test_rules_are_kept_as_nvidia_s() -> None:
    rule = RuleResult(identifier="CPIStall", title="Warp Stall", text="...", gain_percent=12.5)

    assert details(launch(rules=(rule,))).rules == (rule,)


# --- real reports -----------------------------------------------------------------------------


def of(part: str, kernel: str) -> Details:
    path = next((path for path in REPORTS if part in path.name), None)
    if path is None:
        pytest.skip("no public reports beside the repository")
    return details(next(one for one in read(path) if one.name == kernel))


def test_a_relu_waits_for_its_load() -> None:
    top = of("elementwise_baseline", "relu").sampled[0]

    assert top.sass == "FMNMX R7, RZ, R2, !PT"
    assert top.producer is not None
    assert top.producer.sass == "LDG.E R2, [R2.64]"
    assert top.share == pytest.approx(0.80, abs=0.005)


def test_the_roles_of_a_blackwell_kernel_are_told_apart() -> None:
    found = of("nvfp4_gemm__profiling__phase0_v1", "device_kernel")

    assert found.sampled[0].for_warps
    assert found.warps_share > 0.8


def test_the_line_of_a_naive_convolution() -> None:
    found = of("gpu-memory-profiling__naive", "kernel_conv2d_baseline")

    assert next(iter(found.lines)) == "conv_kernels.cu:46"
    assert found.lines["conv_kernels.cu:46"] > 0.5


def test_no_machine_code_still_has_lines() -> None:
    found = of("MW_Baseline", "compute_tendencies_x_309_gpu")

    assert found.sampled[0].sass is None
    assert found.sampled[0].file == "miniWeather_mpi_openacc.F90"


def test_instructions_that_no_listing_names_are_no_waits() -> None:
    # A redacted report keeps the samples by address, without the text of instructions.
    code, where = ["LDG.E R2, [R4.64]", "STG.E [R6.64], R2"], {0: 3000.0, 1: 1000.0}
    told = sampled(code, where, {0: "lg_throttle", 1: "lg_throttle"})
    silent = sampled(["", ""], where, {0: "lg_throttle", 1: "lg_throttle"})

    assert told.waits == {"LDG.E, lg_throttle": 0.75, "STG.E, lg_throttle": 0.25}
    assert silent.samples == told.samples == 4000
    assert silent.waits == {}
