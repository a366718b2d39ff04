"""What somebody states of a kernel, judged at the datasheet's peaks; numbers worked out by hand."""

import pytest

import roofline
from roofline.analysis import Judge
from roofline.errors import InputError, UsageError
from roofline.figures import Point, key_of, measured, point_of, read_points
from roofline.model import Bound, Confidence, Verdict
from roofline.specs import load
from roofline.text import numbers
from roofline.text.outlook import above_peak
from roofline.text.verdict import confidence_reasons, hint, try_first

H100 = load().specs["h100-sxm5-80gb"].peaks()


def judged(**given: object) -> Verdict:
    point = Point("k", gpu="h100-sxm5-80gb", **given)
    return roofline.analyze(points=[point]).results[0].verdict


def test_near_the_flat_roof_is_compute_with_low_confidence_and_the_reason() -> None:
    verdict = judged(flops=60e12, bytes=1e9, seconds=1.0)

    assert (verdict.bound, verdict.limiter) == (Bound.COMPUTE, "fma")
    # 132 SMs x 256 operations x 1.98 GHz
    assert verdict.ceiling_operations_per_s == pytest.approx(132 * 256 * 1.98e9)
    assert verdict.ceiling_percent == pytest.approx(100 * 60e12 / (132 * 256 * 1.98e9))
    assert verdict.confidence is Confidence.LOW
    assert [doubt.code for doubt in verdict.doubts] == ["datasheet_peaks"]


def test_on_the_slope_is_bandwidth() -> None:
    verdict = judged(flops=1e12, bytes=3e12, seconds=1.0)

    assert (verdict.bound, verdict.limiter, verdict.ridge_side) == ("bandwidth", "dram", "memory")
    assert verdict.ceiling_operations_per_s == pytest.approx(H100.dram_bytes_per_s / 3)
    assert verdict.ceiling_percent == pytest.approx(100 * 3e12 / H100.dram_bytes_per_s)


def test_well_below_both_roofs_is_latency_and_with_one_of_them_unknown() -> None:
    below = judged(flops=1e12, bytes=1e11, seconds=1.0)
    assert (below.bound, below.advice, below.two_roofs) == ("latency", "cause.two_roofs", True)
    one = judged(bytes=1e11, seconds=1.0)
    assert (one.bound, one.ceiling_percent) == (Bound.UNKNOWN, None)


def test_what_no_gpu_does_decides_nothing() -> None:
    verdict = judged(flops=62e12, bytes=1e13, seconds=1.0)

    assert verdict.bound is Bound.UNKNOWN
    assert verdict.doubts[0].code == "above_peak"
    assert verdict.doubts[0].facts["times_peak"] == pytest.approx(1e13 / H100.dram_bytes_per_s)
    assert verdict.ceiling_percent == pytest.approx(100 * 1e13 / H100.dram_bytes_per_s)


def test_a_gemm_of_mnk() -> None:
    point = point_of({"gpu": "h100", "time": "1ms", "dtype": "bf16", "mnk": "2x100X200\xd7300"})

    assert point.flops == 2 * 2 * 100 * 200 * 300
    assert point.bytes == 2 * 2 * (100 * 300 + 300 * 200 + 100 * 200)
    assert key_of("tf32") == "tensor_tf32"


@pytest.mark.parametrize(
    ("spelled", "key"),
    [
        ("float32", "fp32"),
        ("float", "fp32"),
        ("double", "fp64"),
        ("float16", "tensor_fp16"),
        ("half", "tensor_fp16"),
        ("torch.bfloat16", "tensor_bf16"),
        ("TF32", "tensor_tf32"),
    ],
)
def test_types_as_libraries_spell_them(spelled: str, key: str) -> None:
    assert key_of(spelled) == key


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2.1e12", "FLOP", 2.1e12),
        ("2.1 TFLOPs", "FLOP", 2.1e12),
        ("3GB", "B", 3e9),
        ("3g", "B", 3e9),
        ("2.5 GiB", "B", 2.5 * 2**30),
        ("1,024", "B", 1024.0),
        ("2,100,000.5 MB", "B", 2.1000005e12),
        ("3,1ms", "s", None),  # perhaps 3.1 ms, and never 31
        ("1,5e9", "FLOP", None),
        ("1,0240", "B", None),
        ("3.1ms", "s", 3.1e-3),
        ("40 us", "s", 4e-5),
        ("5 µs", "s", 5e-6),
        ("2s", "s", 2.0),
        ("2", "s", None),  # of which unit?
        ("0", "s", 0.0),
        ("3m", "s", None),
        ("3 ki", "s", None),
        ("-3ms", "s", None),
        ("3 parsecs", "s", None),
        ("1e999", "B", None),
        ("nan", "B", None),
    ],
)
def test_amounts_as_people_type_them(text: str, unit: str, value: float | None) -> None:
    assert numbers.read(text, unit) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"time": "1ms", "flops": "1"}, "gpu is missing"),
        ({"gpu": "h100", "flops": "1"}, "time is missing"),
        ({"gpu": "h100", "time": "1ms"}, "does nothing"),
        ({"gpu": "h100", "time": "0s", "flops": "1"}, "takes no time"),
        ({"gpu": "h100", "time": "soon", "flops": "1"}, "time is 'soon'"),
        ({"gpu": "h100", "time": "1ms", "mnk": "4x4"}, "mnk is '4x4'"),
        ({"gpu": "h100", "time": "1ms", "mnk": f"4x4x{'9' * 400}"}, "mnk is '4x4x9"),
        ({"gpu": "h100", "time": "1ms", "mnk": "4x4x4", "dtype": "fp" + "9" * 400}, "no type"),
        ({"gpu": "h100", "time": "1ms", "flops": "1", "dtype": "posit"}, "no type is called"),
        ({"gpu": "h100", "time": "1ms", "flops": "2.3TFLOP/s"}, "a rate; give the operations"),
        ({"gpu": "h100", "time": "1ms", "flops": "2.3 TOPS/sec"}, "a rate; give the operations"),
        ({"gpu": "h100", "time": "1ms", "bytes": "250GB/s"}, "a rate; give the bytes"),
        ({"gpu": "h100", "time": "1ms", "bytes": "0.4"}, "bytes is '0.4': it is less than 1"),
        (
            {"gpu": "h100", "time": "1ms", "bytes": "1e308"},
            "bytes is '1e308': it is more than 1e30",
        ),
        (
            {"gpu": "h100", "time": "1e-40s", "bytes": "1"},
            "time is '1e-40s': it is less than 1e-30",
        ),
        ({"gpu": "h100", "time": "1ms", "flops": "0.5"}, "flops is '0.5': it is less than 1"),
    ],
)
def test_wrong_figures_are_refused_with_what_is_wrong(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        point_of(given)


def test_a_type_that_a_gpu_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no rate of .*FP8.* is known for NVIDIA A100"):
        roofline.analyze(points=[Point("k", gpu="a100", dtype="fp8", flops=1.0, seconds=1.0)])


def test_rows_of_a_file(tmp_path) -> None:
    file = tmp_path / "phases.csv"
    file.write_text("name, flops, time\nfirst,1T,1ms\nsecond,2T,2ms\n")
    points = read_points(file, {"gpu": "h100", "dtype": "bf16"})

    assert [(p.name, p.flops, p.seconds, p.dtype) for p in points] == [
        ("first", 1e12, 1e-3, "bf16"),
        ("second", 2e12, 2e-3, "bf16"),
    ]
    for text, said in (
        ("name,size\na,1\n", "no column 'size'"),
        ("name;bytes;time\na;1e9;3ms\n", "its cells are separated by semicolons"),
        ("name,bytes,time\na,1e9,3\n", "line 2: time is '3': it has no unit"),
        ("name,flops,time\na,1,x\n", "line 2: time is 'x'"),
        ("flops,time\n2.3TFLOP/s,1ms\n", "line 2: flops is '2.3TFLOP/s': that is a rate"),
        ("flops,time\n", "holds no rows"),
        ("flops,time\n1,2,3\n", "line 2 has more cells"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=said) as refused:
            read_points(file, {"gpu": "h100"})
        assert refused.value.hint
        assert "\\n" not in str(refused.value)


def test_a_name_of_several_gpus_is_said_to_be_one() -> None:
    found = roofline.analyze(points=[Point("k", gpu="h100", flops=1e12, seconds=1.0)]).results[0]

    assert found.measurement.device.name == "NVIDIA H100 80GB HBM3"
    assert [note.code for note in found.measurement.notes] == ["gpu_taken"]
    with pytest.raises(UsageError, match="'gtx' is not in the registry"):
        roofline.analyze(points=[Point("k", gpu="gtx", flops=1e12, seconds=1.0)])


def test_every_entry_of_the_registry_judges_by_its_key_with_peaks_of_its_own() -> None:
    judge = Judge(registry=(registry := load()))
    for key, spec in registry.specs.items():
        peaks = spec.peaks()
        operation = next(one for one in peaks.operations_per_s if "sparse" not in one)
        point = Point("k", gpu=key, dtype=operation, flops=1e7, bytes=1e6, seconds=1e-3)

        result = judge(measured(point, registry))

        assert result.peaks.spec == key
        datasheet = result.peaks.datasheet
        assert datasheet is not None
        assert datasheet.dram_bytes_per_s == peaks.dram_bytes_per_s
        assert datasheet.operations_per_s == peaks.operations_per_s
        assert result.verdict.bound is not Bound.UNKNOWN
        assert not result.measurement.notes


def test_cards_of_one_name_are_judged_apart() -> None:
    rows = [
        Point("k", gpu=gpu, bytes=400e9, flops=1.0, seconds=1.0)
        for gpu in ("rtx-4070", "rtx-4070-gddr6", "RTX 4070")
    ]

    analysis = roofline.analyze(points=rows)
    first, second, named = analysis.results

    # 192 bits: GDDR6X at 21 Gbit/s a pin, and GDDR6 at 20
    assert first.verdict.limiter_percent == pytest.approx(100 * 400 / 504, rel=0.01)
    assert second.verdict.limiter_percent == pytest.approx(100 * 400 / 480, rel=0.01)
    assert [note.code for note in named.measurement.notes] == ["gpu_taken"]
    assert (named.peaks.spec, len(analysis.groups)) == ("rtx-4070", 2)


def test_above_the_fp16_peak_of_geforce_the_accumulator_is_named() -> None:
    # 128 SMs x 512 x 2.52 GHz = 165 TFLOP/s; 2 x 4096^3 in 0.6 ms are 229 TFLOP/s.
    def said(gpu: str, seconds: float) -> str:
        point = Point("k", gpu=gpu, dtype="fp16", flops=2 * 4096.0**3, seconds=seconds)
        return above_peak(roofline.analyze(points=[point]).results[0].verdict.doubts[0].facts)

    assert "1.39 times the tensor FP16 peak" in said("rtx-4090", 0.6e-3)
    assert "the accumulator (FP16's peak may be twice FP32's" in said("rtx-4090", 0.6e-3)
    assert "accumulator" not in said("rtx-4090", 0.1e-3)
    assert "accumulator" not in said("h100", 0.1e-3)


def test_an_fp64_gemm_is_judged_by_the_tensor_cores_where_they_are_faster() -> None:
    def of(gpu: str, **given: str) -> tuple[str | None, float | None]:
        point = point_of({"gpu": gpu, "dtype": "fp64", "time": "9ms", **given})
        verdict = roofline.analyze(points=[point]).results[0].verdict
        return verdict.nearest, verdict.limiter_percent

    gemm, flops = {"mnk": "4096x4096x4096"}, 2 * 4096**3
    # NVIDIA's figures: 19.5 TFLOP/s of FP64 on the tensor cores of A100, none on V100, whose
    # FP64 pipe has 7.8. What is no GEMM is the pipe's everywhere, and cannot be so fast.
    assert of("a100-sxm4-80gb", **gemm) == ("tensor_fp64", pytest.approx(78.3, abs=0.2))
    assert of("v100-sxm2-32gb", **gemm | {"time": "20ms"})[0] == "fp64"
    assert of("a100-sxm4-80gb", flops=str(flops), bytes="403MB") == (None, None)
    assert key_of("tensor_fp64") == "tensor_fp64"


@pytest.mark.parametrize(
    ("dtype", "flops", "check"),
    [
        ("fp64", 15e12, "check dtype (if tensor cores did it: tensor_fp64), flops"),
        ("fp32", 100e12, "check dtype (if tensor cores did it: tf32), flops"),
        ("fp32", 500e12, "check dtype, flops"),  # nor do tensor cores in TF32
        ("tensor_fp64", 30e12, "check dtype, flops"),
    ],
)
def test_what_is_too_fast_for_a_pipe_may_be_the_tensor_cores(
    dtype: str, flops: float, check: str
) -> None:
    point = Point("k", gpu="a100-sxm4-80gb", dtype=dtype, flops=flops, bytes=1e9, seconds=1.0)
    doubt = roofline.analyze(points=[point]).results[0].verdict.doubts[0]
    assert check in above_peak(doubt.facts)


def test_a_figure_a_little_above_its_peak_is_not_said_to_be_of_counters() -> None:
    point = Point("k", gpu="a100-sxm4-80gb", dtype="fp64", flops=9.8e12, bytes=1e9, seconds=1.0)
    result = roofline.analyze(points=[point]).results[0]

    assert result.verdict.limiter_percent > 100
    said = " ".join((*confidence_reasons(result), hint(result)))
    assert "counters" not in said
    assert "above the datasheet's peak" in said
    assert try_first(result)[0].startswith("matrix products on the FP64 tensor cores")
