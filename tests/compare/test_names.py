from __future__ import annotations

import pytest

from roofline.compare.names import base_name, select, similarity
from roofline.errors import UsageError
from roofline.kernel_names import qualified_name


@pytest.mark.parametrize(
    ("demangled", "expected"),
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
def test_what_two_builds_share(demangled: str, expected: str) -> None:
    assert base_name("", demangled) == expected


def test_arrows_and_anonymous_namespaces_do_not_upset_the_brackets() -> None:
    assert qualified_name("void (anonymous namespace)::f<A<B>>(int)") == "anonymous_::f"
    assert qualified_name("auto g<decltype(a->b)>(int)") == "g"


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
def test_similarity_is_of_telling_words(one: str, other: str, alike: bool) -> None:
    assert (similarity(one, other) >= 0.6) is alike
    assert similarity(one, other) == similarity(other, one)


NAMES = [("gemm", "void gemm<1>(int)"), ("gemm_2", "void gemm_2<1>(int)")]


def test_an_exact_name_wins_over_the_expression() -> None:
    assert select("gemm", NAMES) == (0,)
    assert select("gem", NAMES) == (0, 1)
    assert select("void gemm<1>(int)", NAMES) == (0,)
    assert select("softmax", NAMES) == ()


def test_a_bad_expression_says_how_to_mend_it() -> None:
    with pytest.raises(UsageError, match="backslash"):
        select("gemm(", NAMES)
