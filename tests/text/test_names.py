from __future__ import annotations

from roofline.text import names


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
