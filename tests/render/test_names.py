from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.text import names

TORCH = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, "
    "at::detail::Array<char*, 1>)"
)
CUTLASS = (
    "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_128x128_32x5_nn_align8>"
    "(cutlass_80_tensorop_s16816gemm_f16_128x128_32x5_nn_align8::Params)"
)


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
        ("kernel", 40, "kernel"),
        ("triton_poi_fused_0d1d2d", 40, "triton_poi_fused_0d1d2d"),
        ("", 40, "(no name)"),
        ("bad\x1b[31m\nname", 40, "bad?[31m?name"),
    ],
)
def test_short_keeps_what_tells_most(name, width, text):
    assert names.short(name, width) == text


def test_names_that_would_look_alike_show_where_they_differ():
    first, second = (f"void k<A<1>, Policy<3, {'a' * 30}, {t}>>(int)" for t in ("float", "double"))

    shorts = names.short_all([first, "other()", second, first], 30)

    assert shorts[1] == "other"
    assert shorts[0] == shorts[3] != shorts[2]
    assert "float" in shorts[0]
    assert "double" in shorts[2]
    assert all(len(s) <= 30 for s in shorts)


@given(st.text(), st.integers(min_value=1, max_value=60))
def test_any_text_fits_on_one_line(name, width):
    text = names.short(name, width)

    assert 1 <= len(text) <= width
    assert text.isprintable()


@given(st.lists(st.text(alphabet="ab<>,: ()"), max_size=4), st.integers(min_value=1, max_value=30))
def test_several_names_fit_too(several, width):
    shorts = names.short_all(several, width)

    assert len(shorts) == len(several)
    assert all(len(s) <= width for s in shorts)


def test_unit_and_operation_names():
    assert names.unit("issue") == "issue slots"
    assert names.unit("brand_new") == "brand new"
    assert names.unit(None) == ""
    assert names.operation("tensor_bf16_sparse") == "tensor BF16 sparse"
    assert names.operation("fp32") == "FP32"
    assert names.operation_unit("tensor_int8") == "OP"
    assert names.operation_unit("tensor_fp8") == "FLOP"
    assert names.operation_unit(None) == "FLOP"
    assert names.words("long_scoreboard") == "long scoreboard"
