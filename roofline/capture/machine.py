"""Facts about this machine that decide whether ncu may profile and who could change that."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from roofline.process import Completed, run_quietly

# Bits of Linux capabilities (linux/capability.h).
CAP_SYS_ADMIN, CAP_PERFMON = 21, 38
# From driver R565 on CAP_PERFMON suffices (NVIDIA's ERR_NVGPUCTRPERM page).
PERFMON_SINCE = 565

# Environment variables by which providers show themselves.
PROVIDERS: Mapping[str, str] = {
    "RUNPOD_POD_ID": "RunPod",
    "MODAL_TASK_ID": "Modal",
    "COLAB_RELEASE_TAG": "Colab",
    "KAGGLE_KERNEL_RUN_TYPE": "Kaggle",
    "VAST_CONTAINERLABEL": "Vast.ai",
    "PAPERSPACE_NOTEBOOK_ID": "Paperspace",
    "LIGHTNING_CLOUD_PROJECT_ID": "Lightning",
}
_QUERY = "index,name,compute_cap,driver_version,mig.mode.current"

Run = Callable[[list[str]], Completed | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU as nvidia-smi lists it; ``capability`` is "9.0"."""

    index: int
    name: str
    capability: str | None = None
    mig: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What was found; ``None`` where it could not be found out.

    ``admin_only`` is the driver's own parameter, ``capabilities`` this process's effective set.
    """

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    admin_only: bool | None = None
    capabilities: int | None = None
    container: str | None = None
    provider: str | None = None
    wsl: bool = False
    slurm: bool = False
    host: str | None = None

    @property
    def mig(self) -> bool:
        """Whether a GPU is partitioned."""
        return any(gpu.mig for gpu in self.gpus)

    @property
    def privileged(self) -> bool | None:
        """Whether this process has the capability that the driver asks for."""
        if self.capabilities is None:
            return None
        needed = 1 << CAP_SYS_ADMIN
        if self.driver_major is not None and self.driver_major >= PERFMON_SINCE:
            needed |= 1 << CAP_PERFMON
        return bool(self.capabilities & needed)

    @property
    def driver_major(self) -> int | None:
        """550 of "550.54.15"."""
        head = (self.driver or "").partition(".")[0]
        return int(head) if head.isdigit() else None

    @property
    def counters_closed(self) -> bool:
        """Whether the driver is known to refuse counters to this process."""
        return self.admin_only is True and self.privileged is False

    def describe(self) -> str:
        """One line for the message of a failure: GPU, driver, place."""
        place = [name for name, true in (("WSL", self.wsl), ("MIG", self.mig)) if true]
        place += [name for name in (self.provider, self.container) if name]
        parts = [", ".join(dict.fromkeys(gpu.name for gpu in self.gpus))]
        parts += [f"driver {self.driver}" if self.driver else "", *place]
        # The setting is each node's own, so a cluster's user must know which one refused.
        parts += [self.host if self.slurm and self.host else ""]
        return ", ".join(part for part in parts if part)


def look(
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    run: Run = run_quietly,
) -> Machine:
    """Find out about this machine, by reading files and asking nvidia-smi."""
    environment = os.environ if environment is None else environment
    gpus, driver, cuda = _ask_smi(run)
    return Machine(
        gpus=gpus,
        driver=driver or _driver_file(root),
        cuda=cuda,
        admin_only=_admin_only(root),
        capabilities=_capabilities(root),
        container=container(root, environment),
        provider=next((name for key, name in PROVIDERS.items() if key in environment), None),
        wsl="microsoft" in _read(root / "proc/version").lower(),
        slurm="SLURM_JOB_ID" in environment,
        host=platform.node() or None,
    )


def model_names(root: Path = Path("/")) -> tuple[str, ...]:
    """The GPUs' names as the driver lists them in files, for when nothing may be run."""
    return tuple(
        line.partition(":")[2].strip()
        for path in sorted(root.glob("proc/driver/nvidia/gpus/*/information"))
        for line in _read(path).splitlines()
        if line.startswith("Model:")
    )


def container(root: Path, environment: Mapping[str, str]) -> str | None:
    """The kind of container that this process is in, if any."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    for key, name in (
        ("APPTAINER_CONTAINER", "apptainer"),
        ("SINGULARITY_CONTAINER", "singularity"),
        ("KUBERNETES_SERVICE_HOST", "kubernetes"),
    ):
        if key in environment:
            return name
    groups = _read(root / "proc/1/cgroup")
    return next((n for n in ("docker", "kubepods", "containerd", "lxc") if n in groups), None)


def _ask_smi(run: Run) -> tuple[tuple[Gpu, ...], str | None, str | None]:
    answer = run(["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader"])
    if answer is None or answer.code != 0:
        return (), None, None
    gpus, driver = [], None
    for line in answer.stdout.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 5 or not fields[0].isdigit():
            continue
        index, name, capability, driver, mig = fields
        known = capability if capability.replace(".", "").isdigit() else None
        gpus.append(
            Gpu(index=int(index), name=name, capability=known, mig=mig.lower() == "enabled")
        )
    return tuple(gpus), driver, _cuda_of_driver(run)


def _cuda_of_driver(run: Run) -> str | None:
    """The newest CUDA that the driver serves: the head of nvidia-smi's table says it."""
    answer = run(["nvidia-smi"])
    found = (answer.stdout if answer else "").partition("CUDA Version:")[2].split()
    return found[0] if found and found[0].replace(".", "").isdigit() else None


def _driver_file(root: Path) -> str | None:
    words = _read(root / "proc/driver/nvidia/version").split()
    return next((w for w in words if w[0].isdigit() and w.count(".") in (1, 2)), None)


def _admin_only(root: Path) -> bool | None:
    for line in _read(root / "proc/driver/nvidia/params").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "RmProfilingAdminOnly":
            return value.strip() == "1"
    return None


def _capabilities(root: Path) -> int | None:
    for line in _read(root / "proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
