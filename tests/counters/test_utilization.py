import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.counters.utilization import unit_uses
from roofline.model import Family
from roofline.units import ELAPSED, unit_of_metric
from tests.metrics import PlainMetrics, breakdown

MEMORY = "gpu__compute_memory_throughput"
SM = "sm__throughput"


@pytest.mark.parametrize(
    ("metric", "unit", "family"),
    [
        ("dram__cycles_active", "dram", "bandwidth"),
        ("fbpa__dram_sectors", "dram", "bandwidth"),
        ("lts__t_sectors", "l2", "bandwidth"),
        ("lts__d_sectors_fill_sysmem", "sysmem", "bandwidth"),
        ("syslts__t_sectors", "sysmem", "bandwidth"),
        ("l1tex__data_pipe_lsu_wavefronts", "l1", "bandwidth"),
        ("l1tex__lsuin_requests", "lsu", "bandwidth"),
        ("l1tex__texin_sm2tex_req_cycles_active", "tex", "bandwidth"),
        ("idc__request_cycles_active", "constant", "bandwidth"),
        ("sm__mio_inst_issued", "lsu", "bandwidth"),
        ("sm__inst_executed_pipe_lsu", "lsu", "bandwidth"),
        ("sm__mem_tensor_cycles_active", "tensor_memory", "bandwidth"),
        ("sm__pipe_tma_cycles_active", "tma", "bandwidth"),
        ("sm__inst_executed_pipe_tma", "tma", "bandwidth"),
        ("sm__inst_executed_pipe_tmem", "tensor_memory", "bandwidth"),
        ("sm__pipe_tmem_cycles_active", "tensor_memory", "bandwidth"),
        ("l1tex__m_xbar2l1tex_read_sectors", "l2", "bandwidth"),
        ("l1tex__m_l1tex2xbar_req_cycles_active", "l2", "bandwidth"),
        ("l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "l1", "bandwidth"),
        ("sm__inst_executed_pipe_fma_type_fp16", "fma", "compute"),
        ("sm__inst_executed_pipe_alu", "alu", "compute"),
        ("sm__inst_executed_pipe_fp64", "fp64", "compute"),
        ("sm__inst_executed_pipe_fp64_op_dmma", "tensor_fp64", "compute"),
        ("sm__inst_executed_pipe_tensor_op_hmma", "tensor", "compute"),
        ("sm__inst_executed_pipe_tc", "tensor", "compute"),
        ("sm__inst_executed_pipe_ipa", "other_compute", "compute"),
        ("sm__inst_executed_pipe_workid", "other_compute", "compute"),
        ("sm__pipe_fmaheavy_subpipe_alulite_cycles_active", "alu", "compute"),
        ("sm__pipe_fmaheavy_subpipe_fmaheavy_cycles_active", "fma", "compute"),
        ("sm__pipe_fmalite_cycles_active", "fma", "compute"),
        ("gpu__compute_memory_access_throughput_internal_activity", "other_memory", "bandwidth"),
        ("sm__issue_active", "issue", "compute"),
        ("sm__inst_executed", "issue", "compute"),
        ("sm__inst_executed_pipe_xu", "xu", "compute"),
        ("sm__pipe_fmaheavy_cycles_active", "fma", "compute"),
        ("sm__pipe_fp64_cycles_active", "fp64", "compute"),
        ("sm__pipe_tensor_op_dmma_cycles_active", "tensor_fp64", "compute"),
        ("sm__pipe_tc_cycles_active", "tensor", "compute"),
        ("sm__pipe_aluheavy_cycles_active", "alu", "compute"),
        ("sm__instruction_throughput_internal_activity", "other_compute", "compute"),
    ],
)
def test_a_metric_belongs_to_a_unit(metric, unit, family):
    found = unit_of_metric(metric + ELAPSED)

    assert found is not None
    assert (found.key, found.family) == (unit, Family(family))


def test_the_largest_member_speaks_for_its_unit():
    metrics = PlainMetrics(
        breakdown(MEMORY, {"dram__cycles_active": 22.2, "fbpa__dram_sectors": 18.9})
        | breakdown(SM, {"sm__issue_active": 77.7, "sm__inst_executed": 77.3})
    )

    uses = unit_uses(metrics)

    assert [(use.unit, use.percent) for use in uses] == [("issue", 77.7), ("dram", 22.2)]
    assert uses[0].metric == "sm__issue_active" + ELAPSED


def test_an_unknown_member_is_kept_on_the_side_it_came_from():
    metrics = PlainMetrics(
        breakdown(MEMORY, {"warp9__drive": 40.0}) | breakdown(SM, {"zz__thing": 30.0})
    )

    assert {(use.unit, use.family.value) for use in unit_uses(metrics)} == {
        ("other_memory", "bandwidth"),
        ("other_compute", "compute"),
    }


def test_without_breakdowns_members_are_found_by_name():
    metrics = PlainMetrics({f"lts__t_sectors{ELAPSED}": 61.0, f"sm__issue_active{ELAPSED}": 10.0})

    assert [(use.unit, use.percent) for use in unit_uses(metrics)] == [
        ("l2", 61.0),
        ("issue", 10.0),
    ]


def test_the_two_percentages_alone_are_used_as_they_are():
    metrics = PlainMetrics({MEMORY + ELAPSED: 80.0, SM + ELAPSED: 20.0})

    assert [use.unit for use in unit_uses(metrics)] == ["other_memory", "other_compute"]


def test_a_throughput_above_all_of_its_members_has_a_member_that_is_not_listed():
    metrics = PlainMetrics(breakdown(SM, {"sm__issue_active": 20.0}) | {SM + ELAPSED: 80.0})

    assert [(use.unit, use.percent) for use in unit_uses(metrics)] == [
        ("other_compute", 80.0),
        ("issue", 20.0),
    ]


def test_a_throughput_whose_members_cannot_be_read_stands_for_them():
    listed: dict[str, float | str | None] = {
        MEMORY + ELAPSED: 70.0,
        f"breakdown:{MEMORY}{ELAPSED}": f"dram__cycles_active{ELAPSED}",
    }

    assert [(use.unit, use.percent) for use in unit_uses(PlainMetrics(listed))] == [
        ("other_memory", 70.0)
    ]


def test_passes_of_one_kernel_may_differ():
    metrics = PlainMetrics(breakdown(MEMORY, {"lts__t_sectors": 2.95}) | {MEMORY + ELAPSED: 3.13})

    assert [use.unit for use in unit_uses(metrics)] == ["l2"]


def test_a_negative_percentage_measured_nothing():
    assert unit_uses(PlainMetrics({f"lts__t_sectors{ELAPSED}": -3.0})) == ()


def test_nan_is_no_utilisation():
    assert unit_uses(PlainMetrics({MEMORY + ELAPSED: None, SM + ELAPSED: None})) == ()


def test_percentages_above_100_are_kept():
    metrics = PlainMetrics(breakdown(MEMORY, {"dram__cycles_active": 108.5}))

    assert unit_uses(metrics)[0].percent == 108.5


@given(
    st.dictionaries(
        st.sampled_from(["dram__a", "lts__b", "l1tex__c", "q__d"]), st.floats(0, 200), min_size=1
    )
)
def test_the_busiest_unit_is_the_throughput(members):
    metrics = PlainMetrics(breakdown(MEMORY, members))

    assert max(use.percent for use in unit_uses(metrics)) == metrics.number(MEMORY + ELAPSED)


def test_a_unit_that_stands_for_several_comes_behind_one_as_busy():
    metrics = PlainMetrics(
        breakdown(SM, {"sm__pipe_shared_cycles_active": 78.2, "sm__pipe_tensor_cycles_active": 78})
    )

    assert [use.unit for use in unit_uses(metrics)] == ["tensor", "shared_pipe"]
