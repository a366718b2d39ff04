"""From the options of ``roofline profile`` to what a capture needs, and who runs it."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import Any

import click

from roofline.capture.request import (
    DEFAULT_LAUNCH_COUNT,
    CaptureLevel,
    CaptureRequest,
    NameBase,
    Replay,
)
from roofline.capture.run import Captured, CaptureSetup
from roofline.cli.answer import Request, check, request_of
from roofline.errors import UsageError

_EXIT_OF_SIGNAL = 128
_DEVICES = re.compile(r"\s*\d+\s*(,\s*\d+\s*)*")


def capture_request(program: tuple[str, ...], given: dict[str, Any]) -> CaptureRequest:
    """What the options ask ncu for.

    Raises:
        UsageError: they exclude each other, or there is no program.

    """
    if given["kernel_regex"] is not None and given["kernels"]:
        raise UsageError("--kernel and --kernel-regex exclude each other", hint="one of them")
    if not program[0]:
        raise UsageError("the program's name is empty")
    if given["devices"] is not None and not _DEVICES.fullmatch(given["devices"]):
        raise UsageError(
            f"--devices {given['devices']}: GPUs are given by index",
            hint="--devices 0,1; nvidia-smi -L lists them",
        )
    count = given["launch_count"]
    if count is None:
        count = 1 if given["per_config"] else DEFAULT_LAUNCH_COUNT
    names = (name.strip() for words in given["metrics"] for name in words.split(","))
    return CaptureRequest(
        program=program,
        level=CaptureLevel(given["level"]),
        kernel_regex=given["kernel_regex"],
        kernels=given["kernels"],
        name_base=NameBase(given["name_base"]) if given["name_base"] else None,
        collectives=given["collectives"],
        launch_skip=given["launch_skip"],
        launch_count=count or None,
        per_config=given["per_config"],
        nvtx=given["nvtx"],
        from_start=given["from_start"],
        devices=given["devices"],
        metrics=tuple(name for name in names if name),
        sections=given["sections"],
        section_set=given["section_set"],
        replay=Replay(given["replay"]),
        lock_clocks=given["clock_control"] == "base",
        flush_caches=given["cache_control"] == "all",
        graphs=given["graphs"],
        ncu_options=given["ncu_options"],
    )


def answer_request(given: dict[str, Any]) -> Request:
    """What is to be shown afterwards.

    Raises:
        UsageError: it could not be.

    """
    request = request_of(given)
    check(request)
    return request


def look_up(request: CaptureRequest, given: dict[str, Any]) -> tuple[CaptureRequest, CaptureSetup]:
    """Find program and ncu, look at the machine, fit the request to it; nothing is profiled.

    Raises:
        ProgramError: there is no such program.
        CaptureError: there is no ncu.

    """
    from roofline.capture.machine import look
    from roofline.capture.preflight import ask, check_program, find_ncu, fit

    check_program(request.program[0], os.environ)
    ncu = find_ncu(given["ncu"])
    machine = look()
    fitted = fit(request, ncu, machine, ask)
    for note in fitted.notes:
        say(note)
    return fitted.request, CaptureSetup(
        ncu=ncu,
        machine=machine,
        metrics=fitted.metrics,
        stall_s=given["stall_timeout"],
        limit_s=given["timeout"],
        tell=_silence if given["quiet"] or not sys.stderr.isatty() else say,
        stdout_to_stderr=given["output_format"] not in (None, "table") or given["list_kernels"],
    )


def check_choice(request: CaptureRequest, setting: CaptureSetup) -> None:
    """Let this ncu judge its command line before the program starts.

    Raises:
        UsageError: it would refuse the choice of kernels or devices.
        CaptureError: it would refuse another option.

    """
    from roofline.capture.preflight import ask, check_command

    check_command(request, setting.ncu, setting.metrics, ask)


def bare_unless_chosen(rank: int, program: tuple[str, ...]) -> None:
    """Become the program where this is another rank; does not return then."""
    from roofline.capture.failures import failed
    from roofline.capture.ranks import is_chosen
    from roofline.process import become

    if is_chosen(rank, program, os.environ):
        return
    try:
        become(program)
    except OSError as error:
        raise failed("program_missing", evidence=f"{program[0]}: {error.strerror}") from error


def exit_of_signal(captured: Captured) -> int | None:
    """The exit code where a signal ended a run, ``None`` where none did."""
    if captured.stopped is None or not captured.stopped.startswith("SIG"):
        return None
    return _EXIT_OF_SIGNAL + int(getattr(signal, captured.stopped))


def say(text: str) -> None:
    """A line of talk."""
    click.echo(f"roofline: {text}", err=True)


def _silence(_text: str) -> None:
    pass
