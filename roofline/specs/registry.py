"""The folders that hold the registry; family files are parsed when something asks for them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from roofline.errors import InputError, RooflineWarning, UsageError
from roofline.files import read_text, settings_folder, unreadable
from roofline.model import Device, Note
from roofline.specs.lookup import Found, find, loose, matching, mig_slice, near, pattern, same_model
from roofline.specs.spec import Architecture, Citation, Spec

# Pascal and older, by their names without the brand.
_TOO_OLD = re.compile(
    r"(gtx ?)?((10[5-8]|[4-9][5-9])0\b|titan x)|gt ?\d{3,4}\b|[pmk]\d{1,4}\b|mx ?[123]\d0"
)
SOURCES, ARCHITECTURES = "sources.toml", "architectures.toml"


@dataclass(eq=False)
class Registry:
    """Every GPU that is known, by key, and the sources that its numbers name.

    Parsing all files takes far longer than the one that a device is in, so the raw text is
    searched first: what a device can be found by stands in its file literally. ``families`` are
    files that have not been parsed: path, text, and the number of the folder, of which ours is 0.
    """

    folders: tuple[Path, ...]
    families: tuple[tuple[Path, str, int], ...]
    sources: Mapping[str, Citation]
    architectures: Mapping[str, Architecture]
    _parsed: dict[tuple[Path, str], dict[str, Spec]] = field(default_factory=dict)
    _found: dict[Device, Found] = field(default_factory=dict)

    @cached_property
    def specs(self) -> dict[str, Spec]:
        """All entries; one of a later folder replaces one of the same key."""
        return self._merged(self.families)

    def find(self, device: Device) -> Found:
        """The entry of a report's device: by exact name, PCI id, then capability, SMs and bus."""
        if device not in self._found:
            found = find(device, self._mentioning(device))
            if found.how not in ("name", "pci id"):
                found = find(device, tuple(self.specs.values()))
            self._found[device] = found
        return self._found[device]

    def named(self, text: str) -> Spec:
        """The entry that a person means: a key, a name, or a name without the brand.

        Raises:
            UsageError: nothing or several things are called that; near misses are listed.

        """
        if text in self.specs:
            return self.specs[text]
        hits = matching(text, tuple(self.specs.values()))
        if len(hits) == 1:
            return hits[0]
        if hits:
            keys, hint = ", ".join(spec.key for spec in hits), f"roofline specs show {hits[0].key}"
            raise UsageError(f"{text!r} is the name of {len(hits)} GPUs", why=keys, hint=hint)
        if _TOO_OLD.match(loose(text)):
            why = "Nsight Compute profiles Volta (2017) and newer, and this one is older"
            what = f"{text!r} is not in the registry"
            raise UsageError(what, why=why, hint="roofline specs list")
        guesses = near(text, (name for spec in self.specs.values() for name in spec.names))
        others = f"near it, but other GPUs unless mistyped, are {', '.join(guesses)}"
        hint = "add it (docs/peaks.md, --specs DIR), or take a name of roofline specs list"
        raise UsageError(
            f"{text!r} is not in the registry", why=others if guesses else None, hint=hint
        )

    def meant(self, text: str) -> tuple[Spec, tuple[Note, ...]]:
        """As ``named``; of "h100" or "3060" the first that it can be, and a note that says so."""
        try:
            return self.named(text), ()
        except UsageError:
            if not (several := same_model(text, self.specs.values())):
                raise
        spec, *others = several
        facts = {"text": text, "spec": spec.name, "others": ", ".join(one.key for one in others)}
        return spec, (Note(code="gpu_taken" if others else "gpu_meant", facts=facts),)

    def _mentioning(self, device: Device) -> tuple[Spec, ...]:
        """The entries of every file that has the device's name or PCI id in its text."""
        wanted = []
        if device.name:
            whole, _ = mig_slice(device.name) or (device.name, 0)
            wanted.append(pattern(whole))
        if device.pci_device_id:
            wanted.append(re.compile(re.escape(device.pci_device_id), re.IGNORECASE))
        ours = (f for f in self.families if not f[2] and any(w.search(f[1]) for w in wanted))
        parts = ((path, _part(text, wanted), 0) for path, text, _ in ours)
        return tuple(self._merged((*parts, *(f for f in self.families if f[2]))).values())

    def _merged(self, families: Iterable[tuple[Path, str, int]]) -> dict[str, Spec]:
        from roofline.specs.tables import parse_family  # with msgspec, not for help

        merged: dict[str, Spec] = {}
        for path, text, layer in families:
            if (path, text) not in self._parsed:
                known = self.sources, self.architectures
                self._parsed[path, text] = parse_family(path, text, layer, *known)
            for key, spec in self._parsed[path, text].items():
                if key in merged and merged[key].layer == spec.layer:
                    why = f"{merged[key].family}.toml has that key already"
                    raise InputError(f"{path.name}: [{key}]", why=why, hint="another key")
                merged[key] = spec
        return merged


def _part(text: str, wanted: Sequence[re.Pattern[str]]) -> str:
    """A file with only those of its GPUs that have what is wanted in their text."""
    head, *gpus = re.split(r"^(?=\[[^.\]]+\])", text, flags=re.MULTILINE)
    return "".join([head, *(gpu for gpu in gpus if any(w.search(gpu) for w in wanted))])


def load(folder: Path | None = None) -> Registry:
    """Open the registry that comes with roofline, the user's own files, and ``folder``.

    An entry of a later folder replaces one of the same key. A folder holds family files, and may
    hold ``sources.toml`` and ``architectures.toml`` of its own. What of the user's own cannot be
    opened is left out, with a ``RooflineWarning``.

    Raises:
        UsageError: ``folder`` is not a folder.
        InputError: a file is not TOML, or an entry of one is wrong (perhaps only on first use).

    """
    from roofline.specs.tables import parse_architectures, parse_sources

    ours = builtin_folder()
    places = {ours: _files_in(ours), **_own()}
    if folder is not None:
        try:
            places[folder] = _files_in(folder)
        except (FileNotFoundError, NotADirectoryError) as error:
            hint = "--specs takes a folder of TOML files"
            raise UsageError(f"no such folder: {folder}", hint=hint) from error
        except OSError as error:
            raise unreadable(folder, error) from error
    sources: dict[str, Citation] = {}
    architectures: dict[str, Architecture] = {}
    families: list[tuple[Path, str, int]] = []
    for layer, (place, texts) in enumerate(places.items()):
        if text := texts.pop(place / SOURCES, ""):
            sources |= parse_sources(place / SOURCES, text)
        if text := texts.pop(place / ARCHITECTURES, ""):
            architectures |= parse_architectures(place / ARCHITECTURES, text, sources)
        families += [(path, text, layer) for path, text in texts.items()]
    return Registry(tuple(places), tuple(families), sources, architectures)


def _files_in(folder: Path) -> dict[Path, str]:
    """The spec files of a folder and their text."""
    files = sorted(folder.iterdir())
    for path in files:
        if path.suffix.lower() in (".yaml", ".yml", ".json"):
            why = f"{path} is left out: spec files are TOML and end in .toml"
            warnings.warn(why, RooflineWarning, stacklevel=4)
    return {path: read_text(path) for path in files if path.suffix == ".toml"}


def _own() -> dict[Path, dict[Path, str]]:
    """The user's folder, if there is one; nobody has asked for it, so it must not stop anybody."""
    folder = settings_folder("specs")
    try:
        return {folder: _files_in(folder)}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        why = error.strerror
    except InputError as error:
        if not isinstance(error.__cause__, OSError):
            raise  # it can be read, and is wrong
        why = str(error)
    warnings.warn(f"your own specs in {folder} are left out: {why}", RooflineWarning, stacklevel=3)
    return {}


def builtin_folder() -> Path:
    """Where roofline's own files are: inside an installed package, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "_specs", package.parent / "specs"):
        if place.is_dir():
            return place
    why = f"no folder {package / '_specs'}"
    raise InputError("the hardware registry is missing", why=why, hint="install roofline again")
