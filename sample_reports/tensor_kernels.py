"""The samples' kernels on tensor cores; see ``kernels`` for how they are worked out."""

from __future__ import annotations

from sample_reports.kernels import MEMORY_STALLS
from sample_reports.model import Kernel

BF16, FP32 = 2, 4
GMMA_STALLS = {"gmma": 62, "barrier": 18, "wait": 12, "no_instruction": 5, "short_scoreboard": 3}


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
