"""One rank of a parallel job under ncu, the others bare."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from roofline.errors import UsageError

# What torchrun, Open MPI, MPICH and Intel MPI, PMIx, MVAPICH and Slurm tell a process.
RANK_VARIABLES = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
)
_TORCH = ("torchrun",)
_MPI = ("mpirun", "mpiexec", "mpiexec.hydra", "srun", "orterun")


def rank_of(environment: Mapping[str, str]) -> int | None:
    """The rank of this process in its job, if it is in one."""
    for name in RANK_VARIABLES:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return None


def is_chosen(wanted: int, program: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether this process is the rank to profile; ``False`` means: run the program bare.

    Raises:
        UsageError: this process is in no parallel job. ncu around a whole job would take every
            rank in turn and hang in the first collective, so roofline goes inside the launcher.

    """
    rank = rank_of(environment)
    if rank is None:
        raise UsageError(
            f"--rank {wanted}: this process is no rank of a parallel job",
            why=f"none of {', '.join(RANK_VARIABLES)} is set",
            hint=f"put roofline inside the launcher: {inside(wanted, program)}",
        )
    return rank == wanted


def inside(wanted: int, program: Sequence[str]) -> str:
    """The command line with roofline between the launcher and the program, as far as it shows."""
    ours = ["roofline", "profile", "--rank", str(wanted)]
    launcher = PurePath(program[0]).name if program else ""
    script = next((i for i, word in enumerate(program) if word.endswith(".py")), None)
    if launcher in _TORCH and script is not None:
        words = [*program[:script], "--no-python", *ours, "python", *program[script:]]
        return shlex.join(words)
    start = _program_start(program)
    if launcher in _MPI and start is not None:
        return shlex.join([*program[:start], *ours, *program[start:]])
    return "mpirun -n 8 " + shlex.join([*ours, "PROGRAM"])


def _program_start(program: Sequence[str]) -> int | None:
    """Where a launcher's own options probably end: at the first word that can be run."""
    for index, word in enumerate(program[1:], start=1):
        if not word.startswith("-") and (word.startswith("./") or shutil.which(word)):
            return index
    return None
