"""TOML tables to values: every number with a source, every mistake with its place."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from roofline.errors import InputError
from roofline.registry.spec import FP16_ACCUMULATE, Architecture, Source, Spec

KINDS = ("vendor", "quoted", "measured", "derived", "unverified")

# Key in the file -> field of the value, and what one unit of the file is in SI.
GPU_NUMBERS = {
    "sm_count": ("sm_count", 1),
    "base_clock_mhz": ("base_clock_hz", 1e6),
    "boost_clock_mhz": ("boost_clock_hz", 1e6),
    "tensor_clock_mhz": ("tensor_clock_hz", 1e6),
    "memory_gb": ("memory_bytes", 1e9),
    "memory_clock_mhz": ("memory_clock_hz", 1e6),
    "memory_bus_bits": ("memory_bus_bits", 1),
    "bandwidth_gbs": ("bandwidth_bytes_per_s", 1e9),
    "l2_mib": ("l2_bytes", 2**20),
    "tdp_w": ("power_w", 1),
}
ARCHITECTURE_NUMBERS = {
    "l1_bytes": ("l1_bytes_per_clock", 1),
    "l1_kib_per_sm": ("l1_bytes_per_sm", 1024),
    "shared_kib_per_sm": ("shared_bytes_per_sm", 1024),
}
WHOLE = {"sm_count", "memory_bus_bits"}
LISTS = ("names", "pci_ids", "laptop_pci_ids", "lacks", "unknown", "checked_against")
TERA = 1e12
_WORDS = {
    str: "a text",
    list: "a list",
    dict: "a table",
    date: "a date",
    int: "a whole number",
    bool: "true or false",
}


def read_text(path: Path) -> str:
    """The text of one file of the registry."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}", why=error.strerror) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid TOML", why="it is not UTF-8") from error


def _tables(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML", why=str(error)) from error


class Table:
    """One table of a file: hands out its entries checked, and refuses what nobody asked for."""

    def __init__(self, path: Path, name: str, content: Any, sources: Mapping[str, Source]) -> None:
        self.path, self.name, self.sources = path, name, sources
        if not isinstance(content, dict):
            raise self.wrong("", "it is not a table", hint="begin a table with [name]")
        self.left = dict(content)
        self.origins: dict[str, str] = {}

    def wrong(self, key: str, why: str, *, hint: str | None = None) -> InputError:
        """The error for ``key`` of this table."""
        place = f"{self.path.name}: [{self.name}] {key}".rstrip()
        return InputError(
            place, why=why, hint=hint or "see 'Adding a GPU' in docs/peaks.md, then: "
            f"roofline specs check --specs {self.path.parent}"
        )  # fmt: skip

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """The plain entry ``key``, of one kind."""
        value = self.left.pop(key, default)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(key, f"{value!r} is not {_WORDS[kind]}")
        return value

    def need(self, key: str, kind: type) -> Any:
        """The plain entry ``key``, which must be there."""
        value = self.take(key, kind)
        if value is None:
            raise self.wrong(key, "it is missing")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A list of strings, empty where absent."""
        values = self.take(key, list, [])
        if not all(isinstance(v, str) and v for v in values):
            raise self.wrong(key, "it must be a list of texts")
        return tuple(values)

    def reasons(self, key: str) -> dict[str, str]:
        """A sub-table of sentences by operation key."""
        entries: dict[str, Any] = self.take(key, dict, {})
        for name, reason in entries.items():
            if not isinstance(reason, str) or not reason:
                raise self.wrong(key, f"{name} needs a reason in words")
        return entries

    def sourced(self, key: str, place: str, check: Callable[[Any], bool], what: str) -> Any:
        """``[value, "source"]``; the source is noted under ``place``."""
        entry = self.left.pop(key)
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], str)):
            raise self.wrong(key, f'{entry!r} is not [value, "source"]')
        value, source = entry
        if not check(value):
            raise self.wrong(key, f"{value!r} is not {what}")
        if source not in self.sources:
            raise self.wrong(key, f"there is no source {source!r} in sources.toml")
        self.origins[place] = source
        return value

    def numbers(self, table: Mapping[str, tuple[str, float]]) -> dict[str, float]:
        """Every number of ``table`` that is there, in SI, by field."""
        found = {}
        for key, (field, unit) in table.items():
            if key in self.left:
                what = "a whole number above 0" if key in WHOLE else "a number above 0"
                value = self.sourced(key, field, _whole if key in WHOLE else _positive, what)
                found[field] = value if key in WHOLE else value * unit
        return found

    def rates(self, key: str, allowed: tuple[str, ...], unit: float = 1) -> dict[str, float]:
        """The sub-table ``key`` of sourced numbers by operation key."""
        inner = Table(self.path, f"{self.name}.{key}", self.left.pop(key, {}), self.sources)
        found = {}
        for name in list(inner.left):
            if name not in allowed:
                raise inner.wrong(name, f"it is not one of {', '.join(allowed)}")
            found[name] = unit * inner.sourced(name, name, _positive, "a number above 0")
        self.origins |= {f"{key}.{name}": source for name, source in inner.origins.items()}
        return found

    def finish(self) -> None:
        """Refuse whatever is left: a mistyped key must not be ignored."""
        for key in self.left:
            raise self.wrong(key, "there is no such entry")


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _whole(value: Any) -> bool:
    return isinstance(value, int) and _positive(value)


def _is_rate_class(value: Any) -> bool:
    return value in ("full", "half")


def parse_sources(path: Path, text: str) -> dict[str, Source]:
    """The sources that a folder's ``sources.toml`` lists."""
    found = {}
    for key, content in _tables(path, text).items():
        table = Table(path, key, content, {})
        kind = table.need("kind", str)
        if kind not in KINDS:
            raise table.wrong("kind", f"{kind!r} is not one of {', '.join(KINDS)}")
        found[key] = Source(
            key=key,
            kind=kind,
            title=table.need("title", str),
            url=table.take("url", str),
            read=table.need("read", date),
        )
        table.finish()
    return found


def parse_architectures(
    path: Path, text: str, *, sources: Mapping[str, Source], operations: tuple[str, ...]
) -> dict[str, Architecture]:
    """The rates by compute capability that a folder's ``architectures.toml`` lists."""
    content = _tables(path, text)
    content.pop("read", None)
    found = {}
    for capability, entry in content.items():
        table = Table(path, capability, entry, sources)
        keys = with_accumulators(operations)
        values: dict[str, Any] = dict(table.numbers(ARCHITECTURE_NUMBERS))
        values |= {name: table.rates(name, keys) for name in ("dense", "half_rate", "mma_sync")}
        found[capability] = Architecture(
            compute_capability=capability,
            title=table.need("title", str),
            sparse=table.rates("sparse", operations),
            mma_sync_sparse=table.rates("mma_sync_sparse", operations),
            at_boost_clock=table.words("at_boost_clock"),
            note=table.take("note", str),
            sources=table.origins,
            **values,
        )
        table.finish()
    return found


def parse_family(
    path: Path,
    text: str,
    *,
    sources: Mapping[str, Source],
    architectures: Mapping[str, Architecture],
    operations: tuple[str, ...],
    layer: int,
) -> dict[str, Spec]:
    """The GPUs of one family file by key."""
    content = _tables(path, text)
    day = content.pop("read", None)
    found = {}
    for key, entry in content.items():
        table = Table(path, key, entry, sources)
        found[key] = _spec(table, path.stem, day, architectures, operations, layer)
        table.finish()
    return found


def _spec(
    table: Table,
    family: str,
    day: Any,
    architectures: Mapping[str, Architecture],
    operations: tuple[str, ...],
    layer: int,
) -> Spec:
    names, capability = table.words("names"), table.need("compute_capability", str)
    if not names:
        raise table.wrong("names", "a GPU needs at least one name")
    if capability not in architectures:
        raise table.wrong("compute_capability", f"architectures.toml has no {capability!r}")
    read = table.take("read", date, None) or day
    if read is None:
        raise table.wrong("read", "there is no date", hint="read = 2026-11-29 in its first line")
    if not isinstance(read, date):
        raise table.wrong("read", f"{read!r} is not a date")
    keys = with_accumulators(operations)
    rate_class = "full"
    if "accumulate_rate" in table.left:
        rate_class = table.sourced(
            "accumulate_rate", "accumulate_rate", _is_rate_class, '"full" or "half"'
        )
    values: dict[str, Any] = dict(table.numbers(GPU_NUMBERS))
    values |= {name: table.words(name) for name in LISTS if name != "names"}
    return Spec(
        key=table.name,
        family=family,
        names=names,
        chip=table.need("chip", str),
        compute_capability=capability,
        architecture=architectures[capability],
        read=read,
        laptop=table.take("laptop", bool, False),
        memory_type=table.take("memory_type", str),
        mig_memory_slices=table.take("mig_memory_slices", int),
        accumulate_rate=rate_class,
        overrides=table.rates("rates", keys),
        published=table.rates("published", keys, TERA),
        published_sparse=table.rates("published_sparse", keys, TERA),
        known_differences=table.reasons("known_differences"),
        note=table.take("note", str),
        sources=table.origins,
        layer=layer,
        **values,
    )


def with_accumulators(operations: tuple[str, ...]) -> tuple[str, ...]:
    """Operation keys, and those of FP16 accumulation."""
    return (*operations, *(f"{k}{FP16_ACCUMULATE}" for k in ("tensor_fp16", "tensor_fp8")))
