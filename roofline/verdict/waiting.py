"""For each cause of latency: what would refute it, what to try first."""

from __future__ import annotations

from roofline.verdict.playbook import Play

CAUSES: dict[str, Play] = {
    "grid_too_small": Play(
        short="give the GPU more blocks",
        refute="Launch the same kernel with several times the blocks: if the time hardly grows, "
        "the GPU was idle. If it grows in proportion, the grid was not the cause.",
        try_first=(
            "split the work further: smaller tiles, split-K, several blocks by each row",
            "batch several problems into one launch, or fuse with the neighbours",
            "if many such launches follow each other: CUDA graphs, or several streams",
        ),
        avoid=(),
    ),
    "tail_effect": Play(
        short="even out the last wave",
        refute="Choose a grid that fills whole waves: time must fall by the idle part.",
        try_first=(
            "a tile size for which the blocks fill whole waves",
            "a persistent kernel, or stream-K, that hands out work evenly",
        ),
        avoid=(),
    ),
    "partial_warps": Play(
        short="whole warps: block sizes that are multiples of 32",
        refute="Launch the same work in blocks of 128 threads: if the time stays, empty lanes were "
        "not the cause.",
        try_first=(
            "blocks of 64 to 256 threads, with as many elements of the problem in each",
            "map neighbouring elements to the lanes of a warp",
        ),
        avoid=(),
    ),
    "imbalance": Play(
        short="spread the work evenly",
        refute="Give all blocks the same amount of work: time must fall to the mean.",
        try_first=(
            "smaller pieces of work, handed out dynamically or longest first",
            "split the few long rows or blocks",
        ),
        avoid=("fewer operations or bytes in the blocks that finish early",),
    ),
    "occupancy_not_reached": Play(
        short="longer or evener blocks",
        refute="Let each block do several times the work: if warps in flight and time stay as they "
        "are, short blocks were not the cause.",
        try_first=(
            "more work by each block, so that starting and ending it weighs less",
            "the same amount of work for all warps of a block",
        ),
        avoid=(),
    ),
    "occupancy_limited": Play(
        short="more warps, or more independent work by each",
        refute="Raise the occupancy (launch bounds, smaller tiles): if more warps leave the time "
        "as it is, latency is not hidden by warps here.",
        try_first=(
            "relieve what limits occupancy: registers, shared memory or block size",
            "more independent instructions by each warp: unroll, prefetch, double buffering",
        ),
        avoid=(),
    ),
}

STALLS: dict[str, Play] = {
    "long_scoreboard": Play(
        short="more loads in flight",
        refute="Prefetch one iteration ahead: the stall share and the time must fall together.",
        try_first=(
            "start loads earlier: prefetch, double buffering, cp.async or TMA",
            "more independent loads by each thread (unroll), or more warps",
            "coalesce, so that each wait brings more",
        ),
        avoid=(),
    ),
    "barrier": Play(
        short="fewer or smaller barriers",
        refute="Use smaller blocks, so that fewer warps wait for each other: time must fall.",
        try_first=(
            "smaller blocks, or barriers among fewer warps",
            "give the warps of a block the same amount of work between barriers",
            "pipeline with asynchronous barriers instead of __syncthreads",
        ),
        avoid=(),
    ),
    "wait": Play(
        short="more independent instructions",
        refute="Unroll, so that dependent instructions lie further apart: time must fall.",
        try_first=("unroll with independent accumulators", "more warps"),
        avoid=(),
    ),
    "other": Play(
        short="look at the code where warps stall",
        refute="Remove the code at which these stalls are sampled: time must fall.",
        try_first=("the source view of Nsight Compute shows the lines with these stalls",),
        avoid=(),
    ),
}
for _throttle, _what in (
    ("mio_throttle", "shared-memory and special-function instructions"),
    ("lg_throttle", "global and local memory instructions"),
    ("tex_throttle", "texture instructions"),
    ("short_scoreboard", "shared-memory accesses (check bank conflicts) and special functions"),
):
    STALLS[_throttle] = Play(
        short=f"fewer {_what}",
        refute=f"Take away half of the {_what}: the stall share and the time must fall together.",
        try_first=("wider accesses: the same bytes in fewer instructions", f"fewer {_what}"),
        avoid=(),
    )

NO_STALLS = Play(
    short="collect stall reasons to see why",
    refute="If fewer dependences and more loads in flight leave the time as it is, some unit that "
    "was not measured is the limiter.",
    try_first=("profile it with --section WarpStateStats: it says what the warps wait for",),
    avoid=(),
)
NO_EVIDENCE = Play(
    short="collect stall reasons and occupancy to see why",
    refute="If a larger grid, more warps and fewer dependences all leave the time as it is, some "
    "unit that was not measured is the limiter.",
    try_first=(
        "profile it with --section WarpStateStats --section Occupancy, which show the cause",
    ),
    avoid=(),
)
NO_CAUSE = Play(
    short="look at the code where warps stall",
    refute=NO_EVIDENCE.refute,
    try_first=STALLS["other"].try_first,
    avoid=NO_EVIDENCE.avoid,
)
