"""Microbenchmarks on the GPU at hand; PyTorch is imported only here, and only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from roofline.errors import UsageError
from roofline.model import Device
from roofline.process import run_quietly
from roofline.specs.ceilings import SAMPLED, Ceiling, ceiling
from roofline.specs.spec import Spec

# Torch's name of the type -> operation key, and the capability from which cuBLAS has it.
GEMMS = (
    ("float32", "fp32", (0, 0)),
    ("float64", "fp64", (0, 0)),
    ("tf32", "tensor_tf32", (8, 0)),
    ("float16", "tensor_fp16", (7, 0)),
    ("bfloat16", "tensor_bf16", (8, 0)),
    ("float8_e4m3fn", "tensor_fp8", (8, 9)),
    ("int8", "tensor_int8", (7, 5)),
)
FP64_TENSOR = {"8.0", "9.0", "10.0"}  # where DGEMM runs on tensor cores
GEMM_SECONDS = 0.02  # about how long one run should take at the datasheet's rate
SMALLEST, LARGEST = 1024, 16384
WHOLE_DRAM = 4 * 2**30
CACHE_RUNS = 64  # one pass over a cache takes microseconds: many to a timed run
WARM_UP = 3
REPEATS = 15
WATCH_S = 1.5  # of work is queued while nvidia-smi looks: it takes some 0.1 s to answer
MOST_QUEUED = 1000
QUERY = f"--query-gpu={','.join(asked for asked, _ in SAMPLED.values())}"

Run = Callable[[], object]


# --- what is run ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One microbenchmark.

    ``kind`` is "copy", "read", "write" or "gemm". ``size`` is bytes of an array, or rows of the
    square matrices; ``passes`` of it make one timed run, which moves or computes ``amount`` bytes
    or operations.
    """

    quantity: str
    kind: str
    dtype: str = "float32"
    size: int
    passes: int = 1
    amount: float


def plan(device: Device, spec: Spec | None) -> tuple[Plan, ...]:
    """The microbenchmarks that make sense on a device; ``spec`` sizes and names them better."""
    return (*_memory(device), *_gemms(device, spec))


def choose(plans: Sequence[Plan], only: Sequence[str]) -> tuple[Plan, ...]:
    """The plans that ``only`` names, all where it is empty.

    Raises:
        UsageError: a name is none of theirs.

    """
    names = [p.quantity for p in plans]
    for name in only:
        if name not in names:
            raise UsageError(f"this GPU has no ceiling {name!r}", hint=f"one of {', '.join(names)}")
    return tuple(p for p in plans if not only or p.quantity in only)


def _memory(device: Device) -> Iterator[Plan]:
    memory, l2 = device.memory_bytes or 8 * WHOLE_DRAM, device.l2_bytes or 0
    # Far more than the cache holds, or the cache would be measured.
    whole = max(min(WHOLE_DRAM, memory // 8), 4 * l2)
    levels = [("dram", whole, 1, ["copy", "read", "write"])]
    if l2:
        # Source and destination together fill half of the cache: none of it is evicted.
        levels.append(("l2", l2 // 4, CACHE_RUNS, ["copy", "write"]))
    for level, wanted, passes, kinds in levels:
        size = max(4096, wanted // 4096 * 4096)
        for kind in kinds:
            quantity, moved = f"{level}_{kind}", float((2 if kind == "copy" else 1) * size * passes)
            yield Plan(quantity=quantity, kind=kind, size=size, passes=passes, amount=moved)


def _gemms(device: Device, spec: Spec | None) -> Iterator[Plan]:
    capability = tuple(int(part) for part in (device.compute_capability or "0.0").split("."))
    rates = None if spec is None else spec.peaks().operations_per_s
    for dtype, usual, first in GEMMS:
        key = _key(usual, device, rates)
        if capability >= first and key is not None:
            rows = _rows(device, (rates or {}).get(key, 1e13))
            yield Plan(quantity=key, kind="gemm", dtype=dtype, size=rows, amount=2.0 * rows**3)


def _key(usual: str, device: Device, rates: Mapping[str, float] | None) -> str | None:
    """The operation key that a GEMM of a type counts for on this device; ``None``: no such unit."""
    if usual == "fp64" and device.compute_capability in FP64_TENSOR:
        return "tensor_fp64" if rates is None or "tensor_fp64" in rates else "fp64"
    if usual.startswith("tensor_") and rates is not None and usual not in rates:
        return "fp16" if usual == "tensor_fp16" and "fp16" in rates else None
    return usual


def _rows(device: Device, rate: float) -> int:
    """Rows of a GEMM that takes about ``GEMM_SECONDS`` and fits a quarter of the memory."""
    rows, fits = SMALLEST, LARGEST
    if device.memory_bytes is not None:
        fits = min(LARGEST, int((device.memory_bytes / 4 / (3 * 8)) ** 0.5))
    while rows * 2 <= fits and 2.0 * (2 * rows) ** 3 <= GEMM_SECONDS * rate:
        rows *= 2
    return rows


# --- running it -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What running a plan needs: building it, timing it, and looking at the device meanwhile.

    ``time`` gives seconds; ``watch`` is told how many one run takes.
    """

    build: Callable[[Plan], Run]
    time: Callable[[Run], Sequence[float]]
    watch: Callable[[Run, float], Mapping[str, float]]


def run_plans(
    plans: Sequence[Plan], bench: Bench, on_start: Callable[[Plan], None] = lambda _: None
) -> tuple[tuple[Ceiling, ...], dict[str, str]]:
    """Run every plan; what the device or its libraries refuse is skipped, with their words."""
    done: list[Ceiling] = []
    skipped: dict[str, str] = {}
    for one in plans:
        on_start(one)
        try:
            run = bench.build(one)
            durations = bench.time(run)
            sampled = bench.watch(run, min(durations))
        except (RuntimeError, AttributeError, TypeError, NotImplementedError) as error:
            words = str(error).strip().partition("\n")[0]
            skipped[one.quantity] = words or type(error).__name__
        else:
            done.append(ceiling(one.quantity, one.amount, durations, **sampled))
    return tuple(done), skipped


def open_torch(
    index: int | None = 0, *, what: str = "measuring ceilings"
) -> tuple[Any, Device, str]:
    """PyTorch, the device with that index, or that it uses now, and the versions in words.

    Raises:
        UsageError: PyTorch or a GPU is missing.

    """
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise UsageError(
            f"{what} needs PyTorch",
            why=str(error),
            hint="pip install torch, in the environment that roofline runs in",
        ) from error
    if not torch.cuda.is_available():
        raise UsageError(
            f"{what} needs a GPU that PyTorch can use",
            why="torch.cuda.is_available() is False",
            hint="roofline doctor",
        )
    count = torch.cuda.device_count()
    index = torch.cuda.current_device() if index is None else index
    if not 0 <= index < count:
        hint = f"--device with an index below {count}"
        raise UsageError(f"there is no GPU {index}", why=f"PyTorch sees {count}", hint=hint)
    torch.cuda.set_device(index)
    properties = torch.cuda.get_device_properties(index)
    device = Device(
        name=properties.name,
        compute_capability=f"{properties.major}.{properties.minor}",
        sm_count=properties.multi_processor_count,
        index=index,
        l2_bytes=getattr(properties, "L2_cache_size", None),
        memory_bytes=properties.total_memory,
    )
    return torch, device, f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}"


def bench_on(torch: Any, index: int) -> Bench:
    """A bench on a CUDA device of PyTorch."""
    # nvidia-smi's own index ignores CUDA_VISIBLE_DEVICES.
    uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    handle = str(index) if uuid is None else f"GPU-{uuid}"
    return Bench(
        build=lambda one: build(torch, one, "cuda"),
        time=lambda run: timed(lambda: torch.cuda.Event(enable_timing=True), run),
        watch=lambda run, duration_s: _watch(torch, run, duration_s, handle),
    )


def build(torch: Any, one: Plan, device: str) -> Run:
    """Allocate what a plan works on, and give the function that does one timed run of it."""
    if one.kind == "gemm":
        return _gemm(torch, one, device)
    once = _pass(torch, one, device)
    if one.passes == 1 or device == "cpu":
        return lambda: [once() for _ in range(one.passes)]
    # Launching from Python takes longer than one pass over a cache: replay a recorded graph.
    once()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(one.passes):
            once()
    return lambda: (graph.replay(), once)  # once holds the arrays that the graph works on


def _pass(torch: Any, one: Plan, device: str) -> Run:
    source = torch.ones(one.size // 4, dtype=torch.float32, device=device)
    if one.kind == "read":
        return lambda: torch.sum(source)
    if one.kind == "write":
        return lambda: source.fill_(2.0)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _gemm(torch: Any, one: Plan, device: str) -> Run:
    # Random values: zeros and ones would draw less power and let the clocks rise.
    shape = (one.size, one.size)
    if one.dtype == "int8":
        a, b = (torch.randint(-8, 8, shape, dtype=torch.int8, device=device) for _ in range(2))
        return lambda: torch._int_mm(a, b.t())  # noqa: SLF001 - torch has no public int8 GEMM
    if one.dtype == "float8_e4m3fn":
        # The second operand must be column-major.
        a, b = (torch.randn(shape, device=device).to(torch.float8_e4m3fn) for _ in range(2))
        unit = torch.tensor(1.0, device=device)
        return lambda: torch._scaled_mm(  # noqa: SLF001 - torch has no public fp8 GEMM
            a, b.t(), scale_a=unit, scale_b=unit, out_dtype=torch.bfloat16
        )
    tf32 = one.dtype == "tf32"
    dtype = torch.float32 if tf32 else getattr(torch, one.dtype)
    a, b = (torch.randn(shape, device=device).to(dtype) for _ in range(2))

    def run() -> object:
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        return torch.matmul(a, b)

    return run


def timed(
    event: Callable[[], Any],
    run: Run,
    *,
    warmup: int = WARM_UP,
    repeats: int = REPEATS,
    before: Run | None = None,
) -> list[float]:
    """Seconds of each of ``repeats`` runs between CUDA events; ``before`` them runs untimed."""
    for _ in range(warmup):
        run()
    durations = []
    for _ in range(repeats):
        if before is not None:
            before()
        start, end = event(), event()
        start.record()
        run()
        end.record()
        end.synchronize()
        durations.append(start.elapsed_time(end) / 1e3)
    return durations


def _watch(torch: Any, run: Run, duration_s: float, handle: str) -> dict[str, float]:
    """Clocks and power while runs are queued on the device."""
    for _ in range(min(MOST_QUEUED, 1 + int(WATCH_S / duration_s))):
        run()
    argv = ["nvidia-smi", f"--id={handle}", QUERY, "--format=csv,noheader,nounits"]
    done = run_quietly(argv, timeout_s=20)
    torch.cuda.synchronize()
    return {} if done is None or done.code != 0 else parse_smi(done.stdout)


def parse_smi(text: str) -> dict[str, float]:
    """Clocks and power from a line of nvidia-smi; "[N/A]" and the like are not known."""
    found = {}
    words = text.strip().partition("\n")[0].split(",")
    for (name, (_, si)), word in zip(SAMPLED.items(), words, strict=False):
        with suppress(ValueError):
            found[name] = float(word) * si
    return found
