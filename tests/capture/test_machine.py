"""What a machine shows of itself, from files and nvidia-smi as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.capture.machine import Gpu, Machine, container, look, model_names
from roofline.process import Completed

ROW = "0, NVIDIA H100 80GB HBM3, 9.0, 550.54.15, Disabled\n"
HEAD = "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4     |\n"


def smi(rows: str = ROW, head: str = HEAD, code: int = 0) -> object:
    def run(argv: list[str]) -> Completed:
        text = rows if len(argv) > 1 else head
        return Completed(argv=tuple(argv), code=code, stdout=text, stderr="")

    return run


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_gpu_driver_and_cuda(tmp_path: Path) -> None:
    machine = look(tmp_path, {}, smi())  # type: ignore[arg-type]
    assert machine.gpus == (Gpu(index=0, name="NVIDIA H100 80GB HBM3", capability="9.0"),)
    assert (machine.driver, machine.cuda) == ("550.54.15", "12.4")


def test_mig(tmp_path: Path) -> None:
    machine = look(tmp_path, {}, smi(ROW.replace("Disabled", "Enabled")))  # type: ignore[arg-type]
    assert machine.mig


@pytest.mark.parametrize("rows", ["", "No devices were found\n", "a,b\n", "x, y, z, q, r\n"])
def test_odd_answers_of_nvidia_smi(tmp_path: Path, rows: str) -> None:
    assert look(tmp_path, {}, smi(rows)).gpus == ()  # type: ignore[arg-type]


def test_old_nvidia_smi_does_not_say_the_capability(tmp_path: Path) -> None:
    machine = look(tmp_path, {}, smi(ROW.replace("9.0", "[N/A]")))  # type: ignore[arg-type]
    assert machine.gpus[0].capability is None


def test_without_nvidia_smi_the_driver_is_in_a_file(tmp_path: Path) -> None:
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n"
    put(tmp_path, "proc/driver/nvidia/version", text)
    machine = look(tmp_path, {}, lambda _: None)
    assert (machine.gpus, machine.driver) == ((), "535.104.05")


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False)])
def test_the_drivers_parameter(tmp_path: Path, value: str, expected: bool) -> None:
    put(tmp_path, "proc/driver/nvidia/params", f"Mobile: 1\nRmProfilingAdminOnly: {value}\n")
    assert look(tmp_path, {}, lambda _: None).admin_only is expected


@pytest.mark.parametrize(
    ("driver", "capabilities", "privileged"),
    [
        ("550.1", 1 << 21, True),  # SYS_ADMIN
        ("550.1", 1 << 38, False),  # PERFMON is not enough before R565
        ("565.1", 1 << 38, True),
        ("565.1", 0, False),
        ("565.1", None, None),
        (None, 1 << 38, False),
    ],
)
def test_capabilities(driver: str | None, capabilities: int | None, privileged: object) -> None:
    machine = Machine(driver=driver, capabilities=capabilities)
    assert machine.privileged is privileged


def test_own_capabilities_are_read(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/status", "Name:\tx\nCapEff:\t0000004000200000\n")
    # 0x4000200000 is bit 38 and bit 21.
    assert look(tmp_path, {}, lambda _: None).capabilities == (1 << 38) | (1 << 21)


def test_counters_are_closed_only_where_that_is_known() -> None:
    assert Machine(admin_only=True, capabilities=0).counters_closed
    assert not Machine(admin_only=None, capabilities=0).counters_closed
    assert not Machine(admin_only=True, capabilities=1 << 21).counters_closed


@pytest.mark.parametrize(
    ("files", "environment", "kind"),
    [
        ({}, {}, None),
        ({".dockerenv": ""}, {}, "docker"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({}, {"APPTAINER_CONTAINER": "x.sif"}, "apptainer"),
        ({"proc/1/cgroup": "0::/lxc/box\n"}, {}, "lxc"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, {}, None),
    ],
)
def test_containers(
    tmp_path: Path, files: dict[str, str], environment: dict[str, str], kind: str | None
) -> None:
    for name, text in files.items():
        put(tmp_path, name, text)
    assert container(tmp_path, environment) == kind


def test_wsl_provider_and_cluster(tmp_path: Path) -> None:
    put(tmp_path, "proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n")
    machine = look(tmp_path, {"RUNPOD_POD_ID": "x", "SLURM_JOB_ID": "1"}, lambda _: None)
    assert machine.wsl
    assert machine.provider == "RunPod"
    assert machine.node
    assert machine.node in machine.describe()


def test_description_has_no_host_outside_a_cluster() -> None:
    gpus = (Gpu(index=0, name="A"), Gpu(index=1, name="A"), Gpu(index=2, name="B"))
    machine = Machine(gpus=gpus, driver="550.1", container="docker")
    assert machine.describe() == "A, B, driver 550.1, docker"
    assert look(Path("/"), {}, lambda _: None).node is None


def test_names_of_gpus_without_running_anything(tmp_path: Path) -> None:
    put(
        tmp_path,
        "proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t NVIDIA H200\nIRQ: 1",
    )
    assert model_names(tmp_path) == ("NVIDIA H200",)


TWO = (
    "0, NVIDIA A100-SXM4-80GB, 8.0, 550.54.15, Enabled, GPU-aaaa1111\n"
    "1, NVIDIA L4, 8.9, 550.54.15, Disabled, GPU-bbbb2222\n"
)
LISTED = (
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-aaaa1111)\n"
    "  MIG 1g.10gb     Device  0: (UUID: MIG-cccc3333)\n"
    "GPU 1: NVIDIA L4 (UUID: GPU-bbbb2222)\n"
)
PCI = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize(
    ("visible", "rest", "names"),
    [
        (None, {}, ["A100", "L4"]),
        ("1", PCI, ["L4"]),
        ("1,0", PCI, ["L4", "A100"]),
        ("1", {}, ["A100", "L4"]),  # the fastest first: either may be meant
        ("GPU-bbbb", {}, ["L4"]),
        ("MIG-cccc3333", {}, ["A100"]),
        ("MIG-GPU-aaaa1111/1/0", {}, ["A100"]),
        ("1,7,0", PCI, ["L4"]),  # it ends at the first that is none
        ("-1", PCI, []),
        ("", {}, []),
        ("NoDevFiles", {}, []),
    ],
)
def test_what_cuda_sees(
    tmp_path: Path, visible: str | None, rest: dict[str, str], names: list[str]
) -> None:
    environment = rest if visible is None else rest | {"CUDA_VISIBLE_DEVICES": visible}

    def ask(argv: list[str]) -> Completed:
        text = LISTED if argv[1:] == ["-L"] else TWO if len(argv) > 1 else HEAD
        return Completed(argv=tuple(argv), code=0, stdout=text, stderr="")

    seen = look(tmp_path, environment, ask).cuda_gpus
    assert [name for gpu in seen for name in ("A100", "L4") if name in gpu.name] == names


def test_a_driver_that_does_not_know_compute_cap_is_asked_again(tmp_path: Path) -> None:
    def ask(argv: list[str]) -> Completed:
        old = "compute_cap" in " ".join(argv)
        text = "0, Tesla V100-16GB, 0, 470.57.02, [N/A], GPU-1\n1, Tesla V100, 1, 470.57.02, x, G"
        return Completed(argv=tuple(argv), code=2 if old else 0, stdout=text, stderr="")

    machine = look(tmp_path, {}, ask)
    assert [(gpu.name, gpu.capability) for gpu in machine.gpus] == [
        ("Tesla V100-16GB", None), ("Tesla V100", None),
    ]  # fmt: skip
    assert machine.driver == "470.57.02"
