import pytest

from roofline.counters.measure import FLAGS, measure
from roofline.model import Kind
from roofline.text.notes import note_text
from tests.metrics import breakdown, launch

SASS = "smsp__sass_thread_inst_executed_op_"
THREADS = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"


def rates(letter: str, add: float, mul: float, fma: float) -> dict[str, float]:
    suffix = "_pred_on.sum.per_cycle_elapsed"
    names = (f"{SASS}{letter}{op}{suffix}" for op in ("add", "mul", "fma"))
    return dict(zip(names, (add, mul, fma), strict=True))


def test_operations_from_rates_are_whole_numbers():
    # 1e9 cycles/s for 1 ms are 1e6 cycles; (2 + 1 + 2 x 3.5) x 1e6 = 10,000,000
    measured = measure(
        launch(
            {
                "gpu__time_duration.sum": 1e-3,
                "smsp__cycles_elapsed.avg.per_second": 1e9,
                **rates("f", 2.0, 1.0, 3.5),
                **rates("d", 0.0, 0.0, 0.0),
            }
        )
    )

    assert measured.operations == {"fp64": 0.0, "fp32": 10_000_000.0}
    assert measured.provenance["operations.fp32"] == (
        "per_cycle_elapsed x smsp__cycles_elapsed "
        "(smsp__sass_thread_inst_executed_op_fadd, fmul, ffma)"
    )


def test_half_precision_works_on_two_lanes():
    # (1 + 1) x 2 + 1 x 4 = 8 a cycle over 1e6 cycles
    measured = measure(launch({"smsp__cycles_elapsed.avg": 1e6, **rates("h", 1.0, 1.0, 1.0)}))

    assert measured.operations == {"fp16": 8e6}


def test_sums_come_before_rates():
    names = [f"{SASS}f{op}_pred_on.sum" for op in ("add", "mul", "fma")]
    measured = measure(launch(dict(zip(names, (1.0, 2.0, 3.0), strict=True))))

    assert measured.operations == {"fp32": 9.0}
    assert measured.provenance["operations.fp32"].startswith("SASS counters (smsp__sass_thread")


def test_one_counter_of_three_is_no_count():
    measured = measure(launch({f"{SASS}ffma_pred_on.sum": 5.0}))

    assert measured.operations == {}
    assert measured.total_operations is None


def test_the_thread_level_mix_counts_what_no_counter_does():
    mix = {"FFMA": 10.0, "DADD": 3.0, "HFMA2.BF16_V2": 2.0, "HADD2.F32": 100.0}
    measured = measure(launch(instanced={THREADS: mix}))

    assert measured.operations == {"fp64": 3.0, "fp32": 20.0, "fp16": 0.0, "bf16": 8.0}


def test_packed_instructions_need_the_mix():
    values = {"smsp__cycles_elapsed.avg": 1.0, **rates("f", 0.0, 0.0, 5.0)}
    measured = measure(launch(values, instanced={THREADS: {"FFMA": 5.0, "FFMA2": 5.0}}))

    # 5 x 2 + 5 x 4, where the counters alone say 10
    assert measured.operations["fp32"] == 30.0


@pytest.mark.parametrize(
    ("values", "total", "how"),
    [
        ({"dram__bytes_read.sum": 60.0, "dram__bytes_write.sum": 30.0}, 90.0, "read + write"),
        ({"dram__bytes_op_read.sum": 60.0, "dram__bytes_op_write.sum": 30.0}, 90.0, "read + write"),
        ({"dram__bytes.sum": 90.0}, 90.0, "dram__bytes.sum"),
        (
            {"dram__bytes.sum.per_second": 9e10, "gpu__time_duration.sum": 1e-9},
            90.0,
            "dram__bytes per second x duration",
        ),
        ({"dram__sectors_read.sum": 2.0, "dram__sectors_write.sum": 1.0}, 96.0, "read + write"),
    ],
)
def test_dram_bytes_by_the_best_recipe(values, total, how):
    measured = measure(launch(values))

    assert measured.dram_bytes == pytest.approx(total)
    assert measured.provenance["dram_bytes"] == how


def test_reads_alone_make_no_total():
    measured = measure(launch({"dram__bytes_read.sum": 60.0}))

    assert measured.dram_read_bytes == 60.0
    assert measured.dram_bytes is None


def test_intensity_is_operations_over_bytes():
    values = {
        "dram__bytes.sum": 4_265_088.0,
        "smsp__cycles_elapsed.avg": 1.0,
        **rates("f", 48_232_449.0, 0.0, 0.0),
    }

    # 48,232,449 / 4,265,088 = 11.3086...
    assert measure(launch(values)).arithmetic_intensity == pytest.approx(11.30866, abs=1e-5)


def test_no_dram_traffic_makes_no_intensity():
    values = {"dram__bytes.sum": 0.0, "smsp__cycles_elapsed.avg": 1.0, **rates("f", 1.0, 0.0, 0.0)}
    measured = measure(launch(values))

    assert measured.dram_bytes == 0.0
    assert measured.arithmetic_intensity is None


def test_tensor_activity_without_counts_leaves_no_total():
    # an FP32 epilogue must not stand for a GEMM
    values = {
        "dram__bytes.sum": 100.0,
        "smsp__cycles_elapsed.avg": 1.0,
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 70.0,
        **rates("f", 5.0, 0.0, 0.0),
    }
    measured = measure(launch(values))

    assert measured.operations == {"fp32": 5.0}
    assert measured.unmeasured == ("tensor",)
    assert measured.total_operations is None
    assert measured.arithmetic_intensity is None
    assert "operations.tensor" in {gap.quantity for gap in measured.missing}


def test_nothing_at_all_is_measured_as_nothing():
    measured = measure(launch())

    assert measured.duration_s is None
    assert measured.operations == {}
    assert {gap.quantity for gap in measured.missing} >= {
        "duration",
        "utilization",
        "dram_bytes",
        "operations",
        "stalls",
    }
    assert all(gap.flag == FLAGS[gap.quantity] for gap in measured.missing)


def test_nan_is_absent_and_said():
    measured = measure(launch({"gpu__time_duration.sum": None}))

    assert measured.duration_s is None
    assert [note.code for note in measured.notes] == ["counters_nan"]


def test_a_duration_of_zero_measures_nothing():
    assert measure(launch({"gpu__time_duration.sum": 0.0})).duration_s is None


@pytest.mark.parametrize(("seconds", "used"), [(9e9, True), (1e10, False), (1e308, False)])
def test_a_duration_beyond_the_counter_is_not_used_and_said(seconds: float, used: bool):
    measured = measure(launch({"gpu__time_duration.sum": seconds}))

    assert measured.duration_s == (seconds if used else None)
    assert [note.code for note in measured.notes] == ([] if used else ["impossible_counter"])


def test_an_impossible_counter_is_not_used_and_said():
    measured = measure(launch({"dram__bytes_read.sum": -32.0, "dram__bytes_write.sum": 1.0}))

    assert measured.dram_read_bytes is None
    assert measured.dram_bytes is None
    assert [note.code for note in measured.notes] == ["impossible_counter"]


def test_a_jetson_has_no_dram_counters():
    orin = {
        "device__attribute_compute_capability_major": 8.0,
        "device__attribute_compute_capability_minor": 7.0,
    }
    measured = measure(launch({**orin, "lts__t_sectors_lookup_miss.sum": 1e6}))

    assert measured.dram_bytes is None
    (note,) = (n for n in measured.notes if n.code == "no_dram_counters")
    assert note.facts == {"missed_l2_bytes": 32e6}
    assert "; 32 MB missed L2" in note_text(note)
    # no option of ncu would collect it
    assert "dram_bytes" not in {gap.quantity for gap in measured.missing}


def test_what_missed_l2_alone_does_not_make_a_jetson():
    measured = measure(launch({"lts__t_sectors_lookup_miss.sum": 1e6}))

    assert measured.notes == ()
    assert "dram_bytes" in {gap.quantity for gap in measured.missing}


def test_a_range_says_what_it_lacks():
    measured = measure(launch(kind=Kind.RANGE))

    assert "range_result" in {note.code for note in measured.notes}
    assert "launch" not in {gap.quantity for gap in measured.missing}


def test_geometry_and_occupancy():
    measured = measure(
        launch(
            {
                "launch__grid_dim_x": 64.0,
                "launch__grid_dim_y": 2.0,
                "launch__grid_dim_z": 1.0,
                "launch__block_dim_x": 128.0,
                "launch__block_dim_y": 1.0,
                "launch__block_dim_z": 1.0,
                "launch__occupancy_limit_registers": 2.0,
                "launch__occupancy_limit_warps": 16.0,
                "launch__occupancy_limit_shared_mem": 3.0,
                "sm__cycles_active.avg": 40.0,
                "sm__cycles_elapsed.max": 50.0,
            }
        )
    )

    assert (measured.grid, measured.block) == ((64, 2, 1), (128, 1, 1))
    assert measured.occupancy_limiter == "registers"
    assert measured.sm_active_percent == 80.0


@pytest.mark.parametrize(
    ("shared", "theoretical", "limiter"),
    [
        (4096.0, 50.0, "shared memory and blocks per SM"),
        (0.0, 50.0, "blocks per SM"),
        (4096.0, 100.0, None),
    ],
)
def test_what_limits_occupancy(shared, theoretical, limiter):
    measured = measure(
        launch(
            {
                "launch__occupancy_limit_registers": 64.0,
                "launch__occupancy_limit_shared_mem": 16.0,
                "launch__occupancy_limit_blocks": 16.0,
                "launch__shared_mem_per_block_static": shared,
                "launch__shared_mem_per_block_dynamic": 0.0,
                "launch__shared_mem_per_block_driver": 1024.0,
                "sm__maximum_warps_per_active_cycle_pct": theoretical,
            }
        )
    )

    assert measured.occupancy_limiter == limiter
    assert measured.shared_memory_bytes == shared


def l1(shared_wavefronts: float, from_l1_sectors: float) -> float | None:
    name = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
    values = {name.format(s, o): 10.0 for s in ("global", "local") for o in ("ld", "st")}
    values["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"] = shared_wavefronts
    values["lts__t_sectors_srcunit_tex.sum"] = from_l1_sectors
    return measure(launch(values)).l1_bytes


def test_l1_bytes_are_sectors_and_shared_wavefronts():
    # 40 sectors of 32 bytes and 10 wavefronts of 128
    assert l1(10.0, 40.0) == 40 * 32 + 10 * 128


def test_l1_bytes_that_cannot_be_all_are_not_measured():
    # L1 asked L2 for 100 sectors and shows only 40: the rest went by ways not counted here
    assert l1(0.0, 100.0) is None


def test_stalls_are_shares_of_all_stalls():
    name = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    measured = measure(
        launch(
            {
                name.format("long_scoreboard"): 6.0,
                name.format("no_instruction"): 2.0,
                name.format("selected"): 1.0,
                name.format("not_selected"): 9.0,
            }
        )
    )

    assert [(s.reason, s.share) for s in measured.stalls] == [
        ("long_scoreboard", 0.75),
        ("no_instruction", 0.25),
    ]
    assert measured.provenance["stalls"] == "warp-state ratios"


def test_samples_use_the_same_names_and_keep_unknown_reasons():
    name = "smsp__pcsamp_warps_issue_stalled_"
    measured = measure(
        launch(
            {
                f"{name}no_instructions": 3.0,
                f"{name}warpgroup_arrive": 2.0,
                f"{name}daydreaming": 5.0,
                "group:smsp__pcsamp_warp_stall_reasons": f"{name}daydreaming,{name}selected",
                f"{name}selected": 50.0,
            }
        )
    )

    assert [(s.reason, s.share) for s in measured.stalls] == [
        ("daydreaming", 0.5),
        ("no_instruction", 0.3),
        ("gmma", 0.2),
    ]


def test_the_device_of_a_report():
    prefix = "device__attribute_"
    measured = measure(
        launch(
            {
                f"{prefix}display_name": "NVIDIA A100 80GB PCIe",
                f"{prefix}compute_capability_major": 8.0,
                f"{prefix}compute_capability_minor": 0.0,
                f"{prefix}multiprocessor_count": 108.0,
                f"{prefix}gpu_pci_device_id": 548_737_246.0,
                f"{prefix}max_mem_frequency_khz": 1_512_000.0,
                f"{prefix}global_memory_bus_width": 5120.0,
            }
        )
    )

    assert measured.device.compute_capability == "8.0"
    assert measured.device.pci_device_id == "20B5"
    # 2 x 1512 MHz x 5120 bit / 8 = 1935 GB/s
    assert measured.peaks.dram_bytes_per_s == pytest.approx(1.93536e12)


def test_utilisation_comes_with_its_metric():
    measured = measure(launch(breakdown("sm__throughput", {"sm__issue_active": 50.0})))

    assert measured.units[0].metric == "sm__issue_active.avg.pct_of_peak_sustained_elapsed"


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ({}, None),
        ({"launch__device_id": 2.0}, 2),
        ({"device__attribute_device_index": 1.0}, 1),
        ({"launch__device_id": 2.0, "device__attribute_device_index": 1.0}, 2),
    ],
)
def test_a_launch_names_its_device_better_than_the_attributes(values, index):
    assert measure(launch(values)).device.index == index


@pytest.mark.parametrize(("duration_s", "short"), [(15e-6, True), (25e-6, False)])
def test_a_low_dram_clock_is_no_wonder_in_twenty_microseconds(duration_s, short):
    # 0.75 of 8 GHz
    measured = measure(
        launch(
            {
                "gpu__time_duration.sum": duration_s,
                "dram__cycles_elapsed.avg.per_second": 6e9,
                "device__attribute_max_mem_frequency_khz": 8e6,
            }
        )
    )

    (note,) = measured.notes
    assert note.code == "dram_clock_low"
    assert note.facts == {"clock_hz": 6e9, "most_hz": 8e9, "short": short}


@pytest.mark.parametrize(("percent", "missing"), [(5.0, True), (0.0, False)])
def test_half_precision_that_ran_uncounted_is_missing_with_its_flag(percent, missing):
    activity = "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active"
    flags = {gap.quantity: gap.flag for gap in measure(launch({activity: percent})).missing}

    assert flags.get("operations.fp16") == (FLAGS["operations.fp16"] if missing else None)


@pytest.mark.parametrize("value", [2.0**64, 1e300, -1e300])
def test_a_whole_number_beyond_64_bits_is_none(value: float):
    attributes = ("multiprocessor_count", "device_index", "global_memory_bus_width")
    names = [f"device__attribute_{name}" for name in attributes]
    device = measure(launch(dict.fromkeys(names, value))).device

    assert (device.sm_count, device.index, device.dram_bus_bits) == (None, None, None)
