"""Ask NVIDIA's host metrics library, without a GPU, what a chip can count and in how many passes.

The library comes with the package nvidia-cuda-cupti; names and structs follow nvperf_host.h and
nvperf_cuda_host.h of that package.
"""

from __future__ import annotations

import ctypes
import site
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_PROFILER = 1  # NVPA_ACTIVITY_KIND_PROFILER
_COUNTER, _RATIO, _THROUGHPUT = range(3)  # NVPW_MetricType


class _Request(ctypes.Structure):
    _fields_ = (
        ("metric_index", ctypes.c_size_t),
        ("metric_type", ctypes.c_uint8),
        ("rollup", ctypes.c_uint8),
        ("submetric", ctypes.c_uint16),
    )


class _RawRequest(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("isolated", ctypes.c_uint8),
        ("keep_instances", ctypes.c_uint8),
    )


def _end(kind: Any) -> int:
    """Size as NVIDIA counts it: to the end of the last field, without padding."""
    last = getattr(kind, kind._fields_[-1][0])
    return int(last.offset + last.size)


def _parameters(name: str, /, **fields: Any) -> Any:
    head = (("struct_size", ctypes.c_size_t), ("private", ctypes.c_void_p))
    return type(name, (ctypes.Structure,), {"_fields_": (*head, *fields.items())})


_SIZE, _PTR, _TEXT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
_TEXTS, _SIZES = ctypes.POINTER(_TEXT), ctypes.POINTER(_SIZE)
_CHIP = {"chip": _TEXT, "availability": _PTR}
_Empty = _parameters("Empty")
_Chips = _parameters("Chips", names=_TEXTS, count=_SIZE)
_Scratch = _parameters("Scratch", **_CHIP, size=_SIZE)
_Evaluator = _parameters(
    "Evaluator", scratch=_PTR, scratch_size=_SIZE, **_CHIP, data=_PTR, data_size=_SIZE, out=_PTR
)
_Names = _parameters(
    "Names", evaluator=_PTR, kind=ctypes.c_uint8, names=_PTR, begins=_SIZES, count=_SIZE
)
_Convert = _parameters(
    "Convert", evaluator=_PTR, name=_TEXT, request=ctypes.POINTER(_Request), request_size=_SIZE
)
_Needs = _parameters(
    "Needs",
    evaluator=_PTR,
    requests=ctypes.POINTER(_Request),
    count=_SIZE,
    request_size=_SIZE,
    stride=_SIZE,
    raw=_TEXTS,
    raw_count=_SIZE,
    optional=_TEXTS,
    optional_count=_SIZE,
)
_Config = _parameters("Config", kind=ctypes.c_uint32, **_CHIP, out=_PTR)
_Begin = _parameters("Begin", config=_PTR, max_passes=_SIZE)
_End = _parameters("End", config=_PTR)
_Add = _parameters("Add", config=_PTR, requests=ctypes.POINTER(_RawRequest), count=_SIZE)
_Passes = _parameters("Passes", config=_PTR, passes=_SIZE)


def find_library() -> Path | None:
    """Where libnvperf_host.so is among the installed packages."""
    for root in dict.fromkeys((*site.getsitepackages(), site.getusersitepackages())):
        for found in sorted(Path(root).glob("nvidia/**/libnvperf_host.so")):
            return found
    return None


class Library:
    """The host side of PerfWorks, loaded."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._keep: list[Any] = []  # scratch buffers must outlive their evaluators
        self._evaluators: dict[str, Any] = {}
        self._call("InitializeHost", _Empty)

    def _call(self, function: str, struct: Any, /, **fields: Any) -> Any:
        parameters = struct(struct_size=_end(struct), **fields)
        status = getattr(self._library, f"NVPW_{function}")(ctypes.byref(parameters))
        if status:
            raise ValueError(f"NVPW_{function} answered {status}")
        return parameters

    def chips(self) -> list[str]:
        """Names of the chips that the library knows, "GH100" among them."""
        found = self._call("GetSupportedChipNames", _Chips)
        return [found.names[i].decode() for i in range(found.count)]

    def _evaluator(self, chip: str) -> Any:
        if chip not in self._evaluators:
            name = chip.encode()
            size = self._call(
                "CUDA_MetricsEvaluator_CalculateScratchBufferSize", _Scratch, chip=name
            ).size
            scratch = ctypes.create_string_buffer(size)
            self._keep.append(scratch)
            self._evaluators[chip] = self._call(
                "CUDA_MetricsEvaluator_Initialize",
                _Evaluator,
                scratch=ctypes.cast(scratch, _PTR),
                scratch_size=size,
                chip=name,
            ).out
        return self._evaluators[chip]

    def base_names(self, chip: str) -> set[str]:
        """Metric names of ``chip`` without roll-ups."""
        names = set()
        for kind in (_COUNTER, _RATIO, _THROUGHPUT):
            found = self._call(
                "MetricsEvaluator_GetMetricNames",
                _Names,
                evaluator=self._evaluator(chip),
                kind=kind,
            )
            for i in range(found.count):
                names.add(ctypes.string_at(found.names + found.begins[i]).decode())
        return names

    def passes(self, chip: str, metrics: Iterable[str]) -> tuple[int, list[str]]:
        """Hardware passes that ``metrics`` cost together, and those that ``chip`` lacks."""
        config = self._call(
            "CUDA_RawMetricsConfig_Create_V2", _Config, kind=_PROFILER, chip=chip.encode()
        ).out
        self._call("RawMetricsConfig_BeginPassGroup", _Begin, config=config)
        absent = [name for name in metrics if not self._add(chip, config, name)]
        self._call("RawMetricsConfig_EndPassGroup", _End, config=config)
        return self._call("RawMetricsConfig_GetNumPasses_V2", _Passes, config=config).passes, absent

    def _add(self, chip: str, config: Any, metric: str) -> bool:
        evaluator, request = self._evaluator(chip), _Request()
        try:
            self._call(
                "MetricsEvaluator_ConvertMetricNameToMetricEvalRequest",
                _Convert,
                evaluator=evaluator,
                name=metric.encode(),
                request=ctypes.pointer(request),
                request_size=_end(_Request),
            )
            needs = {
                "evaluator": evaluator,
                "requests": ctypes.pointer(request),
                "count": 1,
                "request_size": _end(_Request),
                "stride": ctypes.sizeof(_Request),
            }
            function = "MetricsEvaluator_GetMetricRawDependencies"
            count = self._call(function, _Needs, **needs).raw_count
            names = (_TEXT * max(count, 1))()
            self._call(function, _Needs, **needs, raw=names, raw_count=count)
            raw = (_RawRequest * max(count, 1))()
            for i in range(count):
                raw[i] = _RawRequest(_end(_RawRequest), None, names[i], 1, 1)
            self._call(
                "RawMetricsConfig_AddMetrics", _Add, config=config, requests=raw, count=count
            )
        except ValueError:
            return False
        return True


def load() -> Library:
    """The library, or an exit that says how to get it."""
    path = find_library()
    if path is None:
        sys.exit("libnvperf_host.so is not here; try: pip install nvidia-cuda-cupti")
    return Library(path)
