"""Write the sample reports again: ``python -m sample_reports.generate [FOLDER]``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from sample_reports import kernels as k
from sample_reports import tensor_kernels as t
from sample_reports.chips import CHIPS, attributes
from sample_reports.counters import counters
from sample_reports.model import Kernel, timing
from sample_reports.writer import Capture, Launch, Process, Section, write

ORIGIN = "computed by roofline sample_reports/generate.py, not captured"
SECTIONS = (
    Section(
        identifier="SpeedOfLight",
        name="GPU Speed Of Light Throughput",
        metrics={
            "gpu__time_duration.sum": "Duration",
            "sm__throughput.avg.pct_of_peak_sustained_elapsed": "Compute (SM) Throughput",
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "Memory Throughput",
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "DRAM Throughput",
            "gpc__cycles_elapsed.avg.per_second": "SM Frequency",
            "dram__cycles_elapsed.avg.per_second": "DRAM Frequency",
        },
    ),
    Section(
        identifier="Occupancy",
        name="Occupancy",
        metrics={
            "sm__maximum_warps_per_active_cycle_pct": "Theoretical Occupancy",
            "sm__warps_active.avg.pct_of_peak_sustained_active": "Achieved Occupancy",
            "launch__waves_per_multiprocessor": "Waves Per SM",
        },
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One file: the GPU, the set of metrics, the kernels, and what it is there to show."""

    chip: str
    kernels: tuple[Kernel, ...]
    shows: str
    collected: str = "full"


def _step() -> tuple[Kernel, ...]:
    """Kernels of a training step of one transformer block: 8192 tokens, width 4096, bf16."""
    tokens, width, hidden = 8192, 4096, 14336
    names = {"qkv": "2x1_v_bz_coopA_TNT", "up": "2x1_h_bz_coopA_TNT", "down": "2x1_v_bz_coopA_NNT"}
    qkv, up, down = (
        t.gemm_bf16(
            tokens,
            columns,
            depth,
            sms=132,
            reread=2.0,
            percent=percent,
            name=f"nvjet_tst_128x256_64x4_{names[part]}",
        )
        for part, columns, depth, percent in (
            ("qkv", width * 3, width, 79.0),
            ("up", hidden * 2, width, 82.0),
            ("down", width, hidden, 80.0),
        )
    )
    half = "const __nv_bfloat16 *, __nv_bfloat16 *, int"
    norm = k.streaming(
        "rmsnorm_fwd",
        half,
        tokens * width,
        read=2,
        written=2,
        body={"FFMA": 8, "FMUL": 8, "SHFL.BFLY": 5, "BAR.SYNC": 2, "MUFU.RSQ": 1, "LDS": 2},
        percent=81.0,
        block=512,
        per_thread=8,
        registers=40,
        static_shared=128,
    )
    silu = k.streaming(
        "silu_and_mul",
        half,
        tokens * hidden,
        read=4,
        written=2,
        body={"MUFU.EX2": 8, "MUFU.RCP": 8, "FFMA": 16, "FMUL": 24, "F2FP.BF16.PACK_AB": 4},
        percent=90.0,
        per_thread=8,
    )
    adamw = k.streaming(
        "adamw_step",
        "float *, const float *, float *, float *, float, int",
        width * hidden,
        read=16,
        written=12,
        body={"FFMA": 24, "FMUL": 12, "MUFU.SQRT": 4, "MUFU.RCP": 4},
        percent=92.0,
        registers=48,
    )
    untuned = replace(
        k.transpose(4096, padded=False, percent=91.0),
        name="transpose_scores",
        demangled="void transpose_scores<float>(float *, const float *, int, int)",
    )
    mask = replace(
        k.tiny(8192, duration_ns=2432, active=0.17),
        name="build_mask",
        demangled="build_mask(const int *, const int *, float *, int)",
    )
    return tuple(
        replace(kernel, nvtx=("step 10", part))
        for part, kernel in (
            ("attention", norm),
            ("attention", qkv),
            ("attention", mask),
            ("attention", t.attention(128, 2048, 128, percent=68.0)),
            ("attention", untuned),
            ("mlp", norm),
            ("mlp", up),
            ("mlp", silu),
            ("mlp", down),
            ("optimizer", adamw),
        )
    )


def samples() -> dict[str, Sample]:
    """Every sample by its file's stem."""
    gemm = t.gemm_bf16(8192, 8192, 8192, sms=132, reread=2.2, percent=78.0)
    return {
        "h100_mix": Sample(
            chip="H100", kernels=_step(), shows="ten launches of a training step, every bound"
        ),
        "h100_gemm_bf16": Sample(
            chip="H100", kernels=(gemm,), shows="compute: tensor pipe, HGMMA opcodes"
        ),
        "h100_copy": Sample(
            chip="H100",
            kernels=(k.copy(1 << 28, percent=92.0),),
            shows="bandwidth: DRAM, no operations at all",
        ),
        "h100_basic": Sample(
            chip="H100",
            kernels=(gemm, k.copy(1 << 28, percent=92.0)),
            collected="basic",
            shows="--set basic: percentages only",
        ),
        "a100_stencil_fp32": Sample(
            chip="A100",
            kernels=(k.stencil(512, reread=1.08, percent=88.0),),
            shows="bandwidth: DRAM, FP32 left of the ridge",
        ),
        "a100_tiny": Sample(
            chip="A100",
            kernels=(k.tiny(4096, duration_ns=2304, active=0.1),),
            shows="latency: the grid is too small",
        ),
        "a100_transpose_before": Sample(
            chip="A100",
            kernels=(k.transpose(8192, padded=False, percent=92.0),),
            shows="bandwidth: L1, bank conflicts",
        ),
        "a100_transpose_after": Sample(
            chip="A100",
            kernels=(k.transpose(8192, padded=True, percent=89.0),),
            shows="the same work without conflicts: DRAM",
        ),
        "h100_decode_before": Sample(
            chip="H100",
            kernels=(t.skinny_gemm(16, 8192, 8192, weight_bytes=2, percent=90.0),),
            shows="bandwidth: DRAM, weights of 16 bits",
        ),
        "h100_decode_after": Sample(
            chip="H100",
            kernels=(t.skinny_gemm(16, 8192, 8192, weight_bytes=1, percent=82.0),),
            shows="the same operations, weights of 8 bits: half the bytes",
        ),
        "rtx4090_nbody_fp64": Sample(
            chip="RTX4090",
            kernels=(k.nbody_fp64(16384, percent=90.0),),
            shows="compute: FP64 pipe at 1/64 of the FP32 rate",
        ),
        "b200_gemm_fp4": Sample(
            chip="B200",
            kernels=(t.gemm_fp4(8192, 8192, 16384, sms=148, reread=2.0, percent=71.0),),
            shows="compute: tensor operations from counters, opcodes without shapes",
        ),
        "orin_stencil_fp32": Sample(
            chip="Orin",
            kernels=(k.on_orin(k.stencil(256, reread=1.08, percent=0.0), percent=72.0),),
            shows="no DRAM counters on the chip",
        ),
    }


def launches(sample: Sample) -> list[Launch]:
    """The sample's kernels with all their metrics."""
    chip = CHIPS[sample.chip]
    return [
        Launch(
            name=kernel.name,
            demangled=kernel.demangled,
            grid=kernel.grid,
            block=kernel.block,
            metrics=counters(chip, kernel, sample.collected),
            nvtx=kernel.nvtx,
            process=Process(name=ORIGIN, host="none"),
        )
        for kernel in sample.kernels
    ]


def capture(sample: Sample) -> Capture:
    """What the file says of itself: that it is computed, and whose layout it has."""
    return Capture(
        comment=f"{ORIGIN}: {sample.shows}",
        versions={"Nsight Compute Target": f"2024.1.1.0 ({ORIGIN})"},
        settings={"clock_control": "Base", "replay_mode": "Kernel"},
        created_s=1_767_225_600,  # 2026-01-01, so that the files come out the same each time
        sections=SECTIONS,
        devices=({**attributes(CHIPS[sample.chip])},),
    )


def table() -> str:
    """The table of the README: each file with what was put in and what came out."""
    rows = ["| file | GPU | kernel | time | assumed | shows |", "|---|---|---|---|---|---|"]
    for stem, sample in samples().items():
        chip = CHIPS[sample.chip]
        for number, kernel in enumerate(sample.kernels):
            assumed = f"{kernel.limit[0]} at {kernel.limit[1]:g} %" if kernel.limit else "the time"
            cells = (
                f"`{stem}.ncu-rep`" if number == 0 else "",
                chip.name.removeprefix("NVIDIA ") if number == 0 else "",
                f"`{kernel.name}`",
                f"{timing(chip, kernel).ns / 1000:.1f} us",
                assumed,
                sample.shows if number == 0 else "",
            )
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main(folder: Path) -> None:
    """Write every sample into ``folder``."""
    for stem, sample in samples().items():
        path = folder / f"{stem}.ncu-rep"
        write(path, launches(sample), capture(sample), force=True)
        print(f"{path}: {path.stat().st_size} bytes, {sample.shows}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
