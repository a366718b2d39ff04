"""A stand-in for nsys: runs the program in a session of its own, and says what the real ones say.

It is started often, so it imports little. The scenario (marshalled, named by FAKE_NSYS) has
``table`` (what an export is), ``lacks`` (options that --help does not list) and ``fault``: "no
importer", "no report", "empty export", "hangs".
"""

# ruff: noqa: PTH108, PTH110, PTH118, PTH120, PTH123

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPTIONS = {
    "--cpuctxsw": "", "--cuda-graph-trace": "", "--cuda-memory-usage": "", "--force-overwrite": "f",
    "--kill": "", "--output": "o", "--sample": "s", "--session-new": "", "--show-output": "w",
    "--stats": "", "--stop-on-exit": "x", "--trace": "t", "--wait": "",
}  # fmt: skip
PLACE = os.environ["FAKE_NSYS"]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    scenario = marshal.loads(read(PLACE))
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
        state = beside(f"{rest[0].partition('=')[2]}.session")
        report(scenario, os.fsdecode(read(state)))
        os.unlink(state)
    elif word == "export":
        export(scenario, rest)
    return 0


def beside(name: str) -> str:
    """A file in the folder of the scenario."""
    return os.path.join(os.path.dirname(PLACE), name)


def read(place: str) -> bytes:
    with open(place, "rb") as file:
        return file.read()


def write(place: str, data: bytes, how: str = "wb") -> None:
    with open(place, how) as file:
        file.write(data)


def profile(scenario: dict[str, Any], words: list[str]) -> int:
    import signal
    import subprocess

    given: dict[str, str] = {}
    while words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        if name not in OPTIONS or name in given:
            say(f"unrecognised option '{name}'")
            return 1
        given[name] = value
    write(beside("looks"), repr({"options": given, "program": words}).encode() + b"\n", "ab")
    state = beside(f"{given['--session-new']}.session")
    write(state, os.fsencode(given["--output"]))
    environment = os.environ | {"CUDA_INJECTION64_PATH": "/nsys", "NVTX_INJECTION64_PATH": "/nsys"}
    program = subprocess.Popen(words, env=environment, start_new_session=True, close_fds=False)
    for number in (signal.SIGINT, signal.SIGTERM):  # as nsys does: to the program
        signal.signal(number, lambda got, _: os.killpg(program.pid, got))
    say("Collecting data...")
    code = program.wait()
    while scenario.get("fault") == "hangs":
        signal.pause()
    if os.path.exists(state):
        report(scenario, given["--output"])
        os.unlink(state)
    return code if code >= 0 else 128 - code


def report(scenario: dict[str, Any], output: str) -> None:
    fault = scenario.get("fault")
    place = output.removesuffix(".nsys-rep")
    place += ".qdstrm" if fault == "no importer" else ".nsys-rep"
    say("Generating '/tmp/nsys-report-7056.qdstrm'")
    say("\r[1/1] [0%    ] look.nsys-rep\r[1/1] [====100%] look.nsys-rep")
    if fault == "no importer":
        say("Importer error status: The importer binary and its dependencies were not found.")
    say("Generated:")
    if fault != "no report":
        write(place, b"HF_TOKEN=secret")
        say(f"    {place}")
    sys.stdout.flush()


def export(scenario: dict[str, Any], words: list[str]) -> None:
    output = words[words.index("--output") + 1]
    write(output, b"" if scenario.get("fault") == "empty export" else read(scenario["table"]))


if __name__ == "__main__":
    sys.exit(main())
