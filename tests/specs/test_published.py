"""Every number that a vendor printed, against the one that follows from clocks and rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from roofline.model import PRECISIONS
from roofline.specs import Spec, load
from roofline.specs.audit import figures
from roofline.specs.audit import problems as problem_notes
from roofline.specs.spec import quantities
from roofline.text.notes import note_text

REGISTRY = load()
SPECS = tuple(REGISTRY.specs.values())


def problems(specs: Iterable[Spec]) -> tuple[str, ...]:
    return tuple(note_text(note) for note in problem_notes(specs))


def test_the_registry_has_no_problems() -> None:
    assert problems(SPECS) == ()


def test_it_holds_all_the_gpus_of_the_facts_and_those_read_off_reports() -> None:
    read_off_reports = {s.key for s in SPECS if s.checked_against == ("ncu",)}

    assert len(SPECS) == 124
    assert {"rtx-2070-laptop", "gtx-1650-laptop"} <= read_off_reports


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_published_figures_are_within_two_percent_or_explained(spec: Spec) -> None:
    for row in figures(spec):
        assert row.agrees or row.reason, f"{row.key}: {row.published:.4g}, {row.derived}"


def test_the_known_differences_are_these_and_no_more() -> None:
    known = {(s.key, key) for s in SPECS for key in s.known_differences}

    assert known == {
        ("h20", "fp32"),
        ("b300-sxm-288gb", "fp32"),
        ("b300-sxm-288gb", "tensor_fp4"),
        ("gb300", "tensor_int8"),
        ("gb300", "tensor_int8_sparse"),
        ("dgx-spark-gb10", "tensor_fp4"),
        ("dgx-spark-gb10", "tensor_fp4_sparse"),
    }


def test_a_wrong_number_is_found() -> None:
    # 1979 TFLOP/s is what the product page prints: sparse. Dense is 989.4.
    wrong = replace(
        REGISTRY.specs["h100-sxm5-80gb"], published={"tensor_bf16": 1979e12}, published_sparse={}
    )

    assert [p for p in problems([wrong]) if "tensor_bf16" in p and "known_differences" in p]


def test_an_explanation_that_explains_nothing_is_found() -> None:
    stale = replace(REGISTRY.specs["h100-sxm5-80gb"], known_differences={"fp32": "because"})

    assert problems([stale]) == (
        "h100-sxm5-80gb: known_differences lists fp32, which does not differ.",
    )


def test_two_entries_that_nothing_tells_apart_are_found() -> None:
    one = REGISTRY.specs["rtx-4090"]

    assert problems([one, replace(one, key="twin")]) == (
        "rtx-4090 and twin are both GeForce RTX 4090 and nothing differs.",
    )


# Where a vendor prints dense and sparse both, sparse is twice dense, but for FP4 on B300 and
# GB300 (18 over 14 and 20 over 15 PFLOP/s).
NOT_TWICE = {("b300-sxm-288gb", "tensor_fp4"), ("gb300", "tensor_fp4")}


@pytest.mark.parametrize("spec", [s for s in SPECS if s.published_sparse], ids=lambda s: s.key)
def test_dense_is_half_of_sparse_where_the_vendor_prints_both(spec: Spec) -> None:
    for key, sparse in spec.published_sparse.items():
        dense = spec.published.get(key, spec.peaks().operations_per_s.get(key, sparse / 2))
        if key.endswith("_fp16acc"):
            continue
        twice = sparse == pytest.approx(2 * dense, rel=0.02)
        assert twice == ((spec.key, key) not in NOT_TWICE), key


def test_a_sparse_peak_is_only_there_where_a_vendor_states_it() -> None:
    for spec in SPECS:
        stated = {f"{key}_sparse" for key in spec.architecture.sparse}
        sparse = {key for key in spec.rates() if key.endswith("_sparse")}
        assert sparse <= stated
        for key in sparse:
            source = spec.architecture.sources[f"sparse.{key.removesuffix('_sparse')}"]
            assert REGISTRY.sources[source].kind in ("vendor", "quoted", "measured")


def test_rates_and_peaks_speak_of_known_operations_only() -> None:
    for spec in SPECS:
        assert set(spec.rates()) <= set(PRECISIONS)
        assert set(spec.peaks().operations_per_s) <= set(PRECISIONS)


def test_every_number_has_a_source_and_a_date() -> None:
    for spec in SPECS:
        numbers = {field for field in quantities(Spec) if getattr(spec, field) is not None}
        numbers |= {f"published.{k}" for k in spec.published}
        numbers |= {f"published_sparse.{k}" for k in spec.published_sparse}
        numbers |= {f"rates.{k}" for k in spec.overrides}
        assert numbers <= set(spec.sources), spec.key
        assert set(spec.sources.values()) <= set(REGISTRY.sources), spec.key
        assert spec.read.year >= 2026


def test_every_source_is_used_and_dated() -> None:
    used = {source for s in SPECS for source in (*s.sources.values(), *s.checked_against)}
    used |= {source for a in REGISTRY.architectures.values() for source in a.sources.values()}

    assert set(REGISTRY.sources) - used == set()


def test_the_documentation_names_everything_that_is_not_verified() -> None:
    text = (Path(__file__).parents[2] / "docs" / "peaks.md").read_text()
    section = text.partition("## What is not verified")[2].partition("\n## ")[0]

    for spec in SPECS:
        if "unverified" in spec.sources.values():
            assert f"`{spec.key}`" in section
    for capability, architecture in REGISTRY.architectures.items():
        if {"unverified", "formula"} & set(architecture.sources.values()):
            assert capability in section


def test_the_documentation_counts_published_figures_and_known_differences_as_they_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "peaks.md").read_text()
    rows = [row for spec in SPECS for row in figures(spec)]

    assert f"Of {len(rows)} published figures {sum(not r.agrees for r in rows)} differ" in text


def test_the_example_in_the_documentation_is_a_good_file(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "peaks.md").read_text()
    example = text.partition("## Adding a GPU")[2].partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "mine.toml").write_text(example)

    spec = load(tmp_path).specs["rtx-9999"]

    assert problems([spec]) == ()
    # 100 SMs x 2 x 2.5 GHz.
    assert spec.peaks().operations_per_s["fp64"] == 0.5e12
