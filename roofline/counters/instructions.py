"""The instructions at which a launch loses its time, and those whose accesses are wasteful."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice

from roofline.counters.opcodes import TABLES
from roofline.counters.stalls import REASONS, SAME
from roofline.model import SAMPLES_NEEDED, Details, Instruction, Launch, Metrics, is_address

MOST = 5  # instructions that are named
_LEAST = 0.1  # of the samples: the first of what is less is no culprit
_FEW = 0.005  # of the samples: what is less is not looked at
_BYTES = 16  # of an instruction, since Volta
_BACK = 512  # instructions that are searched for the one that is waited for
_SAMPLES = "smsp__pcsamp_sample_count"
_REASON = "smsp__pcsamp_warps_issue_stalled_"
_OPCODES = (
    "sass__inst_executed_per_opcode_with_modifier_all",
    "sass__inst_executed_per_opcode",
)
_OFTEN = 6  # opcodes that are named
# Several instructions in one: IMAD moves and adds, MUFU is any special function.
_SEVERAL = ("IMAD", "MUFU", "HFMA2")
_ISSUED = ("selected", "not_selected")
# Instances by address: what was moved, and what its bytes need.
_SECTORS = "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"
_SECTORS_2020 = "memory_l2_sectors_global", "memory_l2_sectors_global_ideal"
_WAVEFRONTS = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
_CONFLICTS = tuple(
    f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st")
)
_FOR_WARPS = frozenset(TABLES["waits"]["for_warps"])
# Stalls that are sampled at the instruction behind the one that waits.
_BEHIND: Mapping[str, str] = TABLES["behind"]
_NEAR = 4  # instructions that may lie between
_REGISTER = re.compile(r"(?<![A-Za-z0-9_.])(U?[RP])(\d+|T|Z)(?![A-Za-z0-9_])")
_PREDICATES = "P", "UP"
_GUARD = re.compile(r"@!?(U?P)(\w+)\s+")
_SETS_PREDICATES = re.compile(r"SETP|FCHK|PLOP3|^R2P")
_TARGET = re.compile(r"0x([0-9a-f]+)$")
_WIDE = re.compile(r"\.(64|96|128|256)\b")
_MATRICES = re.compile(r"\.(?:M88|MT88)\.([24])\b|\.x?([24])\b")


def details(launch: Launch, *, source: bool = False) -> Details:
    """Read what a launch's report says instruction by instruction, and NVIDIA's rules.

    ``source`` asks for the text of source lines too, which is somebody's.

    This decodes all samples and disassembles code, so it is asked for one launch, not for all.
    """
    metrics = launch.metrics
    code = _Code(metrics, source)
    by_address = _by_address(metrics, _SAMPLES)
    total = sum(by_address.values()) or None
    sampled: list[Instruction] = []
    if total is not None and total >= SAMPLES_NEEDED:
        tables = _reasons(metrics)
        ranked = sorted(by_address, key=lambda at: (-by_address[at], int(at)))
        some = [at for at in ranked if by_address[at] >= _FEW * total]
        sampled = [_sampled(code, int(at), by_address[at], total, tables) for at in some]
    lines, waits = Counter[str](), Counter[str]()
    for one in sampled:
        if one.sass or one.file:  # a redacted report names neither
            waits[_wait(one)] += one.share  # type: ignore[assignment]
        if one.file is not None:
            lines[f"{one.file}:{one.line}"] += one.share  # type: ignore[assignment]
    warps = sum(one.share for one in sampled if one.for_warps)
    if not sampled or sampled[0].share < _LEAST:
        sampled = []
    sectors, excess = _beyond(metrics, _SECTORS if metrics.has(_SECTORS[0]) else _SECTORS_2020)
    wavefronts, repeated = (None, {}) if _free(metrics) else _beyond(metrics, _WAVEFRONTS)
    wasting = (
        *(replace(code.at(at), sectors=many) for at, many in _worst(excess, sectors)),
        *(replace(code.at(at), wavefronts=many) for at, many in _worst(repeated, wavefronts)),
    )
    return Details(
        index=launch.index,
        samples=total,
        sampled=tuple(sampled[:MOST]),
        lines=dict(lines.most_common(MOST)),
        waits=dict(waits.most_common()),
        executed=_executed(metrics),
        warps_share=warps,
        sectors=sectors,
        wavefronts=wavefronts,
        wasting=wasting,
        rules=metrics.rules,
    )


def _executed(metrics: Metrics) -> dict[str, float]:
    """Shares of the opcodes that ran most, with a modifier only where that says what they do."""
    found = Counter[str]()
    for opcode, count in next(filter(None, map(metrics.instances, _OPCODES)), {}).items():
        code, *modifiers = opcode.split(".")
        name = ".".join((code, *modifiers[:1])) if code in _SEVERAL else code
        found[name] += count  # type: ignore[assignment]
    total = found.total()
    return {opcode: count / total for opcode, count in found.most_common(_OFTEN) if count}


@dataclass(frozen=True)
class _Code:
    """The code of a launch by address."""

    metrics: Metrics
    source: bool

    def at(self, address: int) -> Instruction:
        """The instruction and where it stands in the source."""
        file, line = self.metrics.line(str(address)) or (None, None)
        text = self.metrics.source(file) if file and self.source else ""
        lines = islice(text.splitlines(), line - 1, line) if line and text else ()
        sass = self.sass(address)
        return Instruction(
            address=address,
            sass=sass or None,
            # Paths say who someone is.
            file=None if file is None else re.split(r"[/\\]", file)[-1],
            line=line,
            source=next((found.strip() for found in lines), None),
        )

    def sass(self, address: int) -> str:
        """The instruction on one line; empty where the report does not hold it."""
        text = " ".join((self.metrics.sass(str(address)) or "").split())
        return "" if text.startswith("???") else text

    def opcode(self, address: int) -> str:
        """Its opcode without modifiers; empty where it is not known."""
        return _parts(self.sass(address))[0].partition(".")[0]

    @cached_property
    def first(self) -> int:
        """The address of the first instruction that ran."""
        known = _by_address(self.metrics, "inst_executed") or _by_address(self.metrics, _SAMPLES)
        return min(map(int, known))

    def producer(self, address: int, reason: str) -> Instruction | None:
        """The last slow instruction before ``address`` that writes what it waits for."""
        if reason in _BEHIND:
            before = (address - _BYTES * step for step in range(_NEAR))
            waited = (at for at in before if self.opcode(at) == _BEHIND[reason])
            return next((self.at(at) for at in waited if at != address), None)
        slow: list[str] = TABLES["producers"].get(reason, [])
        opcode, written, read = _parts(self.sass(address))
        # Copies to shared memory are waited for without a register.
        copies = opcode.partition(".")[0] in ("DEPBAR", "LDGDEPBAR", "BAR")
        for waits in (read, written):  # it may also wait to write what another still writes
            found, left = self._writer(address, self.first, slow, waits, copies=copies)
            if found is None and left and (end := self._loop(address)):
                found, _ = self._writer(end, address, slow, left, copies=copies)
            if found is not None:
                return self.at(found)
        return None

    def _writer(
        self, start: int, end: int, slow: list[str], waits: frozenset[str], *, copies: bool
    ) -> tuple[int | None, frozenset[str]]:
        """The last slow writer from ``start`` back to ``end``; of ``waits`` what none writes."""
        for at in range(start - _BYTES, max(end, start - _BACK * _BYTES) - 1, -_BYTES):
            text = self.sass(at) if slow and (waits or copies) else ""
            if not text:
                break
            opcode, written, _ = _parts(text)
            head = opcode.partition(".")[0]
            if head in slow and (written & waits or (copies and head == "LDGSTS")):
                return at, waits
            if not text.startswith("@"):  # under a predicate it may not have written
                waits -= written
        return None, waits

    def _loop(self, address: int) -> int | None:
        """The branch behind ``address`` that leads back before it."""
        for at in range(address, address + _BACK * _BYTES, _BYTES):
            if not (text := self.sass(at)):
                break
            if self.opcode(at) == "BRA" and (found := _TARGET.search(text)):
                target = int(found[1], 16)
                if self.first <= target <= address < at:
                    return at
        return None


@cache
def _parts(sass: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """The opcode of an instruction, the registers that it writes, and those that it reads."""
    guard, text = _GUARD.match(sass), _GUARD.sub("", sass).rstrip(" ;")
    opcode, _, rest = text.partition(" ")
    operands = [operand.strip() for operand in rest.split(",")]
    written: set[str] = set()
    while operands and (found := _REGISTER.fullmatch(operands[0].removesuffix(".reuse"))):
        predicate = found[1] in _PREDICATES
        if written and not predicate and _SETS_PREDICATES.search(opcode):
            break
        written |= _span(found, 1 if predicate else _width(opcode))
        operands.pop(0)
        if not predicate:
            break
    read = _span(guard, 1) if guard else frozenset()
    for operand in operands:
        for one in _REGISTER.finditer(operand):
            behind = operand[one.end() : one.end() + 3]
            read |= _span(one, 2 if behind == ".64" else _reads(opcode))
    return opcode, frozenset(written), read


def _span(register: re.Match[str], width: int) -> frozenset[str]:
    """The registers from one on; those that are always the same are none."""
    kind, number = register[1], register[2]
    if not number.isdigit():
        return frozenset()
    return frozenset(f"{kind}{int(number) + i}" for i in range(1 if kind in _PREDICATES else width))


def _width(opcode: str) -> int:
    """Registers of 32 bits that an instruction writes."""
    if opcode.startswith("LDSM") and (found := _MATRICES.search(opcode)):
        return int(found[1] or found[2])
    if opcode.startswith(("D", "IMAD.WIDE")) or ".WIDE" in opcode:
        return 2
    if "MMA" in opcode:
        return 4
    found = _WIDE.search(opcode)
    return int(found[1]) // 32 if found else 1


def _reads(opcode: str) -> int:
    if "MMA" in opcode:
        return 4
    if opcode.startswith("ST"):
        return _width(opcode)
    return 2 if opcode.startswith(("DADD", "DMUL", "DFMA", "DSETP", "F2F", "F2I")) else 1


def _by_address(metrics: Metrics, name: str) -> dict[str, float]:
    return {at: many for at, many in metrics.instances(name).items() if is_address(at)}


def _reasons(metrics: Metrics) -> Mapping[str, Mapping[str, float]]:
    """Samples by reason and address."""
    found: dict[str, dict[str, float]] = {}
    for reason in (*REASONS, *_ISSUED):
        table = found.setdefault(SAME.get(reason, reason), {})
        for at, samples in metrics.instances(_REASON + reason).items():
            table[at] = table.get(at, 0.0) + samples
    return found


def _sampled(
    code: _Code,
    address: int,
    samples: float,
    total: float,
    tables: Mapping[str, Mapping[str, float]],
) -> Instruction:
    """An instruction with what its samples waited for."""
    waits = {reason: table.get(str(address), 0.0) for reason, table in tables.items()}
    reason = max((r for r in waits if r not in _ISSUED), key=lambda r: waits[r], default="")
    counted = sum(waits.values())
    known = counted > 0 and waits[reason] > 0
    producer = code.producer(address, reason) if known else None
    opcodes = {code.opcode(address), "" if producer is None else code.opcode(producer.address)}
    return replace(
        code.at(address),
        samples=samples,
        share=samples / total,
        reason=reason if known else None,
        reason_share=waits[reason] / counted if known else None,
        producer=producer,
        for_warps="LDGSTS" not in opcodes and bool(opcodes & _FOR_WARPS),
    )


def _wait(one: Instruction) -> str:
    """An instruction and what it waits for, without registers: the same in two versions."""
    opcode = _parts(one.sass or "")[0] or f"{one.file}:{one.line}"
    if one.producer is not None:
        return f"{opcode} for {_parts(one.producer.sass or '')[0]}"
    return f"{opcode}, {one.reason}" if one.reason else opcode


def _free(metrics: Metrics) -> bool:
    """Whether the hardware counted no bank conflicts: the table of wavefronts then is wrong."""
    counted = [metrics.number(name) for name in _CONFLICTS]
    return None not in counted and not any(counted)


def _beyond(metrics: Metrics, names: tuple[str, str]) -> tuple[float | None, dict[int, float]]:
    """What all accesses moved, and by address what is beyond the need."""
    moved, ideal = (_by_address(metrics, name) for name in names)
    excess = {int(at): many - ideal.get(at, many) for at, many in moved.items()}
    return (sum(moved.values()) or None), excess


def _worst(excess: Mapping[int, float], total: float | None) -> Iterator[tuple[int, float]]:
    """Those with most beyond the need, where it is a tenth of all that was moved."""
    for at in sorted(excess, key=lambda at: (-excess[at], at))[:MOST]:
        if total and excess[at] >= _LEAST * total:
            yield at, excess[at]
