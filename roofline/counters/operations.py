"""Operations by precision: counters where they are, the opcode mix where it says more."""

from __future__ import annotations

import re
from collections.abc import Mapping

from roofline.counters.opcodes import TABLES, TensorWork, integer_mix, packed_kind, plain_mix
from roofline.counters.recipes import FP16, FP32, FP64, PACKED_FP32, QuantityReader, Reading, forms
from roofline.counters.tensor import MIXES, THREAD_OPCODES

_HALF_ACTIVITY = "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active"
_MIX = "thread-level opcode mix"
# A pipe that is busier than this with half-precision instructions does more than move constants.
_MOVING_PERCENT = 20.0
_HALF_PIPES = tuple(
    f"sm__{pipe}.avg.pct_of_peak_sustained_elapsed"
    for pipe in ("inst_executed_pipe_fp16", "pipe_tensor_cycles_active", "pipe_fma_cycles_active")
)
_PACKED = re.compile(
    r"(?P<base>sm(?:sp)?__sass_thread_inst_executed_op_(?P<opcode>[fq](?:add|mul|fma)[24])_pred_on)\.sum"
)
_INTEGERS = "smsp__sass_thread_inst_executed_op_integer_pred_on"


def operations_of(
    reader: QuantityReader, tensor: TensorWork
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Operations by key, and what ran without being counted."""
    executed = reader.metrics.instances(THREAD_OPCODES)
    mix = plain_mix(executed) if executed else {}
    # Where the mix says more: it tells FP16 from BF16, conversions and moves, and sees packed FP32.
    better = {"fp16"} if mix else set()
    packed = PACKED_FP32.read(reader)
    if "packed_fp32" in map(packed_kind, executed):
        better.add("fp32")
    found: dict[str, float] = {}
    for key, counters in (("fp64", FP64), ("fp32", FP32), ("fp16", FP16)):
        reading = None if key in better else counters.read(reader)
        if reading is None and key in mix:
            reading = Reading(mix[key], _MIX)
        elif key == "fp32" and packed is not None:
            reading = _both(reading, packed)
        elif key == "fp16" and reading is not None and _only_moves(reader):
            reading = Reading(0.0, f"{reading.how}: moves of constants by HFMA2.MMA")
        value = reader.keep(f"operations.{key}", reading)
        if value is not None:
            # Operations come in ones: undo the rounding of a rate times a time.
            nearest = float(round(value))
            found[key] = nearest if abs(value - nearest) <= 1e-9 * nearest + 1e-6 else value
    if mix.get("bf16"):
        found["bf16"] = mix["bf16"]
        reader.provenance["operations.bf16"] = _MIX
    if tensor.how is not None:
        reader.provenance["operations.tensor"] = tensor.how
        found |= tensor.operations
    packed_ran = _packed_ran(reader)
    if mix or (packed and "fp32" in found):
        packed_ran.discard("packed_fp32")
    ran = {
        **{kind: kind in packed_ran for kind in dict.fromkeys(TABLES["packed"].values())},
        "tensor": tensor.how is None and tensor.active,
        "fp16": "fp16" not in found and (reader.number(_HALF_ACTIVITY) or 0.0) > 0,
    }
    return found, tuple(kind for kind, uncounted in ran.items() if uncounted)


def _both(plain: Reading | None, packed: Reading) -> Reading | None:
    """FP32 operations, plain and packed; ``None`` where the plain ones are missing."""
    if plain is None:
        return None
    how = f"{plain.how}, {packed.how}" if packed.value else plain.how
    return Reading(plain.value + packed.value, how)


def _packed_ran(reader: QuantityReader) -> set[str]:
    """The kinds of packed arithmetic that ran, by counters or by an opcode mix."""
    metrics = reader.metrics
    mix = next(filter(None, map(metrics.instances, MIXES)), {})
    ran = {packed_kind(opcode) for opcode, count in mix.items() if count}
    counted = (_PACKED.match(name) for name in metrics.matching(_PACKED))
    bases = {(one["base"], one["opcode"].upper()) for one in counted if one}
    return ran | {packed_kind(opcode) for base, opcode in bases if reader.amount(base)}


def _only_moves(reader: QuantityReader) -> bool:
    """Whether half-precision multiply-adds move constants: no other, and no pipe busy with them."""
    add, mul, fma = (reader.amount(name) for name in FP16.counters())
    busiest = max(reader.number(name) or 0.0 for name in _HALF_PIPES)
    return add == mul == 0.0 and bool(fma) and busiest < _MOVING_PERCENT


def integer_operations(reader: QuantityReader) -> Reading | None:
    """Integer additions and multiplications; without an opcode mix, integer instructions."""
    executed = reader.metrics.instances(THREAD_OPCODES)
    if executed:
        return Reading(integer_mix(executed), _MIX)
    return reader.read(forms(_INTEGERS))
