"""What ``profile`` refuses before anything runs, with ``--dry-run`` as without."""

from __future__ import annotations

import pytest

from tests.e2e.fake import Fake
from tests.timeline.made import launched, trace, write

# What is typed after "profile", its exit code, and what the message says.
REFUSED = [
    ("-o taken.ncu-rep true", 2, "taken.ncu-rep exists already"),
    ("-o no/a.ncu-rep true", 2, "the folder no does not exist"),
    ("-o a.txt true", 2, "a report's name ends in .ncu-rep or .ncu-repz"),
    ("-o mine.ncu-rep true", 2, "mine.ncu-rep.log is not a log of roofline"),
    ("--look again -o other.ncu-rep true", 2, "other.look.json.gz is not of roofline"),
    ("--plot taken.svg true", 2, "taken.svg exists already"),
    ("--page a.png true", 2, "cannot write the page to a.png: it is HTML"),
    ("sudo true", 2, "sudo as the program"),
    ("ssh there true", 2, "ssh as the program"),
    ("nsys profile true", 2, "nsys as the program"),
    ("docker run image", 2, "docker as the program"),
    ("bench.py", 5, "did you mean: python bench.py"),
    ("old.ncu-rep", 5, "a report, which has been profiled"),
    ("A=1 true", 5, "did you mean: env A=1 true"),
    ("--timeline no.json true", 3, "no.json"),
    ("--timeline trace.json --timeline no.json true", 2, "was given trace.json and no.json"),
    ("--timeline trace.json --min-share 99 true", 3, "is worth profiling"),
    ("--timeline trace.json --look-seconds 3 true", 2, "--look-seconds needs a look"),
    ("--timeline trace.json --look nsys true", 2, "--look and --timeline exclude each other"),
    ("--timeline trace.json -k gemm true", 2, "--timeline and --kernel exclude each other"),
    ("--timeline trace.json --graphs graph true", 2, "--timeline and --graphs graph exclude"),
    ("--timeline trace.json --format csv true", 2, "--timeline cannot be written as csv"),
    (
        "--look torch --first 3 true",
        2,
        "--look and --first exclude each other: the other one says which launches",
    ),
    ("--look nsys -c 3 true", 2, "--look and --launch-count exclude each other"),
    ("--look ncu --region fwd true", 2, "--look and --region exclude each other"),
    ("--look again --rank 0 true", 2, "--look and --rank exclude each other"),
    ("--look auto --replay range true", 2, "--look and --replay range exclude each other"),
    ("--look nsys --graphs graph true", 2, "--look and --graphs graph exclude each other"),
    ("--look-seconds 3 --first 3 true", 2, "--look-seconds needs a look"),
    ("--look none --look-seconds 3 true", 2, "--look-seconds needs a look"),
    ("--cover 50 --first 3 true", 2, "--cover needs a timeline or a look"),
    ("--top 3 --kernel-name k true", 2, "--top needs a timeline or a look"),
    ("--first 3 -c 3 true", 2, "--first and --launch-count exclude each other"),
    ("--first 3 --per-config true", 2, "--first and --per-config exclude each other"),
    (
        "--until launches --per-config true",
        2,
        "--until and --per-config exclude each other: no number says then which",
    ),
    ("--until launches -c 0 true", 2, "--until and --launch-count 0 exclude each other"),
    ("--until minute --replay application true", 2, "--until and --replay application exclude"),
    ("-k gemm --kernel-name gemm true", 2, "--kernel and --kernel-name exclude each other"),
    ("-k gemm,nothing true", 2, "'nothing' is no family of kernels"),
    ("-k *gemm true", 2, "a regular expression, not a glob"),
    ("--exact-regex true", 2, "--exact-regex needs --kernel"),
    ("--name-base mangled true", 2, "--name-base needs --kernel or --kernel-name"),
    ("--replay range -k gemm true", 2, "profiles ranges, not kernels"),
    ("--level full --set basic true", 2, "--level full and --set basic exclude each other"),
    ("--clock-control boost true", 2, "--clock-control boost needs another ncu"),
    ("--ncu-arg=--export=x true", 2, "roofline passes --export itself"),
    ("--all true", 2, "--all needs a kernel to explain"),
    ("--step x true", 2, "--step needs a timeline"),
    ("--chart --json true", 2, "--chart is for a terminal"),
    (
        "--list-kernels -k gemm true",
        2,
        "--list-kernels and --kernel exclude each other: --list-kernels lists all kernels",
    ),
    (
        "--look nsys --list-kernels true",
        2,
        "--look and --list-kernels exclude each other: --list-kernels lists all kernels",
    ),
    ("--list-kernels --first 3 true", 2, "--list-kernels and --first exclude each other"),
    ("--list-kernels --json true", 2, "--list-kernels and --json exclude each other"),
    ("--list-kernels -o a.ncu-rep true", 2, "--list-kernels and --output exclude each other"),
    ("--device 7x true", 2, "--device"),
]


@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry"])
@pytest.mark.parametrize(("typed", "code", "said"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_mistake_is_refused_with_and_without_a_dry_run(
    fake: Fake, typed: str, code: int, said: str, dry: bool
) -> None:
    for name in ("taken.ncu-rep", "taken.svg", "mine.ncu-rep.log", "other.look.json.gz"):
        (fake.folder / name).write_text("somebody's")
    (fake.folder / "bench.py").write_text("")
    write(fake.folder, trace(launched(1, "gemm", 10, 100), launched(2, "norm", 110, 100)))
    before = fake.files()

    done = fake.run("profile", *(["--dry-run"] if dry else []), *typed.split())

    excluded = dry and "--list-kernels" in typed  # which no dry run takes
    assert done.returncode == code, done.stderr
    assert ("--dry-run and --list-kernels exclude" if excluded else said) in done.stderr
    assert "try: " in done.stderr
    assert done.stdout == ""
    assert fake.calls() == []
    assert fake.files() == before


def test_a_default_of_the_environment_gives_way(fake: Fake) -> None:
    fake.environment["ROOFLINE_LOOK"] = "torch"

    done = fake.run("profile", "--first", "3", "true")

    assert done.returncode == 0, done.stderr
    assert len(fake.calls()) == 1


def test_a_plan_says_of_a_program_that_it_is_not_here(fake: Fake) -> None:
    done = fake.run("profile", "--dry-run", "./elsewhere", "-n", "3")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "# ./elsewhere: no such file; a real run needs it"


def test_a_plan_shows_the_command_inside_a_launcher(fake: Fake) -> None:
    fake.program("torchrun", "exit 9")

    done = fake.run("profile", "--dry-run", "torchrun", "--nproc-per-node", "2", "t.py")

    assert done.returncode == 0, done.stderr
    assert "takes the ranks of torchrun in turn and hangs" in done.stderr
    assert "instead: torchrun --nproc-per-node 2 --no-python roofline" in done.stdout
    assert "--rank 0 python t.py\n" in done.stdout
    assert "--metrics" not in done.stdout


@pytest.mark.parametrize(("rank", "lines"), [("0", True), ("1", False)])
def test_one_rank_alone_prints_the_plan(fake: Fake, rank: str, lines: bool) -> None:
    fake.environment["RANK"] = rank

    done = fake.run("profile", "--dry-run", "--rank", "0", "true")

    assert done.returncode == 0, done.stderr
    assert bool(done.stdout) is lines
