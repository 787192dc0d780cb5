"""The graph of the shipped embedding model, which multiplies integers."""

import hashlib

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

from core.adapters.models.local_embedder import GRAPH, GRAPH_SHA256, WEIGHTS
from scripts.embedding_graph import embedding_graph, with_external_weights, with_integer_products

DEPTH, WIDTH, ROWS = 64, 32, 50
CHANCE = np.random.default_rng(7)
FACTOR = CHANCE.integers(-127, 128, (DEPTH, WIDTH), dtype=np.int8)
TABLE = CHANCE.integers(-127, 128, (ROWS, DEPTH), dtype=np.int8)
FACTOR_SCALES = CHANCE.uniform(0.001, 0.01, (1, WIDTH)).astype(np.float32)
TABLE_SCALES = CHANCE.uniform(0.001, 0.01, (ROWS, 1)).astype(np.float32)


def weight_only_model() -> bytes:
    """Rows of a table, multiplied twice by one matrix, and the products with each other; all in floats."""
    stored = {
        "factor_q": FACTOR,
        "factor_scale": FACTOR_SCALES,
        "table_q": TABLE,
        "table_scale": TABLE_SCALES,
    }
    nodes = [
        make_node("Cast", ["factor_q"], ["factor_f"], to=1),
        make_node("Mul", ["factor_f", "factor_scale"], ["factor"]),
        make_node("Cast", ["table_q"], ["table_f"], to=1),
        make_node("Mul", ["table_f", "table_scale"], ["table"]),
        make_node("Gather", ["table", "ids"], ["rows"], axis=0),
        make_node("MatMul", ["rows", "factor"], ["product"]),
        make_node("MatMul", ["rows", "factor"], ["again"]),
        make_node("Transpose", ["again"], ["turned"], perm=[1, 0]),
        make_node("MatMul", ["product", "turned"], ["out"]),
    ]
    graph = make_graph(
        nodes,
        "weight only",
        [make_tensor_value_info("ids", onnx.TensorProto.INT64, ["n"])],
        [make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("rows", "product", "out")],
        [numpy_helper.from_array(values, name) for name, values in stored.items()],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def run(model: bytes, ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # as the embedder does
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, {"ids": ids}))


def test_only_the_inputs_of_products_are_rounded() -> None:
    ids = np.array([3, 1, 4, 1, 5])
    rows, product, out = run(with_integer_products(weight_only_model()), ids)
    exact, exact_product, exact_out = run(weight_only_model(), ids)
    np.testing.assert_array_equal(rows, exact)
    step = (exact.max() - exact.min()) / 255
    most = step / 2 * (np.abs(FACTOR.astype(np.float32)) * FACTOR_SCALES).sum(axis=0)
    assert (np.abs(product - exact_product) <= most * 1.001).all()
    assert not np.array_equal(product, exact_product)
    np.testing.assert_allclose(out, product @ product.T, rtol=1e-4, atol=1e-4)
    assert np.corrcoef(out.ravel(), exact_out.ravel())[0, 1] > 0.999


def test_integer_products_leave_no_float_matrix_and_round_once() -> None:
    nodes = onnx.load_from_string(with_integer_products(weight_only_model())).graph.node
    kinds = [node.op_type for node in nodes]
    assert kinds.count("MatMulInteger") == 2
    assert kinds.count("MatMul") == 1
    assert kinds.count("DynamicQuantizeLinear") == 1
    assert not {"factor_f", "table_f"} & {name for node in nodes for name in node.output}


def test_a_model_without_int8_weights_stays_as_it_is() -> None:
    graph = make_graph(
        [make_node("MatMul", ["x", "x"], ["y"])],
        "floats",
        [make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 2])],
        [make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 2])],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 17)], ir_version=8)
    assert with_integer_products(model.SerializeToString()) == model.SerializeToString()


def test_int8_matrices_are_read_from_the_file_of_weights() -> None:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(WEIGHTS.file.parent)
    )
    graph = onnx.load_from_string(GRAPH.read_bytes()).graph
    int8 = [tensor for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.INT8]
    assert len(int8) == 38
    assert all(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in int8)
    assert onnxruntime.InferenceSession(GRAPH.read_bytes(), options).get_inputs()


def test_matrix_missing_in_the_file_is_an_error() -> None:
    with pytest.raises(ValueError, match="not found"):
        with_external_weights(weight_only_model(), b"other", "model.onnx")


def test_the_shipped_graph_is_what_the_script_writes() -> None:
    shipped = GRAPH.read_bytes()
    assert hashlib.sha256(shipped).hexdigest() == GRAPH_SHA256
    assert onnx.load_from_string(embedding_graph()) == onnx.load_from_string(shipped)
