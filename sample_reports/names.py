"""Names as reports have them: which opcode runs on which pipe, what a breakdown lists."""

from __future__ import annotations

from sample_reports.chips import Chip

# First part of an opcode -> pipe; what is not listed runs on the ALU.
PIPES = (
    dict.fromkeys(("FFMA", "FADD", "FMUL", "IMAD", "HFMA2", "HADD2", "HMUL2"), "fma")
    | dict.fromkeys(("DFMA", "DADD", "DMUL", "DSETP"), "fp64")
    | dict.fromkeys(("MUFU", "I2F", "F2I", "F2F", "POPC"), "xu")
    | dict.fromkeys(("LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "ATOMG", "RED", "SHFL"), "lsu")
    | dict.fromkeys(("BAR", "LDC", "LDCU", "SYNCS"), "adu")
    | dict.fromkeys(("BRA", "EXIT", "BSYNC", "BSSY", "WARPGROUP"), "cbu")
    | dict.fromkeys(("UIADD3", "ULOP3", "UMOV", "UISETP", "ULEA", "R2UR"), "uniform")
    | dict.fromkeys(("UTMALDG", "UTMASTG", "UTCCP"), "tma")
    | dict.fromkeys(("HMMA", "HGMMA", "QGMMA", "IMMA", "DMMA", "UTCOMMA"), "tensor")
)

PIPE_METRICS = {
    "sm__inst_executed_pipe_adu": "adu",
    "sm__inst_executed_pipe_cbu_pred_on_any": "cbu",
    "sm__inst_executed_pipe_fp16": "fp16",
    "sm__inst_executed_pipe_ipa": "ipa",
    "sm__inst_executed_pipe_lsu": "lsu",
    "sm__inst_executed_pipe_tex": "tex",
    "sm__inst_executed_pipe_uniform": "uniform",
    "sm__inst_executed_pipe_xu": "xu",
    "sm__pipe_alu_cycles_active": "alu",
    "sm__pipe_fma_cycles_active": "fma",
    "sm__pipe_fp64_cycles_active": "fp64",
    "sm__pipe_tma_cycles_active": "tma",
}
TENSOR_PIPES = (
    "sm__pipe_shared_cycles_active",
    "sm__pipe_tensor_cycles_active",
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
    "sm__pipe_tc_cycles_active",
)

_STALLS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
)


def stalls(chip: Chip) -> tuple[str, ...]:
    """Stall reasons that a chip tells apart: Hopper has one more, Blackwell one less."""
    if chip.capability[0] >= 10:
        return tuple(reason for reason in _STALLS if reason != "imc_miss")
    return (*_STALLS, "gmma") if chip.capability[0] == 9 else _STALLS


_SM = (
    "idc__request_cycles_active",
    "sm__inst_executed",
    "sm__inst_executed_pipe_adu",
    "sm__inst_executed_pipe_cbu_pred_on_any",
    "sm__inst_executed_pipe_ipa",
    "sm__inst_executed_pipe_lsu",
    "sm__inst_executed_pipe_tex",
    "sm__inst_executed_pipe_uniform",
    "sm__inst_executed_pipe_xu",
    "sm__issue_active",
    "sm__mio2rf_writeback_active",
    "sm__mio_inst_issued",
    "sm__mio_pq_read_cycles_active",
    "sm__mio_pq_write_cycles_active",
    "sm__pipe_alu_cycles_active",
    "sm__pipe_fma_cycles_active",
    "sm__pipe_fp64_cycles_active",
    "sm__pipe_tensor_cycles_active",
)
# What the chips add to that list.
_SM_ALSO = {
    0x170: (TENSOR_PIPES[0], "sm__inst_executed_pipe_fp16"),
    0x180: (TENSOR_PIPES[0], TENSOR_PIPES[2], "sm__pipe_tma_cycles_active"),
    0x1A0: (TENSOR_PIPES[0], "sm__pipe_tc_cycles_active", "sm__pipe_tma_cycles_active"),
}
_DRAM = ("dram__cycles_active", "fbpa__dram_sectors")
_MEMORY = (
    "l1tex__data_bank_reads",
    "l1tex__data_bank_writes",
    "l1tex__data_pipe_lsu_wavefronts",
    "l1tex__data_pipe_tex_wavefronts",
    "l1tex__f_wavefronts",
    "l1tex__lsu_writeback_active",
    "l1tex__lsuin_requests",
    "l1tex__m_l1tex2xbar_req_cycles_active",
    "l1tex__m_xbar2l1tex_read_sectors",
    "l1tex__tex_writeback_active",
    "l1tex__texin_sm2tex_req_cycles_active",
    "lts__d_atomic_input_cycles_active",
    "lts__d_sectors",
    "lts__d_sectors_fill_device",
    "lts__lts2xbar_cycles_active",
    "lts__t_sectors",
    "lts__t_tag_requests",
    "lts__xbar2lts_cycles_active",
)


def breakdowns(chip: Chip) -> dict[str, tuple[str, ...]]:
    """The members of the two throughput percentages on a chip."""
    dram = _DRAM if chip.dram_bytes_per_cycle is not None else ()
    host = "syslts__d_sectors_fill_sysmem" if chip.chip == 0x1A0 else "lts__d_sectors_fill_sysmem"
    return {
        "sm__throughput": _SM + _SM_ALSO.get(chip.chip, ()),
        "gpu__compute_memory_throughput": (*dram, *_MEMORY, host),
    }


# Chip -> counter (after sm__ops_path_tensor_) -> peak a cycle and SM, rate keys that count in it.
# Peaks are those that public reports state; a name without _sparsity_off has the sparse one.
TENSOR_COUNTERS: dict[int, dict[str, tuple[float, tuple[str, ...]]]] = {
    0x180: {
        "src_bf16_dst_fp32": (8192.0, ("bf16", "bf16_mma")),
        "op_hgmma_src_bf16_dst_fp32_sparsity_off": (4096.0, ("bf16",)),
        "op_hgmma_src_bf16_dst_fp32_sparsity_on": (8192.0, ()),
        "op_hmma_src_bf16_dst_fp32_sparsity_off": (8192 / 3, ("bf16_mma",)),
        "op_hmma_src_bf16_dst_fp32_sparsity_on": (4096.0, ()),
        "src_fp16": (8192.0, ()),
        "src_fp64": (256.0, ()),
        "src_fp8_sparsity_off": (8192.0, ("fp8",)),
        "src_fp8_sparsity_on": (16384.0, ()),
        "src_int8": (16384.0, ()),
        "src_tf32_dst_fp32": (4096.0, ()),
    },
    0x1A0: {
        "src_fp4_dst_fp32": (65536.0, ("fp4",)),
        "op_utcomma_src_fp4_dst_fp32_sparsity_off": (32768.0, ("fp4",)),
        "op_utcomma_src_fp4_dst_fp32_sparsity_on": (65536.0, ()),
        "src_fp4_fp6_fp8_dst_fp32": (32768.0, ()),
        "src_bf16_dst_fp32": (16384.0, ("bf16",)),
        "src_fp16_dst_fp32": (16384.0, ()),
        "src_fp64": (128.0, ()),
        "src_int8": (32768.0, ()),
        "src_tf32_dst_fp32": (8192.0, ()),
    },
}
