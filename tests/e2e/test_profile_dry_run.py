"""``--dry-run``: what would be run and what it would cost, and nothing is run."""

from __future__ import annotations

import pytest

from tests.e2e.fake import Fake
from tests.timeline import made


def test_dry_run_runs_nothing_but_version(fake: Fake) -> None:
    fake.program("nvidia-smi", f"touch {fake.folder}/asked")

    done = fake.run("profile", "--dry-run", "--chip", "gh100", "--kernel-regex", "a b", "true")

    assert done.returncode == 0
    command = done.stdout.splitlines()[0]
    assert command.startswith(str(fake.bin / "ncu"))
    assert "(?:a b)'" in command
    assert "GH100           7" in done.stdout
    assert fake.calls() == []
    assert fake.files() == set()


def test_dry_run_without_a_gpu_or_ncu_shows_every_generation(fake: Fake) -> None:
    (fake.bin / "ncu").unlink()

    done = fake.run("profile", "--dry-run", "--level", "quick", "true")

    assert done.returncode == 0
    for chip in ("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"):
        assert f"  {chip}" in done.stdout
    # quick samples nothing: one hardware pass and one or two for patched code.
    assert "2 to 3 (with patched code)" in done.stdout
    assert "sampling" not in done.stdout


def test_dry_run_says_for_which_chip_the_command_is_and_it_is(fake: Fake) -> None:
    fake.gpu()

    unknown = fake.run("profile", "--dry-run", "true").stdout.splitlines()
    gh100 = fake.run("profile", "--dry-run", "--chip", "gh100", "true").stdout.splitlines()

    commands = [[line for line in lines if "--metrics" in line] for lines in (unknown, gh100)]
    assert commands[0] == commands[1]
    assert "the command is for GH100" in unknown[0]
    assert "only names that every chip has" not in "\n".join(unknown)


def test_dry_run_says_that_a_real_run_looks_first(fake: Fake) -> None:
    words = ("profile", "--dry-run", "--chip", "gh100")

    looked = fake.run(*words, "--look", "auto", "--cover", "50", "true").stdout
    not_looked = fake.run(*words, "--look", "none", "true").stdout
    fake.environment["ROOFLINE_LOOK"] = "auto"
    first = fake.run(*words, "--first", "10", "true").stdout

    assert looked.startswith("# a real run first looks which kernels take the time")
    assert looked.endswith(not_looked)
    assert first == not_looked
    assert fake.calls() == []


def test_dry_run_prints_no_command_for_a_list(fake: Fake) -> None:
    done = fake.run("profile", "--dry-run", "--list-kernels", "true")

    assert done.returncode == 2
    assert "--dry-run and --list-kernels exclude each other" in done.stderr


@pytest.mark.parametrize(
    ("options", "row", "added"),
    [
        ((), "7  9 to 10 (with patched code and sampling)", None),
        # NVIDIA's set costs the same whoever names it.
        (("--set", "full"), "-  39 to 40 (seen in public reports)", None),
        (("--level", "full", "--metrics", "a__b.sum"), "-  39 to 40", "--metrics"),
        (("--section", "Nvlink", "--set", "detailed"), "7  9 to 10", "--section and --set"),
        # Nothing is patched into ranges and graphs: 7, and one for samples.
        (("--graphs", "graph"), "7  8 (with sampling)", None),
        (("--replay", "range", "--level", "quick"), "1  1 (nothing else)", None),
        (("--replay", "range", "--level", "full"), "-  not known", None),
    ],
)
def test_dry_run_counts_what_is_added(
    fake: Fake, options: tuple[str, ...], row: str, added: str | None
) -> None:
    done = fake.run("profile", "--dry-run", "--chip", "gh100", *options, "true")

    assert f"  GH100           {row}" in done.stdout
    said = [line for line in done.stdout.splitlines() if "not in this table" in line]
    assert said == (
        [] if added is None else [f"  and what {added} may add, which is not in this table"]
    )


@pytest.mark.parametrize("chip", ["gv100", "V100"])
def test_a_chip_older_than_the_table_is_said_to_be(fake: Fake, chip: str) -> None:
    done = fake.run("profile", "--dry-run", "--chip", chip, "true")

    assert done.returncode == 0, done.stderr
    assert "# GV100 is too old for the pass table: a real run asks ncu" in done.stdout
    assert "  GV100           -  not known" in done.stdout


def test_the_chip_and_rank_are_those_of_the_timeline(fake: Fake) -> None:
    told = {"deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-32GB"}]}
    events = [made.step(i, 1000 * i, 990) for i in range(4)]
    events += [e for i in range(4) for e in made.launched(i + 1, "gemm", 1000 * i + 9, 900)]
    made.write(fake.folder, made.trace(*events, distributedInfo={"rank": 1}, **told))
    fake.program("torchrun", "exit 9")

    done = fake.run("profile", "--timeline", "trace.json", "--dry-run", "torchrun", "t.py")

    assert done.returncode == 0, done.stderr
    told_chip = "# no GPU is known here; the command is for GV100, of the timeline: Tesla V100"
    assert told_chip in done.stdout
    assert "in collectives; instead: torchrun --no-python roofline" in done.stdout
    assert "--rank 1 python t.py\n" in done.stdout
    assert "ncu --config-file" not in done.stdout


@pytest.mark.parametrize("program", ["torchrun t.py", "python t.py"])
def test_a_rank_can_be_rehearsed_outside_a_job(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    events = [made.step(i, 1000 * i, 990) for i in range(4)]
    events += [e for i in range(4) for e in made.launched(i + 1, "gemm", 1000 * i + 9, 900)]
    made.write(fake.folder, made.trace(*events))
    fake.program("torchrun", "exit 9")
    typed = ["profile", "--timeline", "trace.json", "--dry-run", "--rank", "3", *program.split()]
    monkeypatch.setattr("sys.argv", ["roofline", *typed])

    done = fake.run(*typed)
    assert done.returncode == 0, done.stderr
    assert ("ncu --config-file" in done.stdout) == (program == "python t.py")
    inside = "torchrun --no-python roofline profile --timeline trace.json --rank 3 python t.py\n"
    assert (inside in done.stdout) == (program == "torchrun t.py")

    typed.remove("--dry-run")
    monkeypatch.setattr("sys.argv", ["roofline", *typed])
    refused = fake.run(*typed)
    assert refused.returncode == 2
    assert "roofline profile --timeline trace.json --rank 3 python t.py; or --dry-run" in (
        " ".join(refused.stderr.split())
    )


def two_devices(fake: Fake, *, processes: int) -> None:
    """GPU 2 runs ``long``, GPU 3 ``brief``, each of a process of its own or both of one."""
    export = made.Export(fake.folder / "t.sqlite", made.KERNELS, made.CALLS)
    for number, (name, device) in enumerate([("long", 2), ("brief", 3)] * 3, 9000):
        pid, start = (device if processes == 2 else 1), number * 200_000
        export.call("cudaLaunchKernel", start, start + 10, number, pid=pid)
        end = start + (90_000 if device == 2 else 60_000)
        own = {"device": device, "pid": pid, "mangled": f"_Z4{name}v"}
        export.kernel(f"{name}()", start + 10_000, end, correlation=number, **own)
    export.done()
    fake.program("torchrun", "exit 9")


@pytest.mark.parametrize(
    ("words", "rank", "device", "kernel"),
    [("", 0, 2, "long"), ("--device 2", 0, 2, "long"), ("--device=3", 1, 3, "brief")],
)
def test_the_rank_is_the_place_of_the_gpu_among_those_with_a_process_each(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, words: str, rank: int, device: int, kernel: str
) -> None:
    two_devices(fake, processes=2)
    ours = ["profile", "--dry-run", "--timeline", "t.sqlite"]
    typed = [*ours, *words.split(), "torchrun", "t.py"]
    monkeypatch.setattr("sys.argv", ["roofline", *typed])

    done = fake.run(*typed)

    assert done.returncode == 0, done.stderr
    said = f"rank {rank} is assumed to drive device {device} of the timeline; instead: torchrun"
    assert said in done.stdout
    assert f"profile --timeline t.sqlite --rank {rank} python t.py\n" in done.stdout
    assert f"run 1 of 1: {kernel}: 1 kernel" in done.stdout

    fake.environment["RANK"] = str(rank)
    inside = fake.run(*ours, "--rank", str(rank), "true")
    assert f"run 1 of 1: {kernel}: 1 kernel" in inside.stdout
    assert "--devices" not in inside.stdout


@pytest.mark.parametrize(
    ("processes", "words", "said"),
    [
        (1, "--device 3 torchrun t.py", "which rank drives device 3 is not known"),
        (1, "torchrun t.py", "which rank drives device 2 is not known"),
        (2, "--device 1 torchrun t.py", "which rank drives device 1 is not known"),
        (2, "--device 2,3 torchrun t.py", "which rank drives device 2,3 is not known"),
        (2, "--rank 0 --device 3 true", "--rank 0 and --device 3 do not fit"),
    ],
)
def test_a_gpu_of_no_known_rank_is_refused(
    fake: Fake, processes: int, words: str, said: str
) -> None:
    two_devices(fake, processes=processes)
    fake.environment["RANK"] = "0"

    done = fake.run("profile", "--dry-run", "--timeline", "t.sqlite", *words.split())

    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "rtx-4090", "RTX 4090", "ad102"])
def test_a_chip_is_named_by_its_gpus_too(fake: Fake, name: str) -> None:
    done = fake.run("profile", "--dry-run", "--chip", name, "true")

    assert done.returncode == 0, done.stderr
    assert "  AD102  " in done.stdout


def test_a_chip_that_nobody_knows(fake: Fake) -> None:
    done = fake.run("profile", "--dry-run", "--chip", "voodoo", "true")

    assert done.returncode == 2
    assert "--chip voodoo: not known" in done.stderr
    assert "or a GPU's name" in done.stderr
