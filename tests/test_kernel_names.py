"""What is read from kernel names, and that no name takes long to read."""

from __future__ import annotations

import gzip
import importlib
import json
import pkgutil
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline
from roofline import kernel_names
from roofline.capture.command import name_filter
from roofline.capture.request import CaptureRequest
from roofline.kernel_names import (
    base_name,
    build_name,
    comparable,
    family,
    foreign,
    is_collective,
    library,
    own_name,
    parse,
    printable,
    qualified_name,
    short,
    short_all,
    similarity,
)
from roofline.timeline.events import Work, identity
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE
from roofline.timeline.selection import kind_of
from tests.shared import REPORTS, SHARED

# One kernel as NVIDIA's tools and as GNU's demangler spell it.
NVIDIA = (
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctorOnSelf_add"
    "<float>, std::array<char *, (unsigned long)2>>(int, T2, T3)"
)
GNU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, "
    "std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<float>, "
    "std::array<char*, 2ul>)"
)
TORCH = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, "
    "at::detail::Array<char*, 1>)"
)
CUTLASS = (
    "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_128x128_32x5_nn_align8>"
    "(cutlass_80_tensorop_s16816gemm_f16_128x128_32x5_nn_align8::Params)"
)
COPY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
    "{lambda(float)#1}> >(int, T)"
)
KOKKOS = "f<g(C)::[lambda(const Kokkos::Impl::CudaTeamMember &) (instance 2)]>()"


# --- the parts of a signature -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "namespaces", "base", "arguments", "parameters"),
    [
        ("k", (), "k", None, None),
        ("", (), "", None, None),
        ("unsigned int a::b::f(int, char *)", ("a", "b"), "f", None, "int, char *"),
        ("void f<(int)4, A<B, C>>(T1)", (), "f", ("(int)4", "A<B, C>"), "T1"),
        ("void f<>(int)", (), "f", (), "int"),
        ("void <unnamed>::f<1>()", ("(anonymous namespace)",), "f", ("1",), ""),
        ("at::_GLOBAL__N__0f1a::f()", ("at", "(anonymous namespace)"), "f", None, ""),
        ("g(C)::Local<int>::f<1>(int)", ("g", "Local"), "f", ("1",), "int"),
        ("A<int>::operator()(int) const", ("A",), "operator()", None, "int"),
        ("A::operator ()<int>(int)", ("A",), "operator ()", ("int",), "int"),
        ("bool A::operator<(A) const", ("A",), "operator<", None, "A"),
        ("A::operator->()", ("A",), "operator->", None, ""),
        ("std::enable_if<(4 > 3), void>::type foo<int>(int)", (), "foo", ("int",), "int"),
        ("auto f<decltype(a->b)>(int)", (), "f", ("decltype(a->b)",), "int"),
        ("void f<int>(int) [clone .kd]", (), "f", ("int",), "int"),
        ("void f(T) [with T = A<int>]", (), "f", None, "T"),
        ("f<int> (int)", (), "f", ("int",), "int"),
        ("decode step 3", (), "decode step 3", None, None),
        ("prefill (batch 8)", (), "prefill (batch 8)", None, None),
        ("void f<int, A<float", (), "f", ("int", "A<float"), None),  # cut off
        ("void f<int>(float *, in", (), "f", ("int",), "float *, in"),
        (KOKKOS, (), "f", ("g(C)::" + KOKKOS[8:-3],), ""),
        ("_ZN2at6native1kIiEEvT_", (), "_ZN2at6native1kIiEEvT_", None, None),
        ("nvjet_hsh_128x256_TNN", (), "nvjet_hsh_128x256_TNN", None, None),
    ],
)  # fmt: skip
def test_a_signature_is_taken_apart(name, namespaces, base, arguments, parameters):
    parsed = parse(name)

    assert parsed.namespaces == namespaces
    assert parsed.base == base
    assert parsed.arguments == arguments
    assert parsed.parameters == parameters


@pytest.mark.parametrize(
    ("name", "base"),
    [
        (NVIDIA, "vectorized_elementwise_kernel"),
        (GNU, "vectorized_elementwise_kernel"),
        ("triton_poi_fused_add_cos_sin_0", "triton_poi_fused_add_cos_sin_0"),
        ("void cutlass::Kernel2<cutlass_80_tensorop>(cutlass_80_tensorop::Params)", "Kernel2"),
        (
            "(anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)",
            "softmax_warp_forward",
        ),
        ("void at::native::<unnamed>::reduce<(bool)1>(T1)", "reduce"),
        ("copy(float *, float *)", "copy"),
    ],
)
def test_the_base_name_is_what_ncu_calls_function(name: str, base: str):
    assert base_name(name) == base


def test_namespaces_are_kept_where_they_tell():
    assert qualified_name("void deep_ep::internode::dispatch<(bool)1>(int)") == (
        "deep_ep::internode::dispatch"
    )
    assert qualified_name("void (anonymous namespace)::f<A<B>>(int)") == "(anonymous namespace)::f"


def test_names_cannot_steer_a_terminal():
    assert printable("a\x1b[31mb\nc") == "a?[31mb c"


# --- one spelling, one name for two builds ----------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NVIDIA, GNU),
        ("void k<(bool)1>(T1)", "void k<true>(int)"),
        ("k<[lambda(float) (instance 1)]>(T1)", "k<{lambda(float)#1}>(int)"),
        ("k<[lambda([lambda() (instance 1)]) (instance 2)]>()", "k<{lambda({lambda()#1})#2}>()"),
        ("void <unnamed>::k<(int)3>(T1)", "void (anonymous namespace)::k<3>(int)"),
    ],
)
def test_spellings_of_one_kernel_compare_equal(one: str, other: str):
    assert comparable(one) == comparable(other)


def test_instantiations_stay_apart():
    assert comparable("void k<(int)4>(T1)") != comparable("void k<(int)8>(T1)")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void gemm<128, float>(float *, int)", "gemm"),
        ("void gemm<256, half>(half *, int)", "gemm"),
        (
            "void at::native::vectorized<(int)4, std::array<char *, 2> >(int)",
            "at::native::vectorized",
        ),
        ("_attn_fwd_0d1d2d3de4de5d6c", "_attn_fwd"),
        ("triton_red_fused__to_copy_mean_7", "triton_red_fused__to_copy_mean"),
        ("triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul"),
        ("cudapy::__main__::svd_2_241[abi:cw51cX_3d](Array<float, 2>)", "cudapy::__main__::svd_2"),
        ("matmul_kernel_8f3a91c2", "matmul_kernel"),
        ("reduce_v3(float *)", "reduce_v3"),
        ("kernel_12345678", "kernel_12345678"),  # digits alone are no hash
    ],
)
def test_what_two_builds_share(name: str, expected: str):
    assert build_name(name) == expected


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("matrix_addition2D", "matrix_addition1D", True),
        ("transposeCoalesced", "transposeNoBankConflicts", True),
        ("kernel_A", "kernel_C", False),  # "kernel" says nothing
        ("softmax", "gemm", False),
        ("kernel", "kernel", False),
    ],
)
def test_similarity_is_of_telling_words(one: str, other: str, alike: bool):
    assert (similarity(one, other) >= 0.6) is alike
    assert similarity(one, other) == similarity(other, one)


# --- forms for people -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "width", "text"),
    [
        (TORCH, 80, "vectorized_elementwise_kernel<4, FillFunctor<float>, Array<char*, 1>>"),
        (TORCH, 64, "vectorized_elementwise_kernel<4, FillFunctor<…>, Array<…>>"),
        (TORCH, 52, "vectorized_elementwise_kernel<4, FillFunctor<…>, …>"),
        (TORCH, 40, "vectorized_elementwise_kernel<4, …>"),
        (TORCH, 32, "vectorized_elementwise_kernel<…>"),
        (TORCH, 30, "vectorized_elementwise_kernel"),
        (TORCH, 20, "vectorized_el…kernel"),
        (TORCH[:98], 60, "vectorized_elementwise_kernel<4, FillFunctor<float>, Arra>"),  # cut off
        (CUTLASS, 40, "Kernel2<cutlass_80_tensorop_…_nn_align8>"),
        ("sobelFloat(float const*, float*, int)", 40, "sobelFloat"),
        ("unsigned int bar(int)", 40, "bar"),
        ("(anonymous namespace)::k(int)", 40, "k"),
        (
            "void a::(anonymous namespace)::foo<(int)4, (bool)1, 3ul>(int) [clone .kd]",
            40,
            "foo<4, 1, 3>",
        ),
        ("std::enable_if<(4 > 3), void>::type foo<int>(int)", 40, "foo<int>"),
        ("void f<int, g(int)::{lambda(int)#1}>(int)", 40, "f<int, {lambda(int)#1}>"),
        (KOKKOS, 60, "f<[lambda(const Kokkos::Impl::CudaTeamMe…r &) (instance 2)]>"),
        ("kernel", 40, "kernel"),
        ("triton_poi_fused_0d1d2d", 40, "triton_poi_fused_0d1d2d"),
        ("", 40, "(no name)"),
        ("bad\x1b[31m\nname", 40, "bad?[31m name"),
    ],
)
def test_short_keeps_what_tells_most(name: str, width: int, text: str):
    assert short(name, width) == text


def test_names_that_would_look_alike_show_where_they_differ():
    first, second = (f"void k<A<1>, Policy<3, {'a' * 30}, {t}>>(int)" for t in ("float", "double"))

    shorts = short_all([first, "other()", second, first], 30)

    assert shorts[1] == "other"
    assert shorts[0] == shorts[3] != shorts[2]
    assert "float" in shorts[0]
    assert "double" in shorts[2]
    assert all(len(s) <= 30 for s in shorts)


# --- any text ---------------------------------------------------------------------------------

SIGNS = st.text(alphabet="abA_1<>(){}[],: *&-#") | st.text()


@given(SIGNS)
def test_any_text_is_taken_apart(name: str):
    parsed = parse(name)

    assert parsed.full in name
    assert parsed.base in parsed.full or parsed.arguments is not None
    assert base_name(name) == parsed.base
    assert comparable(comparable(name)) is not None
    assert family(name) in {*kernel_names.families(), None}
    assert library(name) in {*kernel_names.libraries(), None}


@given(SIGNS, st.integers(min_value=1, max_value=60))
def test_any_text_fits_on_one_line(name: str, width: int):
    text = short(name, width)

    assert 1 <= len(text) <= width
    assert text.isprintable()


@given(st.lists(st.text(alphabet="ab<>,: ()"), max_size=4), st.integers(min_value=1, max_value=30))
def test_several_names_fit_too(several: list[str], width: int):
    shorts = short_all(several, width)

    assert len(shorts) == len(several)
    assert all(len(s) <= width for s in shorts)


IDENTIFIER = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda word: word not in ("const", "operator")
)
TEMPLATE = st.recursive(
    IDENTIFIER | st.integers(0, 99).map(str),
    lambda inner: st.builds(
        lambda name, given: f"{name}<{', '.join(given)}>",
        IDENTIFIER,
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


@given(st.lists(IDENTIFIER, min_size=1, max_size=3), st.lists(TEMPLATE, max_size=3), TEMPLATE)
def test_what_was_put_together_is_found_again(path: list[str], given_: list[str], parameter: str):
    arguments = f"<{', '.join(given_)}>" if given_ else ""
    parsed = parse(f"void {'::'.join(path)}{arguments}({parameter})")

    assert (*parsed.namespaces, parsed.base) == tuple(path)
    assert parsed.arguments == (tuple(given_) if given_ else None)
    assert parsed.parameters == parameter


@given(st.lists(IDENTIFIER, min_size=1, max_size=3), st.lists(TEMPLATE, max_size=3))
def test_a_short_name_is_as_short_as_it_gets(path: list[str], given_: list[str]):
    text = short(f"void {'::'.join(path)}<{', '.join(given_)}>(int)", 200)

    assert short(text, 200) == text


# --- what kernels are -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("mine", False),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<X>>(P)", False),
        ("triton_poi_fused_add_0", False),
        (CUTLASS, True),
        ("void cutlass::Kernel2<cudnn::fprop<X>>(P)", True),
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN", True),
    ],
)
def test_what_a_user_makes_from_a_library_is_the_user_s(name: str, others: bool):
    assert foreign(name) is others


@pytest.mark.parametrize(
    ("name", "work", "maker"),
    [
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN", "gemm", "cublas"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "gemm", "cublas"),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "gemm", "cublas"),
        ("volta_sgemm_32x128_tt", "gemm", "cublas"),
        ("void gemmk1_kernel<float, 256, 5>(T1)", "gemm", "cublas"),
        ("void splitKreduce_kernel<float, float>(cublasSplitKParams<float>)", "gemm", "cublas"),
        (CUTLASS, "gemm", "cublas"),  # which brings kernels of these names
        ("void cutlass::Kernel<cutlass_tensorop_s16816gemm_f16_64x64>(P)", "gemm", "cutlass"),
        ("void cutlass::device_kernel<flash::FlashAttnFwd<X>>(P)", "attention", "flash-attention"),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm80(P)", "attention", "pytorch"),
        ("void cutlass::device_kernel<cutlass::gemm::GemmUniversal<X>>(P)", "gemm", "cutlass"),
        ("matmul_kernel", "gemm", None),
        ("triton_tem_fused_mm_3", "gemm", "triton"),
        ("sgemm_v4", "gemm", None),
        ("wgrad_gemm_accum_fp32", "gemm", None),
        ("void pytorch_flash::flash_fwd_kernel<X<64>>(P)", "attention", "flash-attention"),
        ("fmha_v2_flash_attention_fp16_64_64_S_128_sm90_kernel", "attention", None),
        ("_attn_fwd_0d1d2d3de", "attention", None),
        ("cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized>", "conv", "cudnn"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tilesize128x64", "conv", "cudnn"),
        ("void convert_fp8<int>(int)", None, None),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(T)", "norm", "cudnn"),
        ("void at::native::<unnamed>::vectorized_layer_norm_kernel<float>(int)", "norm", "pytorch"),
        ("RMSNormKernel", "norm", None),
        ("void softmax_warp_forward<float, 8>(float*)", "softmax", None),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<X>>(X)", "reduce", "pytorch"),
        ("void cub::DeviceReduceKernel<X>(X)", "reduce", "cub"),
        ("void cub::DeviceRadixSortOnesweepKernel<X>(X)", "sort", "cub"),
        ("void cub::DeviceScanKernel<X>(X)", "scan", "cub"),
        (COPY, "copy", "pytorch"),
        (TORCH, "elementwise", "pytorch"),
        ("triton_poi_fused_add_cos_sin_0", "elementwise", "triton"),
        ("void fbgemm_gpu::_offsets_range_cuda_kernel<long>(long)", None, "fbgemm"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication", "nccl"),
        ("void vllm::cross_device_reduce_1stage<half, 8>(int)", "communication", "vllm"),
        ("void my_kernel<SoftmaxPolicy>(int)", None, None),  # what it is given is not what it is
        ("render", None, None),
        ("", None, None),
    ],
)  # fmt: skip
def test_family_and_library_are_told_by_name(name: str, work: str | None, maker: str | None):
    assert family(name) == work
    assert library(name) == maker


@pytest.mark.parametrize("work", kernel_names.families())
def test_ncu_is_asked_for_what_a_family_is(work: str):
    """The expression that ncu searches agrees with ``family``, on every name at hand."""
    wanted = re.compile(kernel_names.family_regex([work]))
    names = (*real_names(), *COLLECTIVES, *ORDINARY, NVIDIA, GNU, TORCH, CUTLASS, COPY, *FAMILIAR)
    wrong = [name for name in names if (wanted.search(name) is not None) != (family(name) == work)]
    assert wrong == []


def test_ncu_finds_functions_within_a_class_template():
    names = {
        "void Foo<int>::gemm_kernel(int)": "gemm",
        "void ns::Tile<float, (int)64>::softmax_fwd<(int)2>(const float *) const": "softmax",
        "void Foo<GemmPolicy>::run(int)": None,
        "void plain(Foo<int>::gemm_type)": None,
    }
    for name, work in names.items():
        assert family(name) == work, name
        for asked in ("gemm", "softmax"):
            found = re.search(kernel_names.family_regex([asked]), name)
            assert (found is not None) == (work == asked), (name, asked)


def test_several_families_are_one_expression():
    both = re.compile(kernel_names.family_regex(["gemm", "norm"]))
    for name in (*real_names(), *FAMILIAR):
        assert (both.search(name) is not None) == (family(name) in ("gemm", "norm")), name


# Real names: 99 % of the kernel time of the public timelines lies in kernels of a known family.
def test_most_real_kernels_have_a_family():
    if not real_names():
        pytest.skip("the public reports and timelines are not here")
    of_timelines = [name for name in real_names() if family(name) is not None]
    assert len(of_timelines) > 0.8 * len(real_names())
    for name in real_names():
        if "nvjet" in name or "xmma_gemm" in name:
            assert family(name) == "gemm", name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gemm", ("gemm",)),
        ("gemm,norm", ("gemm", "norm")),
        ("gemm, communication", ("gemm", "communication")),
        ("gemm|norm", ()),
        ("sgemm", ()),
        ("GEMM", ()),
        ("", ()),
        ("gemm,", ()),
    ],
)
def test_words_of_families(text: str, words: tuple[str, ...]):
    assert kernel_names.family_words(text) == words


FAMILIAR = [
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __half, (bool)0>(T)",
    "void cublasLt::epilogue::impl::globalKernel<8, 32, float>(int)",
    "void cutlass::gemm::kernel::softmax_kernel<float>(int)",
    "addmm_kernel",
    "void addMmKernel<float>(int)",
    "comm_kernel",
    "rowsum",
    "void my::sum<float>(int)",
    "checksum_kernel",
    "void at::native::index_elementwise_kernel<128, 4, at::native::copy_lambda>(long, X)",
]
COLLECTIVES = [
    "ncclDevKernel_SendRecv",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
    "ncclKernel_AllGather_RING_LL",
    "rcclGenericKernel",
    "nvshmemi_transfer",
    "void multimem_all_reduce_kernel<__nv_bfloat16, 8>(...)",
    "two_shot_all_reduce_kernel_inplace",
    "oneShotAllReduceKernel",
    "void (anonymous namespace)::one_shot_all_reduce_kernel<float, 4>(float*)",
    "void c10d::symmetric_memory::<unnamed>::barrier_kernel(unsigned int**, int, int)",
    "void deep_ep::intranode::combine<int>(int)",
    "void deep_ep::internode_ll::dispatch<(bool)1, (int)3, (int)7168>(void *, float *)",
    "void deep_ep::intranode::notify_dispatch<8>(int const*, int*)",
    "void hybrid_ep::dispatch_kernel<int>(int)",
    "mscclKernel_Sum_half_Simple_false(ncclDevComm*)",
    "void mscclpp::collective::allreducePacket<int>(int)",
    "void userbuffers_fp16_sum_inplace_gpu_rr_rs<8>(int)",
    "kuserbuffers_pushrecv(int, int, int *)",
    "void vllm::cross_device_reduce_2stage<half, 8>(int)",
    "void sglang::cross_device_reduce_1stage<__half, 8>(RankData *)",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 2>(AllReduceParams)",
    "void tensorrt_llm::kernels::moe_comm::moeAllToAllKernel<int>(int)",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<X>(X)",
    "void flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel<8, float>(float*)",
    "void quickreduce::allreduce_prototype_twoshot<X>(X)",
    "pplx::AllToAllIntraNodeDispatch",
    "reduce_scatter_kernel",
]
ORDINARY = [
    "void reduce_kernel<512>(...)",
    "block_reduce_all",
    "small_reduce_kernel",
    "overall_gather",
    "SmallReduce",
    "gather_scatter",
    "scatter_reduce_kernel",
    "sgemm",
    "void copy<AllReduceFunctor>(float*)",
    "void consume(ncclComm*)",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
    "void cutlass::device_kernel<cutlass::gemm::collective::CollectiveMma<X>>(P)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 4, ReduceAdd>(int)",
]


@cache
def real_names() -> tuple[str, ...]:
    """The kernels of all public timelines and reports, where those are."""
    names: dict[str, None] = {}
    for path in sorted((SHARED / "timelines").iterdir()) if SHARED else ():
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                events = json.load(file)["traceEvents"]
            found = [e["name"] for e in events if str(e.get("cat")).lower() == "kernel"]
        elif path.suffix == ".sqlite":
            db = sqlite3.connect(path)
            texts = dict(db.execute("SELECT id, value FROM StringIds"))
            rows = db.execute("SELECT DISTINCT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL")
            found = [texts[row[0]] for row in rows]
            db.close()
        else:
            continue
        names |= dict.fromkeys(found)
    if REPORTS:
        names |= dict.fromkeys(_names_of_reports())
    return tuple(names)


def _names_of_reports() -> Iterator[str]:
    ncu_report = pytest.importorskip("ncu_report")
    for path in REPORTS:
        report = ncu_report.load_report(str(path))
        for index in range(report.num_ranges()):
            part = report.range_by_idx(index)
            actions = (part.action_by_idx(i) for i in range(part.num_actions()))
            yield from (a.name(ncu_report.IAction.NameBase_DEMANGLED) for a in actions)


def waits(name: str) -> bool:
    """What ``roofline select`` says of a kernel."""
    return kind_of(identity(Work.KERNEL, name)) == COMMUNICATION


def left_out(name: str) -> bool:
    """What ncu does with a kernel that ``roofline profile`` asks it for, by Python's engine."""
    pattern = name_filter(CaptureRequest(program=("p",)))
    assert pattern is not None
    return re.search(pattern.removeprefix("regex:"), name) is None


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_are_so_to_all(name: str):
    assert is_collective(name)
    assert waits(name)
    assert left_out(name)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_kernels_are_no_collectives(name: str):
    assert not is_collective(name)
    assert not waits(name)
    assert not left_out(name)


@pytest.mark.skipif(SHARED is None, reason="no public reports here")
def test_selection_and_capture_agree_on_all_real_names():
    names = real_names()
    collectives = {base_name(name) for name in names if waits(name)}

    assert len(names) > 300
    assert {name for name in names if waits(name)} == {name for name in names if left_out(name)}
    assert all(base.startswith("nccl") for base in collectives)
    assert collectives


def test_users_add_collectives_of_their_own():
    kernel = identity(Work.KERNEL, "void my::Exchange<int>(int)")

    assert kind_of(kernel) == COMPUTE
    assert kind_of(kernel, re.compile("my::Exch")) == COMMUNICATION
    assert kind_of(kernel, re.compile("int")) == COMPUTE  # an argument is not the kernel


# --- no name takes long -----------------------------------------------------------------------

LONG = 100_000
HOSTILE = [
    *(
        unit * (LONG // len(unit))
        for unit in (
            *'<([ a1_-",\n',
            *("()", "a, ", "a b ", "aA1_", "f(int)::", "(a ", "operator ", "->", "[lambda("),
            *(
                " (instance 1",
                "[abi:",
                "[clone ",
                " const",
                "_v1",
                "_0d",
                "(int)4,",
                "triton_poi_1",
            ),
            *("<unnamed>::", "all_", "[CUDA memcpy ", "/home/a ", "C:/Users/", " MIG 1g.", "} , "),
            *('==PROF== Profiling "a', "x = 1 ", KOKKOS),
        )
    ),
    "f<" * (LONG // 3) + ">" * (LONG // 3),
    "f<" + "a<b>," * (LONG // 5) + "a>(int)",
    "f(" + " " * LONG + "x",
    "f<(" + "a " * (LONG // 2) + ")x>()",
    "A100" + "-" * LONG + "MIG",
    "}" + " " * LONG + "x",
]
FUNCTIONS: dict[str, Callable[[str], object]] = {
    **{f.__name__: f for f in (build_name, comparable, family, library)},
    "short_all": lambda text: short_all([text, text + "x", "y" + text]),
    "similarity": lambda text: similarity(text, "x" + text),
    "left_out": left_out,
}


def patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | tuple | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(inner)


def every_pattern() -> dict[re.Pattern[Any], str]:
    """All patterns that modules of the package hold, and where."""
    modules = pkgutil.walk_packages(roofline.__path__, "roofline.")
    return {
        pattern: f"{module.name}.{name}"
        for module in modules
        if not module.name.endswith("__main__")
        for name, value in vars(importlib.import_module(module.name)).items()
        for pattern in patterns_in(value)
    }


LIMITS = ((8000, 3.0), (LONG, 5.0))
# For what takes microseconds where it is linear: the square of 10,000 letters takes 0.3 s or more.
NARROW = ((1000, 0.1), (10_000, 0.2))


def is_quick(
    ask: Callable[[Any], object],
    text: str | bytes,
    limits: tuple[tuple[int, float], ...] = LIMITS,
) -> bool:
    """Within so many seconds of computing at each length: the short one fails before minutes."""
    for length, limit_s in limits:
        began = time.process_time()
        ask(text[:length])
        if time.process_time() - began > limit_s:
            return False
    return True


def test_the_kokkos_name_takes_no_time_whichever_letter_is_repeated():
    names = [KOKKOS, *(KOKKOS[:i] + c * 1000 + KOKKOS[i:] for i, c in enumerate(KOKKOS))]
    began = time.process_time()
    for name in names:
        short(name)
        comparable(name)

    assert (time.process_time() - began) / len(names) < 0.01


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_hostile_name_takes_long(name: str):
    assert [text[:20] for text in HOSTILE if not is_quick(FUNCTIONS[name], text)] == []


def subjects(pattern: re.Pattern[Any]) -> list[Any]:
    return [t.encode() for t in HOSTILE] if isinstance(pattern.pattern, bytes) else HOSTILE


def test_no_pattern_of_the_package_takes_long():
    slow = [
        (where, text[:20])
        for pattern, where in every_pattern().items()
        for text in subjects(pattern)
        for ask in (pattern.fullmatch, lambda s, p=pattern: sum(1 for _ in p.finditer(s)))
        if not is_quick(ask, text, NARROW)
    ]

    assert slow == []


def test_a_pattern_that_takes_the_square_of_the_length_is_seen():
    quadratic = re.compile(r"\w+\.x")
    assert not is_quick(lambda s: sum(1 for _ in quadratic.finditer(s)), "_" * LONG, NARROW)


@pytest.mark.parametrize("width", [40, 100])
def test_a_kernel_of_numba_is_shown_without_its_encoded_arguments(width: int) -> None:
    demangled = "cudapy::__main__::svd_2_241[abi:cw51cX_3d](Array<float, 2>)"

    assert own_name("cw51cX_3d]", demangled) == short(demangled, width) == "svd_2_241"
    assert own_name("gemm", "void gemm<float>(float *)") == "gemm"
