"""Facts about this machine that decide whether ncu may profile and who could change that."""

from __future__ import annotations

import os
import platform
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.kernel_names import printable
from roofline.process import Completed, run_quietly

# Bits of Linux capabilities (linux/capability.h).
CAP_SYS_ADMIN, CAP_PERFMON = 21, 38
# From driver R565 on CAP_PERFMON suffices (NVIDIA's ERR_NVGPUCTRPERM page).
PERFMON_SINCE = 565

# Tables about machines, for whoever needs them.
TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_QUERY = "index,name,compute_cap,driver_version,mig.mode.current,uuid"

Ask = Callable[[list[str]], Completed | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU as nvidia-smi lists it; ``capability`` is "9.0", ``uuids`` its own and its slices'."""

    index: int
    name: str
    capability: str | None = None
    mig: bool = False
    uuids: tuple[str, ...] = ()

    def is_called(self, word: str) -> bool:
        """Whether ``word`` is the UUID of it or of a slice, in full or cut short."""
        # Slices were once named MIG-GPU-<uuid>/<instance>.
        starts = (word, word.removeprefix("MIG-").partition("/")[0])
        return len(word) > 4 and any(uuid.startswith(starts) for uuid in self.uuids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What was found; ``None`` where it could not be found out.

    ``admin_only`` is the driver's own parameter, ``capabilities`` this process's effective set.
    ``node`` is a cluster's: the parameter is each node's own, so its user must know which refused.
    """

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    admin_only: bool | None = None
    capabilities: int | None = None
    container: str | None = None
    provider: str | None = None
    wsl: bool = False
    node: str | None = None
    visible: str | None = None
    by_bus: bool = False

    @property
    def cuda_gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that programs see, in CUDA's order as far as it is known.

        ``CUDA_VISIBLE_DEVICES`` ends at the first word that names none. Its indices are CUDA's,
        the fastest GPU first, unless CUDA_DEVICE_ORDER is PCI_BUS_ID: of several kinds of GPU all
        may be meant then.
        """
        if self.visible is None:
            return self.gpus
        found: list[Gpu] = []
        sure = self.by_bus or len({gpu.capability for gpu in self.gpus}) < 2
        for word in map(str.strip, self.visible.split(",")):
            if word.isdecimal() and int(word) < len(self.gpus):
                fits = (self.gpus[int(word)],) if sure else self.gpus
            else:
                fits = tuple(gpu for gpu in self.gpus if gpu.is_called(word))
            if not fits:
                break
            found += fits
        return tuple(dict.fromkeys(found))

    @property
    def mig(self) -> bool:
        """Whether a GPU is partitioned."""
        return any(gpu.mig for gpu in self.gpus)

    @property
    def privileged(self) -> bool | None:
        """Whether this process has the capability that the driver asks for."""
        major = (self.driver or "").partition(".")[0]  # 550 of "550.54.15"
        perfmon = major.isdigit() and int(major) >= PERFMON_SINCE
        needed = 1 << CAP_SYS_ADMIN | perfmon << CAP_PERFMON
        return None if self.capabilities is None else bool(self.capabilities & needed)

    @property
    def counters_closed(self) -> bool:
        """Whether the driver is known to refuse counters to this process."""
        return self.admin_only is True and self.privileged is False

    def describe(self) -> str:
        """One line for the message of a failure: GPU, driver, place."""
        parts = [
            *dict.fromkeys(gpu.name for gpu in self.gpus),
            self.driver and f"driver {self.driver}",
            self.wsl and "WSL",
            self.mig and "MIG",
            self.provider,
            self.container,
            self.node,
        ]
        return ", ".join(part for part in parts if part)


def look(
    root: Path = Path("/"), environment: Mapping[str, str] = os.environ, ask: Ask = run_quietly
) -> Machine:
    """Find out about this machine, by reading files and asking nvidia-smi."""
    gpus, driver, cuda = _nvidia_smi(ask)
    if not driver:
        words = _read(root / "proc/driver/nvidia/version").split()
        driver = next((w for w in words if w[0].isdigit() and w.count(".") in (1, 2)), None)
    admin_only = _value(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly")
    capabilities = _value(root / "proc/self/status", "CapEff")
    return Machine(
        gpus=gpus,
        driver=driver,
        cuda=cuda,
        admin_only=None if admin_only is None else admin_only == "1",
        capabilities=None if capabilities is None else int(capabilities, 16),
        container=container(root, environment),
        provider=next(
            (name for key, name in TABLE["providers"].items() if key in environment), None
        ),
        wsl="microsoft" in _read(root / "proc/version").lower(),
        node=platform.node() if "SLURM_JOB_ID" in environment else None,
        visible=environment.get("CUDA_VISIBLE_DEVICES"),
        by_bus=environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID",
    )


def model_names(root: Path = Path("/")) -> tuple[str, ...]:
    """The GPUs' names as the driver lists them in files, for when nothing may be run."""
    paths = sorted(root.glob("proc/driver/nvidia/gpus/*/information"))
    return tuple(name for path in paths if (name := _value(path, "Model")))


def container(root: Path, environment: Mapping[str, str]) -> str | None:
    """The kind of container that this process is in, if any."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    groups = _read(root / "proc/1/cgroup")
    named: list[str] = [name for key, name in TABLE["containers"].items() if key in environment]
    named += [name for name in ("docker", "kubepods", "containerd", "lxc") if name in groups]
    return named[0] if named else None


def _nvidia_smi(ask: Ask) -> tuple[tuple[Gpu, ...], str | None, str | None]:
    """The GPUs, the driver's version, and the newest CUDA that it serves."""
    # Drivers up to 470 do not know compute_cap, and refuse the whole question.
    for fields_asked in (_QUERY, _QUERY.replace("compute_cap", "index")):
        answer = ask(["nvidia-smi", f"--query-gpu={fields_asked}", "--format=csv,noheader"])
        if answer is None or answer.code == 0:
            break
    if answer is None or answer.code != 0:
        return (), None, None
    gpus, driver = [], None
    rows = [[f.strip() for f in printable(line).split(",")] for line in answer.stdout.splitlines()]
    slices = _slices(ask) if any("Enabled" in row for row in rows) else {}
    for fields in rows:
        if len(fields) in (5, 6) and fields[0].isdigit():
            index, name, capability, driver, mig, *uuid = fields
            gpus.append(
                Gpu(
                    index=int(index),
                    name=name,
                    capability=capability if re.fullmatch(r"\d+\.\d+", capability) else None,
                    mig=mig == "Enabled",
                    uuids=(*uuid, *(one for gpu in uuid for one in slices.get(gpu, ()))),
                )
            )
    head = ask(["nvidia-smi"])  # only its table says which CUDA
    cuda = re.search(r"CUDA Version:\s*([\d.]+)(?!\S)", head.stdout) if head else None
    return tuple(gpus), driver, cuda[1] if cuda else None


def _slices(ask: Ask) -> dict[str, list[str]]:
    """The UUIDs of MIG slices by that of their GPU, which nvidia-smi lists above them."""
    answer, gpu = ask(["nvidia-smi", "-L"]), ""
    found: dict[str, list[str]] = {}
    for uuid in re.findall(r"UUID:\s*([\w/-]+)", answer.stdout if answer else ""):
        gpu = uuid if uuid.startswith("GPU-") else gpu
        found.setdefault(gpu, []).append(uuid)
    return found


def _value(path: Path, name: str) -> str | None:
    """The value of a ``name: value`` line of a file."""
    found = re.search(rf"^\s*{name}\s*:(.*)$", _read(path), re.MULTILINE)
    return found[1].strip() if found else None


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return ""
