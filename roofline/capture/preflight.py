"""Before anything is profiled: find ncu, the program and the rank; fit the request."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from roofline.capture.command import question
from roofline.capture.failures import catalogue, failed
from roofline.capture.levels import chip_of, metrics_of
from roofline.capture.machine import TABLE, Ask, Machine
from roofline.capture.request import CaptureRequest, Ncu, Version
from roofline.errors import UsageError
from roofline.process import Completed, run_quietly

# What an ncu must list: those before 2021 choose kernels by other options.
_NEEDED = ("--kernel-name-base", "--metrics", "--export", "--log-file")
_VERSION = re.compile(r"^Version (\d{4})\.(\d+)(?:\.(\d+))?", re.MULTILINE)


def ask(arguments: list[str]) -> Completed | None:
    """Run ncu for an answer of its own, in the C locale."""
    return run_quietly(arguments, timeout_s=60, env={**os.environ, "LC_ALL": "C"})


# --- ncu and the program ------------------------------------------------------------------------


def find_ncu(
    asked: str | None = None,
    environment: Mapping[str, str] = os.environ,
    *,
    root: Path = Path("/"),
    ask: Ask = ask,
) -> Ncu:
    """The first ncu that answers ``--version``; a name on the path alone proves nothing.

    One that is too old does not end the search. ``CaptureError`` where none will do.
    """
    tried, too_old = [], []
    for path, how in candidates("ncu", asked, environment, root):
        located = shutil.which(path, path=environment.get("PATH"))
        if located is None:
            why = "not there, or not executable"
        elif (answer := ask([located, "--version"])) is None:
            why = "cannot be started"
        elif (version := parse_version(answer.stdout)) is None:
            said = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[-1]
            why = f"--version answered {answer.code}, {said!r}"
        else:
            help_ = ask([located, "--help"])
            ncu = Ncu(
                path=Path(located), version=version, how=how, help=help_.stdout if help_ else ""
            )
            lacking = [option for option in _NEEDED if not ncu.takes(option)]
            if not lacking:
                return ncu
            why = f"{ncu}, whose --help does not list {', '.join(lacking)}"
            too_old.append(located)
        tried.append(f"{path} ({how}): {why}")
    if not tried:
        raise failed("ncu_missing")
    raise failed("ncu_too_old" if too_old else "ncu_broken", "; ".join(tried))


def candidates(
    tool: str, asked: str | None, environment: Mapping[str, str], root: Path = Path("/")
) -> Iterator[tuple[str, str]]:
    """Paths to try and how each was found; one that was asked for is the only one."""
    variable = f"ROOFLINE_{tool.upper()}"
    if asked:
        yield asked, f"--{tool}"
    elif named := environment.get(variable):
        yield named, variable
    else:
        if on_path := shutil.which(tool, path=environment.get("PATH")):
            yield on_path, "PATH"
        for pattern in TABLE[tool]:
            for found in sorted(root.glob(pattern), reverse=True):
                yield str(found), "install folder"


def parse_version(text: str) -> Version | None:
    """The version in what ``ncu --version`` prints."""
    found = _VERSION.search(text)
    if found is None:
        return None
    year, minor, patch = (int(part or 0) for part in found.groups())
    return Version(year=year, minor=minor, text=f"{year}.{minor}.{patch}")


def check_program(
    program: Sequence[str], environment: Mapping[str, str], *, elsewhere: bool = False
) -> str | None:
    """Raise ``ProgramError`` for a program that is neither on PATH nor, as ncu looks, here.

    One that may be ``elsewhere`` is only told, unless its words can be no program anywhere.
    """
    word, path = program[0], Path(program[0])
    here = path.is_file() and os.access(path, os.X_OK)
    if here or shutil.which(word, path=environment.get("PATH")):
        return None
    if path.exists():
        why = "a folder" if path.is_dir() else "not executable"
    else:
        why = "no such file" if os.sep in word else "not on PATH and not in this folder"
    wrong, meant = _meant(program)
    if elsewhere and wrong is None and meant is None:
        return f"{word}: {why}"
    failure, why = catalogue()["program_missing"], f"{word}: {wrong or why}"
    if word.endswith((".ncu-rep", ".ncu-repz")):
        failure = replace(failure, you=f"roofline analyze {shlex.quote(word)}")
    elif meant:
        failure = replace(failure, you=f"roofline profile ... {meant}")
        why += f"; did you mean: {meant}"
    raise failed(failure, why)


def _meant(program: Sequence[str]) -> tuple[str | None, str | None]:
    """What is wrong with words that cannot be started, and what somebody wanted with them."""
    word, *rest = program
    if re.match(r"[A-Za-z_]\w*=", word):
        return "a setting, which only a shell takes for one", f"env {shlex.join(program)}"
    if word.endswith((".cu", ".cpp", ".cc")):
        compiled = f"./{Path(word).stem}"
        made = shlex.join(["nvcc", "-lineinfo", word, "-o", compiled])
        return f"source code; compile it first: {made}", shlex.join([compiled, *rest])
    if word.endswith((".ncu-rep", ".ncu-repz")):
        return "a report, which has been profiled", None
    if " " in word.strip() and not rest:
        return "quoted, so it is one word", word.strip()
    return None, shlex.join(["python", *program]) if word.endswith(".py") else None


# --- the request on this machine ----------------------------------------------------------------


def fit(
    request: CaptureRequest, ncu: Ncu, machine: Machine, ask: Ask = ask
) -> tuple[CaptureRequest, list[str]]:
    """``request`` with all metrics that ncu knows on ``machine``, and notes on what was changed."""
    chips = chips_of(machine, request.devices)
    fitted = with_metrics(request, chips, ncu, known_to(ncu, chips, ask))
    notes = []
    if len(chips) > 1:
        notes.append(f"several kinds of GPU ({', '.join(chips)}): what all of them count; --device")
    if not chips:
        notes.append("the GPU is not known: only what every GPU counts is collected")
    if not request.patched:
        notes.append("operations by precision are not collected: ncu cannot for ranges and graphs")
    if machine.mig and request.clock_control != "none":
        fitted = replace(fitted, clock_control="none")
        notes.append("MIG: clocks cannot be locked, --clock-control none is used")
    return fitted, notes


def with_metrics(
    request: CaptureRequest, chips: Sequence[str], ncu: Ncu, listed: Collection[str] | None = None
) -> CaptureRequest:
    """``request`` with all metrics of its level that ``chips`` have and ncu has ``listed``."""
    level, extra, patched = request.level, request.metrics, request.patched
    metrics = metrics_of(level, chips, extra, listed, patched=patched, version=ncu.version)
    return replace(request, metrics=metrics)


def chips_of(machine: Machine, devices: str | None) -> tuple[str, ...]:
    """The distinct chips of the GPUs that may be profiled, in order."""
    # ncu counts as CUDA does: what CUDA_VISIBLE_DEVICES leaves, in its order.
    gpus = {str(index): gpu for index, gpu in enumerate(machine.cuda_gpus)}
    wanted = [name.strip() for name in devices.split(",")] if devices and gpus else list(gpus)
    if missing := [name for name in wanted if name not in gpus]:
        what = f"--device {devices}: there is no GPU {', '.join(missing)}"
        raise UsageError(what, hint=f"of {', '.join(sorted(gpus))}")
    found = (chip_of(gpu.capability) for name, gpu in gpus.items() if name in wanted)
    return tuple(dict.fromkeys(chip for chip in found if chip))


def known_to(ncu: Ncu, chips: Sequence[str], ask: Ask = ask) -> frozenset[str] | None:
    """Base names that ncu knows on all of ``chips`` (on the GPUs here if that is empty).

    ``None`` where ncu does not say, which is no error: it may know chips by other names.
    """
    lists = []
    for words in [["--chips", chip.lower()] for chip in chips] or [[]]:
        answer = ask([str(ncu.path), "--query-metrics", *words])
        # Names stand in the first column and have two underscores together.
        names = re.findall(r"^\S*__\S*", answer.stdout if answer else "", re.MULTILINE)
        lists.append(frozenset(names))
    return frozenset.intersection(*lists) if all(lists) else None


# --- the command line ---------------------------------------------------------------------------


def check_command(request: CaptureRequest, ncu: Ncu, ask: Ask = ask) -> None:
    """Let ncu read its whole command line: it does so before it lists chips, and then ends.

    ncu prints such errors to stdout, before it opens its log; in a real run they could not be
    told from what the program prints. ``UsageError`` is about the regular expression or devices,
    ``CaptureError`` about another option; errors about anything else are left to the run itself.
    """
    answer = ask(list(question(request, ncu)))
    said = "" if answer is None else answer.stdout + answer.stderr
    _, refused, why = said.partition("Invalid regex provided to --kernel option.")
    if refused:
        what = f"--kernel {request.kernel_regex!r}: ncu does not take it"
        why = why.partition(" The error occurred")[0].strip().rstrip(".")
        raise UsageError(what, why=why or None, hint="Perl syntax; escape what is meant literally")
    # ncu 2022.3 does not mark an unknown option as an error.
    for line in re.findall("^(?:==ERROR==|unrecogni[sz]ed option).*", said, re.MULTILINE):
        if "in the --devices option" in line:
            why = line.removeprefix("==ERROR==").strip().rstrip(".")
            what = f"--device {request.devices}: ncu does not take it"
            raise UsageError(what, why=why, hint="nvidia-smi -L lists the GPUs by number")
        for code in ("option_unknown", "section_unknown"):
            if catalogue()[code].means(line) and "--list-chips" not in line:
                context = f"{ncu}, before the program was started"
                raise failed(code, line.strip(), context=context)


# --- one rank of a parallel job ----------------------------------------------------------------


def is_chosen(wanted: int, environment: Mapping[str, str]) -> bool | None:
    """Whether this process is the rank to profile; ``None`` outside a parallel job.

    ``False`` means: run the program bare.
    """
    for name, size in TABLE["ranks"].items():
        rank, ranks = (environment.get(key, "") for key in (name, size))
        if rank.isdigit():
            if ranks.isdigit() and wanted >= int(ranks):
                raise UsageError(
                    f"--rank {wanted}: the job has no such rank",
                    why=f"its ranks are 0 to {int(ranks) - 1}",
                    hint="--rank 0",
                )
            return int(rank) == wanted
    return None


def advice_on_launcher(
    program: Sequence[str], ours: Sequence[str], rank: int = 0, assumed: str = ""
) -> str | None:
    """What to say before a launcher is run under ncu, with the command that works.

    ``ours`` are the words of the user for roofline, ``rank`` is profiled, as ``assumed`` says.
    ``UsageError`` for a launcher that starts the program where ncu cannot follow.
    """
    launcher = PurePath(program[0]).name
    if launcher in TABLE["outside"]:
        why, hint = TABLE["outside"][launcher]
        raise UsageError(f"{launcher} as the program", why=why, hint=hint)
    if launcher not in (*TABLE["python_launchers"], *TABLE["mpi"]):
        return None
    inside = command_in_launcher(rank, program, ours)
    why = f"ncu takes the ranks of {launcher} in turn and hangs in collectives"
    return f"{why}; {assumed}instead: {inside}"


def command_in_launcher(
    wanted: int, program: Sequence[str], ours: Sequence[str] = ("roofline", "profile")
) -> str:
    """The command line with roofline between the launcher and the program, as far as it shows."""
    ours = [*ours, "--rank", str(wanted)]
    launcher, *rest = (PurePath(program[0]).name, *program[1:])
    for index, word in enumerate(rest, start=1):
        before, after = program[:index], program[index:]
        if launcher in TABLE["python_launchers"] and (word.endswith(".py") or word == "-m"):
            option = TABLE["python_launchers"][launcher]
            return shlex.join([*before, option, *ours, "python", *after])
        # A launcher's own options probably end at the first word that can be run.
        can_run = not word.startswith("-") and (word.startswith("./") or shutil.which(word))
        if launcher in TABLE["mpi"] and can_run:
            return shlex.join([*before, *ours, *after])
    known = launcher not in (*TABLE["python_launchers"], *TABLE["mpi"])
    return "mpirun -n 8 " + shlex.join([*ours, *(program if known else ["PROGRAM"])])
