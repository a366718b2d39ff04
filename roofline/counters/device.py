"""The GPU of a launch from its ``device__attribute_*`` metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from roofline.model import Device, Metrics

_A = "device__attribute_"
_T = TypeVar("_T")
_shared = lru_cache(maxsize=64)(Device)


def device_of(metrics: Metrics) -> Device:
    """The device as the report describes it; equal devices are one object."""
    major = metrics.number(_A + "compute_capability_major")
    minor = metrics.number(_A + "compute_capability_minor")
    pci = metrics.number(_A + "gpu_pci_device_id")
    index = metrics.number("launch__device_id")
    if index is None:
        index = metrics.number(_A + "device_index")
    return _shared(
        name=metrics.text(_A + "display_name"),
        compute_capability=None if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        sm_count=_first(metrics, whole, "multiprocessor_count"),
        index=whole(index),
        # The upper half is the device, the lower the vendor (10de).
        pci_device_id=f"{int(pci) >> 16:04X}" if pci else None,
        sm_clock_max_hz=_first(metrics, _khz, "max_gpu_frequency_khz", "clock_rate"),
        dram_clock_max_hz=_first(metrics, _khz, "max_mem_frequency_khz", "memory_clock_rate"),
        dram_bus_bits=_first(metrics, whole, "global_memory_bus_width", "fb_bus_width"),
        l2_bytes=_first(metrics, whole, "l2_cache_size"),
        memory_bytes=_first(metrics, whole, "total_memory"),
        max_warps_per_sm=_first(metrics, whole, "max_warps_per_multiprocessor"),
    )


def whole(value: float | None) -> int | None:
    """As a whole number; ``None`` where no counter of 64 bits holds it."""
    return int(value) if value is not None and abs(value) < 1 << 63 else None


def sms_given(metrics: Metrics, device: Device) -> int | None:
    """The SMs that a launch was given, where they are not all (green contexts, MPS)."""
    count = metrics.number("launch__sm_count")
    return whole(count) if count and device.sm_count and count < device.sm_count else None


def _first(metrics: Metrics, convert: Callable[[float], _T], *names: str) -> _T | None:
    """The first attribute that is there and not 0, which reports write for "not known"."""
    for name in names:
        value = metrics.number(_A + name)
        if value:
            return convert(value)
    return None


def _khz(value: float) -> float:
    return value * 1e3
