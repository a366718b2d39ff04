"""One HTML file to explore what was analysed or compared; nothing else is needed to open it.

The values of ``scene`` and the sentences of ``text`` are its data; script and style lie beside
this file. No matplotlib.
"""

from __future__ import annotations

import gzip
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roofline import __version__
from roofline.model import PRECISIONS, QUANTITIES, Analysis, Details, Measurement, Result
from roofline.plot import words
from roofline.plot.ceilings import OwnCeiling, level_intensity, own_ceilings, unit_columns
from roofline.plot.scene import LEVELS as INNER
from roofline.plot.scene import Mark, Options, Panel, compose, paired
from roofline.plot.style import THEMES
from roofline.text import instructions, names, numbers
from roofline.text import verdict as said
from roofline.text.notes import noted
from roofline.text.outlook import leave
from roofline.units import LEVELS, UNITS, unit_name
from roofline.view import Chosen, chosen, missing_of

if TYPE_CHECKING:
    from roofline.compare.model import Comparison, KernelPair

_SHARES = "Shares are of the time before. Times measured under ncu."
_COLUMNS = 16  # units of the table
_STILL = 50  # rows for readers without script
_SCHEDULERS = 4  # of an SM, each a warp instruction a cycle at most
_MOST_SMS = 1 << 16  # a report that says more is damaged
_MEASURED = {  # what has a place of its own is not among the numbers
    key: quantity
    for key, quantity in QUANTITIES.items()
    if hasattr(Measurement, key) and key not in ("total_operations", "operations_per_s")
}
_measured = attrgetter(*_MEASURED)
_BANDWIDTHS = tuple((unit_name(level), f"{level}_bytes_per_s") for level in LEVELS)
_COUNTS = (
    *("instructions", "global_requests", "global_sectors"),
    *("shared_requests", "shared_wavefronts"),
)


def page(
    shown: Analysis | Chosen | Comparison,
    options: Options | None = None,
    *,
    details: Mapping[int, Details] | None = None,
    theme: str | None = None,
) -> str:
    """The page as text, the same for the same input.

    ``options`` are its title and whether launches stand alone; ``details`` the instructions of
    kernels by their places among the groups. The reader's own setting is the theme for ``None``.
    """
    wanted = replace(options or Options(), levels=INNER, datasheet=True)
    kept = _Strings()
    if isinstance(shown, (Analysis, Chosen)):
        part, pairs, changed = chosen(shown), {}, {}
        scene, groups = compose(part, wanted), part.analysis.groups
        found = {id(groups[place].result): one for place, one in (details or {}).items()}
        notes = list(scene.notes)
    else:
        from roofline.render import comparison as told

        scene = paired(shown, replace(wanted, title=wanted.title or told.title(shown)))
        notes = [told.totals(shown), *told.unread(shown), *told.unpaired(shown.left_out), _SHARES]
        pairs, found = {id(pair.after.result): pair for pair in shown.pairs}, {}
        changed = {k: (told.sentence(p), *told.details(p)) for k, p in pairs.items()}
    place = {id(mark): number for number, p in enumerate(scene.panels) for mark in p.marks}
    kernels = []
    for mark in scene.marks:
        key = id(mark.result)
        evidence = _evidence(mark.result, found.get(key), changed.get(key, ()))
        kernel = _kernel(mark, kept) | {"e": [kept[section] for section in evidence]}
        kernel["d"] = place[id(mark)]
        kernels.append(kernel | (_pair(pairs[key]) if key in pairs else {}))
    results = [mark.result for mark in scene.marks]
    results += [pair.before.result for pair in pairs.values()]
    data = {
        "units": {k: (u.name, u.family.value) for k, u in UNITS.items()},
        "columns": unit_columns(results, _COLUMNS),
        "precisions": {k: (names.operation(k), names.operation_unit(k)) for k in PRECISIONS},
        "quantities": {k: (q.label, q.unit, q.origin) for k, q in _MEASURED.items()},
        "rule": asdict(scene.rule),
        "devices": [_device(panel) for panel in scene.panels],
        "pairs": bool(pairs),
        "places": scene.places,
        "kernels": kernels,
        "kept": list(kept),
    }
    rows = [words.row(mark) for mark in scene.marks[:_STILL]]
    left = len(scene.marks) - len(rows)
    more = f"<p>and {left:,} more, which a browser with scripts shows.</p>" if left else ""
    return _fill(
        _file("html"),
        scene.title,
        theme,
        js=_packed(_file("js").encode()),
        table=_table((words.COLUMNS, *rows)) + more,
        notes="".join(f"<p>{escape(note)}</p>" for note in notes),
        data=_packed(msgspec.json.encode(data)),
    )


def still(title: str, theme: str | None, svg: str, table: Sequence[Sequence[str]]) -> str:
    """A page without script: a picture, and a table of what it shows."""
    body = f"{svg}\n<div class=table>{_table(table)}</div>"
    page_ = re.sub(r"<body>.*</body>", "<body><main>{{body}}</main></body>", _file("html"),
                   flags=re.DOTALL)  # fmt: skip
    return _fill(page_, title, theme, body=body)


# --- its text ---------------------------------------------------------------------------------


@cache
def _file(ending: str) -> str:
    return Path(__file__).with_suffix(f".{ending}").read_text(encoding="utf-8")


def _packed(content: bytes) -> str:
    return b64encode(gzip.compress(content, 6, mtime=0)).decode()


def _fill(text: str, title: str, theme: str | None, **parts: str) -> str:
    # Script and data are packed alike, and a script of few lines unpacks them: the policy knows
    # both scripts by their hashes.
    scripts = [*re.findall(r"<script>(.*?)</script>", text, re.DOTALL), _file("js")]
    policy = [f"style-src {_hash(_style())}", f"script-src {' '.join(map(_hash, scripts))}"]
    given = {
        "title": escape(title),
        "css": _style(),
        "policy": "; ".join(["default-src 'none'", *policy, "img-src data: blob:"]),
        "theme": f' data-theme="{theme}"' if theme else "",
        "version": __version__,
    } | parts
    return re.sub(r"\{\{(\w+)\}\}", lambda match: given[match[1]], text)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _style() -> str:
    def of(theme: str, where: str = ":root") -> str:
        colors = "".join(f"--{role}:{color};" for role, color in THEMES[theme].items())
        return f"{where}{{color-scheme:{'dark' if theme == 'dark' else 'light'};{colors}}}"

    dark = f"@media(prefers-color-scheme:dark){{{of('dark')}}}"
    named = (of(theme, f":root[data-theme={theme}]") for theme in THEMES)
    printed = f"@media print{{{of('paper', ':root,:root[data-theme]')}}}"
    return "\n".join([of("light"), dark, *named, printed, _file("css")])


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = ([escape(names.printable(cell)) for cell in row] for row in rows)
    titles = "".join(f"<th scope=col>{cell}</th>" for cell in head)
    lines = ("".join(f"<td>{cell}</td>" for cell in row) for row in body)
    text = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{titles}</tr></thead>\n<tbody>{text}</tbody></table>"


# --- its data: short keys, as there may be 10,000 kernels -----------------------------------------


class _Strings(dict[Any, int]):
    """What many kernels say alike, once; kernels have its place."""

    def __missing__(self, value: Any) -> int:
        return self.setdefault(value, len(self))


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.5e}")


def _numbers(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    finite = math.isfinite
    return {key: float(f"{v:.5e}") for key, v in values if v is not None and finite(v)}


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in values.items() if v or v == 0}


def _device(panel: Panel) -> dict[str, Any]:
    """A device with its roofs; ``issue`` are the warp instructions a second that it can start."""
    m = panel.marks[0].result.measurement
    issue = None
    if m.sm_clock_hz and m.device.sm_count and m.device.sm_count < _MOST_SMS:
        issue = _SCHEDULERS * m.device.sm_count * m.sm_clock_hz
    roofs = [
        _without_none(
            {"key": r.key, "name": r.name, "rates": _numbers(r.rates.items()), "how": r.how}
        )
        for r in panel.roofs
    ]
    return {"name": panel.device, "roofs": roofs, "issue": _number(issue)}


def _side(result: Result, ceilings: Sequence[OwnCeiling]) -> dict[str, Any]:
    """What is drawn of a kernel: where it stands, its own ceilings, its units and floors."""
    m, v = result.measurement, result.verdict
    owns = [(c.unit, _number(c.percent), _number(c.rate), c.bound) for c in ceilings]
    return _without_none(
        {
            "t": _number(m.duration_s),
            "floor": _number(v.floor_s),
            "next": _number(v.next_floor_s),
            "bound": v.bound,
            "limit": words.limit(v),
            "near": v.nearest,
            "ai": _numbers(
                (*((x, level_intensity(m, x)) for x in INNER), ("dram", m.arithmetic_intensity))
            ),
            "r": _number(m.operations_per_s),
            "own": owns,
            "u": _numbers((use.unit, use.percent) for use in m.units),
        }
    )


def _kernel(mark: Mark, kept: _Strings) -> dict[str, Any]:
    result, m, v = mark.result, mark.result.measurement, mark.result.verdict
    name = words.name(mark)
    return _side(result, mark.ceilings) | _without_none(
        {
            "name": name,
            "full": kept[names.printable(mark.name)] if mark.name != name else None,
            "geo": kept[names.geometry(m)],
            "n": len(mark.group.launches) if mark.group else m.count,
            "total": _number(mark.time_s),
            "share": _number(mark.share),
            "conf": v.confidence,
            "co": v.co_limited or None,
            "why": mark.why,
            "inf": mark.place.value == "infinite" or None,
            "ops": _numbers(m.operations.items()),
            "roof": _numbers(v.roof_percent.items()),
            "dom": v.dominant,
            "spread": [_number(end) for end in mark.spread or ()],
            "m": _numbers(zip(_MEASURED, _measured(m), strict=True)),
            "from": kept[tuple(sorted(m.provenance.items()))],
            "uses": kept[tuple((use.unit, use.metric) for use in m.units)],
            "c": _numbers((key, m.counts.get(key)) for key in _COUNTS),
        }
    )


def _evidence(
    result: Result, details: Details | None, changed: Sequence[str]
) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Sections in the order of ``analyze --explain``: title, kind, lines.

    Of kind "units" and "numbers" the page has the values; "bars" are labels with a percentage,
    "peaks" labels with rates by kind, "code" instructions.
    """
    m, v = result.measurement, result.verdict
    claim = (said.claim(result), said.context(result) or "", leave(result))
    stalls = tuple((names.words(s.reason), _number(100 * s.share)) for s in m.stalls)
    sections: tuple[tuple[str, str, Iterable[Any]], ...] = (
        ("What changed", "p", changed),
        ("Claim", "p", claim),
        ("Causes", "ul", (said.cause_text(result, one) for one in v.causes)),
        ("Try first", "ol", said.try_first(result) or (said.hint(result),)),
        ("What that could buy", "p", (said.bounds(result),)),
        ("What would refute this", "p", (said.refute(result),)),
        ("Not worth the time", "ul", said.avoid(result)),
        ("Confidence", "p", (f"{v.confidence}", *said.confidence_reasons(result))),
        ("Utilisation in % of peak", "units", (1,) if m.units else ()),
        ("Numbers", "numbers", (1,)),
        ("Peaks", "peaks", _peaks(result)),
        ("Stalled warps", "bars", stalls),
        *(_code(details) if details else ()),
        (
            "Not measured",
            "ul",
            (f"{names.quantity(x.quantity)}: collect with {x.flag}" for x in missing_of(result)),
        ),
        ("Notes", "ul", noted(m.notes)),
    )
    for title, kind, lines in sections:
        if told := tuple(filter(None, lines)):
            yield title, kind, told


def _code(found: Details) -> Iterator[tuple[str, str, Iterable[Any]]]:
    """Sections about the instructions of a kernel."""
    sampled = (
        (numbers.share(i.share), instructions.awaited(i), instructions.place(i),
         names.printable(i.sass or f"{i.address:#x}"), names.printable(i.source or ""))
        for i in found.sampled
    )  # fmt: skip
    yield "Instructions", "p", instructions.blame(found)
    yield "Hot instructions", "code", sampled
    yield "Accesses that move more than they need", "ul", instructions.waste(found)
    yield "What NVIDIA's rules say", "ul", instructions.rules(found.rules)


def _peaks(result: Result) -> Iterator[tuple[str, str, str, tuple[tuple[str, float], ...]]]:
    """Peaks of each kind, with the key of what was reached: alike for many kernels."""
    kinds = result.peaks.of_kind()
    for name, key in _BANDWIDTHS:
        if known := tuple([(p.kind, rate) for p in kinds if (rate := getattr(p, key))]):
            yield name, key, "B/s", known
    for key in result.measurement.operations:
        rates = [(p.kind, p.operations_per_s.get(key)) for p in kinds]
        if known := tuple([(kind, rate) for kind, rate in rates if rate]):
            yield names.operation(key), key, f"{names.operation_unit(key)}/s", known


# --- a comparison ---------------------------------------------------------------------------------


def _pair(pair: KernelPair) -> dict[str, Any]:
    """What changed: the outcome in a code and in words, and the side before."""
    was = pair.before.result
    before = _side(was, own_ceilings(was))
    how = {"out": pair.outcome, "how": words.outcome(pair), "per": pair.per}
    return how | {"n": pair.after.launches, "was": before}
