from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ncu_report
import pytest
from click.testing import CliRunner

from roofline.cli import cli
from roofline.errors import InputError, UsageError
from roofline.files import opened
from roofline.process import run_quietly
from roofline.reports import read
from roofline.reports.container import ZSTD_MAGIC, Walk, sized
from roofline.reports.fields import MAGIC, numbers
from roofline.reports.redact import PATHS, redact
from sample_reports.writer import Launch, Metric, Rule
from tests import strange, wire
from tests.shared import NCU, REPORTS

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "sample_reports").glob("*.ncu-rep"))
PAGE = (ROOT / "docs" / "redact.md").read_text(encoding="utf-8")


def held(path: Path) -> list[dict[str, Any]]:
    """All that ncu_report gives of each result, in the order of the file."""
    found = []
    for action in strange.actions(path):
        state = action.nvtx_state()
        metrics = {name: _metric(action[name]) for name in action.metric_names()}
        bases = (action.NameBase_FUNCTION, action.NameBase_DEMANGLED, action.NameBase_MANGLED)
        names = [action.name(base) for base in bases]
        ranges = state and [(d, state[d].push_pop_ranges()) for d in state.domains()]
        said = map(repr, action.rule_results_as_dicts())
        rules = [text for text in said if "NvRules.py:" not in text]  # which shows paths
        found.append({"metrics": metrics, "names": names, "nvtx": repr(ranges), "rules": rules})
    return found


def redacted(folder: Path, data: bytes, *, keep_sass: bool = False) -> tuple[Path, Path]:
    """Write a report of these bytes and its copy, and give both."""
    source, out = folder / "in.ncu-rep", folder / "out.ncu-rep"
    source.write_bytes(data)
    redact(source, out, keep_sass=keep_sass)
    return source, out


def _metric(metric: ncu_report.IMetric) -> tuple[str, ...]:
    """As text, in which NaN equals NaN and 1 is not 1.0."""
    count = metric.num_instances()
    if not count:
        return (repr(strange.value(metric)), str(metric.unit()))
    values = map(repr, strange.values(metric))
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    keys = map(repr, strange.values(ids) if ids is not None else [])
    return (repr(strange.value(metric)), str(metric.unit()), *values, *keys)


REAL = pytest.mark.skipif(not REPORTS, reason="no folder of real reports")


@REAL
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name[:60])
def test_every_measured_value_of_real_reports_stays(path: Path, tmp_path: Path):
    if path.stat().st_size == 0:
        with pytest.raises(InputError, match="empty"):
            redact(path, tmp_path / "out.ncu-rep")
        return
    whole, copies = held(path), set()
    for keep_sass in (False, True):
        out = tmp_path / f"{keep_sass}.ncu-rep"
        done = redact(path, out, keep_sass=keep_sass)
        if out.read_bytes() in copies:
            continue  # it holds no machine code
        copies.add(out.read_bytes())
        assert held(out) == whole
        before, after = strange.summary(path), strange.summary(out)
        assert done.results == after.found
        assert (after.names, after.settings) == (before.names, before.settings)
        assert after.versions == before.versions
        assert PATHS.search(out.read_bytes()) is None


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_value_of_the_samples_stays(path: Path, tmp_path: Path):
    out = tmp_path / "out.ncu-rep"
    redact(path, out)
    assert held(out) == held(path)


@pytest.mark.parametrize("name", strange.WHOLE)
def test_strange_reports_stay_what_they_are(name: str, tmp_path: Path):
    source, out = strange.write(tmp_path, name), tmp_path / "out.ncu-rep"
    redact(source, out)
    assert held(out) == held(source)


# Each secret is where a real report has such a thing.
SECRETS = (
    "hostalpha 192.0.2.77 userbravo argcharlie envdelta commentecho notefoxtrot framegolf "
    "sourcehotel codeindia ptxjuliett futurekilo procmike machinelima"
).split()


def _system() -> list[bytes]:
    address = wire.message(7, [wire.text(1, "192.0.2.77"), wire.uint(2, 1)])
    build = "#1 SMP userbravo@hostalpha"
    return [wire.text(1, "Linux"), wire.text(2, build), wire.text(5, "hostalpha"), address]


def _session() -> bytes:
    executable = [
        wire.text(1, "/home/userbravo/bench"),
        wire.text(2, "/home/userbravo"),
        wire.text(3, "--argcharlie"),
        wire.text(4, "TOKEN=envdelta"),
    ]
    return wire.message(
        3,
        [
            wire.uint(1, 7),
            wire.message(3, _system()),
            wire.message(4, _system()),
            wire.text(7, "commentecho"),
            wire.message(8, [wire.text(1, "CUDA Version"), wire.text(2, "12.4")]),
            wire.message(9, executable),
            wire.text(11, "ncu ./bench --argcharlie"),
            wire.text(99, "futurekilo"),
        ],
    )


def _source() -> bytes:
    file = wire.message(1, [wire.text(1, "/home/userbravo/a.cu"), wire.text(2, "sourcehotel")])
    return b"".join(
        [
            wire.uint(1, 4242),
            wire.text(2, "codeindia"),
            wire.blob(3, b"ptxjuliett"),
            wire.blob(4, b"machinelima"),
            wire.blob(8, file),
        ]
    )


def _result(metrics: list[bytes]) -> bytes:
    frame = [wire.text(1, "/home/userbravo/bench"), wire.uint(2, 1), wire.text(4, "framegolf")]
    note = [wire.message(1, [wire.text(1, "SpeedOfLight")]), wire.text(3, "notefoxtrot")]
    triple = b"".join(wire.uint(i, 1) for i in (1, 2, 3))
    kernel = numbers("kernel")
    names = (kernel["mangled"], kernel["function"], kernel["demangled"])
    return b"".join(
        [
            *(wire.uint(number, 1) for number in (1, 2, 3, 4)),
            *(wire.text(number, "lambda_at_/home/userbravo/src/kern.cu:3") for number in names),
            wire.uint(kernel["dimensions"], 3),
            *(wire.blob(n, triple) for n in (kernel["offset"], kernel["grid"], kernel["block"])),
            wire.text(12, "commentecho"),
            *metrics,
            wire.blob(kernel["source"], _source()),
            wire.message(18, note),
            wire.message(28, [wire.message(1, frame)]),
            wire.message(32, [wire.message(1, frame)]),
            wire.text(250, "futurekilo"),
        ]
    )


def personal() -> bytes:
    """A report with a secret in every place that has been seen to hold one."""
    process = [wire.uint(1, 7), wire.text(2, "hostalpha"), wire.text(3, "procmike")]
    head = [wire.message(6, process), wire.text(77, "futurekilo")]
    names = wire.message(4, [wire.text(1, "number"), wire.text(1, "text")])
    metrics = [
        wire.message(13, [wire.uint(1, 0), wire.message(2, [wire.double(3, 42.5)])]),
        wire.message(13, [wire.uint(1, 1), wire.message(2, [wire.text(1, "/home/userbravo/a/b")])]),
    ]
    return b"".join(
        [
            MAGIC + sized(wire.uint(1, 7)),
            wire.block([*head, _session()]),
            wire.block([*head, wire.uint(1, 1)], [_source()]),
            wire.block([*head, names, wire.uint(2, 1)], [_result(metrics)]),
            wire.block([*head, wire.uint(10, 1)], [wire.text(1, "futurekilo")]),
        ]
    )


@pytest.mark.parametrize("keep_sass", [False, True])
def test_nothing_personal_is_left(keep_sass: bool, tmp_path: Path):
    assert all(secret.encode() in personal() for secret in SECRETS)
    _, out = redacted(tmp_path, personal(), keep_sass=keep_sass)

    written = out.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in written] == []
    (result,) = held(out)
    assert result["metrics"]["number"][0] == "42.5"
    assert result["metrics"]["text"][0] == "'~'"
    assert result["names"][1] == "lambda_at_kern.cu:3"
    assert strange.summary(out).versions == {"CUDA Version": "12.4"}


def test_a_path_in_a_rule_and_in_a_range_is_cut(tmp_path: Path):
    rule = Rule(identifier="R", name="R", message="see @source:/home/ann/p/k.cu:7@", title="T")
    launch = Launch(name="k", rules=(rule,), nvtx=("/home/ann/p/train.py",), metrics={"m": 1.0})
    _, out = redacted(tmp_path, strange.report(launch))

    (action,) = strange.actions(out)
    (found,) = action.rule_results_as_dicts()
    assert found["rule_message"]["message"] == "see @source:k.cu:7@"
    assert action.nvtx_state()[0].push_pop_ranges() == ("train.py",)


def test_instances_stay(tmp_path: Path):
    mix = Metric(3.0, (("FFMA", 1.0), ("HGMMA.64x256x16.F32.BF16", 2.0)))
    source, out = redacted(tmp_path, strange.report(Launch(name="k", metrics={"mix": mix})))
    assert held(out) == held(source)


def test_a_redacted_report_redacts_to_itself(tmp_path: Path):
    first, second, third = (tmp_path / f"{n}.ncu-rep" for n in (1, 2, 3))
    first.write_bytes(personal())
    redact(first, second)
    redact(second, third)
    assert second.read_bytes() == third.read_bytes()


def test_compressed_in_and_out(tmp_path: Path):
    plain, packed, back = (tmp_path / n for n in ("a.ncu-rep", "b.ncu-repz", "c.ncu-rep"))
    plain.write_bytes(personal())
    redact(plain, packed)
    redact(packed, back)
    assert packed.read_bytes().startswith(ZSTD_MAGIC)
    assert held(back) == held(packed)


@pytest.mark.parametrize("name", strange.BROKEN)
def test_a_broken_report_is_refused_and_nothing_is_written(name: str, tmp_path: Path):
    source = strange.write(tmp_path, name)
    done = CliRunner().invoke(cli, ["redact", str(source), "-o", str(tmp_path / "out.ncu-rep")])

    assert done.exit_code == 3
    assert str(source) in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_nothing_is_overwritten_unasked(tmp_path: Path):
    source, out = strange.write(tmp_path, "two launches"), tmp_path / "out.ncu-rep"
    out.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        redact(source, out)
    assert out.read_text() == "mine"
    done = CliRunner().invoke(cli, ["redact", str(source), "-o", str(out)])
    assert done.exit_code == 2

    redact(source, out, force=True)
    assert held(out) == held(source)


def test_the_command_says_what_it_left_out_and_prints_nothing_else(tmp_path: Path):
    source, out = tmp_path / "in.ncu-rep", tmp_path / "out.ncu-rep"
    source.write_bytes(personal())
    done = CliRunner().invoke(cli, ["redact", str(source), "-o", str(out)])

    assert done.exit_code == 0
    assert done.stdout == ""
    assert "1 result with all metrics" in done.stderr
    assert "host names and addresses" in done.stderr
    assert not [secret for secret in SECRETS if secret in done.stderr]


@pytest.mark.skipif(NCU is None, reason="ROOFLINE_TEST_NCU names no ncu")
@pytest.mark.parametrize("page", ["raw", "details", "session"])
def test_ncu_imports_what_is_redacted(page: str, tmp_path: Path):
    for number, path in enumerate(SAMPLES[::3]):
        out = tmp_path / f"{number}.ncu-rep"
        redact(path, out)
        done = run_quietly([str(NCU), "--import", str(out), "--page", page])
        assert done is not None
        assert done.code == 0, path


@pytest.mark.skipif(NCU is None or not REPORTS, reason="needs ncu and real reports")
def test_ncu_prints_the_same_of_a_real_report(tmp_path: Path):
    """Of reports that the ncu at hand can read, every value that it prints is the same."""
    compared = 0
    by_size = sorted((p for p in REPORTS if p.stat().st_size), key=lambda path: path.stat().st_size)
    for path in by_size[:16]:
        out = tmp_path / path.name
        redact(path, out)
        page = ["--page", "raw", "--csv", "--print-units", "base"]
        before = run_quietly([str(NCU), "--import", str(path), *page])
        after = run_quietly([str(NCU), "--import", str(out), *page])
        assert before is not None
        assert after is not None
        assert after.code == before.code, path
        if before.code == 0:
            assert after.stdout == before.stdout, path
            compared += 1
    assert compared > 8


def test_opened_gives_the_same_bytes_compressed_or_not(tmp_path: Path):
    plain, packed = tmp_path / "a.ncu-rep", tmp_path / "b.ncu-repz"
    plain.write_bytes(personal())
    redact(plain, packed)
    redact(plain, tmp_path / "c.ncu-rep")
    with opened(packed) as file, opened(tmp_path / "c.ncu-rep") as same:
        walks = [list(Walk(one).blocks(results=True, others=True)) for one in (file, same)]
    assert walks[0] == walks[1]


def test_only_a_name_of_a_report_is_taken(tmp_path: Path):
    with pytest.raises(UsageError, match=r"x\.txt is no name for a report"):
        redact(SAMPLES[0], tmp_path / "x.txt")
    assert list(tmp_path.iterdir()) == []


def test_help_has_the_sentence_of_the_list_and_examples():
    done = CliRunner().invoke(cli, ["redact", "--help"])
    assert done.exit_code == 0
    assert "Copy a report without personal data." in done.stdout
    assert "roofline redact profile.ncu-rep -o share.ncu-rep" in done.stdout
    assert "--keep-sass" in PAGE


def test_the_page_shows_what_the_command_says(tmp_path: Path):
    sample = ROOT / "sample_reports" / "h100_copy.ncu-rep"
    done = CliRunner().invoke(cli, ["redact", str(sample), "-o", str(tmp_path / "s.ncu-rep")])
    assert all(line in PAGE for line in done.stderr.splitlines()[1:])

    words = ["redact", str(sample), "-o", str(tmp_path / "n.ncu-rep"), "--no-keep-names"]
    nameless = CliRunner().invoke(cli, words)
    assert "The copy keeps NVTX ranges: read" in nameless.stderr
    assert "\n  names of kernels, for which hashes stand\n" in nameless.stderr


# Personal by its nature, with the part of it that must not be left.
BY_NATURE = (
    ("/opt/labsecret/deep/run", "labsecret"),
    ("/scratch/userbravo", "userbravo"),
    ("/lustre/projects/quantum/a.cu", "quantum"),
    ("/nix/store/abcdefsecret/bin/x", "abcdefsecret"),
    ("/usr/people/zoe9/x.py", "zoe9"),
    ("D:\\work\\client\\x.cu", "client"),
    ("C:/Users/Kim Lee/x.cu", "Kim"),
    ("\\\\fileserver\\share\\team", "fileserver"),
    ("~/thesis/x.cu", "thesis"),
    ("~carol/x.cu", "carol"),
    ("dave@corp.example.com", "dave"),
    ("erin@node17", "erin"),
    ("first.last+tag@lab.edu", "first.last"),
    ("192.0.2.77", "192.0.2.77"),
    ("10.1.2.3:8080", "10.1.2.3"),
    ("fe80::1ff:fe23:4567:890a", "4567:890a"),
    ("fe80::1", "fe80::1"),
    ("2001:db8:85a3:0:0:8a2e:370:7334", "8a2e"),
    ("00:1a:2b:3c:4d:5e", "3c:4d"),
    ("gpu01.cluster.local", "gpu01"),
    ("login2.hpc.uni-x.de", "uni-x"),
    ("build.corp", "build.corp"),
    ("https://git.corp.example/x?token=s3cr3t", "s3cr3t"),
    ("ssh://ann@box/x", "box"),
    ("user=frank", "frank"),
    ("hostname: wopr", "wopr"),
    ("owner=grace", "grace"),
    ("run by userbravo", "userbravo"),
    ("on hostalpha now", "hostalpha"),
    ("/a7/b", "a7"),
    ("/singlesecret", "singlesecret"),
    ("@/abs/labsecret/x", "labsecret"),
    ("PATH:/opt/labsecret:/opt/other", "labsecret"),
    ("(see)/opt/labsecret/x", "labsecret"),
    ("-I/opt/labsecret/include", "labsecret"),
    ('"/opt/my lab/secretfolder/x.cu"', "secretfolder"),
    ("/opt/run=3,lr=(0.1)/labsecret/x", "labsecret"),
    ("/opt/münchen/labsecret", "labsecret"),
    ("//srv/sharesecret", "sharesecret"),
    ("//srv/home/zoe9", "zoe9"),
    ("\\\\fileserver", "fileserver"),
    ("\\\\fs7\\homes\\zoe9", "zoe9"),
    ("D:\\My Work\\clientsecret\\x.cu", "clientsecret"),
    ("\\shared\\zoe9\\x.cu", "zoe9"),
    ("~carol", "carol"),
    ("$HOME/thesissecret/x", "thesissecret"),
    ("%USERPROFILE%\\thesissecret\\x.cu", "thesissecret"),
    ("git@forge.org:zoe9/secretrepo.git", "secretrepo"),
    ("//fileserver", "fileserver"),
    ("compute-0-17", "0-17"),
    ("cn0123", "cn0123"),
    ('user="zoe9"', "zoe9"),
    ("00-1a-2b-3c-4d-5e", "3c-4d"),
    ("gpu01", "gpu01"),
    ("node0123", "node0123"),
    ("GPU-NODE-07", "NODE-07"),
    ("dgx-a100-07", "a100-07"),
    ("ip-10-0-12-7", "10-0-12-7"),
    ("DESKTOP-7A8B9CD", "7A8B9CD"),
    ("Zoes-MacBook-Pro", "Zoes"),
    ("gpu01.hpc", "gpu01"),
    ("wopr.hpc", "wopr"),
    ("build.corp.lan", "corp.lan"),
    ("BUILD.CORP.LAN", "CORP.LAN"),
    ("node.internal", "internal"),
    ("www.uni-x.at", "uni-x"),
    ("ssh wopr", "wopr"),
    ("on host wopr", "wopr"),
    ("user zoe9", "zoe9"),
    ("logged in as zoe9", "zoe9"),
)


def _said_everywhere(text: str) -> bytes:
    """A report with the text in every place of kept free text."""
    rule = Rule(identifier=text, name=text, message=text, title=text)
    metrics: dict[str, Any] = {
        "gpu__time_duration.sum": 42.5,
        "note": text,
        "mix": Metric(3.0, ((text, 1.0), ("FFMA", 2.0))),
    }
    made = strange.report(
        Launch(
            name="gemm", demangled="void gemm<int>()", rules=(rule,), nvtx=(text,), metrics=metrics
        ),
        capture=replace(
            strange.CAPTURE,
            versions={"Nsight Compute Target": "2024.1.1.0", text: text},
            settings={"sections": text, "clock_control": text, "replay_mode": text},
        ),
    )
    said = wire.text(1, text)
    value = wire.message(2, [said])
    session = [
        wire.message(3, [*_system(), said, wire.text(3, text), wire.text(4, text)]),
        wire.message(6, [wire.text(2, text), wire.message(3, [said, value])]),
        wire.message(10, [wire.text(4, text)]),
    ]
    head = [wire.message(6, [wire.text(2, "hostalpha")]), wire.message(3, session)]
    section = wire.message(17, [said, wire.text(2, text), wire.message(4, [wire.blob(2, said)])])
    colored = wire.message(17, [wire.text(1, f"\x1b[31m{text}\x1b[0m")])  # no text, by its control
    return made + wire.block([*head, wire.uint(2, 1)], [section + colored])


@pytest.mark.parametrize(("text", "secret"), BY_NATURE)
def test_what_is_personal_by_nature_goes_from_every_text(text: str, secret: str, tmp_path: Path):
    source, out = tmp_path / "in.ncu-rep", tmp_path / "out.ncu-rep"
    # In the last, the byte of its length, which lies before it, is a letter.
    for said in (text, f"saw {text} there", f"{text} was seen".ljust(ord("A"))):
        data = _said_everywhere(said)
        assert data.count(secret.encode()) >= 20
        source.write_bytes(data)
        done = redact(source, out, force=True)

        assert secret.encode() not in out.read_bytes(), said
        assert done.paths + sum(v for k, v in done.left_out.items() if "kept" in k) >= 15
        found, _ = read(out)
        assert found.metrics.number("gpu__time_duration.sum") == 42.5e-9
        assert (found.name, found.demangled) == ("gemm", "void gemm<int>()")
        assert found.metrics.instances("mix")["FFMA"] == 2.0
        assert sum(found.metrics.instances("mix").values()) == 3.0


NOT_PERSONAL = (
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "see docs.nvidia.com",
    "2024.1.1.0",
    "FFMA.X",
    "https://docs.nvidia.com/a/b",
    "and/or 3/4",
    "std::vector",
    "a @section:Speed:limit@ b",
    "dram__bytes.sum/s, GB /s and byte/second",
    "I/O, L1/TEX, FP32/FP64, (a.sum)/dram__bytes.sum and 26,419,884 / 8",
    "bf16 tf32 int8 H100 sm_90 compute_90 L2",
    "LDG.E.64.CONSTANT.SYS HFMA2.MMA UISETP.NE.U32.AND",
    "TPC.TriageCompute.sm__inst_executed_realtime.avg",
    "user code, host memory, user-defined, the user must, by thread",
    "Src:fp16 Dst:fp32 Sparsity:on",
    "torch.nn.functional, layer1.0.conv1, model.layers.3.mlp",
    "LaunchStatistics.py, sm_90.ptx",
)


@pytest.mark.parametrize("text", NOT_PERSONAL)
def test_what_is_not_personal_stays(text: str, tmp_path: Path):
    data = _said_everywhere(text)
    _, out = redacted(tmp_path, data)
    assert out.read_bytes().count(text.encode()) == data.count(text.encode())


def test_a_report_of_messages_nested_without_end_is_refused(tmp_path: Path):
    deep = b"/opt/x/secret"
    for _ in range(3000):
        deep = wire.blob(1, deep)
    data = _said_everywhere("x") + wire.block([wire.uint(2, 1)], [wire.message(17, [deep])])

    with pytest.raises(InputError, match="nested too deep"):
        redacted(tmp_path, data)
    assert not (tmp_path / "out.ncu-rep").exists()


def test_names_are_not_replaced_where_machine_code_would_tell_them(tmp_path: Path):
    with pytest.raises(UsageError, match="machine code holds the names"):
        redact(SAMPLES[0], tmp_path / "out.ncu-rep", keep_sass=True, keep_names=False)


def test_names_of_kernels_become_the_same_hash_everywhere(tmp_path: Path):
    names = []
    for number in (1, 2):
        source, out = tmp_path / f"{number}.ncu-rep", tmp_path / f"{number}out.ncu-rep"
        launch = Launch(name="secret_gemm", demangled="void secret_gemm<int>()", metrics={"m": 1.0})
        source.write_bytes(strange.report(replace(launch, nvtx=("before secret_gemm",))))
        done = redact(source, out, keep_names=False)
        assert done.left_out["names of kernels, for which hashes stand"] >= 3
        assert b"secret_gemm" not in out.read_bytes()
        names.append([action.name() for action in strange.actions(out)])
    assert names[0] == names[1]
    assert names[0][0].startswith("kernel_")
