from __future__ import annotations

import re

import pytest

from roofline.kernel_names import base_name, printable, qualified_name
from roofline.timeline.names import COMMUNICATION, comparable, is_communication
from roofline.typed import Typed

COLLECTIVES = Typed(COMMUNICATION, flags=re.IGNORECASE)

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


@pytest.mark.parametrize(
    ("name", "base"),
    [
        (NVIDIA, "vectorized_elementwise_kernel"),
        (GNU, "vectorized_elementwise_kernel"),
        ("ampere_sgemm_64x64_nn", "ampere_sgemm_64x64_nn"),
        ("triton_poi_fused_add_cos_sin_0", "triton_poi_fused_add_cos_sin_0"),
        ("void cutlass::Kernel2<cutlass_80_tensorop>(cutlass_80_tensorop::Params)", "Kernel2"),
        (
            "(anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)",
            "softmax_warp_forward",
        ),
        ("void at::native::<unnamed>::reduce<(bool)1>(T1)", "reduce"),
        ("void f<decltype(a->b)>(int)", "f"),
        ("copy(float *, float *)", "copy"),
    ],
)
def test_the_base_name_is_what_ncu_calls_function(name: str, base: str):
    assert base_name(name) == base


def test_namespaces_are_kept_where_they_tell():
    assert qualified_name("void deep_ep::internode::dispatch<(bool)1>(int)") == (
        "deep_ep::internode::dispatch"
    )


def test_one_kernel_has_one_comparable_form():
    assert comparable(NVIDIA) == comparable(GNU)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("void k<(bool)1>(T1)", "void k<true>(int)"),
        ("k<[lambda(float) (instance 1)]>(T1)", "k<{lambda(float)#1}>(int)"),
        ("void <unnamed>::k<(int)3>(T1)", "void (anonymous namespace)::k<3>(int)"),
    ],
)
def test_spellings_of_arguments_compare_equal(one: str, other: str):
    assert comparable(one) == comparable(other)


def test_instantiations_stay_apart():
    assert comparable("void k<(int)4>(T1)") != comparable("void k<(int)8>(T1)")


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_SendRecv",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
        "void multimem_all_reduce_kernel<float>(float*)",
        "void deep_ep::intranode::combine<int>(int)",
        "void vllm::cross_device_reduce_2stage<half, 8>(int)",
    ],
)
def test_collectives_are_told_by_name(name: str):
    assert is_communication(name, [COLLECTIVES])


def test_a_template_argument_makes_no_collective():
    name = "void copy<AllReduceFunctor>(float*)"
    assert not is_communication(name, [COLLECTIVES])


def test_names_cannot_steer_a_terminal():
    assert printable("a\x1b[31mb\nc") == "a?[31mb?c"
