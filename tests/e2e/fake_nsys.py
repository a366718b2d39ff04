"""A stand-in for nsys: runs the program in a session of its own, and says what the real ones say.

The scenario (JSON, named by FAKE_NSYS) has ``table`` (what an export is), ``lacks`` (options that
--help does not list) and ``fault``: "no importer", "no report", "empty export", "hangs".
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

OPTIONS = {
    "--cpuctxsw": "", "--cuda-graph-trace": "", "--cuda-memory-usage": "", "--force-overwrite": "f",
    "--kill": "", "--output": "o", "--sample": "s", "--session-new": "", "--show-output": "w",
    "--stats": "", "--stop-on-exit": "x", "--trace": "t", "--wait": "",
}  # fmt: skip
PLACE = Path(os.environ["FAKE_NSYS"])


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    scenario = json.loads(PLACE.read_text())
    word, *rest = sys.argv[1:]
    if word == "--version":
        say("NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0")
    elif rest == ["--help"]:
        listed = {k: v for k, v in OPTIONS.items() if k not in scenario.get("lacks", ())}
        say("usage: nsys profile [<args>] [application]\n")
        for name, letter in listed.items():
            say(f"\t{f'-{letter}, ' if letter else ''}{name}=\n\n\t   What it does, see --other.\n")
    elif word == "profile":
        return profile(scenario, rest)
    elif word == "stop":
        state = state_of(rest[0].partition("=")[2])
        report(scenario, json.loads(state.read_text())["output"])
        state.unlink()
    elif word == "export":
        export(scenario, rest)
    return 0


def state_of(session: str) -> Path:
    return PLACE.with_name(f"{session}.session")


def profile(scenario: dict[str, Any], words: list[str]) -> int:
    given: dict[str, str] = {}
    while words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        if name not in OPTIONS or name in given:
            say(f"unrecognised option '{name}'")
            return 1
        given[name] = value
    with PLACE.with_name("nsys.jsonl").open("a") as file:
        file.write(json.dumps({"options": given, "program": words}) + "\n")
    state = state_of(given["--session-new"])
    state.write_text(json.dumps({"output": given["--output"]}))
    environment = os.environ | {"CUDA_INJECTION64_PATH": "/nsys", "NVTX_INJECTION64_PATH": "/nsys"}
    program = subprocess.Popen(words, env=environment, start_new_session=True, close_fds=False)
    for number in (signal.SIGINT, signal.SIGTERM):  # as nsys does: to the program
        signal.signal(number, lambda got, _: os.killpg(program.pid, got))
    say("Collecting data...")
    code = program.wait()
    while scenario.get("fault") == "hangs":
        signal.pause()
    if state.exists():
        report(scenario, given["--output"])
        state.unlink()
    return code if code >= 0 else 128 - code


def report(scenario: dict[str, Any], output: str) -> None:
    fault = scenario.get("fault")
    place = Path(output).with_suffix(".qdstrm" if fault == "no importer" else ".nsys-rep")
    say("Generating '/tmp/nsys-report-7056.qdstrm'")
    say("\r[1/1] [0%    ] look.nsys-rep\r[1/1] [====100%] look.nsys-rep")
    if fault == "no importer":
        say("Importer error status: The importer binary and its dependencies were not found.")
    say("Generated:")
    if fault != "no report":
        place.write_bytes(b"HF_TOKEN=secret")
        say(f"    {place}")
    sys.stdout.flush()


def export(scenario: dict[str, Any], words: list[str]) -> None:
    output = next(after for word, after in pairwise(words) if word == "--output")
    if scenario.get("fault") == "empty export":
        Path(output).touch()
    else:
        shutil.copy(scenario["table"], output)


if __name__ == "__main__":
    sys.exit(main())
