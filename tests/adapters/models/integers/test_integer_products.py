"""The slow kernels for 8-bit integers are used exactly where the fast ones overflow."""

import numpy as np
import onnx
import onnxruntime
import pytest

from core.adapters.models.integers import integer_products
from scripts.largest_product import largest_product

LARGEST = 64 * 255 * 127


def product(rows: int, *option: str) -> set[int]:
    options = onnxruntime.SessionOptions()
    if option:
        options.add_session_config_entry(*option)
    session = onnxruntime.InferenceSession(str(integer_products.PRODUCT), options)
    return set(session.run(None, {"x": np.full((rows, 64), 255, np.uint8)})[0].ravel().tolist())


def test_the_shipped_model_is_the_one_that_the_script_writes() -> None:
    assert integer_products.PRODUCT.read_bytes() == largest_product()
    model = onnx.load_from_string(largest_product())
    onnx.checker.check_model(model)
    (weights,) = model.graph.initializer
    assert set(onnx.numpy_helper.to_array(weights).ravel().tolist()) == {127}


@pytest.mark.parametrize("rows", [1, 8, 33])
def test_the_chosen_kernels_are_exact_on_this_cpu(rows: int) -> None:
    option = integer_products.SLOW_AND_EXACT if integer_products.overflow() else ()
    assert product(rows, *option) == {LARGEST}


def test_slow_kernels_are_chosen_only_where_fast_ones_overflow() -> None:
    assert integer_products.overflow() is (product(1) != {LARGEST} or product(8) != {LARGEST})


def test_the_kernels_in_use_are_told() -> None:
    assert ("slow" in integer_products.describe()) is integer_products.overflow()
