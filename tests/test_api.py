"""The commands as functions: the same answers, from files as well as from values."""

import inspect
from pathlib import Path

import pytest

import roofline
from roofline import api
from roofline.errors import ARGUMENTS, InputError, UsageError, typed
from roofline.timeline import load_timeline
from roofline.timeline.model import Move

SAMPLES = Path(__file__).parents[1] / "sample_reports"
MIX = SAMPLES / "h100_mix.ncu-rep"
STEP = SAMPLES / "h100_step.trace.json.gz"
BEFORE, AFTER = (SAMPLES / f"h100_decode_{side}.ncu-rep" for side in ("before", "after"))


def test_parts_of_the_package_are_functions_of_the_same_name():
    from roofline import compare, plot
    from roofline.compare.judge import compare as judged

    assert (roofline.plot, roofline.compare) == (plot, compare)
    assert plot.picture.__module__ == "roofline.plot"
    assert inspect.signature(plot) == inspect.signature(api.plot)
    assert inspect.signature(compare) != inspect.signature(judged)
    assert set(roofline.__all__) >= {"compare", "plot", "select"}


def test_two_reports_are_compared_with_predictions_and_gates():
    found = roofline.compare(
        BEFORE, str(AFTER), expect="gemv=1.2x", because=["gemv=bytes"], fail_on="regression=5%"
    )
    (pair,) = found.pairs

    assert found.before_paired_s > found.after_paired_s
    judged = [one.judgement for one in pair.predictions if one.by == "user"]
    assert judged == ["exceeded", "confirmed"]  # 1.81x where 1.2x was said
    assert [gate.status for gate in found.gates] == ["passed"]
    analyses = [roofline.analyze(path, merge=True) for path in (BEFORE, AFTER)]
    assert roofline.compare(*analyses).pairs[0].outcome == pair.outcome


def test_a_timeline_is_no_capture():
    with pytest.raises(UsageError, match="is a timeline"):
        roofline.compare(STEP, AFTER)


def test_what_is_expected_of_the_step_needs_the_program_s_times():
    with pytest.raises(UsageError, match="is of the program's time, not of a kernel"):
        roofline.compare(BEFORE, AFTER, expect="step=2x")


def test_a_selection_is_made_as_by_the_command():
    found = roofline.select(STEP, top=1, min_share=0.0)

    assert len(found.requests) == 1
    assert found.selected.lanes
    assert found.plot()._repr_mimebundle_()["image/svg+xml"].startswith("<svg ")


def test_a_move_is_a_text_or_a_value():
    said = roofline.select(STEP, moves="kernels=2x", lanes=False)
    given = roofline.select(STEP, moves=[Move(what="kernels", factor=0.5)], lanes=False)

    assert said.what_if == given.what_if is not None
    with pytest.raises(UsageError, match="is not understood"):
        roofline.select(STEP, moves="kernels")


def test_one_number_keeps_one_step():
    found = roofline.select(STEP, keep=2)

    assert found == roofline.select(STEP, keep=(2, 2))
    assert [s.number for s in found.selected.steps if s.left_out is None] == [2]


def test_a_gpu_is_meant_by_a_part_of_its_name():
    name = load_timeline(STEP).devices[0].name

    assert roofline.select(STEP, device=name[-4:].lower()) == roofline.select(STEP, device=0)
    with pytest.raises(UsageError, match="means no GPU"):
        roofline.select(STEP, device="MI300X")


def test_of_several_timelines_those_that_cannot_be_read_are_told(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    refused: list[InputError] = []

    found = roofline.select(broken, STEP, on_error=refused.append)

    assert found.file == STEP.name
    assert len(refused) == 1
    with pytest.raises(InputError, match="broken"):
        roofline.select(broken, STEP)
    with pytest.raises(InputError, match="no timeline can be read"):
        roofline.select(broken, broken.rename(tmp_path / "b.json"), on_error=refused.append)


def test_a_picture_is_of_the_kernels_that_are_chosen(tmp_path):
    drawn = roofline.plot(MIX, tmp_path / "a.svg", view="units", kernels="norm", theme="dark")

    assert [mark.result.measurement.name for mark in drawn.marks] == ["rmsnorm_fwd"]
    assert (tmp_path / "a.svg").read_text("utf-8").startswith("<?xml")
    with pytest.raises(UsageError, match="exists"):
        roofline.plot(MIX, tmp_path / "a.svg")
    page = roofline.plot(MIX, tmp_path / "a.html", kernels="norm")
    assert (tmp_path / "a.html").read_text("utf-8") == page.html
    assert "rmsnorm_fwd" in page.title
    assert len(roofline.plot(roofline.analyze(MIX), view="gain", top=2).marks) == 2
    assert len(roofline.plot(MIX, view="units", launches=True).marks) == 10


def test_what_cannot_be_chosen_is_refused():
    analysis = roofline.analyze(MIX)

    with pytest.raises(UsageError, match="no kernel matches 'nomr'"):
        roofline.plot(analysis, kernels="nomr")
    with pytest.raises(UsageError, match="no launch on 'A100'"):
        roofline.plot(analysis, devices="A100")
    with pytest.raises(UsageError, match="only of an analysis"):
        roofline.plot(analysis[0], top=3)


def test_a_timeline_is_drawn_as_lanes():
    assert roofline.plot(STEP).table


# --- arguments ----------------------------------------------------------------------------------

TINY = SAMPLES / "a100_tiny.ncu-rep"
STATED = roofline.Point("x", gpu="h100", seconds=1e-3, flops=5e9)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        # A percentage, as the command takes it, is no fraction; nor is nan within any range.
        (lambda: roofline.compare(BEFORE, AFTER, noise=3), "noise is 3: .* from 0 to 1"),
        (lambda: roofline.compare(BEFORE, AFTER, noise=-1), "noise is -1"),
        (lambda: roofline.compare(BEFORE, AFTER, noise=float("nan")), "noise is nan"),
        (lambda: roofline.compare(BEFORE, AFTER, noise="3%"), "noise is '3%'"),
        (lambda: roofline.compare(BEFORE, TINY, allow="gpus"), "allow is 'gpus'"),
        (lambda: roofline.compare(BEFORE, AFTER, allow=["zzz"]), "gpu, kind, rule, all"),
        (
            lambda: roofline.compare(BEFORE, AFTER, maps=[("a", "b", "c")]),
            "a dictionary or several",
        ),
        (lambda: roofline.compare([BEFORE], AFTER), "before is "),
        (lambda: roofline.compare(BEFORE, AFTER, maps=3), "maps is 3"),
        (lambda: roofline.compare(BEFORE, AFTER, fail_on=3), "a text or several"),
        (lambda: roofline.compare(BEFORE, AFTER, expect=1.4), "a text, a dictionary or several"),
        (lambda: roofline.compare(BEFORE, AFTER, expect=[1.4]), "try: expect={'gemm': 1.4}"),
        (lambda: roofline.analyze(MIX, reader="xyz"), "'protobuf' or 'ncu-report'"),
        (lambda: roofline.analyze(MIX, reader="ncu_report"), "reader is 'ncu_report'"),
        (lambda: list(roofline.read(MIX, reader="xyz")), "reader is 'xyz'"),
        (lambda: roofline.analyze([MIX]), r"analyze\(\*paths\)"),
        (lambda: roofline.analyze(MIX, rule=60), "rule is 60"),
        (lambda: roofline.analyze(points="h100"), "points is 'h100'"),
        (lambda: roofline.analyze(MIX, specs=3), "specs is 3.*\n.*a text or a path"),
        (lambda: roofline.analyze(MIX, on_error=3), "on_error is 3.*\n.*a function"),
        (lambda: roofline.read(5), r"paths is 5.*\n.*read\(\*paths\)"),
        (lambda: roofline.to_frame(roofline.analyze(MIX), launches="no"), "True or False"),
        (lambda: roofline.bench(3), "function is 3"),
        (lambda: roofline.region(5), "name is 5"),
        (lambda: roofline.region(""), "name is ''"),
        (lambda: roofline.Rule(latency=101), "latency is 101"),
        (lambda: roofline.details_of(roofline.analyze(MIX), []), "number of positions is 0"),
        (lambda: roofline.details_of(roofline.analyze(MIX), [10]), "from 0 to 9"),
        (lambda: roofline.details_of(roofline.analyze(points=STATED), 1), "try: position=0"),
        (lambda: roofline.details_of(a := roofline.analyze(MIX), a[0]), r"position is Group\("),
        (lambda: roofline.select(STEP, keep="inside"), "keep is 'inside'"),
        (
            lambda: roofline.select(STEP, keep="4"),
            r"keep is '4'(?s:.*)numbers of steps from 1, \(2, 5",
        ),
        (lambda: roofline.select(STEP, keep=0), r"keep\[0\] is 0"),
        (lambda: roofline.select(STEP, keep=True), r"keep\[0\] is True"),
        (lambda: roofline.select(STEP, keep=(3, 2)), r"keep\[1\] is 2"),
        (lambda: roofline.select(STEP, top=-1), "top is -1"),
        (lambda: roofline.select(STEP, step=5), "step is 5"),
        (lambda: roofline.select(STEP, moves=5), "moves is 5"),
        (lambda: roofline.select(STEP, start=5, end=3), "end is 3: .* at least 6"),
        (lambda: roofline.select(STEP, device=1.5), "device is 1.5"),
        (lambda: roofline.select(STEP, step_at=5000), "step_at is 5000"),
        (lambda: roofline.select(STEP, step_at=0), "above 0"),
        (lambda: roofline.select(STEP, min_share=5), "min_share is 5"),
        (lambda: roofline.select([STEP]), r"select\(\*timelines\)"),
        (lambda: roofline.plot(MIX, top=-1), "top is -1"),
        (lambda: roofline.plot(MIX, kernels=5), "a text, a compiled expression or several"),
        (lambda: roofline.plot(MIX, kernels={"gemm": 2}), "kernels is {'gemm': 2}"),
        (lambda: roofline.plot(3), "shown is 3"),
        (lambda: roofline.analyze(MIX).plot(5), "view is 5"),
        (lambda: roofline.analyze(MIX).plot(title=5), "title is 5"),
        (lambda: roofline.analyze(MIX).plot(width_px="a"), "width_px is 'a'"),
        (lambda: roofline.analyze(MIX).plot(datasheet="no"), "datasheet is 'no'"),
        (lambda: roofline.analyze(MIX).plot().save(3), "path is 3"),
        (lambda: roofline.analyze(MIX).page().save(3), "path is 3"),
        (lambda: roofline.plot(MIX, sort="beauty"), "sort is 'beauty'"),
        (lambda: roofline.plot(MIX, dpi=1), "dpi is 1"),
        (lambda: roofline.analyze(MIX).plot(width=300), "'width'.*\n.*width_px"),
        (lambda: roofline.profile(None), "a function or several, each a text or a path"),
        (lambda: roofline.profile([]), "target is empty"),
        (lambda: roofline.profile("python a.py"), r"target=\['python', 'a.py'\]"),
        (lambda: roofline.profile(["true"], kernels=5), "kernels is 5"),
        (lambda: roofline.profile(["true"], level="ful"), "level is 'ful'"),
        (lambda: roofline.profile(["true"], launch_count=0), "launch_count is 0"),
        (lambda: roofline.profile(["true"], timeout_s=0), "timeout_s is 0"),
        (lambda: roofline.Point("x", gpu="h100", seconds=float("nan")), "seconds=3.1e-3"),
        (lambda: roofline.Point("x", gpu="", seconds=1, flops=1), "gpu is empty"),
        (lambda: roofline.Point(3, gpu="h100", seconds=1, flops=1), "name is 3"),
        (lambda: roofline.Point("x", gpu="h100", seconds="3.1ms"), "seconds is '3.1ms'"),
    ],
)
def test_an_argument_is_refused_by_its_name(call, said):
    with pytest.raises(roofline.ArgumentError, match=said) as caught:
        call()

    for kind in (roofline.RooflineError, TypeError, ValueError):
        assert isinstance(caught.value, kind)
    assert caught.value.hint


def test_one_is_taken_as_well_as_several():
    assert roofline.analyze(points=STATED) == roofline.analyze(points=[STATED])
    analysis = roofline.analyze(MIX)
    assert analysis.plot("roofline", levels="l2").marks == (
        analysis.plot(("roofline",), levels=("l2",)).marks
    )
    (name,) = {g.result.measurement.name for g in roofline.analyze(BEFORE)}
    found = [roofline.compare(BEFORE, AFTER, maps=m) for m in ([(name, "gemv")], {name: "gemv"})]
    assert found[0] == found[1] == roofline.compare(BEFORE, AFTER, maps=f"{name}=gemv")


def test_predictions_and_moves_are_texts_pairs_or_a_dictionary():
    said = roofline.compare(BEFORE, AFTER, expect="gemv=1.2x", because="gemv=bytes")
    for expect in (
        {"gemv": 1.2},
        {"gemv": "1.2x"},
        [("gemv", 1.2)],
        (one for one in ["gemv=1.2x"]),
    ):
        assert roofline.compare(BEFORE, AFTER, expect=expect, because={"gemv": "bytes"}) == said
    moves = roofline.select(STEP, moves=["gaps=0", "kernels=2x"]).what_if.moves
    assert roofline.select(STEP, moves={"gaps": 0, "kernels": 2}).what_if.moves == moves


def test_a_prediction_of_no_kernel_is_refused():
    for option in ({"expect": "zzz=1.4x"}, {"because": {"zzz": "dram"}}):
        with pytest.raises(roofline.NoKernelError, match=r"'zzz'\n.*gemv"):
            roofline.compare(BEFORE, AFTER, **option)


def test_python_says_what_is_wrong_with_a_call():
    with pytest.raises(TypeError, match=r"compare\(\) missing 1 required positional argument"):
        roofline.compare(BEFORE)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stp'"):
        roofline.select(STEP, stp="a")


def test_a_path_may_be_a_text(tmp_path):
    (tmp_path / "idle.toml").write_text("")

    assert roofline.analyze(points=STATED, specs=str(tmp_path)).results
    peaks = tmp_path / "peaks.toml"
    peaks.write_text('device = "NVIDIA H100 80GB HBM3"\ndram_bytes_per_s = 3e12\n')
    for given in (str(peaks), [peaks]):
        achieved = roofline.analyze(MIX, achieved=given)[0].result.peaks.achieved
        assert achieved is not None
        assert achieved.dram_bytes_per_s == 3e12
    with pytest.raises(InputError, match=r"nothing\.toml"):
        roofline.select(STEP, idle_causes=str(tmp_path / "nothing.toml"))


def test_help_tells_the_arguments():
    for function in (roofline.compare, roofline.plot):
        for name in inspect.signature(function).parameters:
            assert f"        {name}: " in function.__doc__, name
        assert "Raises:" in function.__doc__
    assert "roofline.compare(before" in roofline.compare.__doc__


@pytest.mark.parametrize("name", [n for n in roofline.__all__ if n[0].islower()])
def test_every_argument_of_a_function_is_told(name):
    function = getattr(roofline, name)
    said = inspect.getdoc(function)
    parameters = inspect.signature(function).parameters

    assert [p for p in parameters if f"{p}: " not in said and f"``{p}``" not in said] == []


def test_errors_are_public_and_of_the_kinds_that_python_expects():
    public = {n for n in roofline.__all__ if n.endswith("Error")}

    assert public == {
        *("ArgumentError", "CaptureError", "InputError", "NoKernelError"),
        *("ProgramError", "RooflineError", "UsageError"),
    }
    assert all(issubclass(getattr(roofline, n), roofline.RooflineError) for n in public)
    analysis = roofline.analyze(MIX)
    for error in (KeyError, roofline.NoKernelError):
        with pytest.raises(error, match="no kernel matches 'nonexist'"):
            analysis["nonexist"]
    with pytest.raises(TypeError, match="kernel is None"):
        analysis[None]


def test_an_analysis_is_a_sequence_of_kernels_that_names_find():
    analysis = roofline.analyze(MIX)

    assert "norm" in analysis
    assert analysis["norm"] in analysis
    assert "nonexist" not in analysis
    assert None not in analysis
    assert len(analysis) == len(list(analysis)) == 9
    assert analysis[:2] == (analysis[0], analysis[1]) == analysis.groups[:2]
    assert analysis[-1] == analysis.groups[8]
    with pytest.raises(IndexError, match=r"no kernel 9\n.*0 to 8"):
        analysis[9]


def test_messages_name_arguments_in_python_and_options_where_a_command_is_typed():
    said = "either, or --allow gpu --allow kind; --jobs 1, --map a=b; --top: roofline x --top 1"
    error = UsageError("--step '(' is wrong", hint=said)

    assert str(error) == (
        'step="(" is wrong\n'
        '  try: either, or allow=["gpu", "kind"]; jobs=1, maps="a=b"; top: roofline x --top 1'
    )
    with typed():
        assert str(error) == f"--step '(' is wrong\n  try: {said}"
    with pytest.raises(UsageError, match='or allow="gpu" to compare'):
        roofline.compare(BEFORE, TINY)


def test_each_option_that_messages_turn_is_an_argument():
    functions = [getattr(roofline, n) for n in roofline.__all__ if n[0].islower()]
    functions += [roofline.Point, roofline.plot.Options]
    known = {p for f in functions for p in inspect.signature(f).parameters}

    assert set(ARGUMENTS.values()) <= known


def test_help_tells_what_a_metric_is():
    launch = next(iter(roofline.read(MIX)))

    for name in ("number", "text", "instances", "names"):
        assert len(inspect.getdoc(getattr(launch.metrics, name))) > 40
    assert launch.metrics.number("gpu__time_durration.sum") is None
