"""Operations by precision: counters where they are, the opcode mix where it says more."""

from __future__ import annotations

from collections.abc import Mapping

from roofline.counters.opcodes import plain_mix
from roofline.counters.recipes import FP16, FP32, FP64, QuantityReader
from roofline.counters.tensor import TensorWork

THREAD_OPCODES = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"
_HALF_ACTIVITY = "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active"
_MIX = "thread-level opcode mix"
# Packed FP32: the FADD, FMUL and FFMA counters say nothing of it; the mix does.
_PACKED = ("FADD2", "FMUL2", "FFMA2")


def operations_of(
    reader: QuantityReader, tensor: TensorWork
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Operations by key, and what ran without being counted."""
    executed = reader.metrics.instances(THREAD_OPCODES)
    mix = plain_mix(executed) if executed else {}
    # Where the mix says more: it tells FP16 from BF16 and from conversions, and sees packed FP32.
    better = {"fp16"} if mix else set()
    if any(opcode.partition(".")[0] in _PACKED for opcode in executed):
        better.add("fp32")
    found: dict[str, float] = {}
    for key, recipes in (("fp64", FP64), ("fp32", FP32), ("fp16", FP16)):
        value = None if key in better else reader.get(f"operations.{key}", recipes)
        if value is not None:
            # Operations come in ones: undo the rounding of a rate times a time.
            nearest = float(round(value))
            found[key] = nearest if abs(value - nearest) <= 1e-9 * nearest + 1e-6 else value
        elif key in mix:
            found[key] = mix[key]
            reader.provenance[f"operations.{key}"] = _MIX
    if mix.get("bf16"):
        found["bf16"] = mix["bf16"]
        reader.provenance["operations.bf16"] = _MIX
    unmeasured = []
    if tensor.how is not None:
        reader.provenance["operations.tensor"] = tensor.how
        found |= tensor.operations
    elif tensor.active:
        unmeasured.append("tensor")
    if "fp16" not in found and (reader.metrics.number(_HALF_ACTIVITY) or 0.0) > 0:
        unmeasured.append("fp16")
    return found, tuple(unmeasured)
