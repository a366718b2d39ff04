"""Ceilings that were measured on devices by microbenchmarks, each device's in a TOML file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.errors import InputError
from roofline.files import read_text, unreadable
from roofline.model import PRECISIONS, Peaks
from roofline.specs.names import exact

_HOW = "roofline specs measure -o FILE.toml makes such a file"
_RATES = ("dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Measured ceilings, and the device that they were measured on, where the file says."""

    device: str | None
    peaks: Peaks


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
    try:
        data = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, f"it is not TOML: {error}", hint=_HOW) from error
    operations = data.get("operations_per_s", {})
    if not isinstance(operations, dict):
        raise _wrong(path, "operations_per_s is not a table")
    unknown = [key for key in operations if key not in PRECISIONS]
    if unknown:
        raise _wrong(path, f"{unknown[0]!r} is no operation key", hint=", ".join(PRECISIONS[:14]))
    rates = {name: _rate(path, name, data[name]) if name in data else None for name in _RATES}
    by_key = {key: _rate(path, key, value) for key, value in operations.items()}
    if not by_key and not any(rates.values()):
        raise _wrong(path, "it holds no ceiling", hint="dram_bytes_per_s = 1.0e12, for example")
    device = data.get("device")
    device = device if isinstance(device, str) else None
    source = f"measured on {device} ({path.name})" if device else path.name
    peaks = Peaks(
        kind="achieved",
        source=source,
        dram_bytes_per_s=rates["dram_bytes_per_s"],
        l2_bytes_per_s=rates["l2_bytes_per_s"],
        l1_bytes_per_s=rates["l1_bytes_per_s"],
        operations_per_s=by_key,
        how=dict(_how(path, data)),
    )
    return Ceilings(device=device, peaks=peaks)


def load_folder(folder: Path | None = None) -> tuple[Ceilings, ...]:
    """Read all measured ceilings that ``roofline specs measure`` has kept.

    Raises:
        InputError: there are none, or one cannot be read.

    """
    place = kept_folder() if folder is None else folder
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


def kept_folder() -> Path:
    """Where ``roofline specs measure`` keeps what it measured; it need not exist."""
    from platformdirs import user_config_path

    return user_config_path("roofline", appauthor=False) / "achieved"


def of_device(kept: Sequence[Ceilings], name: str | None) -> Peaks | None:
    """The ceilings of the device of that name; those that name no device fit any."""
    for ceilings in kept:
        if ceilings.device is None or (name and exact(name) == exact(ceilings.device)):
            return ceilings.peaks
    return None


# Quantity of a [[ceiling]] -> the key that ``Peaks.how`` has for it.
_LEVELS = {"dram_copy": "dram", "dram_read": "dram", "dram_write": "dram"}
_LEVELS |= {"l2_copy": "l2", "l2_write": "l2"}


def _how(path: Path, data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How each ceiling was measured, the best pattern of a level last."""
    entries = data.get("ceiling", [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise _wrong(path, "ceiling is not a list of tables")
    rated = [(_rate(path, "per_s of a ceiling", e.get("per_s")), e) for e in entries]
    for _, entry in sorted(rated, key=lambda pair: pair[0]):
        quantity = str(entry.get("quantity"))
        text = f"{quantity}, best of {entry.get('repeats')}"
        if "sm_clock_hz" in entry:
            text += f", SM clock {_rate(path, 'sm_clock_hz', entry['sm_clock_hz']) / 1e6:.0f} MHz"
        if "power_w" in entry:
            text += f", {_rate(path, 'power_w', entry['power_w']):.0f} W"
        yield _LEVELS.get(quantity, quantity), text


def _rate(path: Path, name: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise _wrong(path, f"{name} is {value!r}, not a number above 0")
    return float(value)


def _wrong(path: Path, why: str, *, hint: str | None = None) -> InputError:
    return InputError(f"{path} holds no measured ceilings", why=why, hint=hint)
