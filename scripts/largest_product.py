"""Write the model that tests the kernels for 8-bit integers: `python -m scripts.largest_product`."""

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

from core.adapters.models.integers.integer_products import DEPTH, PRODUCT

WIDTH = 32


def largest_product() -> bytes:
    """Return an ONNX file that multiplies `x`, which is uint8, by a matrix of int8 with values of 127."""
    weights = numpy_helper.from_array(np.full((DEPTH, WIDTH), 127, dtype=np.int8), "w")
    graph = make_graph(
        [make_node("MatMulInteger", ["x", "w"], ["y"])],
        "largest product",
        [make_tensor_value_info("x", TensorProto.UINT8, [None, DEPTH])],
        [make_tensor_value_info("y", TensorProto.INT32, [None, WIDTH])],
        [weights],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=8)
    written: bytes = model.SerializeToString(deterministic=True)
    return written


if __name__ == "__main__":
    PRODUCT.write_bytes(largest_product())
