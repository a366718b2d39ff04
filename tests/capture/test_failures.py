"""From what ncu really prints to one cause, and who can do what about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roofline.capture.failures import catalogue, failed, recognise, refine
from roofline.capture.machine import Gpu, Machine
from roofline.errors import CaptureError, ProgramError, typed
from tests.capture.test_levels import script

BARE = Machine(gpus=(Gpu(index=0, name="NVIDIA H100", capability="9.0"),), driver="550.54.15")
EXIT = "==ERROR== The application returned an error code ({})."
NONE = "==WARNING== No kernels were profiled."
COUNTERS = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0."
)

# What ncu prints, by cause: (its log, stderr, exit code, the code that it must become).
ERROR = "==ERROR== "
DEVICE = "Profiling is not supported on device 0"
SEEN: list[tuple[list[str], list[str], int, str]] = [
    ([EXIT.format(1), NONE], [ERROR + "Nsight Compute failed to connect to the CUDA driver (stub"],
     1, "no_driver"),
    (["==PROF== Connected to process 7", COUNTERS, EXIT.format(1), NONE], [], 1, "permission"),
    ([COUNTERS], ["Traceback (most recent call last):", "RuntimeError: CUDA error"], 1,
     "permission"),
    ([ERROR + "The user does not have permission to access NVIDIA GPU Performance Counters on "
      "the target vGPU device 0."], [], 1, "permission_vgpu"),
    ([ERROR + "Profiling failed because a driver resource was unavailable. Ensure that no other "
      "tool (like DCGM) is concurrently collecting profiling data."], [], 1, "counters_taken"),
    ([ERROR + "An error was reported by the driver: ",
      ERROR + "Cuda driver is not compatible with Nsight Compute.", EXIT.format(11)], [], 1,
     "driver_incompatible"),
    ([ERROR + "Insufficient driver version to profile on device 0."], [], 1,
     "driver_incompatible"),
    ([ERROR + DEVICE + " as it uses the Windows Subsystem for Linux (WSL). Refer"], [], 1,
     "gpu_wsl_unsupported"),
    ([ERROR + DEVICE + " as it is part of an active SLI group."], [], 1, "gpu_sli"),
    ([ERROR + DEVICE + ". To find out supported GPUs refer --list-chips option."], [], 1,
     "gpu_unsupported"),
    ([ERROR + "ERR_NVCMPGPU - Profiling is not supported on the NVIDIA Crypto"], [], 1,
     "gpu_mining"),
    ([ERROR + "Confidential computing mode detected on device 0."], [], 1, "gpu_confidential"),
    ([ERROR + "Protected memory mode detected on device 0."], [], 1, "gpu_protected_memory"),
    ([ERROR + "Failed to access the following metrics. When profiling on a MIG instance, it is"],
     [], 1, "mig_shared"),
    ([ERROR + "Failed to find metric foo__bar.sum", EXIT.format(9)], [], 1, "metric_unknown"),
    ([ERROR + "unrecognised option '--nosuch'. Use --help for further details."], [], 1,
     "option_unknown"),
    ([ERROR + "Option '--section nosuch' did not match any section."], [], 1, "section_unknown"),
    ([ERROR + "'nosuchprog' does not exist or is not an executable. Please make"], [], 1,
     "program_missing"),
    ([ERROR + "Insufficient memory and disk space to save context state!"], [], 1,
     "replay_memory"),
    ([ERROR + "Insufficient free memory for profiling on the device. Consider"], [], 1,
     "replay_memory"),
    ([ERROR + "Unexpected number of profiled kernels. Application replay requires"], [], 1,
     "replay_mismatch"),
    ([ERROR + "Only 3/5 kernels could be matched across replay passes."], [], 1,
     "replay_mismatch"),
    (["==WARNING== Launching the workload is taking more time than expected.", EXIT.format(6)],
     ["[E ProcessGroupNCCL] Watchdog caught collective operation timeout"], 1, "replay_hang"),
    ([ERROR + "Graph kernel nodes which are device-updatable are not supported for profiling."],
     [], 1, "graph_unsupported"),
    ([EXIT.format(1)],
     [ERROR + "Another tool/injection might be loaded since CUDA_INJECTION64_PATH is set"], 1,
     "injection_clash"),
    ([], [ERROR + "Cuda is initialized before the tool, e.g. by calling a Cuda API"], 1,
     "cuda_too_early"),
    ([ERROR + "Failed to create temporary file. Specify the TMPDIR environment"], [], 1,
     "tmpdir"),
    ([ERROR + "Failed to open/create lock file /tmp/nsight-compute-lock. Please"], [], 1,
     "lock_file"),
    ([ERROR + "Unable to write to file x.ncu-rep. Please verify"], [], 1, "output_unwritable"),
    ([ERROR + "No space left on device"], [], 1, "disk_full"),
    ([ERROR + "Failed to prepare kernel for profiling", ERROR + "Unknown Error on device 0.",
      ERROR + "Trying to shutdown target application", EXIT.format(9)], [], 9, "prepare_failed"),
    ([ERROR + "Unknown Error on device 0."], [], 1, "driver_error"),
    ([EXIT.format(1), NONE], ["torch.OutOfMemoryError: CUDA out of memory."], 1, "program_memory"),
    ([ERROR + "'bench' died due to signal 9 (Killed)", NONE], [], 1, "program_killed"),
    ([EXIT.format(137), NONE], [], 1, "program_killed"),
    ([EXIT.format(3), NONE], ["KeyError: 'x'"], 1, "program_failed"),
    ([NONE], [], 0, "nothing_launched"),
    ([ERROR + "An error was reported by the counter measurement library:",
      ERROR + "Failed to initialize the profiler: LibraryNotLoaded. Check that a compatible driver"
      " library is loaded."], [], 1, "counter_library"),
    ([ERROR + "An Error Was Reported By The Counter Measurement Library:",
      ERROR + "unknown error on device 0."], [], 1, "counter_error"),
    ([ERROR + "LaunchFailed"], [], 1, "launch_failed"),
    (["==WARNING== Target process 71 terminated before first instrumented API call."], [], 0,
     "nothing_launched"),
    ([ERROR + "Failed to access the following 6 metrics: ctc__rx_bytes_data_user.sum"], [], 1,
     "metric_unknown"),
    ([ERROR + "Failed to connect to process 71"], [], 1, "connect_failed"),
    ([ERROR + "Could not create lock directory /tmp/nvidia/nsight_compute."], [], 1, "lock_file"),
    ([ERROR + "Set the HOME environment variable to a writable directory."], [], 1, "home"),
    ([ERROR + "Invalid configuration for nvtx-include 'a@'"], [], 1, "nvtx_invalid"),
    ([ERROR + "Graph-based profiling is only supported with kernel replay."], [], 1,
     "graph_replay"),
    ([EXIT.format(1)], ["ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded"], 1,
     "injection_refused"),
    ([EXIT.format(1), NONE], ["CUPTI call cuptiSubscribe(&s) = 39"], 1, "cupti_client"),
    ([NONE], ["[W] CUPTI initialization failed - CUDA profiler activities will be missing"], 0,
     "cupti_client"),
    ([ERROR + "Something that nobody has seen"], [], 1, "unexplained"),
    ([], [], 0, "report_missing"),
    ([], [], -9, "ncu_crashed"),
]  # fmt: skip


@pytest.mark.parametrize(("log", "stderr", "code", "cause"), SEEN, ids=lambda v: str(v)[:40])
def test_cause(log: list[str], stderr: list[str], code: int, cause: str) -> None:
    failure, _ = recognise(log, stderr, BARE, exit_code=code)
    assert failure.code == cause


def test_every_cause_that_has_tokens_is_tried_above() -> None:
    tried = {row[3] for row in SEEN} | {"regex_invalid", "ncu_broken"}  # found before the run
    assert {f.code for f in catalogue().values() if f.tokens} <= tried


def test_the_first_error_is_the_cause() -> None:
    failure, evidence = recognise([COUNTERS, "==ERROR== Unknown Error on device 0."], [], BARE,
                                  exit_code=1)  # fmt: skip
    assert failure.code == "permission"
    assert evidence == COUNTERS


def test_the_evidence_is_the_line_that_says_most() -> None:
    lines = ["==ERROR== An error was reported by the counter measurement library:",
             "==ERROR== UNKNOWN ERROR ON DEVICE 0."]  # fmt: skip
    assert recognise(lines, [], BARE, exit_code=1)[1] == lines[1]
    assert recognise(lines[:1], [], BARE, exit_code=1)[1] == lines[0]


def test_closed_counters_hide_behind_the_counter_library() -> None:
    closed = replace(BARE, admin_only=True, capabilities=0)
    line = ERROR + "Failed to initialize the profiler: LibraryNotLoaded."
    assert recognise([line], [], closed, exit_code=1)[0].code == "permission"


def test_a_programs_words_are_not_ncus() -> None:
    stderr = ["INFO ERR_NVGPUCTRPERM - The user guide", "ValueError: nope"]
    failure, evidence = recognise([EXIT.format(1)], stderr, BARE, exit_code=1)
    assert failure.code == "program_failed"
    assert evidence is not None
    assert "ValueError: nope" in evidence


PLACES = [
    ({}, "permission"),
    ({"wsl": True}, "permission_wsl"),
    ({"container": "docker"}, "permission_container"),
    ({"container": "docker", "provider": "RunPod"}, "permission_cloud"),
    ({"gpus": (Gpu(index=0, name="H100", mig=True),)}, "permission_mig"),
]


@pytest.mark.parametrize(("values", "code"), PLACES)
def test_who_refuses_the_counters(values: dict[str, object], code: str) -> None:
    machine = replace(BARE, **values)  # type: ignore[arg-type]
    failure, _ = recognise([COUNTERS], [], machine, exit_code=1)
    assert failure.code == code


def test_a_taken_resource_is_a_permission_where_the_driver_says_so() -> None:
    # SYS_ADMIN is bit 21; this process has none.
    closed = replace(BARE, admin_only=True, capabilities=0)
    assert refine(catalogue()["counters_taken"], closed).code == "permission"
    assert refine(catalogue()["counters_taken"], BARE).code == "counters_taken"


@pytest.mark.parametrize("code", sorted(catalogue()))
def test_every_message_says_what_to_do_and_ends_in_the_right_code(code: str) -> None:
    error = failed(code, evidence="the line")
    with typed():
        text = str(error)
    assert text.startswith(error.failure.cause)
    assert f"[{code}]" in text
    assert "evidence: the line" in text
    assert "try: " in text
    assert error.exit_code == (5 if code.startswith("program_") else 4)
    assert isinstance(error, ProgramError if code.startswith("program_") else CaptureError)


def test_who_must_wait_for_somebody_else_is_told_what_to_use_meanwhile() -> None:
    waits = {code for code, failure in catalogue().items() if failure.admin}
    assert {"permission", "counters_taken", "disk_full", "replay_memory", "tmpdir"} <= waits
    assert all(catalogue()[code].meanwhile for code in waits)
    closed = {code for code in catalogue() if code.startswith(("gpu_", "permission", "mig_"))}
    assert all(catalogue()[code].meanwhile for code in closed)


def test_message_has_one_fact_a_line() -> None:
    error = failed(
        "permission", "E", context="ncu 2024.1.1, NVIDIA H100", names=("a", "b"), log="x.log"
    )
    lines = str(error).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "evidence", "where", "administrator", "meanwhile", "log",
        "kernels that ran", "a", "b", "try",
    ]  # fmt: skip


def test_page_lists_every_code() -> None:
    maker = script("make_failure_docs")
    assert maker.TARGET.read_text() == maker.page()
    assert all(f"## {code}\n" in maker.page() for code in catalogue())
