"""The knowledge base: each entry fires on one input, and none against the counters it reads."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import playbook
from roofline.errors import InputError, RooflineWarning
from roofline.model import Device, Note, PeakSet, Result, Rule, Stall
from roofline.playbook import FOLDER, FORMATS, builtin, figures, play, plays, told
from roofline.playbook.condition import names
from roofline.specs import load
from roofline.text import verdict as said
from roofline.text.notes import sentence
from roofline.units import ELAPSED, UNITS
from roofline.verdict import rule
from roofline.verdict.evidence import evidence_of
from tests.capture.test_levels import script
from tests.makers import TOY_DEVICE, TOY_PEAKS, measurement, unit, with_rest

GEFORCE = replace(TOY_DEVICE, compute_capability="8.6", max_warps_per_sm=48)
WIDE = replace(TOY_DEVICE, max_warps_per_sm=64)
WAITS = (Stall(reason="long_scoreboard", share=0.6),)
UNCOALESCED = {"requested_sectors": 4e9, "ideal_sectors": 1e9, "excess_sectors": 3e9}
# Of each cause an input that proves it: busy units, and what else was measured.
PROVEN = {
    "debug_build": ((("issue", 30.0),), {"counts": {"moves": 42.0, "instructions": 100.0}}),
    "host_memory": (
        (("lsu", 25.0),),
        {"ratios": {"host_fill_percent": 0.34, "device_fill_percent": 0.0005}, "dram_bytes": 1e3},
    ),
    "bank_conflicts": (
        (("l1", 92.0), ("dram", 60.0)),
        {
            "counts": {
                "shared_conflicts": 65_011_712.0,
                "shared_wavefronts": 67_108_864.0,
                "shared_requests": 2_097_152.0,
                "elapsed_cycles": 7.3e5,
            },
            "ratios": {"wavefronts_percent": 92.0},
        },
    ),
    "uncoalesced": (
        (("l1", 98.0), ("l2", 30.0)),
        {
            "counts": UNCOALESCED | {"global_requests": 2.5e8},
            "ratios": {"wavefronts_percent": 98.0, "requests_percent": 11.5},
        },
    ),
    "many_wavefronts": (
        (("l1", 80.0),),
        {"ratios": {"wavefronts_percent": 80.0, "requests_percent": 8.0}},
    ),
    "local_memory": (
        (("l1", 92.0),),
        {"counts": {"local_sectors": 1.35e9, "global_sectors": 4e7}, "registers_per_thread": 255.0},
    ),
    "idle_lanes": ((("issue", 85.0), ("dram", 20.0)), {"ratios": {"lanes": 11.0}}),
    "fp64_conversions": (
        (("fp64", 86.0), ("dram", 20.0)),
        {"device": GEFORCE, "counts": {"fp64_conversions": 5e8, "fp64_instructions": 5e8}},
    ),
    "slow_fp64": ((("fp64", 84.0), ("dram", 20.0)), {"device": GEFORCE}),
    "fp64_division": (
        (("fp64", 70.0),),
        {"counts": {"instructions": 1e9, "fp64_divisions": 4e7, "fp64_instructions": 4.9e8}},
    ),
    "fp32_division": (
        (("issue", 85.0),),
        {"counts": {"instructions": 1e9, "fp32_divisions": 1e7}},
    ),
    "fp64_not_fused": (
        (("fp64", 85.2),),
        {"counts": {"fp64_separate": 655_360.0, "fp64_adds": 327_680.0, "fp64_fused": 884_736.0}},
    ),
    "fp32_not_fused": (
        (("fma", 92.0),),
        {"counts": {"fp32_separate": 6e8, "fp32_adds": 3e8, "fp32_fused": 2e8}},
    ),
    "conversions": (
        (("xu", 85.0),),
        {"counts": {"conversions": 3e8, "to_float": 1.5e8, "to_integer": 1.5e8}},
    ),
    "constant_loads": (
        (("adu", 95.0), ("constant", 92.0), ("issue", 60.0)),
        {"counts": {"constant_loads": 1.3e8, "instructions": 1e9}},
    ),
    "atomics": ((("l2", 95.0),), {"ratios": {"atomics_percent": 95.0}}),
    "too_many_registers": (
        (("issue", 37.0),),
        {
            "device": GEFORCE,
            "registers_per_thread": 134.0,
            "occupancy_limiter": "registers",
            "occupancy_percent": 16.0,
            "theoretical_occupancy_percent": 100 / 6,
            "ratios": {"fewer_registers": 128.0, "fewer_registers_warps": 16.0},
        },
    ),
    "block_size_limits": (
        (("issue", 37.0),),
        {
            "device": GEFORCE,
            "occupancy_limiter": "block size",
            "occupancy_percent": 66.0,
            "theoretical_occupancy_percent": 200 / 3,
            "ratios": {"other_block": 320.0, "other_block_warps": 40.0},
        },
    ),
    "occupancy_limited": (
        (("issue", 37.0),),
        {"theoretical_occupancy_percent": 25.0, "occupancy_limiter": "shared memory"},
    ),
    "empty_lanes": ((("issue", 85.0), ("dram", 40.0)), {"block": (16, 1, 1)}),
    "partial_warps": ((("issue", 37.0),), {"block": (16, 1, 1)}),
    "short_kernel": (
        (("dram", 20.0),),
        {"sm_active_percent": 70.0, "counts": {"elapsed_cycles": 9000.0}},
    ),
    "grid_too_small": ((("dram", 20.0),), {"grid": (56, 1, 1), "waves": 0.19}),
    "few_warps": (
        (("dram", 33.0),),
        {
            "grid": (160, 1, 1),
            "waves": 0.8,
            "occupancy_percent": 27.0,
            "theoretical_occupancy_percent": 50.0,
        },
    ),
    "occupancy_not_reached": (
        (("dram", 40.0),),
        {"waves": 100.0, "occupancy_percent": 40.0, "theoretical_occupancy_percent": 100.0},
    ),
    "tail_effect": ((("dram", 50.0),), {"waves": 1.5}),
    "imbalance": (
        (("dram", 40.0),),
        {
            "sm_active_percent": 52.0,
            "counts": {"elapsed_cycles": 1e6},
            "ratios": {"sm_balance": 0.52},
        },
    ),
}


def judged(units, **values) -> Result:
    uses = with_rest(*(unit(name, percent) for name, percent in units))
    measured = measurement(**{"operations": {}, "units": uses} | values)
    peaks = PeakSet(report=TOY_PEAKS)
    return Result(measurement=measured, peaks=peaks, verdict=rule.judge(measured, peaks))


def test_every_cause_has_an_input_that_proves_it():
    assert set(PROVEN) == {k.removeprefix("cause.") for k, p in builtin().items() if p.when}


@pytest.mark.parametrize("code", PROVEN)
def test_a_cause_fires_where_the_evidence_proves_it(code):
    units, values = PROVEN[code]
    found = judged(units, **values)
    named = {cause.code: cause for cause in found.verdict.causes}

    assert found.verdict.cause == code or code in named
    entry = play(f"cause.{code}")
    text = said.cause_text(found, named[code])
    assert "{" not in text
    assert text != said.words(code)
    assert next(entry.steps(found.verdict.evidence)) in said.try_first(found)
    if entry.promise in ("waste", "occupancy", "idle"):
        assert named[code].gain >= 1.1


@pytest.mark.parametrize("code", [code for code in PROVEN if play(f"cause.{code}").count])
def test_none_fires_against_the_count_it_reads(code):
    entry, (units, values) = play(f"cause.{code}"), PROVEN[code]
    found = judged(units, **values)
    # What a fix leaves: none of what must fall, or with occupancy as much as can be.
    left = {
        "achieved": found.verdict.evidence.get("theoretical"),
        "registers": None,
        "threads": None,
        "empty_lanes": 0.0,
    }
    name = entry.count
    if name in ("registers", "threads"):
        fixed = found.verdict.evidence | {
            "fewer_registers_warps": found.verdict.evidence["warps"],
            "other_block_warps": found.verdict.evidence["warps"],
        }
    else:
        fixed = without(name, units, values) if left.get(name) is None else None
        fixed = fixed or found.verdict.evidence | {name: left[name]}

    assert entry.fires(found.verdict.evidence)
    assert not entry.fires(fixed)


def without(name, units, values):
    """The evidence with a count of 0."""
    changed = {
        kind: {key: 0.0 if key == name else value for key, value in values.get(kind, {}).items()}
        for kind in ("counts", "ratios")
    }
    if name == "passes":
        changed["ratios"] = {"wavefronts_percent": 8.0, "requests_percent": 8.0}
    if name == "idle_lanes":
        changed["ratios"] = {"lanes": 32.0}
    busy = [(key, 0.0 if key == name else percent) for key, percent in units]
    measured = judged(busy, **values | changed).measurement
    return evidence_of(measured, measured.units, Rule()) | {"latency": 0.0}


# --- causes and the units they load ---------------------------------------------------------------

INSIDE = [code for code in PROVEN if play(f"cause.{code}").promise in ("waste", "plain")]


def test_every_cause_inside_a_unit_says_which_units_a_fix_relieves():
    for key, entry in builtin().items():
        named = entry.promise in ("waste", "plain") and bool(entry.when)
        assert bool(entry.units) is named, key
        assert set(entry.units) <= set(UNITS), key
        assert not (entry.relieves and entry.removes), key


@pytest.mark.parametrize("code", INSIDE)
def test_a_cause_of_a_unit_that_is_far_from_the_limit_is_not_named(code):
    units, values = PROVEN[code]
    most = max(percent for _, percent in units)
    own = tuple((key, 42.0 * percent / most) for key, percent in units)
    found = judged((*own, ("tensor", 85.0)), **values)  # which leaves 1.18x of headroom

    assert code not in {cause.code for cause in found.verdict.causes}


# Words of advice that put work on a unit.
ONTO = {
    "shared memory": "l1",
    "__ldg": "l1",
    "global memory": "l1",
    "plain loads": "lsu",
    "on the FMA pipe": "fma",
    "ensor cores": "tensor",
    "FP64 tensor cores": "tensor_fp64",
    "INT8 matrix": "tensor",
}


def test_a_line_that_moves_work_onto_another_unit_says_onto_which():
    lines = {
        key: [line for line in entry.try_first for word in ONTO if word in line.say]
        for key, entry in builtin().items()
    }
    unsaid = {
        key
        for key, some in lines.items()
        for line in some
        if not any(ONTO[word] in line.loads for word in ONTO if word in line.say)
    }

    # These take more off L1 than they put there, say how to use less of it, or only measure.
    assert unsaid == {
        "unit.l1",
        "unit.l1_shared",
        "unit.l1_global",
        "unit.lsu",
        "cause.bank_conflicts",
        "cause.uncoalesced",
        "cause.atomics",
        "cause.occupancy_limited",
        "cause.two_roofs",
    }


def test_no_advice_loads_a_unit_that_is_full():
    free = dict.fromkeys(UNITS, 30.0) | {"threshold": 60.0}
    for key, entry in builtin().items():
        for line in (replace(line, when="") for line in entry.try_first):
            assert set(line.loads) <= set(UNITS), key
            assert told((line,), free) == (line.say,)
            for onto in line.loads:
                assert told((line,), free | {onto: 95.0}) == (), key
        assert not entry.try_first or any(not line.loads for line in entry.try_first), key


def conv(**busy: float) -> Result:
    """Bank conflicts beside indexed constants: L1 99 %, ADU 96 %, issue slots 88 %."""
    units = {"l1": 99.0, "adu": 96.0, "constant": 92.0, "issue": 88.0} | busy
    counts = {"shared_conflicts": 2.5e8, "shared_wavefronts": 5e8, "elapsed_cycles": 5.3e6}
    counts |= {"constant_loads": 2.5e8, "instructions": 2e9}
    ratios = {"wavefronts_percent": units["l1"]}
    return judged(tuple(units.items()), counts=counts, ratios=ratios)


def test_wastes_of_two_units_that_are_as_near_are_named_together():
    # 5e8 wavefronts are 95.3 % of 100 SMs x 5.3e6 cycles x 99 %, half of them conflicts: L1 falls
    # to 51.8 %, yet the ADU keeps 96. Without the constants L1 keeps 99, without both the issue
    # slots 88 x 7/8 = 77 %.
    found = conv()
    gains = {cause.code: cause.gain for cause in found.verdict.causes}

    assert gains["bank_conflicts"] == pytest.approx(1 / 0.96)
    assert gains["constant_loads"] == pytest.approx(1 / 0.99)
    assert found.verdict.gain == pytest.approx(1 / 0.77)
    assert said.gain(found) == (
        "without 250,000,000 bank conflicts and 250,000,000 constant loads: up to 1.30x "
        "(1.00 ms -> 770 µs), then issue slots (one alone: up to 1.04x)"
    )
    first, second = found.verdict.causes
    assert said.cause_text(found, first).startswith("L1/shared 99 %: bank conflicts: 50")
    assert said.cause_text(found, second).startswith("as near: ADU 96 %: constants indexed by")
    assert said.refute(found).startswith("Take out bank conflicts and constant loads, not one")
    assert [step.split()[0] for step in said.try_first(found)[:2]] == ["pad", "unroll"]
    assert "__ldg" not in advice(found)


def test_waste_that_gives_nothing_with_the_rest_either_is_not_named():
    # Issue slots that hold 96 % after both: no constant is worth it, and no conflict.
    assert conv(issue=99.0, alu=98.0).verdict.causes == ()
    # Constants of a unit that is far from the limit belong to no answer.
    (only,) = conv(adu=60.0, constant=61.0, issue=50.0).verdict.causes
    assert only.code == "bank_conflicts"
    # Alone on the ADU they are the answer, and L1 has room for the table.
    found = conv(l1=40.0, issue=50.0)
    assert [cause.code for cause in found.verdict.causes] == ["constant_loads"]
    assert "__ldg" in advice(found)


def test_no_number_is_promised_without_an_amount():
    for key, entry in builtin().items():
        assert bool(entry.removes) is (entry.promise == "waste"), key
        assert bool(entry.gain) >= (entry.promise in ("occupancy", "idle")), key
        assert set(entry.removes) <= set(UNITS), key
        assert not entry.count or entry.counted, key
        assert entry.refute or key.startswith("stall."), key


def test_entries_read_only_evidence_that_has_a_meaning():
    from roofline.counters.evidence import tables
    from roofline.counters.stalls import REASONS
    from roofline.specs.tables import RATES

    meanings = tomllib.loads(script("make_knowledge_docs").EVIDENCE.read_text("utf-8"))
    known = {*meanings, *UNITS, "instructions", "limited_by"}.union(*tables().values())
    known |= {f"near_{key}" for key in UNITS} | {f"stall_{reason}" for reason in REASONS}
    known |= {f"peak_{key}" for key in RATES}
    for key, entry in builtin().items():
        read = set().union(*map(names, entry.expressions()), *(figures(c.say) for c in entry.claim))
        assert read <= known, key


# --- no advice against the counters -------------------------------------------------------------


def advice(found: Result) -> str:
    return " / ".join((said.hint(found), *said.try_first(found)))


# TFLOP/s of NVIDIA's data sheets.
@pytest.mark.parametrize(
    ("unit_", "gpu", "proposed"),
    [
        ("tensor_fp64", "a100", ["TF32"]),  # 19.5; FP32 19.5, TF32 156
        ("tensor_fp64", "h100-sxm", ["TF32"]),  # 67; FP32 67, TF32 495
        ("tensor_fp64", "b200", ["FP32 on", "TF32"]),  # 37; FP32 75
        ("fp64", "h100-sxm", ["FP64 tensor", "FP32, or"]),  # 34; 67
        ("fp64", "v100", ["FP32, or"]),  # no FP64 tensor cores
        ("fma", "a100", ["TF32"]),  # 19.5; 156
        ("fma", "rtx-4090", ["half precision"]),  # 82.6; TF32 82.6, FP16 165
        ("fma", "v100", ["half precision"]),  # 15.7; no TF32, FP16 125
        ("fma", "p100", []),  # no tensor cores
        ("tensor", "a100", ["narrower"]),  # FP16 312; INT8 624
        ("tensor", "v100", []),  # FP16 alone
        ("fp16", "v100", ["cores for products"]),  # 31; 125
        ("fp16", "p100", []),  # no tensor cores
    ],
)
def test_work_moves_only_to_a_type_that_this_gpu_does_faster(
    unit_: str, gpu: str, proposed: list[str]
) -> None:
    peaks = PeakSet(report=load().meant(gpu)[0].peaks())
    busy = with_rest(unit(unit_, 90.0), unit("issue", 5.0))
    measured = measurement(operations={}, dram_bytes=None, units=busy)
    found = rule.judge(measured, peaks)

    steps = " / ".join(play(f"unit.{unit_}").steps(found.evidence))
    types = (
        "FP64 tensor",
        "FP32 on",
        "FP32, or",
        "TF32",
        "half precision",
        "narrower",
        "cores for products",
    )
    assert [type_ for type_ in types if type_ in steps] == proposed


def test_advice_says_what_it_may_change():
    def steps(key: str) -> list[str]:
        return [*builtin()[key].steps({})]

    fuse, narrower, tile = steps("unit.dram")
    assert narrower == "store and read a narrower type (changes numerics)"
    assert not fuse.endswith(")")
    assert not tile.endswith(")")
    # An entry's own risk is that of its lines: sums of atomics are in another order.
    assert all(step.endswith(" (reassociates)") for step in steps("cause.atomics"))
    assert not any("(" in step for step in steps("cause.uncoalesced"))


@pytest.mark.parametrize("word", ["narrower type", "FP32", "tensor cores", "split-K", "stream-K"])
def test_what_cannot_leave_results_alone_is_not_called_exact(word):
    found = [
        (play_.risk if line.risk is None else line.risk)
        for play_ in builtin().values()
        for line in play_.try_first
        if word in line.say
    ]
    assert found
    assert set(found) <= {"changes numerics", "reassociates"}


def test_bank_conflicts_that_are_the_cause_are_advised_on_once():
    units, values = PROVEN["bank_conflicts"]
    lines = [line for line in said.try_first(judged(units, **values)) if "swizzle" in line]

    assert len(lines) == 1


def test_no_coalescing_is_advised_where_traffic_is_local():
    counts = {"local_sectors": 1.35e9, "global_sectors": 4e7}
    found = judged(
        (("l1", 92.0),), counts=counts, registers_per_thread=255.0, shared_memory_bytes=0.0
    )

    assert said.cause(found).startswith("local memory: 97.1 % of L1's sectors (1,350,000,000)")
    assert "launch_bounds" in said.try_first(found)[0]
    assert "oalesce" not in advice(found)
    assert "bank conflicts: there are none" not in said.avoid(found)


def test_the_ways_of_conflicts_are_those_of_loads_or_of_stores():
    units, values = PROVEN["bank_conflicts"]
    # As many stores without a conflict: the loads are 32-way all the same.
    counts = values["counts"] | {"shared_requests": 4_194_304.0}
    loads = {"shared_load_conflicts": 65_011_712.0, "shared_load_requests": 2_097_152.0}

    found = judged(units, **values | {"counts": counts | loads})

    assert "bank conflicts: 32-way" in said.hint(found)


def test_work_inside_of_a_unit_is_named_however_full_that_is():
    counts = {"fp64_separate": 6e8, "fp64_adds": 3e8, "fp64_fused": 1e8}
    (found,) = judged((("fp64", 98.0),), counts=counts).verdict.causes

    assert (found.code, found.promise) == ("fp64_not_fused", "plain")
    assert found.gain == pytest.approx(7 / 4)  # 6 in 3, if all of them come in pairs


def test_adds_without_multiplies_are_nothing_to_fuse():
    counts = {"fp64_separate": 6e8, "fp64_adds": 6e8, "fp64_fused": 1e8}
    found = judged((("fp64", 98.0),), counts=counts)

    assert found.verdict.causes == ()
    assert not any("fuse" in line for line in said.try_first(found))


def test_more_warps_are_not_advised_and_advised_against_at_once():
    units, launch = (("dram", 70.0),), {"waves": 0.75, "theoretical_occupancy_percent": 80.0}
    small = judged(units, grid=(256, 1, 1), sm_count=68, occupancy_percent=50.0, **launch)
    fine = judged(units, grid=(256, 1, 1), sm_count=68, occupancy_percent=79.0, **launch)

    assert "few_warps" in [cause.code for cause in small.verdict.causes]
    assert not any("occupancy" in line for line in said.avoid(small))
    assert any("more occupancy" in line for line in said.avoid(fine))


def test_what_is_nearly_the_limit_is_not_advised_against():
    far, near = judged((("l1", 85.0), ("issue", 40.0))), judged((("l1", 85.0), ("issue", 81.0)))
    assert any("arithmetic waits" in line for line in said.avoid(far))
    assert not any("arithmetic waits" in line for line in said.avoid(near))

    far, near = judged((("fma", 70.0), ("dram", 20.0))), judged((("fma", 70.0), ("dram", 65.0)))
    assert any("fewer DRAM bytes" in line for line in said.avoid(far))
    assert not any("fewer DRAM bytes" in line for line in said.avoid(near))


def test_floating_point_work_that_is_the_cause_is_not_advised_against():
    units, line = (("alu", 80.0), ("fp64", 76.0)), "fewer floating-point operations"
    few = judged(units, device=Device(name="RTX 2080 Ti", compute_capability="7.5"))

    assert few.verdict.cause == "slow_fp64"
    assert not any(line in one for one in said.avoid(few))
    assert any(line in one for one in said.avoid(judged(units)))


def test_uncoalesced_it_is_where_nothing_is_shared():
    ratios = {"wavefronts_percent": 80.0, "requests_percent": 8.0}
    found = judged((("l1", 80.0),), ratios=ratios, shared_memory_bytes=0.0)

    assert "uncoalesced: 10.0 L1 wavefronts" in said.hint(found)
    assert "conflicts" not in said.hint(found).partition(": fewer")[0]


def test_the_queue_of_fp64_goes_with_fp64():
    queue = replace(unit("lsu", 40.0), metric="sm__mio_pq_write_cycles_active" + ELAPSED)
    m = measurement(units=(unit("fp64", 84.0), queue, unit("dram", 20.0)), device=GEFORCE)
    v = rule.judge(m, PeakSet(report=TOY_PEAKS))

    assert (v.gain, v.waste_limiter) == (pytest.approx(5.0), "dram")


def test_bank_conflicts_are_silent_at_none():
    counts = {"shared_conflicts": 18_545.0, "shared_wavefronts": 27_657_930.0}
    found = judged((("l1", 88.6),), counts=counts, shared_memory_bytes=8192.0)

    assert found.verdict.cause is None
    assert "conflict" not in advice(found)


def test_atomics_come_before_larger_tiles():
    found = judged((("l2", 95.0),), ratios={"atomics_percent": 95.0})

    assert "atomics" in said.claim(found)
    assert "one atomic a block" in said.try_first(found)[0]
    assert "reduce in the warp" in said.try_first(found)[0]


def test_a_debug_build_holds_back_all_other_advice():
    units, values = PROVEN["debug_build"]
    found = judged(units, **values | {"waves": 0.4, "occupancy_percent": 20.0, "stalls": WAITS})

    assert [cause.code for cause in found.verdict.causes] == ["debug_build"]
    assert said.try_first(found) == tuple(line.say for line in play("cause.debug_build").try_first)


@pytest.mark.parametrize(
    ("cycles", "counts", "debug"),
    [
        (14.1, {}, True),  # nobody counted moves
        (4.1, {}, False),
        (14.1, {"moves": 10.0, "instructions": 100.0}, False),  # they were few
    ],
)
def test_a_debug_build_shows_by_its_waits_where_no_moves_are_known(cycles, counts, debug):
    found = judged((("alu", 55.0),), ratios={"wait_cycles": cycles}, counts=counts)

    assert ("14.1 cycles" in said.claim(found)) is debug
    assert (found.verdict.cause == "debug_build") is debug


@pytest.mark.parametrize("busy", [30.0, 65.0, 95.0])
def test_no_headroom_is_promised_of_a_debug_build(busy):
    _, values = PROVEN["debug_build"]
    found = judged((("issue", busy), ("l2", busy - 5)), **values)

    v = found.verdict
    assert (v.floor_s, v.next_floor_s, v.waste_floor_s, v.gain) == (None,) * 4
    told = "not known: first compile with optimisation and profile again"
    assert (said.bounds(found), said.gain(found)) == (told, told)


def test_a_debug_build_in_one_block_is_told_of_its_grid_too():
    units, values = PROVEN["debug_build"]
    found = judged(units, **values | {"grid": (1, 1, 1), "waves": 0.1, "stalls": WAITS})

    assert [cause.code for cause in found.verdict.causes] == ["debug_build", "grid_too_small"]
    assert said.try_first(found)[1].startswith("split the work further")
    assert found.verdict.gain is None


@pytest.mark.parametrize(
    ("threads", "blocks", "told"), [(32, 31, True), (128, 31, False), (32, 200, False)]
)
def test_few_blocks_of_a_warp_are_told_of_the_schedulers(threads, blocks, told):
    # An SM has four schedulers; with more blocks than SMs they share them.
    for cause in ("few_warps", "grid_too_small"):
        facts = {"threads": threads, "blocks": blocks, "sms": 34, "fill": 0.9}
        steps = play(f"cause.{cause}").steps(facts)
        assert any("four schedulers" in step for step in steps) == told


def test_several_causes_are_ranked_by_what_they_give():
    # 0.8 waves give 1.25x, 27 of 50 % occupancy 1.85x, and both are below 1 / 0.33.
    units, values = PROVEN["few_warps"]
    found = judged(units, **values, stalls=WAITS)

    assert [c.code for c in found.verdict.causes] == [
        "few_warps",
        "grid_too_small",
        "stall_long_scoreboard",
    ]
    assert [c.gain for c in found.verdict.causes] == [
        pytest.approx(50 / 27),
        pytest.approx(1.25),
        None,
    ]


def test_a_small_gain_is_not_named():
    assert judged((("dram", 50.0),), waves=0.97, grid=(194, 1, 1)).verdict.causes == ()


def test_in_the_band_the_second_sentence_says_what_keeps_it_from_more():
    _, values = PROVEN["tail_effect"]
    found = judged((("dram", 70.0),), **values)

    assert said.claim(found).startswith("Limited by DRAM: busy 70 % of the elapsed time")
    assert "What keeps it from more: a tail: 1.5 waves need the time of 2" in said.claim(found)
    assert said.hint(found).endswith("even out the last wave")  # on which the saving rests
    assert said.why(found).startswith("what keeps it from more: a tail: 1.5 waves")
    latent = judged((("dram", 50.0),), **values)
    assert said.why(latent).startswith("a tail: 1.5 waves")


def test_above_the_band_no_waiting_is_named():
    _, values = PROVEN["tail_effect"]

    assert judged((("dram", 85.0),), **values).verdict.causes == ()


def test_the_launch_bound_to_write_is_said():
    units, values = PROVEN["too_many_registers"]
    found = judged(units, **values)

    assert said.cause(found) == (
        "few warps: 134 registers leave 8 warps an SM; 128 allow 16: __launch_bounds__(256, 2)"
    )
    assert found.verdict.gain == 2.0


def test_what_the_saving_rests_on_is_tried_before_what_would_relieve_the_unit():
    _, values = PROVEN["too_many_registers"]
    found = judged((("dram", 70.0),), **values)

    assert (found.verdict.limiter, found.verdict.gain_by) == ("dram", "occupancy")
    assert said.try_first(found)[0].startswith("the launch bound that is named")


@pytest.mark.parametrize("name", ["void cutlass::Kernel<gemm>(Params)", "nvjet_tst_128x256"])
def test_no_launch_bound_is_advised_for_a_library(name):
    units, values = PROVEN["too_many_registers"]

    causes = judged(units, **values, demangled=name).verdict.causes
    assert "too_many_registers" not in {cause.code for cause in causes}


def test_fp64_limits_early_where_there_is_almost_none():
    found = judged((("fp64", 44.0), ("dram", 30.0)), device=GEFORCE)
    waits = judged((("fp64", 34.0), ("dram", 30.0)), device=GEFORCE)

    assert found.verdict.evidence["threshold"] == 40.0
    assert "reaches 34 % (under 40 %)" in said.claim(waits)
    assert found.verdict.limiter == "fp64"
    assert judged((("fp64", 44.0), ("dram", 30.0))).verdict.limiter is None
    # The way of FP64 operands is no next limit of its own.
    queue = replace(unit("lsu", 40.0), metric="sm__mio_pq_read_cycles_active.pct")
    uses = with_rest(unit("fp64", 84.0), queue, unit("dram", 20.0))
    measured = measurement(units=uses, device=GEFORCE, operations={}, dram_bytes=None)
    assert rule.judge(measured, PeakSet(report=TOY_PEAKS)).next_limiter == "dram"


def test_an_unreadable_launch_has_no_cause():
    found = judged(
        (), counts={"moves": 42.0, "instructions": 100.0}, notes=(Note(code="computed"),)
    )

    assert found.verdict.causes == ()
    assert said.gain(found) == "not known: every utilisation reads 0 %: the counters did not count"


@pytest.mark.parametrize(
    ("device", "fp64", "told"), [(GEFORCE, 30.0, True), (GEFORCE, 5.0, False), (WIDE, 30.0, False)]
)
def test_a_full_texture_queue_is_put_down_to_fp64_where_that_passes_through_it(device, fp64, told):
    stalls = (Stall(reason="tex_throttle", share=0.6),)
    found = judged((("fp64", fp64), ("l1", 36.0)), device=device, stalls=stalls)

    steps = play("stall.tex_throttle").steps(found.verdict.evidence)
    assert "FP64" in said.cause_text(found, found.verdict.causes[-1])
    assert next(steps).startswith("fewer FP64 instructions") == told


def test_waits_of_roles_are_no_reason_for_a_tensor_kernel():
    stalls = (Stall(reason="sleeping", share=0.4), Stall(reason="wait", share=0.1))

    assert judged((("tensor", 71.0),), stalls=stalls).verdict.causes == ()
    assert judged((("tensor", 41.0),), stalls=stalls).verdict.cause == "stall_sleeping"
    assert judged((("issue", 71.0),), stalls=stalls).verdict.cause == "stall_sleeping"


@pytest.mark.parametrize(("requests", "told"), [(20.0, True), (40.0, False), (10.0, False)])
def test_some_wavefronts_an_instruction_are_right_for_wide_accesses_only(requests, told):
    # 80 % over 20 % is 4 wavefronts an instruction, over 40 % 2; over 10 % 8, which is waste.
    ratios = {"wavefronts_percent": 80.0, "requests_percent": requests}
    found = judged((("l1", 80.0),), ratios=ratios)

    assert ("right for 128-bit accesses only" in said.try_first(found)[0]) is told


# --- bounds ---------------------------------------------------------------------------------------


def test_pairs_are_of_all_launches_as_the_fused_ones_are():
    units, values = PROVEN["fp32_not_fused"]
    found = judged(units, **values, count=2)

    assert "300,000,000 pairs at most, beside 200,000,000 fused" in said.cause(found)


def test_cycles_are_of_one_launch():
    units, values = PROVEN["short_kernel"]
    one = said.cause(judged(units, **values))
    twice = {name: 2 * count for name, count in values["counts"].items()}
    two = judged(units, **values | {"counts": twice, "count": 2})

    assert "cycles, of which launch and drain take" in one
    assert said.cause(two) == one


def test_a_waste_bound_is_the_next_unit_that_holds():
    # Shared memory has 67,108,864 of 100 SMs x 7.3e5 cycles x 92 %, all but 0.1 %; of these are
    # 65,011,712 conflicts. L1 falls to 92 x (1 - 0.999 x 0.969) = 3 %, and DRAM at 60 % holds.
    units, values = PROVEN["bank_conflicts"]
    found = judged(units, **values)

    assert found.verdict.waste_limiter == "dram"
    assert found.verdict.waste_floor_s == pytest.approx(0.6e-3)
    assert found.verdict.gain == pytest.approx(1 / 0.6)
    assert found.verdict.gain_by == "waste"
    assert said.bounds(found).startswith(
        "without 65,011,712 bank conflicts: up to 1.67x (1.00 ms -> 600 µs)"
    )
    assert "32-way, 65,011,712 of 67,108,864" in said.cause(found)

    # Two such launches: the time is of both, so the counts are, too.
    twice = {name: 2 * count for name, count in values["counts"].items()}
    two = judged(units, **values | {"counts": twice, "count": 2, "duration_s": 2e-3})
    assert (
        said.gain(two)
        == "without 130,023,424 bank conflicts: up to 1.67x (2.00 -> 1.20 ms), then DRAM"
    )
    assert "32-way, 130,023,424 of 134,217,728" in said.cause(two)

    timeless = judged(units, **values | {"duration_s": None})
    assert said.gain(timeless) == "without 65,011,712 bank conflicts: up to 1.67x, then DRAM"


def test_more_than_ten_times_is_not_promised():
    _, values = PROVEN["slow_fp64"]
    found = judged((("fp64", 85.0), ("issue", 3.0)), **values)

    assert said.bounds(found).startswith("without the FP64 work: more than 10x, then issue slots")
    assert found.verdict.gain == 10.0
    timeless = judged((("fp64", 85.0), ("issue", 3.0)), **values | {"duration_s": None})
    assert said.gain(timeless) == "without the FP64 work: more than 10x, then issue slots"


def test_several_wastes_count_together():
    # L1 90 %: local 0.5 and idle lanes 0.5 leave a quarter of it; the issue slots keep half of 80.
    found = judged(
        (("l1", 90.0), ("issue", 80.0), ("dram", 10.0)),
        counts={"local_sectors": 1e9, "global_sectors": 1e9},
        ratios={"lanes": 16.0},
    )

    assert found.verdict.waste_floor_s == pytest.approx(0.4e-3)
    assert found.verdict.waste_limiter == "issue"


def test_what_is_not_named_is_not_counted_as_gone():
    # 24 of 32 lanes are no cause by themselves, so the issue slots keep their 80 %.
    found = judged(
        (("l1", 90.0), ("issue", 80.0), ("dram", 10.0)),
        counts={"local_sectors": 1e9, "global_sectors": 1e9},
        ratios={"lanes": 24.0},
    )

    assert [cause.code for cause in found.verdict.causes] == ["local_memory"]
    assert found.verdict.waste_floor_s == pytest.approx(0.8e-3)


# --- the user's own folder ----------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


def test_a_cause_of_the_users_own(folder):
    (folder / "ours.toml").write_text(
        '[cause.our_batches]\npromise = "idle"\ngain = "2"\nwhen = "latency and blocks <= 200"\n'
        'claim = "a batch of {blocks:exact}"\nhint = "batch more"\ntry_first = ["t"]\n'
        '[unit.dram]\ntry_first = ["our table in BF16"]\n'
    )
    found = judged((("dram", 40.0),), device=Device())

    assert found.verdict.cause == "our_batches"
    assert said.hint(found) == "latency: a batch of 100: batch more"
    lines = said.try_first(judged((("dram", 90.0),)))
    assert lines[0] == "our table in BF16"
    assert lines[1].startswith("fuse it")
    assert play("unit.dram").refute == builtin()["unit.dram"].refute


@pytest.mark.parametrize(
    ("promise", "bounds"),
    [("first", "not known"), ("unbounded", "no bound: no counter says what it saves")],
)
def test_a_bound_without_a_hint_is_a_whole_sentence(folder, promise, bounds):
    (folder / "ours.toml").write_text(
        f'[cause.ours]\npromise = "{promise}"\nwhen = "latency"\nclaim = "as we say"\n'
    )

    assert said.bounds(judged((("dram", 40.0),))) == bounds


def test_advice_that_is_not_in_utf_8_is_refused(folder):
    (folder / "ours.toml").write_bytes("# größer".encode("latin-1"))

    with pytest.raises(InputError, match=r"ours\.toml: it is not text in UTF-8"):
        plays()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[cause.x", "Expected"),
        (f"a = {'[' * 5000}", "it is nested too deeply"),
        ("[kernel.x]\nhint = 'h'", "[kernel] is none of unit, cause, stall, caller"),
        ("unit = 3", "unit is no table"),
        ("[cause]\nx = 3", "[cause.x] is no table"),
        ("[cause.x]\nwhem = 'a'", "[cause.x] has no 'whem'"),
        ("[cause.x]\nhint = 3", "[cause.x]: Expected `str`"),
        ("[cause.x]\nwhen = 'a >'\nclaim = 'c'", "'a >' is no expression"),
        ("[cause.x]\nwhen = 'open(a)'\nclaim = 'c'", "is not understood"),
        ("[cause.x]\nwhen = 'a'\nclaim = '{a.b}'", "'a.b' in its claim is no name"),
        ("[cause.x]\nwhen = 'a'\nclaim = '{a:nope}'", "'a' in its claim cannot be written as"),
        ("[cause.x]\nwhen = 'a'\nclaim = '{a!r}'", "'a' in its claim cannot be written as 'r'"),
        ("[cause.x]\nwhen = 'a'\nclaim = '{a:{b}}'", "cannot be written as '{b}'"),
        ("[cause.x]\nwhen = 'a'\nclaim = '{a'", "expected '}'"),
        ("[cause.x]\nwhen = 'a'", "it has a condition but no claim"),
        ("[cause.x]\npromise = 'much'", "Invalid enum value"),
        ("[cause.x]\nremoves = { L1 = '0.5' }", "[cause.x]: 'L1' is none of dram, l2, l1,"),
        ("[cause.x]\nrelieves = ['smem']", "'smem' is none of dram,"),
        ("[unit.l1]\ntry_first = [{ say = 's', loads = ['L2'] }]", "'L2' is none of dram,"),
    ],
)
def test_a_file_that_is_no_entry_is_refused_with_its_place(folder, text, why):
    (folder / "ours.toml").write_text(text)

    with pytest.raises(InputError) as refused:
        plays()
    assert f"cannot read the advice of {folder / 'ours.toml'}" in str(refused.value)
    assert why in str(refused.value)


def test_a_folder_that_nobody_named_stops_nobody(monkeypatch, tmp_path):
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setattr(playbook, "settings_folder", lambda _: tmp_path / "none")

    assert plays() == builtin()
    (tmp_path / "none").touch()
    playbook._plays.cache_clear()
    with pytest.warns(RooflineWarning, match="your own advice in .*none is left out: Not a dir"):
        assert plays() == builtin()


def test_entries_that_are_held_stay_until_the_block_ends(monkeypatch, folder):
    (folder / "ours.toml").write_text('[cause.ours]\nwhen = "latency"\nclaim = "as we say"\n')
    result = judged((("dram", 40.0),))
    assert said.cause(result) == "as we say"

    with playbook.held():
        monkeypatch.delenv(FOLDER)
        assert said.cause(result) == "as we say"

    assert said.cause(result) == "ours"


def test_a_named_folder_that_cannot_be_read_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, str(tmp_path / "none"))

    with pytest.raises(InputError, match=f"the advice of {tmp_path / 'none'}: No such file"):
        plays()


@pytest.mark.parametrize("written", ["", *FORMATS, ".0f", ",.0f", ".3g", "of block"])
def test_a_claim_may_be_written_in_every_form(folder, written):
    claim = f"a batch of {{blocks:{written}}}".replace(":}", "}")
    (folder / "ours.toml").write_text(f'[cause.ours]\nwhen = "latency"\nclaim = "{claim}"\n')

    assert said.cause(judged((("dram", 40.0),))).startswith("a batch of 100")


def test_a_claim_is_filled_by_its_formats():
    assert (
        sentence("{blocks:of block}, {waves:waves}", {"blocks": 1.0, "waves": 0.19})
        == "1 block, 0.19"
    )


def test_the_page_is_made_from_the_entries():
    maker = script("make_knowledge_docs")
    assert maker.TARGET.read_text(encoding="utf-8") == maker.page()
    for code in PROVEN:
        assert f"### {code}\n" in maker.page()


@pytest.mark.parametrize(("dram_bytes", "told"), [(48e6, True), (144e6, False)])
def test_coalescing_is_no_advice_where_the_bytes_are_needed_anyway(dram_bytes, *, told):
    counts = {"requested_sectors": 4.7e6, "ideal_sectors": 1.57e6, "excess_sectors": 3.1e6}
    found = judged((("dram", 88.0),), counts=counts, dram_bytes=dram_bytes)

    # 1.57e6 sectors of 32 bytes are 50 MB
    assert any("coalescing" in line for line in said.avoid(found)) is told
    assert ("uncoalesced" in {cause.code for cause in found.verdict.causes}) is not told


@pytest.mark.parametrize(("l2", "told"), [(30.0, True), (70.0, False)])
def test_coalescing_is_no_advice_where_arithmetic_limits(l2, *, told):
    counts = {"requested_sectors": 4.7e6, "ideal_sectors": 1.57e6, "excess_sectors": 3.1e6}
    found = judged((("issue", 88.0), ("l1", 40.0), ("l2", l2)), counts=counts)

    assert any("coalescing" in line for line in said.avoid(found)) is told


def test_our_own_entries_pass_the_check_of_a_user_s(tmp_path, monkeypatch):
    ours = Path(playbook.__file__).with_name("advice.toml").read_text("utf-8")
    (tmp_path / "copy.toml").write_text(ours, "utf-8")
    monkeypatch.setenv(FOLDER, str(tmp_path))

    assert plays().keys() == builtin().keys()


@pytest.mark.parametrize(
    ("code", "evidence", "decided"),
    [
        ("idle_lanes", {}, False),
        ("idle_lanes", {"lanes": 32.0}, True),
        ("idle_lanes", {"lanes": 8.0, "latency": 0.0, "issue": 20.0}, False),  # other pipes unknown
        ("idle_lanes", {"empty_lanes": 0.5}, True),  # another cause then
        ("bank_conflicts", {"busiest": 30.0}, True),  # nothing is near a ceiling
        ("bank_conflicts", {"busiest": 80.0, "l1": 20.0, "lsu": 20.0}, True),
        ("bank_conflicts", {"busiest": 80.0, "l1": 80.0, "near_l1": 1.0}, False),
        ("too_many_registers", {"busiest": 30.0}, False),
        ("debug_build", {"wait_cycles": 4.0}, False),  # its code is not known
        ("debug_build", {"wait_cycles": 4.0, "repeated_moves": 0.0}, True),
    ],
)
def test_a_cause_is_none_only_where_no_further_count_could_prove_it(code, evidence, decided):
    assert play(f"cause.{code}").decided(evidence) is decided
