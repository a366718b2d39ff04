"""Microbenchmarks on the GPU at hand; PyTorch is imported only here, and only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from roofline.errors import UsageError
from roofline.model import Device
from roofline.process import run_quietly
from roofline.specs.ceilings import Ceiling, Sample, ceiling
from roofline.specs.plan import Plan

WARM_UP = 3
REPEATS = 15
WATCH_S = 1.5  # of work is queued while nvidia-smi looks: it takes some 0.1 s to answer
MOST_QUEUED = 1000

Run = Callable[[], object]
QUERY = ("clocks.sm", "clocks.mem", "power.draw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A microbenchmark that could not run here, and why."""

    quantity: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What running a plan needs: building it, timing it, and looking at the device meanwhile.

    ``time`` gives seconds; ``watch`` is told how many one run takes.
    """

    build: Callable[[Plan], Run]
    time: Callable[[Run], Sequence[float]]
    watch: Callable[[Run, float], Sequence[Sample]]


def run_plans(
    plans: Sequence[Plan], bench: Bench, on_start: Callable[[Plan], None] = lambda _: None
) -> tuple[tuple[Ceiling, ...], tuple[Skipped, ...]]:
    """Run every plan; one that the device or its libraries refuse is skipped with their words."""
    done: list[Ceiling] = []
    skipped: list[Skipped] = []
    for plan in plans:
        on_start(plan)
        try:
            run = bench.build(plan)
            durations = bench.time(run)
            samples = bench.watch(run, min(durations))
        except (RuntimeError, AttributeError, TypeError, NotImplementedError) as error:
            why = str(error).strip().partition("\n")[0] or type(error).__name__
            skipped.append(Skipped(quantity=plan.quantity, why=why))
        else:
            done.append(ceiling(plan.quantity, plan.amount, durations, samples))
    return tuple(done), tuple(skipped)


def open_torch(index: int = 0) -> tuple[Any, Device, str]:
    """PyTorch, the device with that index, and the versions in words.

    Raises:
        UsageError: PyTorch or a GPU is missing.

    """
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise UsageError(
            "measuring ceilings needs PyTorch",
            why=str(error),
            hint="pip install torch, in the environment that roofline runs in",
        ) from error
    if not torch.cuda.is_available():
        raise UsageError(
            "measuring ceilings needs a GPU that PyTorch can use",
            why="torch.cuda.is_available() is False",
            hint="roofline doctor",
        )
    count = torch.cuda.device_count()
    if not 0 <= index < count:
        raise UsageError(f"there is no GPU {index}", why=f"PyTorch sees {count}")
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
    handle = _smi_handle(torch, index)
    return Bench(
        build=lambda plan: build(torch, plan, "cuda"),
        time=lambda run: _time(torch, run),
        watch=lambda run, duration_s: _watch(torch, run, duration_s, handle),
    )


def build(torch: Any, plan: Plan, device: str) -> Run:
    """Allocate what a plan works on, and give the function that does one timed run of it."""
    if plan.kind == "gemm":
        return _gemm(torch, plan, device)
    once = _pass(torch, plan, device)
    if plan.passes == 1 or device == "cpu":
        return _repeated(once, plan.passes)
    # Launching from Python takes longer than one pass over a cache: replay a recorded graph.
    once()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(plan.passes):
            once()

    def replay() -> object:
        graph.replay()
        return once  # which holds the arrays that the graph works on

    return replay


def _repeated(once: Run, passes: int) -> Run:
    def run() -> None:
        for _ in range(passes):
            once()

    return run


def _pass(torch: Any, plan: Plan, device: str) -> Run:
    count = plan.size // 4
    source = torch.ones(count, dtype=torch.float32, device=device)
    if plan.kind == "read":
        return lambda: torch.sum(source)
    if plan.kind == "write":
        return lambda: source.fill_(2.0)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _gemm(torch: Any, plan: Plan, device: str) -> Run:
    # Random values: zeros and ones would draw less power and let the clocks rise.
    shape = (plan.size, plan.size)
    if plan.dtype == "int8":
        a, b = (torch.randint(-8, 8, shape, dtype=torch.int8, device=device) for _ in range(2))
        return lambda: torch._int_mm(a, b.t())  # noqa: SLF001 - torch has no public int8 GEMM
    if plan.dtype == "float8_e4m3fn":
        # The second operand must be column-major.
        a, b = (torch.randn(shape, device=device).to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.tensor(1.0, device=device)
        return lambda: torch._scaled_mm(  # noqa: SLF001 - torch has no public fp8 GEMM
            a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )
    tf32 = plan.dtype == "tf32"
    dtype = torch.float32 if tf32 else getattr(torch, plan.dtype)
    a, b = (torch.randn(shape, device=device).to(dtype) for _ in range(2))

    def run() -> object:
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        return torch.matmul(a, b)

    return run


def _time(torch: Any, run: Run) -> list[float]:
    for _ in range(WARM_UP):
        run()
    durations = []
    for _ in range(REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        durations.append(start.elapsed_time(end) / 1e3)
    return durations


def _watch(torch: Any, run: Run, duration_s: float, handle: str) -> list[Sample]:
    """Clocks and power while runs are queued on the device."""
    for _ in range(min(MOST_QUEUED, 1 + int(WATCH_S / duration_s))):
        run()
    argv = [
        "nvidia-smi",
        f"--id={handle}",
        f"--query-gpu={','.join(QUERY)}",
        "--format=csv,noheader,nounits",
    ]
    done = run_quietly(argv, timeout_s=20)
    torch.cuda.synchronize()
    return [] if done is None or done.code != 0 else [parse_smi(done.stdout)]


def parse_smi(text: str) -> Sample:
    """Clocks and power from a line of nvidia-smi; "[N/A]" and the like are not known."""
    values: list[float | None] = []
    for word in text.strip().partition("\n")[0].split(","):
        try:
            values.append(float(word))
        except ValueError:
            values.append(None)
    sm, memory, power = (*values, None, None, None)[:3]
    return Sample(
        sm_clock_hz=None if sm is None else sm * 1e6,
        dram_clock_hz=None if memory is None else memory * 1e6,
        power_w=power,
    )


def _smi_handle(torch: Any, index: int) -> str:
    """What nvidia-smi calls the device: its own index ignores CUDA_VISIBLE_DEVICES."""
    uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    return str(index) if uuid is None else f"GPU-{uuid}"
