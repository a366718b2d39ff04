"""One rank of a parallel job, and where roofline goes in its command line."""

from __future__ import annotations

import pytest

from roofline.capture.ranks import command_in_launcher, is_chosen, rank_of
from roofline.errors import UsageError


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"RANK": "3", "LOCAL_RANK": "1"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "2"}, 2),
        ({"PMI_RANK": "0"}, 0),
        ({"SLURM_PROCID": "7"}, 7),
        ({"RANK": "x", "PMI_RANK": "4"}, 4),
    ],
)
def test_rank(environment: dict[str, str], rank: int | None) -> None:
    assert rank_of(environment) == rank


def test_chosen_rank() -> None:
    assert is_chosen(1, ["a"], {"RANK": "1"})
    assert not is_chosen(1, ["a"], {"RANK": "0"})
    with pytest.raises(UsageError, match="not a rank"):
        is_chosen(1, ["a"], {})


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (
            ["torchrun", "--nproc-per-node=2", "t.py", "--lr", "1"],
            "torchrun --nproc-per-node=2 --no-python roofline profile --rank 0 python t.py --lr 1",
        ),
        (
            ["mpirun", "-n", "8", "./app", "x"],
            "mpirun -n 8 roofline profile --rank 0 ./app x",
        ),
        (["srun", "-n", "8", "sh", "-c"], "srun -n 8 roofline profile --rank 0 sh -c"),
        (["./app"], "mpirun -n 8 roofline profile --rank 0 PROGRAM"),
    ],
)
def test_roofline_goes_inside_the_launcher(program: list[str], line: str) -> None:
    assert command_in_launcher(0, program) == line
