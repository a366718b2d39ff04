"""Measured ceilings: arithmetic on injected timings, and the file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import InputError, UsageError
from roofline.model import PRECISIONS
from roofline.specs.ceilings import (
    DRAM,
    L2,
    QUANTITIES,
    Achieved,
    Ceiling,
    ceiling,
    load_achieved,
    load_folder,
    of_device,
    save,
)


def achieved(*ceilings: Ceiling, device: str = "NVIDIA Toy") -> Achieved:
    return Achieved(
        device=device, date="2026-11-29", made_with="PyTorch 2.9, CUDA 12.8", ceilings=ceilings
    )


def test_the_fastest_run_counts_and_the_middle_one_is_kept() -> None:
    # 2 GB in 1, 2, 4 ms: 2000, 1000 and 500 GB/s.
    found = ceiling("dram_copy", 2e9, [2e-3, 4e-3, 1e-3])

    assert (found.per_s, found.median_per_s, found.repeats) == (2e12, 1e12, 3)
    assert found.sm_clock_hz is None


@pytest.mark.parametrize(
    ("quantity", "amount", "durations"),
    [("fp32", 1.0, []), ("fp32", 1.0, [0.0]), ("fp32", 0.0, [1.0]), ("speed", 1.0, [1.0])],
)
def test_what_gives_no_rate_is_refused(
    quantity: str, amount: float, durations: list[float]
) -> None:
    with pytest.raises(ValueError, match=quantity):
        ceiling(quantity, amount, durations)


def test_the_best_pattern_is_the_ceiling_of_a_level(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    save(
        achieved(
            ceiling("dram_copy", 1.7e9, [1e-3]),
            ceiling("dram_read", 1.8e9, [1e-3]),
            ceiling("dram_write", 1.6e9, [1e-3]),
            ceiling("l2_copy", 5e9, [1e-3]),
            ceiling("tensor_bf16", 700e9, [1e-3], sm_clock_hz=1.455e9, power_w=690.0),
        ),
        path,
    )

    peaks = load_achieved(path).peaks

    assert peaks.kind == "achieved"
    assert peaks.dram_bytes_per_s == pytest.approx(1.8e12)
    assert peaks.l2_bytes_per_s == pytest.approx(5e12)
    assert peaks.operations_per_s == {"tensor_bf16": pytest.approx(700e12)}
    assert peaks.how["dram"] == "dram_read, best of 1"
    assert peaks.how["tensor_bf16"] == "tensor_bf16, best of 1, SM clock 1455 MHz, 690 W"
    assert peaks.source == "measured on NVIDIA Toy (toy.toml)"


def test_clocks_and_power_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    sampled = {"sm_clock_hz": 1.4e9, "dram_clock_hz": 2.6e9, "power_w": 300.0}
    save(achieved(ceiling("fp32", 1e12, [1.0], **sampled)), path)

    (entry,) = tomllib.loads(path.read_text())["ceiling"]

    assert (entry["sm_clock_hz"], entry["dram_clock_hz"], entry["power_w"]) == (1.4e9, 2.6e9, 300.0)


def test_a_level_that_was_not_measured_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    save(achieved(ceiling("fp32", 1e12, [1.0])), path)

    peaks = load_achieved(path).peaks

    assert (peaks.dram_bytes_per_s, peaks.l2_bytes_per_s) == (None, None)


positive = st.floats(min_value=1e-9, max_value=1e18)


def ceilings(quantity: str) -> st.SearchStrategy[Ceiling]:
    return st.builds(
        Ceiling,
        quantity=st.just(quantity),
        per_s=positive,
        median_per_s=positive,
        repeats=st.integers(1, 100),
        sm_clock_hz=st.none() | positive,
        dram_clock_hz=st.none() | positive,
        power_w=st.none() | positive,
    )


sets = st.lists(st.sampled_from(QUANTITIES), min_size=1, max_size=6, unique=True).flatmap(
    lambda quantities: st.tuples(*map(ceilings, quantities))
)


@given(found=sets, device=st.text(max_size=20))
def test_a_file_reads_back_to_the_last_digit(
    tmp_path_factory: pytest.TempPathFactory, found: tuple[Ceiling, ...], device: str
) -> None:
    path = tmp_path_factory.mktemp("achieved") / "a.toml"

    save(achieved(*found, device=device), path)
    peaks = load_achieved(path).peaks

    rates = {c.quantity: c.per_s for c in found}
    assert peaks.operations_per_s == {k: v for k, v in rates.items() if k in PRECISIONS}
    assert peaks.dram_bytes_per_s == max((rates[k] for k in DRAM if k in rates), default=None)
    assert peaks.l2_bytes_per_s == max((rates[k] for k in L2 if k in rates), default=None)
    for level, patterns in (("dram", DRAM), ("l2", L2)):
        assert (level in peaks.how) == any(k in rates for k in patterns)


def test_a_file_is_not_written_over_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("mine")

    with pytest.raises(UsageError, match="exists already"):
        save(achieved(ceiling("fp32", 1e12, [1.0])), path)
    save(achieved(ceiling("fp32", 1e12, [1.0])), path, force=True)

    assert load_achieved(path).peaks.operations_per_s == {"fp32": 1e12}


def test_a_file_written_by_hand_needs_only_rates(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("dram_bytes_per_s = 4.2e12\n")

    peaks = load_achieved(path).peaks

    assert peaks.dram_bytes_per_s == 4.2e12
    assert peaks.how == {}
    assert peaks.source == "mine.toml"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "TOML"),
        ("", "holds no measured ceilings"),
        ("dram_bytes_per_s = -1.0", "not a number above 0"),
        ("dram_bytes_per_s = nan", "not a number above 0"),
        ("[operations_per_s]\nfp46 = 1.0", "fp46: there is no such entry; did you mean fp64?"),
        ("dram_byte_per_s = 1.0", "there is no such entry; did you mean dram_bytes_per_s?"),
        ("operations_per_s = 3", "not a table"),
        ("dram_bytes_per_s = 1.0\nceiling = 3", "3 is not a list of tables"),
        ('dram_bytes_per_s = 1.0\n[[ceiling]]\nquantity = "fp32"', "per_s: it is missing"),
        (
            'dram_bytes_per_s = 1.0\n[[ceiling]]\nquantity="fp32"\nper_s = 1.0\npower_w = true',
            "power_w: True is not a number above 0",
        ),
    ],
)
def test_other_files_are_refused_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)

    with pytest.raises(InputError) as caught:
        load_achieved(path)

    assert why in str(caught.value)
    assert "roofline specs measure" in str(caught.value) or "for example" in str(caught.value)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_achieved(tmp_path / "nothing.toml")


def test_a_device_gets_its_own_ceilings(tmp_path: Path) -> None:
    for name, rate in (("NVIDIA H200", "4.4e12"), ("NVIDIA L4", "2.6e11")):
        path = tmp_path / f"{name[7:]}.toml"
        path.write_text(f'device = "{name}"\ndram_bytes_per_s = {rate}\n')
    kept = load_folder(tmp_path)

    found = of_device(kept, "NVIDIA L4")
    assert found is not None
    assert found.dram_bytes_per_s == 2.6e11
    assert of_device(kept, "NVIDIA L40") is None
    assert of_device(kept, None) is None


def test_a_folder_without_ceilings_says_how_to_get_some(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="specs measure"):
        load_folder(tmp_path)
