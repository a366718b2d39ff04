"""Kernels without a report: what somebody states of operations, bytes and time."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, prod
from pathlib import Path

from roofline.arguments import checked, number, unless_none
from roofline.errors import ArgumentError, InputError, UsageError
from roofline.files import read_text
from roofline.model import PRECISIONS, TENSOR_PRECISIONS, Device, Kind, Measurement
from roofline.specs import Registry
from roofline.text import names, numbers

FIGURES = "figures as stated"
COLUMNS = ("name", "gpu", "dtype", "flops", "bytes", "time", "mnk")
_EXAMPLES = {"gpu": "h100", "flops": "1e11", "bytes": "3GB", "time": "3.1ms"}
# What people call a type -> the operation key; half precision is meant on the tensor cores.
DTYPES = {
    **{key.removeprefix("tensor_"): key for key in TENSOR_PRECISIONS},
    "fp64": "fp64",
    "tensor_fp64": "tensor_fp64",
    "fp32": "fp32",
    "plain_fp16": "fp16",
    "plain_bf16": "bf16",
}
# As libraries and CUDA spell them.
_SPELLED = {"double": "fp64", "float": "fp32", "single": "fp32", "half": "fp16"}
_SPELLED |= {f"float{bits}": f"fp{bits}" for bits in (64, 32, 16, 8)}
_SPELLED |= {"bfloat16": "bf16", "__nv_bfloat16": "bf16", "__half": "fp16"}


@checked
@dataclass(frozen=True, slots=True)
class Point:
    """A kernel or a phase of which somebody knows what it did and how long that took.

    ``flops`` are operations (an FMA is two), ``bytes`` those of DRAM; one of them may be absent.
    ``gpu`` is a name or key of the hardware registry, ``dtype`` one of ``DTYPES`` or an operation
    key: "bf16" is the tensor cores', "fp32" and "fp64" are the ordinary pipes'. An FP64 ``matmul``
    is the tensor cores' where these are faster. Points of one name on one GPU are launches of one
    kernel.

    Raises:
        ArgumentError: a figure is no number, negative or not finite.
        UsageError: a figure is missing, or a type is not known.

    """

    name: str
    gpu: str
    seconds: float
    dtype: str = "fp32"
    flops: float | None = None
    bytes: float | None = None
    matmul: bool = False

    def __post_init__(self) -> None:
        if not self.gpu.strip():
            raise ArgumentError("gpu is empty", hint='gpu="h100", as roofline specs list names it')
        number(0, above=True, hint="seconds=3.1e-3", seconds=self.seconds)
        number(0, hint="flops=2.1e12, bytes=3e9", **unless_none(flops=self.flops, bytes=self.bytes))
        if not self.flops and not self.bytes:
            raise UsageError(f"{self.name} does nothing", hint="flops=2.1e12, or bytes=3e9")
        key_of(self.dtype)


def key_of(dtype: str) -> str:
    """The operation key that a type stands for, or a ``UsageError``."""
    word = dtype.strip().lower().removeprefix("torch.")
    word = _SPELLED.get(word, word)
    key = DTYPES.get(word, word)
    if key not in PRECISIONS and (key := f"tensor_{key}") not in PRECISIONS:
        raise UsageError(f"no type is called {dtype!r}", hint=f"one of {', '.join(DTYPES)}")
    return key


def measured(point: Point, registry: Registry, index: int = 0) -> Measurement:
    """The figures as a measurement on that GPU; a ``UsageError`` where it has no such type."""
    (spec, notes), key = registry.meant(point.gpu), key_of(point.dtype)
    shared = any(spec.name in one.names for one in registry.specs.values() if one is not spec)
    rates = spec.peaks().operations_per_s
    if point.matmul and key == "fp64" and rates.get("tensor_fp64", 0.0) > rates.get(key, inf):
        key = "tensor_fp64"
    if point.flops and rates and key not in rates:
        known = (name for name, of in DTYPES.items() if of in rates)
        raise UsageError(
            f"{point.name}: no rate of {names.operation(key)} is known for {spec.name}",
            hint=f"--dtype with one of {', '.join(known)}",
        )
    return Measurement(
        source=FIGURES,
        range=0,
        index=index,
        kind=Kind.FIGURES,
        name=point.name,
        demangled=point.name,
        device=Device(
            name=f"{spec.name} [{spec.key}]" if shared else spec.name,
            compute_capability=spec.compute_capability,
            sm_count=spec.sm_count,
        ),
        spec=spec.key,
        duration_s=point.seconds,
        dram_bytes=point.bytes,
        operations={} if point.flops is None else {key: point.flops},
        provenance=dict.fromkeys(("duration", "dram_bytes", f"operations.{key}"), "stated"),
        notes=notes,
    )


def point_of(given: Mapping[str, str | None], where: str = "") -> Point:
    """A point of what somebody typed for ``COLUMNS``; what is wrong is a ``UsageError``.

    Of "mnk" follow 2 MNK operations and the bytes of both operands and the result, each once,
    where they are not given themselves; a fourth number in front is a batch.
    """
    told = {key: value.strip() for key, value in given.items() if value and value.strip()}
    if missing := [what for what in ("gpu", "time") if what not in told]:
        amounts = () if told.keys() & {"flops", "bytes", "mnk"} else ("flops", "bytes")
        full = told | {what: _EXAMPLES[what] for what in (*missing, *amounts)}
        command = " ".join(f"--{key} {shlex.quote(full[key])}" for key in COLUMNS if key in full)
        hint = f"a column of it, or --{missing[0]}" if where else f"roofline verdict {command}"
        verb = "are" if len(missing) > 1 else "is"
        raise UsageError(f"{where}{' and '.join(missing)} {verb} missing", hint=hint)
    found: dict[str, float] = {}
    dtype = told.get("dtype", "fp32")
    if text := told.get("mnk"):
        sizes = [int(size) for size in re.findall(r"\d{1,15}", text)]
        if not re.fullmatch(r"\d{1,15}([xX\xd7,*]\d{1,15}){2,3}", text) or not all(sizes):
            why = "it takes three sizes above 0, or a batch and three"
            raise UsageError(f"{where}mnk is {text!r}", why=why, hint="MxNxK, as 4096x4096x8192")
        m, n, k = sizes[-3:]
        batch = prod(sizes[:-3])
        width = int((re.findall(r"\d{1,3}", key_of(dtype)) or ["32"])[0])
        width = 32 if "tf32" in key_of(dtype) else width
        found = {"flops": 2.0 * batch * m * n * k}
        found["bytes"] = batch * (m * k + k * n + m * n) * width / 8
    for key, unit in (("flops", "FLOP"), ("bytes", "B"), ("time", "s")):
        if key in told:
            found[key] = _amount(key, told[key], unit, where)
    name = told.get("name", "kernel")
    if not found["time"]:
        raise UsageError(f"{name} takes no time", hint="--time 3.1ms")
    if not found.get("flops") and not found.get("bytes"):
        hint = "--flops 2.1e12, --bytes 3GB, or --mnk MxNxK"
        raise UsageError(f"{name} does nothing", hint=hint)
    return Point(
        name,
        gpu=told["gpu"],
        seconds=found["time"],
        dtype=dtype,
        flops=found.get("flops"),
        bytes=found.get("bytes"),
        matmul="mnk" in told,
    )


def _amount(key: str, text: str, unit: str, where: str) -> float:
    """What was typed for one column, or a ``UsageError`` that says what is wrong with it."""
    value = numbers.read(text, unit)
    least = 1e-30 if key == "time" else 1.0
    if value is not None and (value == 0 or least <= value <= 1e30):
        return value
    hint = f"as {_EXAMPLES[key]}"
    if key == "flops" and "*" in text:
        hint += ", or --mnk MxNxK for the 2MNK of a GEMM"
    why = "it cannot be read as an amount"
    if value is not None:
        why = f"it is less than {least:g}" if value < least else "it is more than 1e30"
    elif numbers.read(re.sub(r" ?(/ ?s(ec)?|ps)$", "", text, flags=re.IGNORECASE), unit):
        why = f"that is a rate; give the {'operations' if key == 'flops' else key}"
    elif numbers.read(text.removeprefix("-"), unit):
        why = "it is below 0"
    elif numbers.read(f"{text}{unit}", unit) is not None:
        why = "it has no unit"
    raise UsageError(f"{where}{key} is {text!r}", why=why, hint=hint)


def read_points(path: Path, common: Mapping[str, str | None]) -> tuple[Point, ...]:
    """The rows of a CSV file with some of ``COLUMNS``, and ``common`` where they say nothing.

    Raises:
        InputError: the file cannot be read, or a row is wrong: which, and why.

    """
    rows = csv.DictReader(io.StringIO(read_text(path)), skipinitialspace=True, restval="")
    columns = {name.strip().lower() for name in rows.fieldnames or ()}
    hint = f"a first line with some of {', '.join(COLUMNS)}"
    if others := [sign for sign in ";\t" if any(sign in name for name in columns)]:
        sign = {";": "semicolons", "\t": "tabs"}[others[0]]
        raise InputError(
            f"{path}: its cells are separated by {sign}",
            why="those of a CSV are by commas",
            hint="save it with commas, and with points in numbers: gemm,2.1e12,3.1ms",
        )
    if unknown := sorted(columns - {*COLUMNS}):
        raise InputError(f"{path}: no column {unknown[0]!r} is known", hint=hint)
    points = []
    for row in rows:
        if None in row:
            what = f"{path}: line {rows.line_num} has more cells than the first line"
            raise InputError(what, hint=hint)
        own = {(key or "").strip().lower(): value for key, value in row.items() if value.strip()}
        try:
            points.append(point_of({**common, **own}, f"line {rows.line_num}: "))
        except UsageError as error:
            what = f"{path}: {error.what}"
            raise InputError(what, why=error.why, hint=error.hint) from error
    if not points:
        raise InputError(f"{path} holds no rows", hint=hint)
    return tuple(points)
