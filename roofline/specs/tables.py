"""Spec files to values: every number with a source, every mistake with its file, table and key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from roofline.errors import InputError, why_unparsed
from roofline.foreign import cleaned
from roofline.model import PLAIN_PRECISIONS, TENSOR_PRECISIONS
from roofline.specs.spec import (
    FP16_ACCUMULATE,
    AccumulateRate,
    Architecture,
    Citation,
    SourceKind,
    Spec,
    quantities,
)


@dataclass(frozen=True, slots=True)
class Form:
    """What an entry must be: a type for msgspec, and the same in words."""

    type: Any
    words: str


_Number = Annotated[float, Meta(gt=0, le=1e30)]  # neither infinity nor NaN
_Whole = Annotated[int, Meta(gt=0, le=10**6)]
_Word = Annotated[str, Meta(min_length=1)]
_Words = Annotated[tuple[_Word, ...], Meta(min_length=1)]
POSITIVE = Form(_Number, "a number above 0")
WHOLE = Form(_Whole, "a whole number from 1 to a million")
TEXT = Form(str, "a text")
DATE = Form(date, "a date, as in 2026-11-29")
TABLE = Form(dict[str, Any], "a table")
TABLES = Form(list[dict[str, Any]], "a list of tables")
_TEXTS = Form(tuple[_Word, ...], "a list of texts")
_NUMBER = Form(tuple[_Number, str], '[number above 0, "source"]')
_COUNT = Form(tuple[_Whole, str], '[whole number from 1 to a million, "source"]')

OPERATIONS = PLAIN_PRECISIONS + TENSOR_PRECISIONS
RATES = (*OPERATIONS, *(key + FP16_ACCUMULATE for key in ("tensor_fp16", "tensor_fp8")))
TERA = 1e12
_GPU_RATES = ("rates", "published", "published_sparse")
_ARCHITECTURE_RATES = ("dense", "half_rate", "mma_sync", "sparse", "mma_sync_sparse")
_COUNTED = ("sm_count", "memory_bus_bits", "mig_memory_slices")


def _numbers(kind: type) -> dict[str, Form]:
    keys = (quantity.key for quantity in quantities(kind).values())
    return {key: _COUNT if key in _COUNTED else _NUMBER for key in keys}


_SOURCE = {
    "kind": Form(SourceKind, f"one of {', '.join(get_args(SourceKind))}"),
    "title": TEXT,
    "url": TEXT,
    "read": DATE,
}
_ARCHITECTURE = {
    "title": TEXT,
    "at_boost_clock": _TEXTS,
    "note": TEXT,
    **_numbers(Architecture),
    **dict.fromkeys(_ARCHITECTURE_RATES, TABLE),
}
_GPU = {
    "names": Form(_Words, "a list of at least one text"),
    **dict.fromkeys(("chip", "compute_capability", "memory_type", "note"), TEXT),
    **dict.fromkeys(("pci_ids", "laptop_pci_ids", "lacks", "unknown", "checked_against"), _TEXTS),
    "read": DATE,
    "laptop": Form(bool, "true or false"),
    "accumulate_rate": Form(tuple[AccumulateRate, str], '["full" or "half", "source"]'),
    **_numbers(Spec),
    **dict.fromkeys(_GPU_RATES, TABLE),
    "known_differences": Form(dict[str, _Word], "a table of reasons in words"),
}


def read_tables(path: Path, text: str, *, hint: str) -> dict[str, Any]:
    """The tables of one file, or which line of it is wrong."""
    try:
        return cleaned(tomllib.loads(text))  # type: ignore[no-any-return]
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML", why=why_unparsed(error), hint=hint) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where a table stands, for the errors of its entries."""

    place: str
    hint: str

    def wrong(self, key: str, why: str, *, hint: str | None = None) -> InputError:
        """The error for an entry of this table."""
        return InputError(f"{self.place} {key}".rstrip(), why=why, hint=hint or self.hint)

    def entries(
        self, content: Any, forms: Mapping[str, Form], needs: Iterable[str] = ()
    ) -> dict[str, Any]:
        """The entries of a table, each of its form, no other, and none of ``needs`` missing."""
        if not isinstance(content, dict):
            raise self.wrong("", "it is not a table", hint="begin a table with [name]")
        for key in needs:
            if key not in content:
                raise self.wrong(key, "it is missing")
        found = {}
        for key, value in content.items():
            if key not in forms:
                raise self.wrong(key, f"there is no such entry{_meant(key, forms)}")
            try:
                found[key] = msgspec.convert(value, forms[key].type)
            except msgspec.ValidationError as error:
                raise self.wrong(key, f"{value!r} is not {forms[key].words}") from error
        return found


def _meant(key: str, forms: Iterable[str]) -> str:
    from difflib import get_close_matches  # only needed once something is already wrong

    near = get_close_matches(key, forms, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(forms)}"


class _File:
    """The tables of a spec file, whose numbers name their sources."""

    def __init__(self, path: Path, text: str, sources: Mapping[str, Citation]) -> None:
        again = f"roofline specs check --specs {path.parent}"
        self.tables = read_tables(path, text, hint=f"mend that line; {again} looks again")
        self.hint = f"see 'Adding a GPU' in docs/peaks.md, then: {again}"
        self.name, self.sources = path.name, sources

    def table(self, name: str) -> Table:
        return Table(place=f"{self.name}: [{name}]", hint=self.hint)

    def sourced(self, name: str, kind: type, values: dict[str, Any], tables: Iterable[str]) -> None:
        """Turn the ``[value, source]`` pairs of a table into SI, and note the sources by field."""
        origins: dict[str, str] = {}

        def number(table: Table, key: str, pair: tuple[Any, str], place: str = "") -> Any:
            if pair[1] not in self.sources:
                raise table.wrong(key, f"there is no source {pair[1]!r} in sources.toml")
            origins[place or key] = pair[1]
            return pair[0]

        own = self.table(name)
        if (key := "accumulate_rate") in values:
            values[key] = number(own, key, values[key])
        for field, quantity in quantities(kind).items():
            if (key := quantity.key) in values:
                values[field] = number(own, key, values.pop(key), field) * quantity.si
        for outer in tables:
            table, unit = self.table(f"{name}.{outer}"), TERA if "published" in outer else 1.0
            pairs = table.entries(values.pop(outer, {}), dict.fromkeys(RATES, _NUMBER))
            values["overrides" if outer == "rates" else outer] = {
                key: unit * number(table, key, pair, f"{outer}.{key}")
                for key, pair in pairs.items()
            }
        values["sources"] = origins


def parse_sources(path: Path, text: str) -> dict[str, Citation]:
    """The sources that a folder's ``sources.toml`` lists."""
    file = _File(path, text, {})
    return {
        key: Citation(**file.table(key).entries(content, _SOURCE, ("kind", "title", "read")))
        for key, content in file.tables.items()
    }


def parse_architectures(
    path: Path, text: str, sources: Mapping[str, Citation]
) -> dict[str, Architecture]:
    """The rates by compute capability that a folder's ``architectures.toml`` lists."""
    file = _File(path, text, sources)
    file.tables.pop("read", None)
    found = {}
    for capability, content in file.tables.items():
        values = file.table(capability).entries(content, _ARCHITECTURE, ("title",))
        file.sourced(capability, Architecture, values, _ARCHITECTURE_RATES)
        found[capability] = Architecture(compute_capability=capability, **values)
    return found


def parse_family(
    path: Path,
    text: str,
    layer: int,
    sources: Mapping[str, Citation],
    architectures: Mapping[str, Architecture],
) -> dict[str, Spec]:
    """The GPUs of one family file by key."""
    file = _File(path, text, sources)
    day = file.tables.pop("read", None)
    found = {}
    for key, content in file.tables.items():
        table = file.table(key)
        values = table.entries(content, _GPU, ("names", "chip", "compute_capability"))
        file.sourced(key, Spec, values, _GPU_RATES)
        capability = values["compute_capability"]
        if capability not in architectures:
            why = f"architectures.toml has no {capability!r}"
            raise table.wrong("compute_capability", why)
        if type(values.setdefault("read", day)) is not date:
            why = f"{day!r} is not a date" if day else "there is no date"
            raise table.wrong("read", why, hint="read = 2026-11-29 in its first line")
        found[key] = Spec(
            key=key, family=path.stem, architecture=architectures[capability], layer=layer, **values
        )
    return found
