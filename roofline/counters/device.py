"""The GPU of a launch from its ``device__attribute_*`` metrics."""

from __future__ import annotations

from functools import lru_cache

from roofline.model import Device, Metrics

_A = "device__attribute_"
_NUMBERS = (
    "launch__device_id",
    *(
        _A + name
        for name in (
            "device_index", "compute_capability_major", "compute_capability_minor",
            "gpu_pci_device_id", "multiprocessor_count", "max_gpu_frequency_khz", "clock_rate",
            "max_mem_frequency_khz", "memory_clock_rate", "global_memory_bus_width",
            "fb_bus_width", "l2_cache_size", "total_memory", "max_warps_per_multiprocessor",
        )
    ),
)  # fmt: skip


def device_of(metrics: Metrics) -> Device:
    """The device as the report describes it; equal devices are one object."""
    return _device(metrics.text(_A + "display_name"), *map(metrics.number, _NUMBERS))


@lru_cache(maxsize=64)
def _device(name: str | None, given: float | None, *attributes: float | None) -> Device:
    index, major, minor, pci, sms, *rest = attributes
    gpu_khz, clock_khz, memory_khz, dram_khz, bus, fb_bus, l2, memory, warps = rest
    return Device(
        name=name,
        compute_capability=None if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        # Of attributes reports write 0 for "not known".
        sm_count=whole(sms or None),
        index=whole(index if given is None else given),
        # The upper half is the device, the lower the vendor (10de).
        pci_device_id=f"{int(pci) >> 16:04X}" if pci else None,
        sm_clock_max_hz=_hz(gpu_khz or clock_khz),
        dram_clock_max_hz=_hz(memory_khz or dram_khz),
        dram_bus_bits=whole(bus or fb_bus or None),
        l2_bytes=whole(l2 or None),
        memory_bytes=whole(memory or None),
        max_warps_per_sm=whole(warps or None),
    )


def whole(value: float | None) -> int | None:
    """As a whole number; ``None`` where no counter of 64 bits holds it."""
    return int(value) if value is not None and abs(value) < 1 << 63 else None


def sms_given(metrics: Metrics, device: Device) -> int | None:
    """The SMs that a launch was given, where they are not all (green contexts, MPS)."""
    count = metrics.number("launch__sm_count")
    return whole(count) if count and device.sm_count and count < device.sm_count else None


def _hz(khz: float | None) -> float | None:
    return khz * 1e3 if khz else None
