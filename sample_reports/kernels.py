"""The kernels of the samples, each worked out from its problem size.

Counts of instructions are per warp of 32 lanes. ``per_warp`` gives the loop's body as a real
kernel of that kind has it; how often it runs follows from the problem. What is assumed and not
computed (cache reuse, the percentage that the limiting unit reaches) is an argument by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sample_reports.model import Kernel

FP32, FP64 = 4, 8
MEMORY_STALLS = {"long_scoreboard": 78, "wait": 6, "not_selected": 3, "drain": 6, "lg_throttle": 7}
MATH_STALLS = {"math_pipe_throttle": 55, "wait": 25, "not_selected": 14, "short_scoreboard": 6}


def times(count: int, per_warp: Mapping[str, int]) -> dict[str, int]:
    """Executions when ``count`` warps each run this body."""
    return {code: count * each for code, each in per_warp.items()}


def streaming(
    function: str,
    parameters: str,
    elements: int,
    *,
    read: int,
    written: int,
    body: Mapping[str, int],
    percent: float,
    block: int = 256,
    per_thread: int = 4,
    registers: int = 32,
    static_shared: int = 0,
    stalls: Mapping[str, float] = MEMORY_STALLS,
) -> Kernel:
    """A kernel that passes once over its data: ``read`` and ``written`` bytes an element.

    ``body`` is what one warp executes for its 32 x ``per_thread`` elements besides 128-bit
    loads and stores, whose number follows from the bytes.
    """
    warps = elements // (32 * per_thread)
    loads, stores = elements * read // 512, elements * written // 512
    return Kernel(
        name=function,
        demangled=f"void {function}({parameters})",
        grid=(-(-warps * 32 // block), 1, 1),
        block=(block, 1, 1),
        registers=registers,
        static_shared=static_shared,
        opcodes={
            "LDG.E.128.CONSTANT": loads,
            "STG.E.128": stores,
            **times(warps, {"S2R": 2, "IMAD": 3, "ISETP.GE.AND": 1, "BRA": 1, "EXIT": 1, **body}),
        },
        dram_read=elements * read,
        dram_write=elements * written,
        l2_read=elements * read // 32,
        l2_write=elements * written // 32,
        wavefronts_per_global=4,
        limit=("dram__cycles_active", percent),
        occupancy=0.9,
        stalls=stalls,
    )


def copy(elements: int, *, percent: float) -> Kernel:
    """``out[i] = in[i]`` on floats, 16 bytes a thread."""
    return streaming(
        "copy_float4",
        "const float4 *, float4 *, long",
        elements,
        read=FP32,
        written=FP32,
        body={"IADD3": 2},
        percent=percent,
    )


def stencil(edge: int, *, reread: float, percent: float) -> Kernel:
    """A 7-point Jacobi sweep: per point 5 FADD, 1 FMUL, 1 FFMA; rows of 32 fit a warp."""
    points = edge**3
    warps = points // 32
    return Kernel(
        name="jacobi7",
        demangled="void jacobi7<float>(const float *, float *, float, float, int)",
        grid=(edge // 32, edge // 8, edge),
        block=(32, 8, 1),
        registers=30,
        opcodes=times(
            warps,
            {
                "LDG.E.CONSTANT": 7,
                "STG.E": 1,
                "FADD": 5,
                "FMUL": 1,
                "FFMA": 1,
                "IMAD": 6,
                "IADD3": 4,
                "ISETP.GE.OR": 4,
                "S2R": 6,
                "BRA": 1,
                "EXIT": 1,
            },
        ),
        dram_read=round(points * FP32 * reread / 32) * 32,
        dram_write=points * FP32,
        l2_read=points * FP32 * 3 // 32,
        l2_write=points * FP32 // 32,
        limit=("dram__cycles_active", percent),
        active=0.99,
        occupancy=0.88,
        stalls={"long_scoreboard": 60, "wait": 12, "lg_throttle": 12, "not_selected": 10},
    )


def tiny(elements: int, *, duration_ns: int, active: float) -> Kernel:
    """A vector addition that ends before the GPU is full; only the launch takes time."""
    warps = elements // 32
    moved = elements * FP32
    return Kernel(
        name="vector_add",
        demangled="vector_add(const float *, const float *, float *, int)",
        grid=(-(-elements // 256), 1, 1),
        block=(256, 1, 1),
        registers=16,
        opcodes=times(
            warps,
            {"LDG.E": 2, "STG.E": 1, "FADD": 1, "IMAD": 4, "ISETP.GE.AND": 1, "S2R": 2, "EXIT": 1},
        ),
        dram_read=2 * moved,
        l2_read=2 * moved // 32,
        l2_write=moved // 32,
        duration_ns=duration_ns,
        active=active,
        occupancy=0.11,
        stalls={"long_scoreboard": 70, "imc_miss": 15, "wait": 8, "branch_resolving": 4},
    )


def transpose(edge: int, *, padded: bool, percent: float) -> Kernel:
    """A float transpose by 32 x 32 tiles; without padding a column read conflicts 32 ways."""
    warps = edge * edge // 32 // 4  # four rows a thread
    moved = edge * edge * FP32
    name = "transpose_padded" if padded else "transpose_tile"
    return Kernel(
        name=name,
        demangled=f"{name}(float *, const float *, int, int)",
        grid=(edge // 32, edge // 32, 1),
        block=(32, 8, 1),
        registers=22,
        static_shared=32 * (33 if padded else 32) * FP32,
        opcodes=times(
            warps,
            {
                "LDG.E": 4,
                "STS": 4,
                "BAR.SYNC": 1,
                "LDS": 4,
                "STG.E": 4,
                "IMAD": 8,
                "IADD3": 6,
                "S2R": 4,
                "EXIT": 1,
            },
        ),
        dram_read=moved,
        dram_write=moved,
        l2_read=moved // 32,
        l2_write=moved // 32,
        wavefronts_per_load=1 if padded else 32,
        limit=("dram__cycles_active" if padded else "l1tex__data_pipe_lsu_wavefronts", percent),
        active=0.99,
        occupancy=0.91,
        stalls={"long_scoreboard": 62, "barrier": 16, "lg_throttle": 12, "wait": 10}
        if padded
        else {"mio_throttle": 56, "long_scoreboard": 15, "barrier": 15, "short_scoreboard": 14},
    )


def nbody_fp64(bodies: int, *, percent: float) -> Kernel:
    """All pairs in double precision: per pair 6 DADD, 4 DMUL, 12 DFMA and a reciprocal root.

    A block takes 128 bodies against a sixteenth of the others; the parts are added with RED.
    """
    parts = 16
    pairs = bodies * bodies // 32
    return Kernel(
        name="nbody_forces",
        demangled="nbody_forces(const double4 *, double3 *, double, int)",
        grid=(bodies // 128, parts, 1),
        block=(128, 1, 1),
        registers=56,
        static_shared=128 * 4 * FP64,
        opcodes={
            **times(pairs, {"DADD": 6, "DMUL": 4, "DFMA": 12, "MUFU.RSQ64H": 1, "LDS.128": 2}),
            **times(pairs // 4, {"IADD3": 2, "ISETP.NE.AND": 1, "BRA": 1}),
            "LDG.E.128": bodies * bodies // 128 // 16,
            "BAR.SYNC": bodies * bodies // 128 // 16,
            "RED.E.ADD.F64.RN": parts * bodies * 3 // 32,
            "EXIT": parts * bodies // 32,
        },
        dram_read=bodies * 32,
        dram_write=bodies * 24,
        l2_read=bodies * bodies // 128,
        l2_write=parts * bodies * 24 // 32,
        limit=("sm__pipe_fp64_cycles_active", percent),
        active=0.97,
        occupancy=0.9,
        stalls=MATH_STALLS,
    )


def on_orin(kernel: Kernel, *, percent: float) -> Kernel:
    """The same kernel held by LPDDR5, which an Orin does not count: 256 bits at 3.2 GHz."""
    peak = 2 * 3.2e9 * 256 / 8
    seconds = (kernel.dram_read + kernel.dram_write) / (peak * percent / 100)
    return replace(kernel, limit=None, duration_ns=round(seconds * 1e9))
