"""For each limiter: what would refute it, what to try first, what not to bother with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Advice for one limiter; ``short`` ends the hint line."""

    short: str
    refute: str
    try_first: tuple[str, ...]
    avoid: tuple[str, ...]


_ARITHMETIC_IS_FREE = "fewer or cheaper operations: arithmetic waits already"
_BYTES_ARE_FREE = "fewer DRAM bytes: DRAM is not what the kernel waits for"
_MORE_WARPS = "more occupancy: the unit is busy already, more warps only queue for it"

UNITS: dict[str, Play] = {
    "dram": Play(
        short="move fewer bytes",
        refute="Run it on half of the data, or with a type half as wide: a kernel that DRAM limits "
        "takes about half of the time. If it does not, DRAM is not the limiter.",
        try_first=(
            "fuse it with the kernel before or after, so that what lies between stays on the chip",
            "store and read a narrower type",
            "read each byte once: tile for reuse, and check that every sector read is used in full",
        ),
        avoid=(_ARITHMETIC_IS_FREE, _MORE_WARPS),
    ),
    "l2": Play(
        short="take traffic off L2",
        refute="Keep more of the reuse in shared memory or registers: time must fall with the L2 "
        "sectors. If the sectors fall and the time stays, L2 is not the limiter.",
        try_first=(
            "larger tiles in shared memory or registers, so that L2 is asked less often",
            "full 128-byte lines by each warp: uncoalesced access multiplies L2 sectors",
            "fewer atomics to the same lines; reduce in the block first",
        ),
        avoid=(_ARITHMETIC_IS_FREE, "fewer DRAM bytes, as long as the same requests reach L2"),
    ),
    "l1": Play(
        short="fewer L1 and shared-memory wavefronts",
        refute="Take half of the shared-memory and global accesses out: time must fall with the "
        "wavefronts. If it does not, it is not L1.",
        try_first=(
            "shared memory: remove bank conflicts (pad the row or swizzle the index)",
            "global memory: neighbouring lanes read neighbouring addresses, 128 bits a thread",
            "keep in registers what is read again and again",
        ),
        avoid=(_ARITHMETIC_IS_FREE, _BYTES_ARE_FREE),
    ),
    "l1_shared": Play(
        short="fewer shared-memory wavefronts",
        refute="Pad or swizzle shared memory so that no bank conflicts are left (or widen the "
        "loads): wavefronts and time must fall together. If the time stays, it is not L1.",
        try_first=(
            "remove shared-memory bank conflicts: pad the row or swizzle the index",
            "wider loads (128 bits a thread), so that fewer wavefronts carry the same bytes",
            "keep in registers what is read again and again from shared memory",
        ),
        avoid=(_ARITHMETIC_IS_FREE, _BYTES_ARE_FREE),
    ),
    "l1_global": Play(
        short="fewer L1 wavefronts: coalesce, widen and reuse global loads",
        refute="Let neighbouring lanes read neighbouring addresses, or load each value once and "
        "keep it: wavefronts and time must fall together. If the time stays, it is not L1.",
        try_first=(
            "coalesce: neighbouring lanes read neighbouring addresses, without strides",
            "reuse: a tile in shared memory or registers instead of loading again through L1",
            "vector loads (128 bits a thread), so that fewer wavefronts carry the same bytes",
        ),
        avoid=(_ARITHMETIC_IS_FREE, "shared-memory bank conflicts: the traffic is global"),
    ),
    "lsu": Play(
        short="fewer, wider memory instructions",
        refute="Vectorise the loads and stores: with a quarter of the memory instructions the time "
        "must fall. If it does not, the instructions are not the limiter.",
        try_first=(
            "vector loads and stores (float4, 128 bits a thread)",
            "reuse in registers instead of loading from shared memory again",
            "asynchronous bulk copies (TMA, cp.async) where the GPU has them",
        ),
        avoid=(_BYTES_ARE_FREE, _MORE_WARPS),
    ),
    "tex": Play(
        short="fewer texture requests",
        refute="Read the same data with plain loads: if the time stays, it is not texture.",
        try_first=("plain loads where no filtering is needed", "wider texels"),
        avoid=(_ARITHMETIC_IS_FREE,),
    ),
    "constant": Play(
        short="uniform constant access",
        refute="Make all lanes of a warp read the same constant: time must fall.",
        try_first=(
            "index constants by values that are the same across the warp",
            "move constants that differ by lane to global or shared memory",
        ),
        avoid=(_BYTES_ARE_FREE, _MORE_WARPS),
    ),
    "sysmem": Play(
        short="keep the data on the device",
        refute="Copy the data to the device first: the kernel must get faster.",
        try_first=("allocate on the device, or prefetch managed memory before the launch",),
        avoid=(_ARITHMETIC_IS_FREE,),
    ),
    "nvlink": Play(
        short="send less over the link",
        refute="Run it on local memory alone: the time must fall.",
        try_first=("send less, or send while something else computes",),
        avoid=(_ARITHMETIC_IS_FREE,),
    ),
    "tma": Play(
        short="larger bulk copies",
        refute="Double the box of each copy: with half of the copies the time must fall.",
        try_first=("larger boxes, fewer copies", "multicast across the cluster"),
        avoid=(_ARITHMETIC_IS_FREE,),
    ),
    "issue": Play(
        short="issue fewer instructions",
        refute="Take instructions away (strength-reduce the index arithmetic, unroll, widen): time "
        "must fall with the instruction count. If it does not, issue is not the limiter.",
        try_first=(
            "count what is issued: index arithmetic, conversions, predicates beside the real work",
            "wider work by each instruction: vector loads, packed halves, tensor cores, FMA",
            "unroll loops and hoist what does not change",
        ),
        avoid=(_BYTES_ARE_FREE, _MORE_WARPS),
    ),
    "fma": Play(
        short="fewer FP32 instructions, or tensor cores",
        refute="Halve the multiply-adds: time must fall in proportion.",
        try_first=(
            "tensor cores (TF32, BF16) where the accuracy allows",
            "algebra that needs fewer operations; fuse multiplies and adds",
        ),
        avoid=(_BYTES_ARE_FREE, _MORE_WARPS),
    ),
    "alu": Play(
        short="less integer and logic work",
        refute="Simplify the index arithmetic or comparisons: time must fall with it.",
        try_first=(
            "32-bit instead of 64-bit indices, strides instead of divisions and modulo",
            "hoist address arithmetic out of the loop",
            "fewer conversions and comparisons by each element",
        ),
        avoid=(_BYTES_ARE_FREE, "fewer floating-point operations: another pipe does those"),
    ),
    "fp64": Play(
        short="use FP32 where the accuracy allows",
        refute="Compile it in FP32: on a GPU with few FP64 units it must get many times faster.",
        try_first=(
            "FP32, or FP32 with compensation, where the accuracy allows",
            "look for doubles that nobody meant: literals without f, math functions",
            "fuse multiplies and adds: an FMA does two operations in the time of one",
        ),
        avoid=(_BYTES_ARE_FREE, _MORE_WARPS),
    ),
    "fp16": Play(
        short="tensor cores, or fewer half operations",
        refute="Halve the half-precision work: time must fall in proportion.",
        try_first=("tensor cores for products", "packed half2 instead of scalar half"),
        avoid=(_BYTES_ARE_FREE,),
    ),
    "xu": Play(
        short="fewer transcendentals and conversions",
        refute="Replace the special functions by a constant for a test: time must fall.",
        try_first=(
            "fewer calls of exp, sin, rsqrt and division; reuse results",
            "polynomials on the FMA pipe in place of some of them",
            "fewer conversions between integer, half and double",
        ),
        avoid=(_BYTES_ARE_FREE, _MORE_WARPS),
    ),
    "tensor": Play(
        short="fewer operations, or a narrower type",
        refute="Run a product of half the size: time must fall in proportion.",
        try_first=(
            "a narrower type (FP8, FP4, INT8) where the accuracy allows",
            "skip what is masked or padded; 2:4 sparsity where the weights allow",
            "check the clock: a GPU at its power limit lowers it",
        ),
        avoid=(_BYTES_ARE_FREE, "tuning memory access: the tensor pipe is fed"),
    ),
    "tensor_fp64": Play(
        short="FP32 or TF32 where the accuracy allows",
        refute="Run a product of half the size: time must fall in proportion.",
        try_first=(
            "FP32 on the FMA pipe, or TF32 on the tensor cores, where the accuracy allows",
            "lower precision with iterative refinement to keep the accuracy of the result",
            "skip what is masked or padded",
        ),
        avoid=(_BYTES_ARE_FREE, "tuning memory access: the tensor pipe is fed"),
    ),
    "uniform": Play(
        short="less uniform arithmetic",
        refute="Take loop control and address arithmetic out: time must fall.",
        try_first=("unroll, so that each iteration has less uniform work",),
        avoid=(_BYTES_ARE_FREE,),
    ),
    "branch": Play(
        short="fewer branches",
        refute="Replace the branches by selects: time must fall.",
        try_first=("predicates or selects instead of branches", "unroll short loops"),
        avoid=(_BYTES_ARE_FREE,),
    ),
    "other": Play(
        short="",
        refute="Halve the work that this unit does: time must fall with it.",
        try_first=("look which instructions use this unit, and use fewer",),
        avoid=("changes that do not touch this unit",),
    ),
}
