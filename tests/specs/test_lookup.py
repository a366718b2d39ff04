"""From a report's device to its entry, or to a reasoned refusal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import UsageError
from roofline.model import Device
from roofline.specs import Found, load
from roofline.specs.lookup import exact, find, loose, mig_slice
from roofline.text.notes import note_text

REGISTRY = load()
SPECS = tuple(REGISTRY.specs.values())


def look_up(**device: Any) -> Found:
    return REGISTRY.find(Device(**device))


def key_of(found: Found) -> str | None:
    return None if found.spec is None else found.spec.key


def codes(found: Found) -> set[str]:
    return {note.code for note in found.notes}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Tesla T4", "t4"),
        ("NVIDIA T4", "t4"),
        ("NVIDIA Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("NVIDIA-A100-PCIE-40GB", "a100-pcie-40gb"),
        ("GeForce RTX 2080 Ti", "rtx-2080-ti"),
        ("TITAN V", "titan-v"),
        ("NVIDIA TITAN RTX", "titan-rtx"),
        ("NVIDIA B300 SXM6 AC", "b300-sxm-288gb"),
        ("NVIDIA GH200 120GB", "gh200-96gb"),  # 120 GB is the CPU's memory ...
        ("NVIDIA GH200 144G HBM3e", "gh200-144gb"),  # ... and 144 GB the GPU's
        ("NVIDIA A800-SXM4-80GB", "a100-sxm4-80gb"),
    ],
)
def test_names_as_drivers_of_all_ages_print_them(name: str, key: str) -> None:
    assert key_of(look_up(name=name)) == key


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA H100",  # exists, with PCI id 2339, and is not one of ours
        "NVIDIA L40G",
        "NVIDIA GeForce RTX 3070 Laptop GPU",
        "NVIDIA RTX A2000 Laptop GPU",
        "GRID A100-40C",
        "A100",
        "",
    ],
)
def test_a_name_that_is_not_exactly_known_is_unknown(name: str) -> None:
    found = look_up(name=name)

    assert found.spec is None
    assert found.how == "unknown"
    assert "unknown_device" in codes(found)


@pytest.mark.parametrize(
    ("device", "key"),
    [
        ({"name": "GeForce RTX 3080", "sm_count": 68, "dram_bus_bits": 320}, "rtx-3080-10gb"),
        ({"name": "GeForce RTX 3080", "sm_count": 70, "dram_bus_bits": 384}, "rtx-3080-12gb"),
        ({"name": "NVIDIA GeForce RTX 3060", "dram_bus_bits": 128}, "rtx-3060-8gb"),
        ({"name": "NVIDIA GeForce RTX 3060", "dram_bus_bits": 192}, "rtx-3060-12gb"),
        ({"name": "GeForce RTX 3060 Ti", "dram_clock_max_hz": 9.501e9}, "rtx-3060-ti-gddr6x"),
        ({"name": "GeForce RTX 3060 Ti", "dram_clock_max_hz": 7.001e9}, "rtx-3060-ti"),
        ({"name": "NVIDIA GeForce RTX 4070", "dram_clock_max_hz": 10.001e9}, "rtx-4070-gddr6"),
        ({"name": "NVIDIA GeForce RTX 4070", "dram_clock_max_hz": 10.501e9}, "rtx-4070"),
        ({"name": "NVIDIA GeForce RTX 3050", "sm_count": 16}, "rtx-3050-4gb"),
        ({"name": "NVIDIA GeForce RTX 3050", "sm_count": 18}, "rtx-3050-6gb"),
        ({"name": "NVIDIA GeForce RTX 3050", "sm_count": 20}, "rtx-3050-8gb"),
        ({"name": "Orin", "sm_count": 14}, "jetson-agx-orin-32gb"),
        (
            {"name": "Orin", "sm_count": 8, "dram_bus_bits": 128, "memory_bytes": 7_990_000_000,
             "dram_clock_max_hz": 3.199e9, "sm_clock_max_hz": 765e6},
            "jetson-orin-nx-8gb",
        ),
        (
            {"name": "Orin", "sm_count": 8, "dram_bus_bits": 128, "memory_bytes": 7_990_000_000,
             "dram_clock_max_hz": 3.199e9, "sm_clock_max_hz": 1020e6},
            "jetson-orin-nano-super-8gb",
        ),
        ({"name": "NVIDIA GeForce RTX 2070", "pci_device_id": "1F02"}, "rtx-2070"),
        ({"name": "NVIDIA GeForce RTX 2070", "pci_device_id": "1f50"}, "rtx-2070-laptop"),
        ({"name": "NVIDIA GeForce GTX 1650", "dram_clock_max_hz": 6.001e9}, "gtx-1650-laptop"),
    ],
)  # fmt: skip
def test_one_name_on_several_chips_is_told_apart(device: dict[str, Any], key: str) -> None:
    assert key_of(look_up(**device)) == key


def test_one_name_on_several_chips_is_refused_where_nothing_tells() -> None:
    found = look_up(name="NVIDIA GeForce RTX 3080")

    assert found.spec is None
    assert "ambiguous" in codes(found)
    assert "rtx-3080-10gb" in note_text(found.notes[0])


def test_variants_with_the_same_peaks_need_no_telling_apart() -> None:
    assert key_of(look_up(name="NVIDIA GeForce RTX 4060 Ti")) == "rtx-4060-ti-8gb"


def test_a_known_name_on_another_number_of_sms_is_refused() -> None:
    found = look_up(name="NVIDIA GeForce RTX 4090", sm_count=100)

    assert found.spec is None
    assert "different_chip" in codes(found)


def test_the_gh200_name_carries_the_memory_of_its_cpu() -> None:
    # The report says 101.5e9 bytes where the name says 480GB.
    found = look_up(name="NVIDIA GH200 480GB", sm_count=132, memory_bytes=101_468_602_368)

    assert key_of(found) == "gh200-96gb"
    assert found.spec is not None
    assert found.spec.memory_bytes == 96e9


def test_a_laptop_part_with_the_name_of_a_desktop_card_is_not_taken_for_it() -> None:
    found = look_up(name="NVIDIA GeForce RTX 2080", pci_device_id="1E90", sm_count=46)

    assert found.spec is None
    assert "laptop_same_name" in codes(found)


def test_super_in_lower_case_is_a_laptop() -> None:
    assert look_up(name="NVIDIA GeForce RTX 2070 Super", pci_device_id="1E91").spec is None


def test_an_unknown_name_is_found_by_its_pci_id() -> None:
    found = look_up(name="NVIDIA Graphics Device", pci_device_id="2331", sm_count=114)

    assert (key_of(found), found.how) == ("h100-pcie-80gb", "pci id")
    assert "found_by_pci_id" in codes(found)


def test_a_pci_id_of_another_chip_is_refused() -> None:
    assert look_up(name="NVIDIA Graphics Device", pci_device_id="2331", sm_count=132).spec is None


def test_an_unknown_name_is_found_by_shape_where_only_one_thing_has_it() -> None:
    found = look_up(
        name="NVIDIA Graphics Device", compute_capability="8.9", sm_count=128, dram_bus_bits=384
    )

    assert (key_of(found), found.how) == ("rtx-4090", "shape")


def test_a_shape_that_parts_of_different_rates_share_is_refused() -> None:
    # A10G and RTX 3080 Ti accumulate at half rate, the RTX A5500 at full rate.
    found = look_up(
        name="NVIDIA Graphics Device", compute_capability="8.6", sm_count=80, dram_bus_bits=384
    )

    assert found.spec is None


def test_an_unknown_laptop_is_not_taken_for_a_desktop_card_of_its_shape() -> None:
    shape = {"compute_capability": "8.9", "sm_count": 128, "dram_bus_bits": 384}

    assert look_up(name="NVIDIA GeForce RTX 9999 Laptop GPU", **shape).spec is None


def test_a_device_of_which_nothing_is_known_is_unknown() -> None:
    assert look_up().spec is None


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA A100-PCIE-40GB MIG 1g.5gb",
        "NVIDIA A100-PCIE-40GB, MIG 1g.5gb",
        "NVIDIA-A100-PCIE-40GB-MIG-1g.5gb",
    ],
)
def test_a_mig_slice_has_its_share_of_the_peaks(name: str) -> None:
    # 14 of 108 SMs; 5 GB of 40 is one of eight memory slices: 1555.2 / 8 = 194.4 GB/s.
    found = look_up(name=name, sm_count=14, compute_capability="8.0")

    assert found.spec is not None
    assert "mig_slice" in codes(found)
    peaks = found.spec.peaks()
    assert peaks.dram_bytes_per_s == pytest.approx(194.4e9)
    assert peaks.operations_per_s["tensor_bf16"] == pytest.approx(14 * 2048 * 1410e6)
    assert found.spec.l2_bytes == 5 * 2**20


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 4 / 8),
        ("NVIDIA A100-SXM4-80GB MIG 7g.80gb", 1),
        ("NVIDIA A100-SXM4-80GB MIG 1g.20gb", 2 / 8),
        ("NVIDIA H100 NVL MIG 1g.12gb", 1 / 8),
        ("NVIDIA A30 MIG 2g.12gb", 2 / 4),
        ("NVIDIA H200 MIG 1g.18gb", 1 / 8),
        ("NVIDIA B200 MIG 1g.23gb", 1 / 8),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 1 / 8),
        ("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", 4 / 8),
    ],
)
def test_memory_slices_follow_from_the_gigabytes_in_the_name(name: str, share: float) -> None:
    found = look_up(name=name, sm_count=10)

    assert found.spec is not None
    assert found.spec.memory_share == share


def test_a_mig_slice_of_unknown_size_is_refused() -> None:
    assert look_up(name="NVIDIA A100-SXM4-80GB MIG 1g.10gb").spec is None
    assert look_up(name="NVIDIA L4 MIG 1g.10gb", sm_count=10).spec is None
    assert look_up(name="NVIDIA Unheard Of MIG 1g.10gb", sm_count=10).spec is None


def test_a_mig_slice_is_not_found_by_its_shape() -> None:
    shape = {"compute_capability": "8.0", "sm_count": 56, "dram_bus_bits": 3072}

    found = look_up(name="Unheard MIG 1g.5gb", **shape)

    assert found.spec is None


def test_a_memory_clock_that_differs_is_remarked_on() -> None:
    found = look_up(name="NVIDIA L4", sm_count=58, dram_clock_max_hz=5e9)

    assert key_of(found) == "l4"
    assert "memory_clock_differs" in codes(found)


@pytest.mark.parametrize(
    ("text", "key", "code"),
    [
        ("4070 ti", "rtx-4070-ti", "gpu_meant"),
        ("4070", "rtx-4070", "gpu_taken"),
        ("3060", "rtx-3060-12gb", "gpu_taken"),
        ("3060 12gb", "rtx-3060-12gb", "gpu_meant"),
        ("h100", "h100-sxm5-80gb", "gpu_taken"),
        ("1650", "gtx-1650", "gpu_taken"),
        ("RTX 2060 6GB", "rtx-2060", "gpu_meant"),
        ("RTX 2070 Laptop", "rtx-2070-laptop", "gpu_meant"),
        ("GTX4070 ti-super", "rtx-4070-ti-super", "gpu_meant"),
        ("A2000 12 GB", "rtx-a2000-12gb", "gpu_meant"),
        ("H100 SXM", "h100-sxm5-80gb", "gpu_meant"),
        ("a100 pcie 80g", "a100-pcie-80gb", "gpu_meant"),
        ("4070 gddr6", "rtx-4070-gddr6", "gpu_meant"),
        ("2060 Max-Q", "rtx-2060-max-q", "gpu_meant"),
    ],
)
def test_a_number_alone_is_the_first_card_that_it_can_be(text: str, key: str, code: str) -> None:
    spec, notes = REGISTRY.meant(text)

    assert (spec.key, [note.code for note in notes]) == (key, [code])
    assert note_text(notes[0]).startswith(f"{text} is taken for {spec.name}")


@pytest.mark.parametrize(
    "text",
    ["GeForce GTX 1080 Ti", "gtx1080", "1070", "GTX 690", "GT 730", "GT1030", "Tesla P40",
     "TITAN X", "GTX TITAN X", "K80", "MX 150"],
)  # fmt: skip
def test_what_ncu_does_not_profile_is_said_to_be_too_old(text: str) -> None:
    with pytest.raises(UsageError, match=r"profiles Volta \(2017\) and newer"):
        REGISTRY.meant(text)


@pytest.mark.parametrize(
    "text", ["1660", "GTX 1650 XYZ", "RTX 80", "4080 nothing", "1180", "500 Ada"]
)
def test_what_is_unknown_is_not_said_to_be_too_old(text: str) -> None:
    with pytest.raises(UsageError, match="is not in the registry"):
        REGISTRY.meant(text)


@pytest.mark.parametrize(
    "text",
    ["GTX 1660", "RTX 3070 Laptop", "GTX 1650 SUPER", "RTX 2060 12GB", "RTX 2050", "RTX 6000",
     "Quadro RTX 4000", "H100 40GB", "A10 PCIe SUPER"],
)  # fmt: skip
def test_another_model_is_refused_with_how_to_add_it(text: str) -> None:
    with pytest.raises(UsageError, match="is not in the registry") as caught:
        REGISTRY.meant(text)

    assert "add it (docs/peaks.md, --specs DIR)" in caught.value.hint


def test_a_suffix_more_or_less_is_another_gpu() -> None:
    def bare(name: str) -> str:
        return re.sub(r"nvidia|geforce|gpu|with|design|[ -]", "", name.lower())

    known = {bare(name) for spec in SPECS for name in (spec.key, *spec.names)}
    suffixes, refused = ("Ti", "SUPER", "Laptop", "D", "Max-Q"), 0
    for name in {name for spec in SPECS for name in spec.names}:
        has = {word for word in suffixes if re.search(rf"\b{word}\b", name)}
        less = (re.sub(rf" (with )?{word}( Design)?\b", "", name) for word in has)
        for text in (*(f"{name} {word}" for word in suffixes if word not in has), *less):
            if bare(text) in known:
                spec, _ = REGISTRY.meant(text)
                assert bare(text) in {bare(one) for one in (spec.key, *spec.names)}
                continue
            with pytest.raises(UsageError, match="is not in the registry"):
                REGISTRY.meant(text)
            refused += 1
    assert refused > 400


def test_unknown_devices_come_with_near_names() -> None:
    assert "NVIDIA H100 PCIe" in look_up(name="NVIDIA H100").suggestions


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("h100-pcie-80gb", "h100-pcie-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("h100 pcie", "h100-pcie-80gb"),
        ("RTX 4090", "rtx-4090"),
        ("t4", "t4"),
        ("Tesla T4", "t4"),
        ("gh200 480gb", "gh200-96gb"),
        ("rtx4090", "rtx-4090"),
        ("L40 S", "l40s"),
    ],
)
def test_people_may_leave_the_brand_out(typed: str, key: str) -> None:
    assert REGISTRY.named(typed).key == key


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("H100 PCI", "NVIDIA H100 PCIe"),
        ("rtx 4900", "NVIDIA GeForce RTX 4090"),
        ("A100", "NVIDIA A100-SXM4-40GB"),
        ("Telsa T4", "Tesla T4"),
        ("H10", "NVIDIA H100"),
        ("h1000", "NVIDIA H100"),
        ("a10g0", "NVIDIA A10G"),
    ],
)
def test_mistyped_names_are_answered_with_near_ones(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match="is not in the registry") as caught:
        REGISTRY.named(typed)

    assert caught.value.why is not None
    assert meant in caught.value.why


def test_a_name_of_several_gpus_is_answered_with_their_keys() -> None:
    with pytest.raises(UsageError, match="the name of 2 GPUs: rtx-3080-10gb, rtx-3080-12gb"):
        REGISTRY.named("GeForce RTX 3080")


def test_of_several_gpus_the_first_is_meant_and_the_others_of_that_name_are_said() -> None:
    for typed, key, others in (
        ("rtx 3080", "rtx-3080-10gb", "rtx-3080-12gb"),
        ("h100", "h100-sxm5-80gb", "h100-pcie-80gb, h100-nvl-94gb"),
    ):
        spec, (note,) = REGISTRY.meant(typed)
        assert (spec.key, note.facts["others"]) == (key, others)
    assert REGISTRY.meant("l4") == (REGISTRY.named("l4"), ())
    with pytest.raises(UsageError, match="is not in the registry"):
        REGISTRY.meant("geforce")


def test_nonsense_is_answered_without_suggestions() -> None:
    with pytest.raises(UsageError, match="is not in the registry") as caught:
        REGISTRY.named("~~~~")

    assert caught.value.why is None


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_every_entry_is_found_by_each_of_its_names_and_its_shape(spec: Any) -> None:
    for name in spec.names:
        device = Device(
            name=name,
            compute_capability=spec.compute_capability,
            sm_count=spec.sm_count,
            dram_bus_bits=spec.memory_bus_bits,
            dram_clock_max_hz=spec.memory_clock_hz,
            sm_clock_max_hz=spec.boost_clock_hz,
            memory_bytes=int(spec.memory_bytes * 0.98),
        )
        found = REGISTRY.find(device)
        assert found.how == "name"
        assert found.spec is not None
        assert found.spec.peaks().operations_per_s == spec.peaks().operations_per_s


names = st.sampled_from([name for spec in SPECS for name in spec.names])
ids = st.sampled_from([None, "FFFF", *(pci for spec in SPECS for pci in spec.pci_ids)])
shapes = st.sampled_from([(s.compute_capability, s.sm_count, s.memory_bus_bits) for s in SPECS])


@given(name=names | st.none() | st.just("NVIDIA Nothing"), pci=ids, shape=shapes)
def test_searching_a_few_files_finds_what_searching_all_does(
    name: str | None, pci: str | None, shape: tuple[str, int | None, int]
) -> None:
    device = Device(
        name=name,
        pci_device_id=pci,
        compute_capability=shape[0],
        sm_count=shape[1],
        dram_bus_bits=shape[2],
    )

    assert REGISTRY.find(device) == find(device, SPECS)


@given(name=st.text(max_size=40))
def test_any_text_is_a_name_to_look_up(name: str) -> None:
    found = REGISTRY.find(Device(name=name))

    assert (found.spec is None) == (found.how == "unknown")


@given(name=names)
def test_equal_names_stay_equal_without_the_brand_and_with_dashes(name: str) -> None:
    assert exact(name) == exact(name.removeprefix("NVIDIA ")) == exact(name.replace(" ", "-"))
    assert loose(name) == loose(name.upper())
    assert mig_slice(name) is None


def test_a_later_folder_hides_an_entry_of_the_same_name() -> None:
    mine = replace(REGISTRY.specs["rtx-4090"], key="my-4090", layer=1)

    assert find(Device(name="NVIDIA GeForce RTX 4090"), (*SPECS, mine)).spec == mine
