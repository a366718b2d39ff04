"""Counters that prove causes: what is counted and ratios, by the names of ``evidence.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from math import ceil, fsum, inf
from typing import Any

from roofline.counters.recipes import all_possible, first, planned, read_table, ways
from roofline.model import Metrics

_OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
_BY_ADDRESS = "inst_executed"
# Warps an SM by registers of a thread, and by threads of a block.
CURVES = ("launch__occupancy_per_register_count", "launch__occupancy_per_block_size")
# So few registers less are worth a try, as a share of those that are used.
_FEWER = 0.75
_REGISTERS = 256  # no thread has as many
# An occupancy above this, in %, leaves no fifth more warps to win.
_FULL = 100 / 1.2
# Where not even this many waves come, occupancy is not what limits the warps.
_FEW_WAVES = 2.0
# Executed moves of which a debug build may be made, and its least length.
_MANY_MOVES, _SHORT_CODE = 0.15, 16
_MOV, _RZ = 0x202, 255  # of a register; the register that is always zero
_ONTO_ITSELF = re.compile(r"(?<![.\w])MOV (R\d+), \1\b")


@cache
def tables() -> dict[str, dict[str, Any]]:
    """The tables of ``evidence.toml``: of counts and ratios the recipes, of opcodes the words."""
    said = read_table("evidence")
    for table in ("counts", "ratios", "shown"):
        said[table] = {name: ways(texts) for name, texts in said[table].items()}
    return said


def counts_of(metrics: Metrics) -> dict[str, float]:
    """Counts by name; one that the report lacks, or that is negative, is not there."""
    found = _read("counts", metrics)
    mix = metrics.instances(_OPCODES)
    if mix:
        found |= dict.fromkeys(tables()["opcodes"], 0.0) | {"instructions": fsum(mix.values())}
        for opcode, count in mix.items():
            for name in _names(opcode):
                found[name] += count
    return found


def ratios_of(
    metrics: Metrics, counts: Mapping[str, float], numbers: Mapping[str, float | None]
) -> dict[str, float]:
    """Ratios by name, with what fewer registers or other blocks would make of the occupancy.

    The latter is read only where it may matter: curves of 300 points take as long as all the rest.
    """
    found = _read("ratios", metrics) | _read("shown", metrics)
    registers, occupancy = (
        numbers.get(name) for name in ("registers_per_thread", "theoretical_occupancy_percent")
    )
    filled = (numbers.get("waves") or 0.0) >= _FEW_WAVES
    if registers is not None and occupancy is not None and occupancy < _FULL and filled:
        least, end = ceil(_FEWER * registers), min(ceil(registers), _REGISTERS)
        fewer = _curve(metrics, CURVES[0], range(least, end))
        # Whole warps, and not tiny ones; the nearest to today's size would do.
        sizes = _curve(metrics, CURVES[1], range(64, 513, 32))
        size = metrics.number("launch__block_size") or 0.0
        for name, curve, at in (
            ("fewer_registers", fewer, registers),
            ("other_block", sizes, size),
        ):
            if curve:
                most = max(curve.values())
                found[f"{name}_warps"] = most
                best = (key for key, warps in curve.items() if warps == most)
                found[name] = min(best, key=lambda key: abs(key - at))
    repeated = _repeated_moves(metrics, counts)
    if repeated is not None:
        found["repeated_moves"] = repeated
    return found


def _read(table: str, metrics: Metrics) -> dict[str, float]:
    ways = planned(metrics, tables()[table], all_possible)
    found = ((name, first(recipes, metrics.number)) for name, recipes in ways)
    return {name: one.value for name, one in found if one is not None and one.value >= 0}


@cache  # reports repeat a few hundred opcodes by the launch
def _names(opcode: str) -> tuple[str, ...]:
    """What an opcode counts as, whatever further modifiers it has."""
    words = tables()["opcodes"].items()
    return tuple(
        name for name, known in words if any(f"{opcode}.".startswith(f"{one}.") for one in known)
    )


def _curve(metrics: Metrics, name: str, at: range) -> dict[float, float]:
    """Warps an SM, by registers or by threads a block."""
    rows = metrics.instances(name)
    return {float(key): rows[str(key)] for key in at if str(key) in rows}


def _repeated_moves(metrics: Metrics, counts: Mapping[str, float]) -> float | None:
    """The share of the code that moves a register onto itself; only debug builds have any.

    The code is read only where moves were many or are not known, as that costs time.
    """
    if counts.get("moves", inf) < _MANY_MOVES * counts.get("instructions", 0.0):
        return None
    addresses = metrics.instances(_BY_ADDRESS)
    if len(addresses) < _SHORT_CODE:
        return None
    known = [found for at in addresses if (found := _onto_itself(metrics, at)) is not None]
    return sum(known) / len(known) if len(known) >= _SHORT_CODE else None


def _onto_itself(metrics: Metrics, address: str) -> bool | None:
    """Whether an instruction moves a register onto itself, as its bits or its text tell."""
    if code := metrics.machine_code(address):
        number, to, register = code[0] | (code[1] & 15) << 8, code[2], code[4]
        return number == _MOV and to == register != _RZ
    line = metrics.sass(address)
    return None if not line else _ONTO_ITSELF.search(line) is not None
