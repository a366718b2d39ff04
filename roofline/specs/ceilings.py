"""Ceilings measured on devices by microbenchmarks: the values, and the TOML file of each device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline import __version__
from roofline.errors import InputError
from roofline.files import read_text, settings_folder, unreadable, write_text
from roofline.model import PRECISIONS, Peaks
from roofline.specs.lookup import exact
from roofline.specs.tables import DATE, POSITIVE, TABLE, TABLES, TEXT, WHOLE, Table, read_tables

DRAM = ("dram_copy", "dram_read", "dram_write")
L2 = ("l2_copy", "l2_write")
KEPT = "achieved"  # the folder of settings in which roofline specs measure keeps its files
QUANTITIES = (*DRAM, *L2, *PRECISIONS)
_LEVELS = dict.fromkeys(DRAM, "dram") | dict.fromkeys(L2, "l2")
# What a ceiling says of the device meanwhile -> how nvidia-smi calls it, and its unit in SI.
SAMPLED = {
    "sm_clock_hz": ("clocks.sm", 1e6),
    "dram_clock_hz": ("clocks.mem", 1e6),
    "power_w": ("power.draw", 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """One measured ceiling: the best of ``repeats`` runs, and what the device did meanwhile.

    ``quantity`` is one of ``QUANTITIES``. ``per_s`` is bytes or operations a second in the
    fastest run, ``median_per_s`` in the middle one. Clocks and power are ``None`` where they could
    not be read.
    """

    quantity: str
    per_s: float
    median_per_s: float
    repeats: int
    sm_clock_hz: float | None = None
    dram_clock_hz: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """Everything that was measured on one device; ``made_with`` names the libraries."""

    device: str
    date: str
    made_with: str
    ceilings: tuple[Ceiling, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Measured ceilings, and the device that they were measured on, where the file says."""

    device: str | None
    peaks: Peaks


def ceiling(
    quantity: str, amount: float, durations_s: Sequence[float], **sampled: float
) -> Ceiling:
    """The ceiling that timed runs of ``amount`` bytes or operations show: the fastest counts.

    Raises:
        ValueError: no run, or one that took no time.

    """
    if quantity not in QUANTITIES:
        raise ValueError(f"{quantity!r} is not something that has a ceiling")
    if not durations_s or min(durations_s) <= 0 or amount <= 0:
        raise ValueError(f"{quantity}: a rate needs runs that did something and took time")
    ordered = sorted(durations_s)
    return Ceiling(
        quantity=quantity,
        per_s=amount / ordered[0],
        median_per_s=amount / ordered[len(ordered) // 2],
        repeats=len(ordered),
        **sampled,
    )


# --- the file -------------------------------------------------------------------------------------

_HOW = "roofline specs measure -o FILE.toml makes such a file"
_RATES = ("dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s")
_FILE = {
    **dict.fromkeys(_RATES, POSITIVE),
    **dict.fromkeys(("device", "made_with"), TEXT),
    "date": DATE,
    "operations_per_s": TABLE,
    "ceiling": TABLES,
}
_CEILING = {
    "quantity": TEXT,
    "repeats": WHOLE,
    **dict.fromkeys(("per_s", "median_per_s", *SAMPLED), POSITIVE),
}


def save(achieved: Achieved, path: Path, *, force: bool = False) -> None:
    """Write the file that ``load_achieved`` reads.

    Raises:
        UsageError: ``path`` exists (without ``force``) or cannot be written.

    """
    write_text(path, "\n".join(_lines(achieved)) + "\n", force=force)


def _lines(achieved: Achieved) -> Iterator[str]:
    yield f"# Ceilings measured by roofline {__version__}. Use: roofline analyze --peaks THIS FILE"
    yield f"device = {_text(achieved.device)}"
    yield f"date = {achieved.date}"
    yield f"made_with = {_text(achieved.made_with)}"
    for name, patterns in (("dram_bytes_per_s", DRAM), ("l2_bytes_per_s", L2)):
        if there := [c for c in achieved.ceilings if c.quantity in patterns]:
            best = max(there, key=lambda c: c.per_s)
            yield f"{name} = {best.per_s!r}  # {best.quantity}"
    if operations := [c for c in achieved.ceilings if c.quantity in PRECISIONS]:
        yield from ("", "[operations_per_s]")
        yield from (f"{c.quantity} = {c.per_s!r}" for c in operations)
    yield from ("", "# Bytes or operations a second in the fastest and in the middle run, and the")
    yield "# clocks and power while the runs were queued."
    for one in achieved.ceilings:
        yield from ("[[ceiling]]", f"quantity = {_text(one.quantity)}")
        for name in ("per_s", "median_per_s", "repeats", *SAMPLED):
            if (value := getattr(one, name)) is not None:
                yield f"{name} = {value!r}"
        yield ""


def _text(words: str) -> str:
    """A TOML string: what would end it or is invisible becomes a space."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else " " for c in words) + '"'


def load_achieved(path: Path) -> Ceilings:
    """Read measured ceilings: bytes per second, and operations per second by operation key.

    ```toml
    device = "NVIDIA H200"
    dram_bytes_per_s = 4.2e12
    [operations_per_s]
    tensor_bf16 = 6.9e14
    ```

    The clocks and the power that ``roofline specs measure`` records beside each ceiling are told
    in ``Peaks.how``.

    Raises:
        InputError: the file cannot be read, is not TOML, or holds something else.

    """
    table = Table(place=f"{path} holds no measured ceilings:", hint=_HOW)
    data = table.entries(read_tables(path, read_text(path), hint=_HOW), _FILE)
    operations = table.entries(
        data.get("operations_per_s", {}), dict.fromkeys(PRECISIONS, POSITIVE)
    )
    if not operations and not any(name in data for name in _RATES):
        hint = "dram_bytes_per_s = 1.0e12, for example"
        raise InputError(f"{path} holds no measured ceilings", hint=hint)
    entries = [
        table.entries(entry, _CEILING, ("quantity", "per_s")) for entry in data.get("ceiling", ())
    ]
    device = data.get("device")
    peaks = Peaks(
        kind="achieved",
        source=f"measured on {device} ({path.name})" if device else path.name,
        operations_per_s=operations,
        how={  # the best pattern of a level last
            _LEVELS.get(entry["quantity"], entry["quantity"]): _how(entry)
            for entry in sorted(entries, key=lambda entry: entry["per_s"])
        },
        **{name: data.get(name) for name in _RATES},
    )
    return Ceilings(device=device, peaks=peaks)


def _how(entry: dict[str, Any]) -> str:
    text = f"{entry['quantity']}, best of {entry.get('repeats')}"
    if "sm_clock_hz" in entry:
        text += f", SM clock {entry['sm_clock_hz'] / 1e6:.0f} MHz"
    return f"{text}, {entry['power_w']:.0f} W" if "power_w" in entry else text


def load_folder(folder: Path | None = None) -> tuple[Ceilings, ...]:
    """Read all measured ceilings that ``roofline specs measure`` has kept.

    Raises:
        InputError: there are none, or one cannot be read.

    """
    place = settings_folder(KEPT) if folder is None else folder
    try:
        paths = sorted(p for p in place.iterdir() if p.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        paths = []
    except OSError as error:
        raise unreadable(place, error) from error
    if not paths:
        hint = "roofline specs measure, on the machine with the GPU"
        raise InputError("no measured ceilings are kept here", why=f"{place} is empty", hint=hint)
    return tuple(load_achieved(path) for path in paths)


def of_device(kept: Sequence[Ceilings], name: str | None) -> Peaks | None:
    """The ceilings of the device of that name; those that name no device fit any."""
    for ceilings in kept:
        if ceilings.device is None or (name and exact(name) == exact(ceilings.device)):
            return ceilings.peaks
    return None
