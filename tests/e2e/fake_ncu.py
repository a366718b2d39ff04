"""A stand-in for ncu: does what a scenario file says and notes what it was called with.

The scenario (JSON, named by FAKE_NCU) has ``version``, ``query`` (what --query-metrics prints),
``regex_error``, ``refuses`` (an error about the command line, which the real one prints to stdout
before it opens its log) and ``captures``: what each profiling run in turn does (the last one
repeats).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FLAGS = {"--nvtx"}  # options without a value


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> int:
    place = Path(os.environ["FAKE_NCU"])
    scenario = json.loads(place.read_text())
    argv = sys.argv[1:]
    if "--version" in argv:
        say("NVIDIA (R) Nsight Compute Command Line Profiler")
        say(scenario.get("version", "Version 2024.1.1.0 (build 33998838) (public-release)"))
        return 0
    if (refused := scenario.get("refuses")) and "--query-metrics" not in argv:
        say(refused)
        return 1
    if "--list-chips" in argv:
        if error := scenario.get("regex_error"):
            say(f"==ERROR== Invalid regex provided to --kernel option. {error}")
            return 1
        say("ga100, gh100, tu102")
        return 0
    if "--query-metrics" in argv:
        say(scenario.get("query", ""))
        return 0
    calls = place.with_name("calls.jsonl")
    with calls.open("a") as file:
        file.write(json.dumps({"argv": argv, "env": dict(os.environ)}) + "\n")
    number = len(calls.read_text().splitlines()) - 1
    captures = scenario["captures"]
    return capture(captures[min(number, len(captures) - 1)], argv)


def capture(step: dict[str, Any], argv: list[str]) -> int:
    options, program = split(argv)
    heard = Path(os.environ["FAKE_NCU"]).with_name("signals")
    if step.get("ignore_signals"):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: note(heard, signal.Signals(number).name))
    if step.get("gentle"):  # as ncu does: end the session, write what there is
        signal.signal(signal.SIGINT, lambda *_: finish(step, options))
    log = Path(options["--log-file"])
    code = 0
    if step.get("run"):
        code = subprocess.run(program, check=False).returncode
    sys.stderr.write("".join(line + "\n" for line in step.get("stderr", [])))
    sys.stderr.flush()
    with log.open("w") as file:
        for line in step.get("log", []):
            file.write(line.replace("CODE", str(code)) + ("" if line.endswith(".") else "\n"))
            file.flush()
            time.sleep(step.get("pause", 0))
    if child := step.get("child"):
        process = subprocess.Popen(["sleep", "60"])
        Path(child).write_text(str(process.pid))
    note(heard, "ready")
    time.sleep(step.get("delay", 0))
    if number := step.get("signal"):
        os.kill(os.getpid(), number)
    return finish(step, options)


def note(file: Path, text: str) -> None:
    with file.open("a") as lines:
        lines.write(text + "\n")


def finish(step: dict[str, Any], options: dict[str, str]) -> int:
    if report := step.get("report"):
        shutil.copy(report, options["--export"].replace("%%", "%") + ".ncu-rep")
    sys.stdout.flush()
    os._exit(step.get("exit", 0))


def split(argv: list[str]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    at = 0
    while at < len(argv) and argv[at].startswith("--"):
        if argv[at] in FLAGS or "=" in argv[at]:
            options[argv[at]] = ""
            at += 1
        else:
            options[argv[at]] = argv[at + 1]
            at += 2
    return options, argv[at:]


if __name__ == "__main__":
    sys.exit(main())
