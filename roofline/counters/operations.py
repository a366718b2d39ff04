"""Operations by precision: counters where they are, the opcode mix where it says more."""

from __future__ import annotations

from collections.abc import Mapping

from roofline.counters.opcodes import plain_mix
from roofline.counters.recipes import FP16, FP32, FP64, QuantityReader
from roofline.counters.tensor import TensorWork

THREAD_OPCODES = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"
_HALF_ACTIVITY = "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active"
# Packed FP32: the FADD, FMUL and FFMA counters say nothing of it; the mix does.
_PACKED = ("FADD2", "FMUL2", "FFMA2")


def operations_of(
    reader: QuantityReader, tensor: TensorWork
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Operations by key, and what ran without being counted."""
    executed = reader.metrics.instances(THREAD_OPCODES)
    mix = plain_mix(executed) if executed else {}
    found: dict[str, float] = {}
    for key, recipes in (("fp64", FP64), ("fp32", FP32)):
        value = reader.get(f"operations.{key}", recipes)
        if value is not None:
            found[key] = _whole(value)
        elif key in mix:
            found[key] = mix[key]
            reader.provenance[f"operations.{key}"] = "thread-level opcode mix"
    found |= _half_operations(reader, mix)
    unmeasured = []
    if tensor.how is not None:
        reader.provenance["operations.tensor"] = tensor.how
        found |= tensor.operations
    elif tensor.active:
        unmeasured.append("tensor")
    if "fp16" not in found and (reader.metrics.number(_HALF_ACTIVITY) or 0.0) > 0:
        unmeasured.append("fp16")
    if any(opcode.partition(".")[0] in _PACKED for opcode in executed):
        found["fp32"] = mix["fp32"]
        reader.provenance["operations.fp32"] = "thread-level opcode mix"
    return found, tuple(unmeasured)


def _half_operations(reader: QuantityReader, mix: Mapping[str, float]) -> dict[str, float]:
    """FP16 and BF16: the opcode mix tells them apart and leaves conversions out."""
    if mix:
        reader.provenance["operations.fp16"] = "thread-level opcode mix"
        if not mix["bf16"]:
            return {"fp16": mix["fp16"]}
        reader.provenance["operations.bf16"] = "thread-level opcode mix"
        return {"fp16": mix["fp16"], "bf16": mix["bf16"]}
    value = reader.get("operations.fp16", FP16)
    return {} if value is None else {"fp16": _whole(value)}


def _whole(count: float) -> float:
    """Operations come in ones: undo the rounding of a rate times a time."""
    nearest = float(round(count))
    return nearest if abs(count - nearest) <= 1e-9 * nearest + 1e-6 else count
