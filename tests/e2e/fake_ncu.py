"""A stand-in for ncu: does what a scenario file says and notes what it was called with.

It is started often, so it imports little: a start takes 12 ms of a processor, not 40.

The scenario (marshalled, named by FAKE_NCU) has ``face`` (a generation of ncu), ``query`` (what
--query-metrics prints), ``regex_error``, ``refuses`` (an error about the command line, which the
real one prints to stdout before it opens its log) and ``captures``: what each profiling run in turn
does (the last one repeats).
"""

# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import marshal
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FLAGS = {"--nvtx"}  # options without a value
# What each generation lists in --help, each on top of those before it. Words after the option are
# the values that it takes.
FACES = {
    "2022.3": """
        --target-processes all application-only
        --check-exit-code
        --devices
        --replay-mode kernel application range
        --app-replay-mode strict relaxed
        --cache-control all none
        --clock-control base none reset
        --kernel-name-base function demangled mangled
        --kernel-name
        --launch-skip
        --launch-count
        --profile-from-start
        --nvtx
        --nvtx-include
        --set
        --section
        --apply-rules
        --import-source
        --metrics
        --log-file
        --export
        --kill""",
    "2024.1": """
        --replay-mode kernel application range app-range
        --config-file
        --graph-profiling node graph
        --filter-mode global per-gpu per-launch-config""",
    "2025.1": """
        --rename-kernels on off
        --pipeline-boost-state stable dynamic
        --nvtx-push-pop-scope thread process
        --communicator none shmem tcp""",
    "2025.4": "--clock-control base boost force-boost none reset",
    "2026.1": "--app-replay-mode strict balanced relaxed",
    "2026.3": "",  # writes NAME.ncu-repz where NAME has no ending
}
SHORT = {"--kernel-name": "-k", "--launch-count": "-c", "--launch-skip": "-s", "--export": "-o"}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> int:
    with open(os.environ["FAKE_NCU"], "rb") as file:
        scenario = marshal.load(file)
    argv = sys.argv[1:]
    face = scenario.get("face", "2024.1")
    if "--version" in argv:
        say("NVIDIA (R) Nsight Compute Command Line Profiler")
        say(f"Version {face}.0.0 (build 33998838) (public-release)")
        return 0
    if argv == ["--help"]:
        say(described(face))
        return 0
    if "--query-metrics" not in argv and (wrong := fault(argv, face)):
        say(f"==ERROR== {wrong}. Use --help for further details.")
        return 1
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
    note("calls", repr({"argv": argv, "env": dict(os.environ)}))
    with open(beside("calls"), encoding="utf-8", errors="surrogateescape") as lines:
        number = len(lines.readlines()) - 1
    captures = scenario["captures"]
    step = captures[min(number, len(captures) - 1)]
    return capture({"ending": ".ncu-repz" if face >= "2026.3" else ".ncu-rep"} | step, argv)


def taken(face: str) -> dict[str, list[str]]:
    """The options of a generation, with the values that each takes; none for any value."""
    known: dict[str, list[str]] = {}
    for generation, lines in FACES.items():
        if generation <= face:
            known |= {row.split()[0]: row.split()[1:] for row in lines.strip().splitlines()}
    return known


def described(face: str) -> str:
    """As boost prints a help."""
    lines = ["usage: ncu [options] [program] [program-arguments]", "", "Common Profile Options:"]
    for option, values in taken(face).items():
        name = f"{SHORT[option]} [ {option} ]" if option in SHORT else option
        lines.append(f"  {name} arg".ljust(40) + "Set what it does, see also --elsewhere.")
        lines += [f"{'':42}{value}" for value in values]
    return "\n".join([*lines, "", "Profile first two launches:", "      ncu --no-option -c 2 app"])


def fault(argv: list[str], face: str) -> str | None:
    """What is wrong with the options, in the words of ncu."""
    known, seen = taken(face), set[str]()
    words = argv[: argv.index("--list-chips")] if "--list-chips" in argv else argv
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, _, value = words[at].partition("=")
        option = {short: long for long, short in SHORT.items()}.get(option, option)
        if option not in known:
            return f"unrecognised option '{option}'"
        if option in seen and option not in ("--section", "--nvtx-include"):
            return f"option '{option}' cannot be specified more than once"
        seen.add(option)
        at += 1
        if option not in FLAGS and not value:
            value, at = words[at], at + 1
        if known[option] and value not in known[option]:
            return f"the argument ('{value}') for option '{option}' is invalid"
    return None


def capture(step: dict[str, Any], argv: list[str]) -> int:
    options, program = split(argv)
    if step.get("ignore_signals"):
        import signal

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda got, _: note("signals", signal.Signals(got).name))
    if step.get("gentle"):  # as ncu does: end the session, write what there is
        import signal

        signal.signal(signal.SIGINT, lambda *_: finish(step, options))
    code = 0
    if step.get("run"):
        code = os.spawnvp(os.P_WAIT, program[0], program)
    sys.stderr.write("".join(line + "\n" for line in step.get("stderr", [])))
    sys.stderr.flush()
    with open(options["--log-file"], "w", encoding="utf-8") as file:
        for line in step.get("log", []):
            file.write(line.replace("CODE", str(code)) + ("" if line.endswith(".") else "\n"))
            file.flush()
            time.sleep(step.get("pause", 0))
    if child := step.get("child"):
        with open(child, "w", encoding="utf-8") as file:
            file.write(str(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")))
    note("signals", "ready")
    time.sleep(step.get("delay", 0))
    if deadly := step.get("signal"):
        os.kill(os.getpid(), deadly)
    return finish(step, options)


def beside(name: str) -> str:
    """A file in the folder of the scenario."""
    return os.path.join(os.path.dirname(os.environ["FAKE_NCU"]), name)


def note(name: str, text: str) -> None:
    with open(beside(name), "a", encoding="utf-8", errors="surrogateescape") as lines:
        lines.write(text + "\n")


def finish(step: dict[str, Any], options: dict[str, str]) -> int:
    if report := step.get("report"):
        place = options["--export"].replace("%%", "%")
        if not place.endswith((".ncu-rep", ".ncu-repz")):
            place += step.get("ending", ".ncu-rep")
        with open(report, "rb") as made, open(place, "wb") as kept:
            kept.write(made.read())
        if step.get("finished", True):
            with open(options["--log-file"], "a", encoding="utf-8") as file:
                file.write(f"==PROF== Report: {place}\n")
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
