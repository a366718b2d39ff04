"""Doctor: every check passes, warns or fails for a reason, and says what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roofline.capture.doctor import (
    DoctorCheck,
    Situation,
    Status,
    conclusion,
    examine,
    running,
)
from roofline.capture.failures import NcuFailedError, failed
from roofline.capture.machine import Gpu, Machine
from roofline.capture.request import Ncu, Version

GOOD = Machine(
    gpus=(Gpu(index=0, name="NVIDIA H100", capability="9.0"),),
    driver="550.54.15",
    cuda="12.4",
    admin_only=False,
    capabilities=0,
)


def ncu(text: str = "2024.1.1") -> Ncu:
    year, minor, _ = (int(part) for part in text.split("."))
    version = Version(year=year, minor=minor, text=text)
    return Ncu(path=Path("/opt/ncu"), version=version, how="PATH")


@pytest.fixture
def good(tmp_path: Path) -> Situation:
    return Situation(
        machine=GOOD,
        ncu=ncu(),
        chips=frozenset({"gh100", "ga100"}),
        environment={},
        temporary=tmp_path,
        reader="2026.3.1",
    )


def found(situation: Situation, code: str) -> DoctorCheck:
    (check,) = [check for check in examine(situation) if check.code == code]
    return check


def test_a_machine_that_can(good: Situation) -> None:
    checks = examine(good)
    assert {check.status for check in checks} == {Status.PASS}
    assert [check.code for check in checks] == [
        "gpu", "ncu", "ncu_gpu", "ncu_driver", "permission", "counters", "tmpdir", "reader",
    ]  # fmt: skip


MACHINES = [
    ({"gpus": (), "driver": None}, "gpu", Status.FAIL),
    ({"gpus": ()}, "gpu", Status.WARN),
    ({"admin_only": True}, "permission", Status.FAIL),
    ({"admin_only": True, "capabilities": 1 << 21}, "permission", Status.PASS),
    ({"admin_only": None}, "permission", Status.WARN),
    ({"gpus": (Gpu(index=0, name="RTX 5090", capability="12.0"),)}, "ncu_gpu", Status.FAIL),
    ({"cuda": "12.2"}, "ncu_driver", Status.WARN),
    ({"cuda": "13.0"}, "ncu_driver", Status.WARN),
]


@pytest.mark.parametrize(("values", "code", "status"), MACHINES)
def test_machines(good: Situation, values: dict[str, object], code: str, status: Status) -> None:
    machine = replace(GOOD, **values)  # type: ignore[arg-type]
    check = found(replace(good, machine=machine), code)
    assert check.status is status
    assert (check.remedy is None) is (status is Status.PASS)


def test_permission_in_a_container_is_the_hosts_to_give(good: Situation) -> None:
    machine = replace(GOOD, admin_only=True, container="docker")
    remedy = found(replace(good, machine=machine), "permission").remedy
    assert remedy is not None
    assert "--cap-add" in remedy
    assert "administrator: " in remedy


MIG = (Gpu(index=0, name="NVIDIA H100", capability="9.0", mig=True),)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"wsl": True}, "NVIDIA Control Panel"),
        ({"gpus": MIG}, "a whole GPU"),
        ({"container": "docker", "provider": "RunPod"}, "provider"),
        ({}, "sudo"),
    ],
    ids=["wsl", "mig", "cloud", "bare metal"],
)
@pytest.mark.parametrize("admin_only", [True, None])
def test_permission_is_told_by_the_place(
    good: Situation, values: dict[str, object], said: str, admin_only: bool | None
) -> None:
    machine = replace(GOOD, admin_only=admin_only, **values)  # type: ignore[arg-type]
    check = found(replace(good, machine=machine), "permission")
    assert check.status is (Status.FAIL if admin_only else Status.WARN)
    assert said in f"{check.text} {check.remedy}"


def test_no_ncu(good: Situation) -> None:
    missing = failed("ncu_missing")
    assert isinstance(missing, NcuFailedError)
    check = found(replace(good, ncu=missing), "ncu")
    assert check.status is Status.FAIL
    assert "--ncu" in (check.remedy or "")


def test_owners_of_the_counters(good: Situation) -> None:
    check = found(replace(good, processes=("bash", "nv-hostengine")), "counters")
    assert check.status is Status.WARN
    assert "nv-hostengine" in check.text
    assert "dcgmi profile --pause" in (check.remedy or "")


def test_tmpdir_that_is_not_there(good: Situation, tmp_path: Path) -> None:
    assert found(replace(good, temporary=tmp_path / "no"), "tmpdir").status is Status.FAIL


def test_reader_older_than_ncu(good: Situation) -> None:
    assert found(replace(good, reader="2023.3.0"), "reader").status is Status.WARN
    assert found(replace(good, reader=None), "reader").status is Status.FAIL


def test_environment(good: Situation) -> None:
    environment = {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs", "CUDA_INJECTION64_PATH": "/x"}
    checks = examine(replace(good, environment=environment))
    assert [c.code for c in checks if c.status is Status.WARN] == ["stubs", "injection"]


def test_cuda_of_a_release(good: Situation) -> None:
    assert "ncu 2024.1.1 comes with CUDA 12.4;" in found(good, "ncu_driver").text
    unknown = replace(good, ncu=ncu("2031.1.0"))
    assert "ncu_driver" not in {check.code for check in examine(unknown)}


def test_processes_that_run(tmp_path: Path) -> None:
    for number, name in (("1", "init"), ("22", "dcgm-exporter")):
        (tmp_path / "proc" / number).mkdir(parents=True)
        (tmp_path / "proc" / number / "comm").write_text(name + "\n")
    assert running(tmp_path) == ("dcgm-exporter", "init")


def test_one_sentence_says_what_to_do_next(good: Situation) -> None:
    assert conclusion(examine(good)).startswith("This machine can profile: roofline profile ")
    doubtful = conclusion(examine(replace(good, processes=("nvidia-cuda-mps",))))
    assert doubtful.startswith("This machine may profile (")
    assert "MPS shares the GPU" in doubtful
    closed = conclusion(examine(replace(good, machine=replace(GOOD, admin_only=True))))
    assert closed.startswith("This machine cannot profile yet: the driver reserves")
    assert "roofline analyze REPORT" in closed


@pytest.mark.parametrize(
    ("version", "cuda", "status"),
    [
        ("2024.1.1", "12.4", Status.PASS),
        ("2024.1.1", "12.9", Status.PASS),
        ("2025.3.0", "12.9", Status.WARN),  # ncu of 13.0: newer than the driver
        ("2025.1.0", "13.0", Status.WARN),  # ncu of 12.8: a public pair that fails
    ],
)
def test_a_driver_may_not_fit_both_ways(
    good: Situation, version: str, cuda: str, status: Status
) -> None:
    machine = replace(GOOD, cuda=cuda)
    assert found(replace(good, ncu=ncu(version), machine=machine), "ncu_driver").status is status


def test_extras_that_are_missing_are_named(good: Situation) -> None:
    check = found(replace(good, missing=("parquet",)), "extras")
    assert check.status is Status.INFO
    assert check.remedy == "pip install pyarrow"


def test_the_sentence_names_all_that_is_missing(good: Situation) -> None:
    checks = examine(replace(good, machine=Machine(), ncu=MISSING))
    wrong = [check for check in checks if check.status is Status.FAIL]

    assert {"gpu", "ncu"} <= {check.code for check in wrong}
    assert all(check.text in conclusion(checks) for check in wrong)


@pytest.mark.parametrize(
    "lock", ["nsight-compute-lock", "nvidia/nsight_compute/lock.GPU-1", "nvidia/nsight_compute"]
)
def test_both_kinds_of_lock_are_looked_at(
    good: Situation, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    path = good.temporary / lock
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    monkeypatch.setattr("os.access", lambda asked, _mode: Path(asked) != path)
    check = found(good, "tmpdir")
    assert check.status is Status.FAIL
    assert str(path) in check.text


MISSING = failed("ncu_missing")
# Each check -> what is different where it does not pass. MPS, a stub and an injection are checks
# only then; extras are named and are no fault.
WRONG: dict[str, dict[str, object]] = {
    "gpu": {"machine": Machine()},
    "ncu": {"ncu": MISSING},
    "ncu_gpu": {"chips": frozenset({"ga100"})},
    "ncu_driver": {"machine": replace(GOOD, cuda="11.8")},
    "permission": {"machine": replace(GOOD, admin_only=True)},
    "counters": {"processes": ("dcgm-exporter",)},
    "mps": {"processes": ("nvidia-cuda-mps",)},
    "tmpdir": {"temporary": Path(__file__) / "no"},
    "reader": {"reader": None},
    "stubs": {"environment": {"LD_LIBRARY_PATH": "/stubs"}},
    "injection": {"environment": {"CUDA_INJECTION64_PATH": "/x"}},
    "extras": {"missing": ("parquet",)},
}


@pytest.mark.parametrize("code", WRONG)
def test_every_check_comes_out_both_ways_and_ends_in_one_sentence(
    good: Situation, code: str
) -> None:
    right = [check for check in examine(good) if check.code == code]
    assert all(check.status is Status.PASS and check.remedy is None for check in right)
    assert bool(right) is (code not in ("mps", "stubs", "injection", "extras"))

    checks = examine(replace(good, **WRONG[code]))  # type: ignore[arg-type]
    (wrong,) = [check for check in checks if check.code == code]
    assert wrong.remedy
    assert (wrong.status is Status.INFO) is (code == "extras")
    sentence = conclusion(checks)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    begins = {Status.FAIL: "cannot profile yet: ", Status.WARN: "may profile (", Status.INFO: "can"}
    assert sentence.startswith(f"This machine {begins[wrong.status]}")
    assert wrong.status is Status.INFO or wrong.text in sentence


def test_every_check_is_tried(good: Situation) -> None:
    tried = {c.code for values in WRONG.values() for c in examine(replace(good, **values))}  # type: ignore[arg-type]
    assert tried == set(WRONG)


def test_a_temporary_folder_without_room(good: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 10**9})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert found(good, "tmpdir").status is Status.WARN
    usage.free = 2**30
    assert found(good, "tmpdir").status is Status.PASS
