"""What a notebook shows of each value: short where it is a repr, whole where it is asked for."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import roofline
from roofline import notebook
from roofline.compare.judge import compare
from roofline.display import Displayed
from roofline.errors import UsageError
from roofline.model import Analysis
from roofline.text.console import to_text
from roofline.timeline import load_timeline, select
from tests import makers

SAMPLES = Path(__file__).parents[1] / "sample_reports"


@pytest.fixture(scope="module")
def mix() -> Analysis:
    return roofline.analyze(SAMPLES / "h100_mix.ncu-rep")


def shown(value: Displayed) -> dict[str, str]:
    """What IPython gets, as it asks."""
    return value._repr_mimebundle_(include=None, exclude=None)


def image(html: str) -> ElementTree.Element:
    """The picture of an answer, which must be whole."""
    (data,) = re.findall(r'src="data:image/svg\+xml,([^"]*)"', html)
    return ElementTree.fromstring(unquote(unescape(data)))


def test_a_repr_is_one_line_of_what_matters_most(mix):
    group, result = mix.groups[3], mix.groups[3].result

    assert repr(mix) == "Analysis(sources='h100_mix.ncu-rep', len(results)=10, len(groups)=9)"
    judged = "bound='bandwidth', limiter='dram', limiter_percent=92)"
    assert repr(group) == f"Group(name='adamw_step', len(launches)=1, total_s=0.0005333, {judged}"
    assert repr(result) == f"Result(name='adamw_step', duration_s=0.0005333, {judged}"


def test_what_a_repr_shows_can_be_typed(mix):
    selection = select(load_timeline(SAMPLES / "h100_step.trace.json.gz"))
    values = [mix, mix[3], mix.results[0], mix.page(), mix.plot(), compare(mix, mix), selection]
    for value in values:
        kind, told = re.fullmatch(r"(\w+)\((.*)\)", repr(value)).groups()
        shown_as = dict(re.findall(r"([\w.()]+)=('(?:[^']*)'|[^,]+)", told))

        assert kind == type(value).__name__
        assert len(shown_as) > 1
        for name, text in shown_as.items():
            inner = re.sub(r"len\((.*)\)", r"\1", name)
            found = getattr(value, inner)
            if inner != name:
                assert int(text) == len(found)
            elif isinstance(found, float):
                assert float(text) == pytest.approx(found, rel=1e-3)
            elif inner != "sources":
                assert text.strip("'.") in str(found)


def test_a_repr_stays_short_whatever_a_kernel_is_called():
    result = makers.result(name="k\n" * 5000, duration_s=None)

    assert len(repr(result)) < 200
    assert "\n" not in repr(result)
    assert "duration_s=None" in repr(result)


def test_an_analysis_is_a_table_and_a_roofline(mix):
    text, html = shown(mix)["text/plain"], shown(mix)["text/html"]

    assert "adamw_step" in text
    assert len(html.encode()) < 60_000
    assert not re.search(r"<script|<iframe|\son\w+=|javascript:", html)
    assert html.count("<tr>") == 1 + len(mix.groups)
    drawn = {t.text for t in image(html).iter("{http://www.w3.org/2000/svg}text")}
    assert "Arithmetic intensity [FLOP/byte of DRAM]" in drawn


def test_of_many_kernels_the_first_ten_are_shown():
    many = [makers.result(name=f"kernel_{i}") for i in range(23)]
    bundle = shown(makers.analysis(*many))

    assert bundle["text/html"].count("<tr>") == 1 + 10
    assert "... and 13 more" in bundle["text/html"]
    assert "23 launches of 23 kernels" in bundle["text/html"]
    assert "... and 13 kernels more" in bundle["text/plain"]
    assert "kernel_15" not in bundle["text/plain"]
    assert len(bundle["text/html"].encode()) < 60_000


def test_two_files_are_told_apart():
    html = shown(roofline.analyze(*sorted(SAMPLES.glob("h100_decode_*.ncu-rep"))))["text/html"]

    assert ">file</th>" in html
    assert {"h100_decode_before", "h100_decode_after"} <= set(re.findall(r">([^<>]+)</td>", html))


def test_names_of_kernels_are_text_in_html():
    hostile = makers.result(name='<img src=x onerror="alert(1)">')
    html = shown(makers.analysis(hostile))["text/html"]

    assert "<img src=x" not in html
    image(html)


def test_without_matplotlib_the_table_stays(mix, monkeypatch):
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)

    assert "<table " in shown(mix)["text/html"]
    assert "<img" not in shown(mix)["text/html"]


def test_a_picture_that_is_too_large_is_left_out(mix, monkeypatch):
    monkeypatch.setattr(notebook, "MOST", 10_000)

    assert "<img" not in shown(mix)["text/html"]
    assert ".plot()" in shown(mix)["text/html"]


def test_a_kernel_and_a_launch_are_their_card(mix):
    from roofline.render import explain

    group = mix["rmsnorm_fwd"]

    assert len(group.launches) == 2
    assert shown(group)["text/plain"] == explain.render(group)
    launch = shown(group.result)
    assert "rmsnorm_fwd" in launch["text/plain"]
    assert unescape(re.sub(r"</?pre[^>]*>", "", launch["text/html"])) == launch["text/plain"]


@pytest.mark.parametrize(
    "wanted",
    [
        "gemm",
        "nvjet_tst_128x256_64x4_2x1_h_bz_coopA_TNT",
        "h_bz",
        0,
        re.compile("gemm"),
        re.compile("H_BZ", re.I),
    ],
)
def test_a_kernel_is_found_by_family_name_expression_and_place(mix, wanted):
    assert mix[wanted] == mix.groups[0]
    assert wanted == 0 or wanted in mix


def test_a_kernel_that_is_not_there_is_named_with_those_like_it(mix):
    with pytest.raises(UsageError, match="no kernel matches 'adam_step'") as caught:
        mix["adam_step"]

    assert "adamw_step" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="not a regular expression"):
        mix["("]
    with pytest.raises(IndexError):
        mix[9]
    with pytest.raises(roofline.NoKernelError, match="no kernel matches ''"):
        mix[""]
    assert "" not in mix
    assert list(mix) == list(mix.groups)


def test_a_picture_shows_itself_and_is_saved(mix, tmp_path):
    for value in (mix, mix["adamw_step"], mix.results[0]):
        picture = value.plot("units", theme="dark")
        bundle = picture._repr_mimebundle_()

        assert len(repr(picture)) < 250
        ElementTree.fromstring(bundle["image/svg+xml"])
        assert len(bundle["image/svg+xml"]) < 100_000
    picture.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="exists"):
        picture.save(str(tmp_path / "a.png"))
    with pytest.raises(UsageError, match="no view is called 'ruin'"):
        mix.plot("ruin")


def test_the_picture_of_a_kernel_counts_its_launches(mix):
    (mark,) = notebook.plot(mix["rmsnorm_fwd"]).marks

    assert (mark.time_s, mark.share) == (mix["rmsnorm_fwd"].total_s, mix["rmsnorm_fwd"].share)
    assert len(mark.group.launches) == 2


def test_a_page_is_alone_in_its_frame(mix, tmp_path):
    page = mix["adamw_step"].page()
    frame = page._repr_html_()

    assert frame.startswith('<iframe sandbox="allow-scripts" ')
    assert "allow-same-origin" not in frame
    (inside,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert unescape(inside) == page.html
    assert "adamw_step" in page.html
    assert len(repr(page)) < 200
    page.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text("utf-8") == page.html
    for name in ("a.png", "a"):
        with pytest.raises(UsageError, match=r"ends in \.html\n.*a\.html; \.plot\(\)"):
            page.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_comparisons_and_timelines_are_shown_too():
    sides = [roofline.analyze(SAMPLES / f"h100_decode_{s}.ncu-rep") for s in ("before", "after")]
    selection = select(load_timeline(SAMPLES / "h100_step.trace.json.gz"))
    for value in (compare(*sides), selection):
        assert len(repr(value)) < 250
        assert len(shown(value)["text/plain"].splitlines()) > 5
        assert len(shown(value)["text/html"]) < 60_000


def test_a_comparison_names_arguments_not_options():
    sides = (SAMPLES / f"h100_decode_{side}.ncu-rep" for side in ("before", "after"))
    text = shown(roofline.compare(*sides, expect="gemv=1.2x"))["text/plain"]

    assert 'expect="gemv=1.2x": exceeded' in text
    assert "--expect" not in text


def test_text_is_made_and_not_shown_inside_of_jupyter(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)

    assert to_text(["text"], width=80, color=False) == "text\n"
