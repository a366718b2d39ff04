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
_MPI = ("mpirun", "mpiexec", "mpiexec.hydra", "srun", "orterun")


def rank_of(environment: Mapping[str, str]) -> int | None:
    """The rank of this process in its job, if it is in one."""
    values = (environment.get(name, "") for name in RANK_VARIABLES)
    return next((int(value) for value in values if value.isdigit()), None)


def is_chosen(wanted: int, program: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether this process is the rank to profile; ``False`` means: run the program bare.

    Raises:
        UsageError: this process is in no parallel job. ncu around a whole job would take every
            rank in turn and hang in the first collective, so roofline goes inside the launcher.

    """
    rank = rank_of(environment)
    if rank is None:
        raise UsageError(
            f"--rank {wanted}: this process is not a rank of a parallel job",
            why=f"none of {', '.join(RANK_VARIABLES)} is set",
            hint=f"put roofline inside the launcher: {command_in_launcher(wanted, program)}",
        )
    return rank == wanted


def command_in_launcher(wanted: int, program: Sequence[str]) -> str:
    """The command line with roofline between the launcher and the program, as far as it shows."""
    ours = ["roofline", "profile", "--rank", str(wanted)]
    launcher, *rest = (PurePath(program[0]).name, *program[1:])
    for index, word in enumerate(rest, start=1):
        before, after = program[:index], program[index:]
        if launcher == "torchrun" and word.endswith(".py"):
            return shlex.join([*before, "--no-python", *ours, "python", *after])
        # A launcher's own options probably end at the first word that can be run.
        can_run = not word.startswith("-") and (word.startswith("./") or shutil.which(word))
        if launcher in _MPI and can_run:
            return shlex.join([*before, *ours, *after])
    return "mpirun -n 8 " + shlex.join([*ours, "PROGRAM"])
