"""The kernels of the samples, each worked out from its problem size.

Counts of instructions are per warp of 32 lanes. ``per_warp`` gives the loop's body as a real
kernel of that kind has it; how often it runs follows from the problem. What is assumed and not
computed (cache reuse, the percentage that the limiting unit reaches) is an argument by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sample_reports.model import Kernel

BF16, FP32, FP64 = 2, 4, 8
MEMORY_STALLS = {"long_scoreboard": 78, "wait": 6, "not_selected": 3, "drain": 6, "lg_throttle": 7}
MATH_STALLS = {"math_pipe_throttle": 55, "wait": 25, "not_selected": 14, "short_scoreboard": 6}
GMMA_STALLS = {"gmma": 62, "barrier": 18, "wait": 12, "no_instruction": 5, "short_scoreboard": 3}


def times(count: int, per_warp: Mapping[str, int]) -> dict[str, int]:
    """Executions when ``count`` warps each run this body."""
    return {code: count * each for code, each in per_warp.items()}


def gemm_bf16(
    m: int,
    n: int,
    k: int,
    *,
    sms: int,
    reread: float,
    percent: float,
    name: str = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
) -> Kernel:
    """A persistent Hopper GEMM: tiles of 128 x 256 x 64, clusters of 2 that share operand B.

    Each HGMMA is one 64 x 256 x 16 for a warpgroup, counted once for each of its four warps.
    ``reread`` is how often A and B come from DRAM, ``percent`` what the tensor pipe reaches.
    """
    tiles = -(-m // 128) * -(-n // 256)
    gmma = 4 * m * n * k // (64 * 256 * 16)
    steps = tiles * k // 64
    loaded = tiles * k * (128 + 256 // 2) * BF16
    return Kernel(
        name=name,
        demangled=name,
        grid=(min(sms, tiles), 1, 1),
        block=(384, 1, 1),
        registers=168,
        dynamic_shared=213_760,
        opcodes={
            "HGMMA.64x256x16.F32.BF16": gmma,
            "UTMALDG.2D": 2 * steps,
            "SYNCS.PHASECHK.TRANS64.TRYWAIT": 12 * steps,
            "SYNCS.ARRIVE.TRANS64": 8 * steps,
            "WARPGROUP.DEPBAR": 8 * steps,
            "UIADD3": 30 * steps,
            "ULOP3.LUT": 10 * steps,
            "BRA": 12 * steps,
            "ISETP.NE.AND": 12 * steps,
            "IADD3": 16 * steps,
            "F2FP.BF16.F32.PACK_AB": m * n // 64,
            "STS.128": m * n // 256,
            "UTMASTG.2D": 2 * tiles,
        },
        dram_read=round((m * k + n * k) * BF16 * reread / 32) * 32,
        dram_write=m * n * BF16,
        l2_read=loaded // 32,
        l2_write=m * n * BF16 // 32,
        tensor={"bf16": 2 * m * n * k},
        limit=("sm__pipe_tensor_cycles_active", percent),
        active=0.985,
        occupancy=0.98,
        stalls=GMMA_STALLS,
    )


def skinny_gemm(m: int, n: int, k: int, *, weight_bytes: int, percent: float) -> Kernel:
    """Decode: 16 rows of activations against all weights, read once. HMMA 16 x 8 x 16.

    A warp owns eight columns and an eighth of K; the parts are added with RED.
    """
    parts = 8
    warps = n // 8 * parts
    kind = {2: "bf16", 1: "int8"}[weight_bytes]
    unpack = {2: 0, 1: 6}[weight_bytes]
    moved = n * k * weight_bytes + m * k * BF16
    steps = warps * k // parts // 16
    load = n * k * weight_bytes // (32 * 16)
    return Kernel(
        name=f"gemv_mma_w{8 * weight_bytes}a16",
        demangled=f"void gemv_mma_w{8 * weight_bytes}a16<{kind}, 16>(const {kind} *, "
        "const __nv_bfloat16 *, __nv_bfloat16 *, int, int)",
        grid=(n // 8 // 4, parts, 1),
        block=(128, 1, 1),
        registers=64,
        static_shared=8192,
        opcodes={
            "HMMA.16816.F32.BF16": steps * (m // 16),
            "LDG.E.128.CONSTANT": load,
            "LDSM.16.M88.4": steps // 2,
            "IMAD.WIDE": load,
            "IADD3": 2 * load,
            "PRMT": unpack * load,
            "I2F.S8": 0 if weight_bytes == 2 else load,
            "ISETP.GE.AND": steps // 4,
            "BRA": steps // 4,
            "RED.E.ADD.F32.FTZ.RN": parts * m * n // 32,
            "EXIT": warps,
        },
        dram_read=moved,
        dram_write=m * n * FP32,
        l2_read=n * k * weight_bytes // 32 + n // 32 * m * k * BF16 // 32,
        l2_write=parts * m * n * FP32 // 32,
        tensor={"bf16_mma": 2 * m * n * k},
        wavefronts_per_load=2,
        wavefronts_per_global=4,
        limit=("dram__cycles_active", percent),
        active=0.94,
        occupancy=0.86,
        stalls=MEMORY_STALLS,
    )


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
            **times(warps, {"S2R": 2, "IMAD": 3, "ISETP.GE.AND": 1, "BRA": 1, "EXIT": 1} | body),
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


def tiny(elements: int, *, duration_ns: int) -> Kernel:
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
        active=0.31,
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


def gemm_fp4(m: int, n: int, k: int, *, sms: int, reread: float, percent: float) -> Kernel:
    """A block-scaled fp4 GEMM on Blackwell; UTCOMMA states no shape, it is 128 x 128 x 64.

    Clusters of 2 x 4 tiles share what they load: A four ways, B two ways.
    """
    tiles = m // 128 * (n // 128)
    steps = tiles * k // 256
    scale = k // 16  # one byte for each 16 values
    loaded = tiles * (128 // 4 + 128 // 2) * (k // 2 + scale)
    return Kernel(
        name="device_kernel",
        demangled="void cutlass::device_kernel<cutlass::gemm::kernel::gemm_nvf4_128x128>(Params)",
        grid=(sms, 1, 1),
        block=(256, 1, 1),
        registers=110,
        dynamic_shared=181_248,
        opcodes={
            "UTCOMMA.4X": m * n * k // (128 * 128 * 64),
            "UTCCP.T.S.4x32dp128bit": 4 * steps,
            "UTMALDG.3D": 4 * steps,
            "SYNCS.PHASECHK.TRANS64.TRYWAIT": 8 * steps,
            "UIADD3": 24 * steps,
            "UMOV": 20 * steps,
            "BRA": 10 * steps,
            "F2FP.BF16.F32.PACK_AB": m * n // 64,
            "STS.128": m * n // 256,
            "UTMASTG.3D": 4 * tiles,
        },
        dram_read=round((m + n) * (k // 2 + scale) * reread / 32) * 32,
        dram_write=m * n * BF16,
        l2_read=loaded // 32,
        l2_write=m * n * BF16 // 32,
        tensor={"fp4": 2 * m * n * k},
        limit=("sm__pipe_tensor_cycles_active", percent),
        active=0.97,
        occupancy=0.95,
        stalls={"long_scoreboard": 30, "sleeping": 40, "wait": 16, "barrier": 14},
    )


def attention(batch_heads: int, length: int, width: int, *, percent: float) -> Kernel:
    """Forward attention without a mask: two products of 2 x L x L x d, softmax between."""
    products = 4 * batch_heads * length * length * width
    scores = batch_heads * length * length // 32
    tile = 128
    blocks = batch_heads * length // tile
    moved = batch_heads * length * width * BF16
    return Kernel(
        name="flash_fwd_kernel",
        demangled="void flash::flash_fwd_kernel<128, 128, bf16>(flash::Flash_fwd_params)",
        grid=(length // tile, batch_heads, 1),
        block=(384, 1, 1),
        registers=168,
        dynamic_shared=164_864,
        opcodes={
            "HGMMA.64x128x16.F32.BF16": 4 * products // (2 * 64 * 128 * 16),
            "MUFU.EX2": scores,
            "FFMA": 2 * scores,
            "FMNMX": scores,
            "FADD": scores,
            "F2FP.BF16.F32.PACK_AB": scores // 2,
            "SYNCS.PHASECHK.TRANS64.TRYWAIT": blocks * (length // tile) * 12,
            "UTMALDG.4D": blocks * (length // tile) * 2,
            "BRA": scores // 16,
            "STG.E.128": moved // 512,
        },
        dram_read=3 * moved,
        dram_write=moved,
        l2_read=blocks * length * width * 2 * BF16 // 32,
        l2_write=moved // 32,
        tensor={"bf16": products},
        limit=("sm__pipe_tensor_cycles_active", percent),
        active=0.98,
        occupancy=0.97,
        stalls=GMMA_STALLS,
    )


def on_orin(kernel: Kernel, *, percent: float) -> Kernel:
    """The same kernel held by LPDDR5, which an Orin does not count: 256 bits at 3.2 GHz."""
    peak = 2 * 3.2e9 * 256 / 8
    seconds = (kernel.dram_read + kernel.dram_write) / (peak * percent / 100)
    return replace(kernel, limit=None, duration_ns=round(seconds * 1e9))
