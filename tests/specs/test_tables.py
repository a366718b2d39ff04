"""Spec files: what a person may write, and what they are told when it is wrong."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from roofline.errors import InputError, RooflineWarning, UsageError
from roofline.model import Device
from roofline.specs import load
from roofline.specs.audit import problems
from roofline.specs.registry import builtin_folder

TOY = """\
read = 2026-11-29

[toy]
names = ["NVIDIA Toy"]
chip = "TOY100"
compute_capability = "8.0"
sm_count         = [100, "ncu"]
boost_clock_mhz  = [1000, "ncu"]
memory_clock_mhz = [1000, "ncu"]
memory_bus_bits  = [4000, "ncu"]
accumulate_rate  = ["full", "a100"]

[toy.published]
fp64 = [6.4, "a100"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy.toml").write_text(TOY)
    return tmp_path


def wrong(folder: Path, old: str, new: str) -> str:
    """The message for the toy file with one thing changed."""
    assert old in TOY
    (folder / "toy.toml").write_text(TOY.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        _ = load(folder).specs
    return str(caught.value)


def test_a_file_of_the_user_is_not_said_to_be_ours(folder: Path) -> None:
    registry = load(folder)

    assert registry.named("Toy").peaks().source.startswith("toy.toml [toy] at ")
    assert registry.named("L4").peaks().source.startswith("specs/ada_data_center.toml [l4] at ")


def test_one_file_adds_a_gpu(folder: Path) -> None:
    spec = load(folder).named("Toy")

    # 100 SMs x 128 x 1 GHz and 2 x 1 GHz x 4000 bit / 8.
    assert spec.peaks().operations_per_s["fp32"] == 12.8e12
    assert spec.peaks().dram_bytes_per_s == 1e12
    assert spec.sources["published.fp64"] == "a100"
    assert problems([spec]) == ()


def test_a_file_of_the_users_own_replaces_an_entry_of_the_same_key(folder: Path) -> None:
    text = TOY.replace("[toy", "[l4").replace("NVIDIA Toy", "NVIDIA L4")
    (folder / "toy.toml").write_text(text)
    registry = load(folder)

    assert registry.specs["l4"].chip == "TOY100"
    assert registry.find(Device(name="NVIDIA L4")).spec == registry.specs["l4"]


def test_a_folder_may_bring_sources_and_architectures(folder: Path) -> None:
    (folder / "sources.toml").write_text(
        '[mine]\nkind = "measured"\ntitle = "my own"\nread = 2026-12-01\n'
    )
    (folder / "architectures.toml").write_text(
        '["99.0"]\ntitle = "Toyland"\n["99.0".dense]\nfp32 = [512, "mine"]\n'
    )
    (folder / "toy.toml").write_text(
        TOY.replace('"8.0"', '"99.0"').replace('[100, "ncu"]', '[100, "mine"]')
    )

    spec = load(folder).specs["toy"]

    assert spec.rates() == {"fp32": 512}
    assert spec.sources["sm_count"] == "mine"


def test_the_users_folder_is_read_without_being_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roofline.specs.registry.settings_folder", lambda _: folder)

    assert "toy" in load().specs
    assert load().folders == (builtin_folder(), folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('names = ["NVIDIA Toy"]', "names = []", "[] is not a list of at least one text"),
        ('names = ["NVIDIA Toy"]', 'names = "NVIDIA Toy"', "is not a list of at least one text"),
        ('names = ["NVIDIA Toy"]', "names = [7]", "[7] is not a list of at least one text"),
        ('chip = "TOY100"\n', "", "chip: it is missing"),
        ('chip = "TOY100"', "chip = 7", "7 is not a text"),
        ('"8.0"', '"8.7.1"', "architectures.toml has no '8.7.1'"),
        ('[100, "ncu"]', "100", "100 is not [whole number from 1 to a million"),
        ('[100, "ncu"]', '[-1, "ncu"]', "[-1, 'ncu'] is not [whole number from 1"),
        ('[100, "ncu"]', '[99999999999999999999, "ncu"]', "is not [whole number from 1 to a"),
        ('[100, "ncu"]', '[100.5, "ncu"]', "[100.5, 'ncu'] is not [whole number"),
        ('[1000, "ncu"]', '[nan, "ncu"]', "[nan, 'ncu'] is not [number above 0"),
        ('[1000, "ncu"]', '[true, "ncu"]', "[True, 'ncu'] is not [number above 0"),
        ('[100, "ncu"]', '[100, "hearsay"]', "no source 'hearsay' in sources.toml"),
        ('["full", "a100"]', '["quarter", "a100"]', 'is not ["full" or "half", "source"]'),
        ("sm_count ", "sm_cuont ", "sm_cuont: there is no such entry; did you mean sm_count?"),
        ("fp64 =", "fp65 =", "[toy.published] fp65: there is no such entry; did you mean fp6"),
        ("read = 2026-11-29", "", "read: there is no date"),
        ("read = 2026-11-29", 'read = "today"', "read: 'today' is not a date"),
        (
            "[toy.published]",
            "[toy.known_differences]\nfp64 = 1\n[toy.published]",
            "a table of reasons in words",
        ),
        ("[toy]", "[toy", "is not valid TOML"),
        ("[toy]", f"a = {'[' * 5000}\n[toy]", "is not valid TOML: it is nested too deeply"),
        ("[toy]\n", 'other = "x"\n[toy]\n', "[other]: it is not a table"),
    ],
)
def test_a_mistake_is_named_with_its_file_table_and_entry(
    folder: Path, old: str, new: str, said: str
) -> None:
    message = wrong(folder, old, new)

    assert said in message
    assert "toy.toml" in message


def test_the_message_says_how_to_check_again(folder: Path) -> None:
    message = wrong(folder, "sm_count ", "sm_cuont ")

    assert f"roofline specs check --specs {folder}" in message


def test_a_key_in_two_files_of_a_folder_is_refused(folder: Path) -> None:
    (folder / "toys.toml").write_text(TOY)

    with pytest.raises(InputError, match=re.escape("toys.toml: [toy]: toy.toml has that key")):
        _ = load(folder).specs


def test_a_file_that_was_meant_for_one_is_named(folder: Path) -> None:
    (folder / "more.yaml").write_text("")
    (folder / "README.md").write_text("")
    with pytest.warns(RooflineWarning) as told:
        load(folder)
    assert [str(one.message).split(":")[0] for one in told] == [
        f"{folder / 'more.yaml'} is left out"
    ]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        load(tmp_path / "nothing")


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "toy.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(InputError, match="not text in UTF-8"):
        load(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[s]\nkind = "rumour"\ntitle = "x"\nread = 2026-01-01', "kind: 'rumour' is not one of"),
        ('[s]\nkind = "vendor"\nread = 2026-01-01', "title: it is missing"),
        ('[s]\nkind = "vendor"\ntitle = "x"', "read: it is missing"),
    ],
)
def test_a_wrong_source_is_named(folder: Path, text: str, said: str) -> None:
    (folder / "sources.toml").write_text(text)

    with pytest.raises(InputError) as caught:
        load(folder)

    assert said in str(caught.value)


def test_finding_one_device_parses_that_device() -> None:
    registry = load()

    registry.find(Device(name="NVIDIA H100 PCIe"))

    ((place, found),) = registry._parsed.items()
    assert (place[0].stem, list(found)) == ("hopper", ["h100-pcie-80gb"])


def test_a_part_of_a_file_gives_the_same_gpus() -> None:
    registry = load()
    for spec in load().specs.values():
        assert spec in registry._mentioning(Device(name=spec.name))


def test_opening_the_registry_and_finding_a_device_takes_well_under_50_ms() -> None:
    def once() -> float:
        began = time.process_time()
        load().find(Device(name="NVIDIA H100 PCIe", sm_count=114)).spec  # noqa: B018
        return time.process_time() - began

    assert min(once() for _ in range(5)) < 0.05
