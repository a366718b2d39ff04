"""Facts of the GPUs in the samples, as reports and datasheets state them.

Rates are per SM (or L2 slice) and cycle. Pipes count warp-level instructions: 64 lanes are 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One GPU: identity, sizes, clocks under the profiler, and what each unit does a cycle.

    ``chip`` is NVIDIA's chip number (0x180 is GH100), by which a reader finds units.
    ``dram_bytes_per_cycle`` is ``None`` where the chip has no DRAM counters. ``fbpa`` is the
    busy share that ``fbpa__dram_sectors`` shows for each percent of ``dram__cycles_active`` in
    public reports of that chip. ``tensor`` maps operand types to dense operations a cycle.
    """

    name: str
    capability: tuple[int, int]
    chip: int
    pci: int
    sms: int
    max_mhz: int
    sm_mhz: float
    l2_mhz: float
    memory_mhz: int
    dram_mhz: float
    bus_bits: int
    memory_bytes: int
    l2_bytes: int
    slices: int
    max_warps: int
    max_blocks: int
    shared_bytes: int
    channels: int = 1
    dram_bytes_per_cycle: int | None
    fbpa: float = 0.0
    xbar_read_sectors: float
    l2_sectors: float
    l2_read_sectors: float
    pipes: Mapping[str, float]
    tensor: Mapping[str, float]
    passes: Mapping[str, int]


_GPC = {"alu": 2.0, "lsu": 1.0, "xu": 0.5, "adu": 0.5, "cbu": 0.5, "uniform": 1.0, "tma": 0.25}

CHIPS = {
    "H100": Chip(
        name="NVIDIA H100 80GB HBM3",
        capability=(9, 0),
        chip=0x180,
        pci=0x2330,
        sms=132,
        max_mhz=1980,
        sm_mhz=1590,
        l2_mhz=1700,
        memory_mhz=2619,
        dram_mhz=2618,
        bus_bits=5120,
        memory_bytes=85_029_158_912,
        l2_bytes=52_428_800,
        slices=96,
        max_warps=64,
        max_blocks=32,
        shared_bytes=233_472,
        channels=40,
        dram_bytes_per_cycle=1280,
        fbpa=0.769,
        xbar_read_sectors=2.0,
        l2_sectors=3.0,
        l2_read_sectors=2.0,
        pipes=_GPC | {"fma": 4.0, "fp64": 2.0},
        tensor={"bf16": 4096.0, "fp16": 4096.0, "bf16_mma": 8192 / 3, "fp8": 8192.0},
        passes={"full": 40, "basic": 9},
    ),
    "A100": Chip(
        name="NVIDIA A100-SXM4-80GB",
        capability=(8, 0),
        chip=0x170,
        pci=0x20B2,
        sms=108,
        max_mhz=1410,
        sm_mhz=1095,
        l2_mhz=1095,
        memory_mhz=1593,
        dram_mhz=1590,
        bus_bits=5120,
        memory_bytes=85_097_971_712,
        l2_bytes=41_943_040,
        slices=80,
        max_warps=64,
        max_blocks=32,
        shared_bytes=167_936,
        channels=40,
        dram_bytes_per_cycle=1280,
        fbpa=0.77,
        xbar_read_sectors=2.0,
        l2_sectors=3.0,
        l2_read_sectors=2.0,
        pipes=_GPC | {"fma": 2.0, "fp64": 1.0},
        tensor={"bf16": 2048.0, "fp16": 2048.0},
        passes={"full": 46, "basic": 9},
    ),
    "RTX4090": Chip(
        name="NVIDIA GeForce RTX 4090",
        capability=(8, 9),
        chip=0x192,
        pci=0x2684,
        sms=128,
        max_mhz=2520,
        sm_mhz=2235,
        l2_mhz=2235,
        memory_mhz=10501,
        dram_mhz=10240,
        bus_bits=384,
        memory_bytes=25_370_427_392,
        l2_bytes=75_497_472,
        slices=36,
        max_warps=48,
        max_blocks=24,
        shared_bytes=102_400,
        channels=12,
        dram_bytes_per_cycle=96,
        fbpa=0.855,
        xbar_read_sectors=1.0,
        l2_sectors=2.0,
        l2_read_sectors=1.0,
        pipes=_GPC | {"fma": 4.0, "fp64": 1 / 16},
        tensor={"bf16": 1024.0, "fp16": 1024.0},
        passes={"full": 33, "basic": 9},
    ),
    "B200": Chip(
        name="NVIDIA B200",
        capability=(10, 0),
        chip=0x1A0,
        pci=0x2901,
        sms=148,
        max_mhz=1965,
        sm_mhz=1150,
        l2_mhz=1155,
        memory_mhz=3996,
        dram_mhz=3994,
        bus_bits=7680,
        memory_bytes=191_503_138_816,
        l2_bytes=132_644_864,
        slices=184,
        max_warps=64,
        max_blocks=32,
        shared_bytes=233_472,
        channels=64,
        dram_bytes_per_cycle=1920,
        fbpa=1.153,
        xbar_read_sectors=2.0,
        l2_sectors=3.0,
        l2_read_sectors=2.0,
        pipes=_GPC | {"fma": 4.0, "fp64": 2.0},
        tensor={"fp4": 32_768.0, "bf16": 8192.0},
        passes={"full": 44, "basic": 9},
    ),
    "Orin": Chip(
        name="Orin",
        capability=(8, 7),
        chip=0x17B,
        pci=0,
        sms=16,
        max_mhz=1300,
        sm_mhz=1300,
        l2_mhz=1300,
        memory_mhz=0,
        dram_mhz=0,
        bus_bits=0,
        memory_bytes=65_890_271_232,
        l2_bytes=4_194_304,
        slices=16,
        max_warps=48,
        max_blocks=16,
        shared_bytes=167_936,
        dram_bytes_per_cycle=None,
        xbar_read_sectors=1.0,
        l2_sectors=2.0,
        l2_read_sectors=1.0,
        pipes=_GPC | {"fma": 4.0, "fp64": 1 / 16},
        tensor={"bf16": 1024.0, "fp16": 1024.0},
        passes={"full": 31, "basic": 8},
    ),
}


def attributes(chip: Chip) -> dict[str, int | str]:
    """What a report states about its device, as ``device__attribute_*`` metrics."""
    values: dict[str, int | str] = {
        "display_name": chip.name,
        "architecture": chip.chip & 0xFF0,
        "implementation": chip.chip,
        "chip": chip.chip,
        "compute_capability_major": chip.capability[0],
        "compute_capability_minor": chip.capability[1],
        "device_index": 0,
        "multiprocessor_count": chip.sms,
        "max_gpu_frequency_khz": chip.max_mhz * 1000,
        "clock_rate": chip.max_mhz * 1000,
        "total_memory": chip.memory_bytes,
        "l2_cache_size": chip.l2_bytes,
        "max_warps_per_multiprocessor": chip.max_warps,
        "max_threads_per_multiprocessor": chip.max_warps * 32,
        "limits_max_cta_per_sm": chip.max_blocks,
        "max_blocks_per_multiprocessor": chip.max_blocks,
        "max_registers_per_multiprocessor": 65536,
        "max_shared_memory_per_multiprocessor": chip.shared_bytes,
        "num_schedulers_per_multiprocessor": 4,
        "warp_size": 32,
        "integrated": int(chip.dram_bytes_per_cycle is None),
    }
    if chip.dram_bytes_per_cycle is not None:
        values |= {
            "gpu_pci_device_id": chip.pci << 16 | 0x10DE,
            "max_mem_frequency_khz": chip.memory_mhz * 1000,
            "memory_clock_rate": chip.memory_mhz * 1000,
            "fb_bus_width": chip.bus_bits,
            "global_memory_bus_width": chip.bus_bits,
        }
    return {f"device__attribute_{name}": value for name, value in values.items()}
