from __future__ import annotations

import re
from dataclasses import replace

import pytest

from roofline.model import (
    Action,
    Analysis,
    Bound,
    Confidence,
    Device,
    Kind,
    Missing,
    Note,
    Result,
    Rule,
    Source,
    Verdict,
)
from roofline.render import markdown, overview, table
from roofline.text import console
from roofline.view import Choice, choose, chosen, devices
from tests.makers import TOY_DEVICE, analysis, group, measurement, result, unit, verdict

GEMM = "void ns::gemm_kernel<(int)128, ns::Policy<float, 4>>(float *, float *)"
LOCKED = Note(code="computed", facts={"by": "clocks were locked"})
NO_BYTES = Missing(
    quantity="dram_bytes", flag="--metrics dram__bytes_read.sum,dram__bytes_write.sum"
)
NO_STALLS = Missing(quantity="stalls", flag="--section WarpStateStats")


def gemm() -> Result:
    return result(
        measurement(
            "gemm_kernel",
            demangled=GEMM,
            duration_s=3e-3,
            units=(unit("l1", 50.0), unit("issue", 77.7), unit("fma", 97.0)),
        ),
        verdict(
            bound=Bound.COMPUTE,
            limiter="fma",
            limiter_percent=97.0,
            nearest="fma",
            floor_s=2e-3,
            next_limiter="issue",
            next_floor_s=1.5e-3,
            advice="unit.fma",
        ),
    )


def tiny() -> Result:
    return result(
        measurement(
            "tiny",
            duration_s=1e-3,
            dram_bytes=None,
            notes=(LOCKED,),
            missing=(NO_BYTES, NO_STALLS),
            units=(unit("dram", 0.4),),
        ),
        verdict(
            bound=Bound.LATENCY,
            limiter=None,
            cause="grid_too_small",
            confidence=Confidence.LOW,
            floor_s=None,
            next_floor_s=None,
            advice="cause.grid_too_small",
        ),
    )


def unknown() -> Result:
    return result(
        measurement("nothing", duration_s=None, units=(), operations={}, dram_bytes=None),
        Verdict(bound=Bound.UNKNOWN, cause="not_measured"),
    )


def lines_of(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if word in line]


def test_a_row_says_what_limits_why_and_what_can_be_saved():
    text = table.render(analysis(tiny(), gemm()), width=120)
    first = next(line for line in text.splitlines() if line.startswith("1"))

    # 3 of 4 ms; at most 1 / 0.9 times faster: 3 ms x (1 - 0.9).
    assert re.search(
        r"^1  gemm_kernel<128, \S+  3\.00 ms   75 %  FMA pipe +97 %  no waste is proven; next: "
        r"issue slots 78 % +300 µs$",
        first,
    )


def test_the_cause_stands_below_its_row_where_it_is_narrow():
    lines = table.render(analysis(tiny(), gemm()), width=80).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("1  "))

    assert lines[first + 1] == "   no waste is proven; next: issue slots 78 %"
    assert re.search(r"^2  tiny .* 1\.00 ms +25 %  latency ", lines[first + 2])


def test_wide_terminals_show_the_grid_and_the_second_unit():
    text = table.render(analysis(gemm()), width=160)

    assert re.search(r"gemm_kernel\S* .*100 / 256 .* FMA pipe +97 %  issue slots 78 % ", text)
    assert "grid" not in table.render(analysis(gemm()), width=120)


def test_what_is_best_left_alone_saves_nothing():
    full = verdict(action=Action.LEAVE, action_reason="near_ceiling")
    text = table.render(analysis(result(judged=full)), width=120)

    assert re.search(r"DRAM +90 % +near its ceiling: leave it, or move fewer bytes +-$", text, re.M)
    assert "Try" not in text


def test_a_full_unit_whose_work_can_be_lowered_is_told_how():
    full = {"limiter": "lsu", "nearest": "lsu", "advice": "unit.lsu", "limiter_percent": 98.0}
    floors = {"floor_s": 3.92e-3, "next_floor_s": 2e-3, "gain": 1 / 0.98}
    full |= floors | {"gain_by": "headroom", "next_limiter": "dram"}
    left = verdict(action=Action.LEAVE, action_reason="near_ceiling", **full)
    text = table.render(analysis(result(measurement(duration_s=4e-3), left)), width=140)

    why = "near its ceiling: only less work helps: fewer, wider memory instructions"
    assert re.search(rf"LSU path +98 % .*{why[:40]}.* +-$", text, re.M)
    tried = text.partition("\nTry")[2]
    assert why in tried
    assert "with less work for it: up to 2.00x (4.00 -> 2.00 ms), then DRAM" in " ".join(
        tried.split()
    )


def test_ranked_by_time_with_words_for_every_bound():
    text = table.render(analysis(unknown(), tiny(), gemm()), width=120)

    rows = text.partition("\nTry")[0]
    order = [m.group(1) for m in re.finditer(r"^[123]  (\w+)", rows, re.MULTILINE)]
    assert order == ["gemm_kernel", "tiny", "nothing"]
    assert "grid too small" in text
    assert re.search(r"^3  nothing +- .* unknown +-", text, re.MULTILINE)
    assert "Not measured" in text


def test_low_confidence_is_marked_and_told():
    text = table.render(analysis(tiny()), width=120)

    assert "90 %?" in text
    assert "? after the per cent: confidence low, --explain says why" in text
    assert "confidence" not in table.render(analysis(gemm()), width=120)


def test_the_head_says_what_was_read():
    text = table.render(analysis(tiny(), gemm()), width=120)

    assert text.splitlines()[0] == (
        "NVIDIA Toy, 2 launches of 2 kernels, 4.00 ms under ncu (SM 1.00 GHz, DRAM 1.00 GHz), in "
        "toy.ncu-rep"
    )
    assert "share = share of the profiled time, not of a step" in text


def test_the_head_counts_the_gpus_of_all_that_was_read():
    other = result(measurement("k", device=Device(name="Other GPU"), duration_s=1e-6))
    text = table.render(choose(analysis(gemm(), other), Choice(top=1)), width=120)

    assert text.startswith("2 kinds of GPU, 2 launches of 2 kernels, ")
    assert "\nShown: 1 launch of 1 kernel (--top 1)" in text
    assert "\nNVIDIA Toy at SM 1.00 GHz, DRAM 1.00 GHz: 1 launch\n" in text.replace(
        " (cc 8.0, 100 SMs)", ""
    )
    assert "Other GPU" not in text


def test_what_could_be_saved_is_a_bound_with_why_and_what_to_try():
    text = " ".join(table.render(analysis(gemm()), width=140).split())

    assert "Try 1 gemm_kernel<128, Policy<float, 4>> saves up to 300 µs" in text
    assert "why no waste is proven; next: issue slots 78 % try " in text
    # 3 ms to 2 ms is 1.5x, to 1.5 ms is 2x.
    assert "gain headroom: up to 1.50x (3.00 -> 2.00 ms) until the FMA pipe is full" in text
    assert "with less work for it: up to 2.00x (3.00 -> 1.50 ms), then issue slots" in text


def test_the_largest_savings_come_first_and_small_ones_do_not():
    kernels = (
        result(measurement(name, duration_s=seconds), verdict(gain=gain))
        for name, seconds, gain in (("a", 1e-3, 2.0), ("b", 3e-3, 4.0), ("c", 5e-5, 1.1))
    )
    text = table.render(analysis(*kernels), width=120).split("\nTry\n")[1]

    # 3 ms x (1 - 1/4), 1 ms x (1 - 1/2); 50 us x (1 - 1/1.1) is nothing beside them.
    assert re.findall(r"^(\d)  (\w) +saves up to (.*)$", text, re.MULTILINE) == [
        ("1", "b", "2.25 ms"),
        ("2", "a", "500 µs"),
    ]


def test_advice_that_is_the_same_is_given_once():
    twins = [
        replace(gemm(), measurement=replace(gemm().measurement, grid=(n, 1, 1))) for n in (1, 2)
    ]

    text = table.render(analysis(*twins), width=120)

    assert len(lines_of(text, "saves up to")) == 1
    assert "1, 2  gemm_kernel" in text


def test_gaps_and_notes_are_said_once_with_one_command():
    other = result(measurement("other", duration_s=1e-4, missing=(NO_STALLS,)))
    text = " ".join(table.render(analysis(gemm(), tiny(), other), width=160).split())

    assert "Not measured: DRAM bytes (#2), stall reasons (#2, #3)." in text
    assert (
        "ncu --section WarpStateStats --metrics dram__bytes_read.sum,dram__bytes_write.sum" in text
    )
    assert "clocks were locked (#2)" in text


def test_co_limited_names_the_other_unit():
    near = replace(gemm(), verdict=replace(gemm().verdict, co_limiter="issue"))

    assert "as near: issue slots 78 %" in table.render(analysis(near), width=120)


@pytest.mark.parametrize("width", [60, 80, 96, 100, 120, 160, 200])
@pytest.mark.parametrize("launches", [False, True])
def test_no_line_is_wider_than_the_terminal(width, launches):
    long = result(measurement("k" * 300, demangled=GEMM.replace("gemm", "g" * 200)))
    text = table.render(
        analysis(gemm(), tiny(), unknown(), long), width=width, launches=launches, color=False
    )

    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
    for word in ("FMA", "latency", "unknown", "DRAM"):
        assert word in text


def test_colour_only_adds_to_the_words():
    plain = table.render(analysis(gemm(), tiny()), width=100)
    coloured = table.render(analysis(gemm(), tiny()), width=100, color=True)

    assert "\x1b[" in coloured
    without = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [x.rstrip() for x in without.splitlines()] == plain.splitlines()


def test_what_a_limit_leaves_out_is_counted():
    many = analysis(*(result(measurement(f"k{i}", duration_s=1e-3 * (i + 1))) for i in range(7)))

    text = table.render(many, limit=2)

    assert re.search(r"^2  k5", text, re.MULTILINE)
    assert "k4" not in text
    assert "... and 5 kernels more: --top N shows N" in text


def test_filters_are_said():
    text = table.render(choose(analysis(gemm(), tiny()), Choice(top=1)), width=120)

    assert (
        "Shown: 1 launch of 1 kernel (--top 1); shares are still of all that was profiled" in text
    )
    assert "75 %" in text


def test_launches_show_where_they_are():
    first = result(measurement("k", index=3, source="a.ncu-rep"))
    second = result(measurement("k", index=0, source="b.ncu-rep", duration_s=2e-3))
    both = replace(
        analysis(first, second),
        sources=(Source(path="a.ncu-rep", launches=1), Source(path="b.ncu-rep", launches=1)),
        groups=(group(first, second, positions=(0, 1)),),
    )

    text = table.render(both, launches=True, width=120)

    assert re.search(r"^1  k +b +#0 .*\n1  k +a +#3 ", text, re.MULTILINE)  # one kernel
    assert "2 launches of 1 kernel" in text
    assert "in 2 files" in text


def two_files(*devices: Device) -> Analysis:
    """The same kernel in two files."""
    pair = [
        result(measurement("k", source=f"{name}.ncu-rep", device=device))
        for name, device in zip(("before", "after"), devices, strict=True)
    ]
    sources = tuple(Source(path=r.measurement.source, launches=1) for r in pair)
    groups = tuple(group(r, positions=(i,)) for i, r in enumerate(pair))
    return Analysis(sources=sources, results=tuple(pair), groups=groups, rule=Rule())


def test_two_captures_are_two_rows_of_a_kernel_with_their_files():
    for text in (
        table.render(two_files(TOY_DEVICE, TOY_DEVICE), width=120),
        markdown.render(two_files(TOY_DEVICE, TOY_DEVICE)),
    ):
        flat = " ".join(re.sub(r"[|`*\\]", " ", text).split())
        assert "2 launches of 1 kernel, 2.00 ms under ncu" in flat
        told = "roofline compare before.ncu-rep after.ncu-rep says what changed" in flat
        assert told is not text.startswith("**")  # a comment has no folders, so no command
        assert re.search(r"1 k before (1 )?1.00 ms 100 % DRAM 90 %", flat)
        assert re.search(r"2 k after (1 )?1.00 ms 100 % DRAM 90 %", flat)
        assert "before.ncu-rep, after.ncu-rep: k is limited by DRAM, 90 % busy." in flat
        assert "of its file" in flat


def test_gpus_of_one_name_have_a_column_with_their_index():
    twins = [replace(TOY_DEVICE, index=i) for i in (0, 3)]
    text = table.render(replace(two_files(*twins), merged=True), width=120)

    assert text.startswith("2x NVIDIA Toy, 2 launches of 1 kernel")
    assert re.search(r"^#  kernel  GPU +time", text, re.MULTILINE)
    assert re.search(r"^1  k +0 .*\n2  k +3 ", text, re.MULTILINE)
    assert "each kernel summed over them (--merge)" in " ".join(text.split())


def test_each_gpu_has_its_sentence_whose_shares_are_those_of_the_table():
    first = result(measurement("a", device=TOY_DEVICE, duration_s=3e-3))
    other = Device(name="Other GPU", compute_capability="8.0", sm_count=100, index=0)
    second = result(measurement("b", device=other, duration_s=1e-3), verdict(limiter_percent=70.0))
    both = analysis(first, second)  # a share is of one GPU's time
    both = replace(both, groups=tuple(replace(g, share=1.0) for g in both.groups))
    text = table.render(both, width=120)

    assert "\nToy: a is limited by DRAM, 90 % busy." in text
    assert "\nOther GPU: b is limited by DRAM, 70 % busy." in text
    assert re.search(r"^2  b +Other GPU  1.00 ms  100 %", text, re.MULTILINE)


def test_captures_of_different_gpus_are_not_told_to_be_compared():
    both = two_files(TOY_DEVICE, replace(TOY_DEVICE, name="another GPU"))

    assert "roofline compare" not in table.render(both, width=120)


def test_of_many_files_those_with_most_time_have_a_sentence():
    results = [
        result(measurement(f"k{i}", source=f"{i}.ncu-rep", duration_s=i * 1e-3))
        for i in range(1, 7)
    ]
    many = replace(
        analysis(*results),
        sources=tuple(Source(path=f"{i}.ncu-rep", launches=1) for i in range(1, 7)),
    )
    text = table.render(many, width=120)

    assert [i for i in range(1, 7) if f"\n{i}.ncu-rep: k{i} is limited" in text] == [3, 4, 5, 6]
    assert "\n... and 2 more files\n" in text


@pytest.mark.parametrize("width", [72, 80, 100])
def test_files_and_gpus_leave_the_kernels_room(width):
    names = ["an_odd_name_of_a_report_that_is_long", "b"]
    results = [
        result(
            measurement(
                "a_kernel_of_many_letters_in_its_name",
                source=f"{name}.ncu-rep",
                device=Device(name=gpu, index=0),
            )
        )
        for name, gpu in zip(names, ("NVIDIA H100 80GB HBM3", "Tesla V100-SXM2"), strict=True)
    ]
    both = replace(
        analysis(*results), sources=tuple(Source(path=f"{n}.ncu-rep", launches=1) for n in names)
    )
    rows = re.findall(r"^[12] .* µs$", table.render(both, width=width), re.MULTILINE)

    assert len(rows) == 2
    assert all(len(row) <= width for row in rows)


def test_long_file_names_show_where_they_differ():
    names = ["a_long_name_of_a_project_run_one.ncu-rep", "a_long_name_of_a_project_run_two.ncu-rep"]
    both = two_files(TOY_DEVICE, TOY_DEVICE)
    pair = [
        replace(r, measurement=replace(r.measurement, source=name))
        for r, name in zip(both.results, names, strict=True)
    ]
    whole = replace(
        both,
        sources=tuple(Source(path=name, launches=1) for name in names),
        results=tuple(pair),
        groups=tuple(group(r, positions=(i,)) for i, r in enumerate(pair)),
    )

    assert re.search(r"^1  k +…one .*\n2  k +…two ", table.render(whole, width=120), re.MULTILINE)


def test_several_gpus_and_ranges():
    span = result(measurement("range", kind=Kind.RANGE, grid=None, block=None))
    elsewhere = result(measurement("k", device=Device(name="Other GPU"), sm_clock_hz=None))
    text = table.render(analysis(span, elsewhere), width=120)

    assert "NVIDIA Toy (cc 8.0, 100 SMs) at SM 1.00 GHz, DRAM 1.00 GHz: 1 launch" in text
    assert "Other GPU at DRAM 1.00 GHz: 1 launch" in text
    assert re.search(r"^#  kernel  GPU +time", text, re.MULTILINE)
    assert re.search(r" range +Toy +1\.00 ms", text)


def test_clocks_that_differ_are_a_span():
    slow = result(measurement("slow", sm_clock_hz=0.9e9, dram_clock_hz=0.8e9))
    text = table.render(analysis(slow, result(measurement("fast", dram_clock_hz=0.9e9))))

    assert "under ncu (SM 900 MHz to 1.00 GHz, DRAM 800 to 900 MHz)" in text


# --- Markdown ---------------------------------------------------------------------------------


def cells(text: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_markdown_is_a_table_of_equal_rows():
    head, align, *rows = cells(markdown.render(analysis(tiny(), gemm())))

    assert len(head) == len(align) == 8
    assert [len(row) for row in rows] == [8, 8]
    assert rows[0] == [
        "1",
        "`gemm_kernel<128, Policy<float, 4>>`",
        "1",
        "3.00 ms",
        "75 %",
        "**FMA pipe** 97 %",
        "no waste is proven; next: issue slots 78 %",
        "**300 µs**",
    ]


def test_markdown_is_short():
    many = analysis(*(result(measurement(f"k{i}")) for i in range(30)))
    text = markdown.render(many)

    assert len(cells(text)) == 2 + markdown.ROWS
    assert "... and 20 kernels more" in text
    assert len(cells(markdown.render(many, limit=None))) == 32


@pytest.mark.parametrize("name", ["a|b", "a`b", "<script>alert(1)</script>", "a\nb"])
def test_names_cannot_break_out_of_a_cell(name):
    waits = verdict(bound=Bound.LATENCY, limiter=None, cause=name)
    hostile = result(measurement(name, demangled=name), waits)
    text = markdown.render(analysis(hostile))

    assert [len(row) for row in cells(text)] == [8, 8, 8]
    outside_code = re.sub(r"`[^`]*`", "", text).replace("<sub>", "").replace("</sub>", "")
    assert not re.search(r"(?<!\\)<", outside_code)


def test_a_note_of_many_files_is_said_once():
    def said(text: str) -> Note:
        return Note(code="computed", facts={"by": text})

    def sources(*notes: str) -> tuple[Source, ...]:
        return tuple(
            Source(
                path=f"{i}.ncu-rep", launches=1, notes=(Note(code="computed", facts={"by": text}),)
            )
            for i, text in enumerate(notes)
        )

    part = chosen(replace(analysis(result(measurement())), sources=sources("a", "b", "a")))
    assert list(overview.source_notes(part)) == ["2 of 3 files: a", "1.ncu-rep: b"]
    part = chosen(replace(analysis(result(measurement())), sources=sources("a", "a")))
    assert list(overview.source_notes(part)) == ["2 files: a"]


def test_gpus_that_look_alike_are_one():
    one, other = Device(name="T4", sm_count=40), Device(name="T4", sm_count=40, pci_device_id="x")
    smaller = Device(name="T4", sm_count=20)
    both = analysis(*(result(measurement(device=d)) for d in (one, other, smaller)))

    used = devices(both.results)

    assert [(u.device.sm_count, u.launches) for u in used] == [(40, 2), (20, 1)]


def test_a_gap_in_the_units_does_not_deny_those_that_were_measured() -> None:
    # Only throughputs: DRAM is there, the units of the SM are not.
    only = measurement("copy", units=(unit("dram", 90.0),))
    gap = Missing(quantity="utilization", flag="--section SpeedOfLight")
    text = table.render(analysis(result(only, verdict(missing=(gap,)))), width=120)

    assert re.search(r"DRAM +90 %", text)
    said = "To collect: ncu --section SpeedOfLight -o REPORT PROGRAM"
    assert f"Not measured: utilisation unit by unit. {said}" in " ".join(text.split())


@pytest.mark.parametrize(("width", "shown"), [(139, False), (140, True)])
def test_what_is_reached_of_the_roof_where_there_is_room(width, shown):
    found = analysis(result(measurement(), verdict(ceiling_percent=57.4)))

    text = table.render(chosen(found), width=width)

    assert ("of roof" in text) is shown
    assert ("57 %" in text) is shown
    assert "of roof" not in table.render(chosen(analysis(result(measurement()))), width=width)


@pytest.mark.parametrize("width", range(60, 90))
def test_a_number_and_its_unit_stand_on_one_line(width):
    text = console.to_text(
        [
            console.prose(
                "from 675 µs to 1.65 TFLOP/s of 3.35 TB/s at 1.59 GHz, 92 % of 2.50 ms " * 3
            )
        ],
        width=width,
        color=False,
    )

    assert not re.search(r"^(%|µs|ms|TFLOP|TB|GHz)", text, re.MULTILINE)
    assert "from 675 µs to" in " ".join(text.split())


def test_a_smaller_share_is_not_written_as_a_larger_one():
    shares = (0.404, 0.079, 0.004, 0.0004, None)
    rows = [table.Row(result=result(), share=share) for share in shares]

    assert [table.share(row) for row in rows] == ["40 %", "7.9 %", "0.4 %", "<0.1 %", "-"]
