"""A GEMM, a copy and an attention step to try roofline on, each a region with its figures.

With PyTorch and a GPU it runs there, else with NumPy on the CPU, in small:

    roofline profile --kernel gemm python examples/bench.py
    roofline profile --region attention python examples/bench.py
    roofline profile --dry-run --kernel gemm python examples/bench.py
    roofline time --metric 'gemm us<=gemm: ([0-9.]+) us' -- python examples/bench.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import roofline

# What is run, its operations (an FMA is two), or the bytes that it moves where it has none.
Work = tuple[Callable[[], object], float, float]


def on_gpu(n: int) -> dict[str, Work]:
    """BF16 on the GPU: matrices of n rows, 16 heads of 64 over n tokens."""
    import torch

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    a, b, out = random(n, n), random(n, n), random(n, n)
    q, k, v = (random(1, 16, n, 64) for _ in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention
    return {
        "gemm": (lambda: torch.matmul(a, b, out=out), 2.0 * n**3, 0.0),
        "copy": (lambda: out.copy_(a), 0.0, 2.0 * 2 * n * n),
        "attention": (lambda: attention(q, k, v), 4.0 * 16 * n * n * 64, 0.0),
    }


def on_cpu(n: int) -> dict[str, Work]:
    """The same in FP32 on the CPU, with one head."""
    import numpy as np

    random = np.random.default_rng(0).standard_normal
    a, b, out = (random((n, n), dtype=np.float32) for _ in range(3))
    q, k, v = (random((n, 64), dtype=np.float32) for _ in range(3))

    def attention() -> object:
        scores = np.exp(q @ k.T / 8)
        return scores / scores.sum(axis=1, keepdims=True) @ v

    return {
        "gemm": (lambda: np.matmul(a, b, out=out), 2.0 * n**3, 0.0),
        "copy": (lambda: np.copyto(out, a), 0.0, 4.0 * 2 * n * n),
        "attention": (attention, 4.0 * n * n * 64, 0.0),
    }


def wall_s(function: Callable[[], object], repeats: int) -> float:
    """The median of ``repeats`` calls on the CPU, in seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Run each part in its region, time it, and print what it reached."""
    parser = argparse.ArgumentParser(description="A GEMM, a copy and an attention step.")
    parser.add_argument("--size", type=int, help="rows and tokens (GPU: 4096, CPU: 256)")
    parser.add_argument("--repeats", type=int, default=20, help="calls that are timed, one or more")
    given = parser.parse_args()
    if given.repeats < 1 or (given.size is not None and given.size < 1):
        parser.error("--size and --repeats are 1 or more")
    try:
        import torch

        gpu = torch.cuda.is_available()
    except ImportError:
        gpu = False
    parts = on_gpu(given.size or 4096) if gpu else on_cpu(given.size or 256)
    print("on", torch.cuda.get_device_name() if gpu else "the CPU: PyTorch finds no GPU")
    for name, (function, flops, moved) in parts.items():
        with roofline.region(name):
            function()
        if gpu:
            seconds = roofline.bench(function, repeats=given.repeats).call_s.median
        else:
            seconds = wall_s(function, given.repeats)
        rate = (
            f"{flops / seconds / 1e9:.1f} GFLOP/s" if flops else f"{moved / seconds / 1e9:.1f} GB/s"
        )
        print(f"{name}: {seconds * 1e6:.1f} us, {rate}")


if __name__ == "__main__":
    main()
