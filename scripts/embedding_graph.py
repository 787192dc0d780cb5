"""Write the graph of the shipped embedding model, which multiplies integers: `python -m scripts.embedding_graph`.

The package of all-MiniLM-L6-v2 has its weights as int8 and computes with floats: it holds each matrix as
`Cast(int8) * scale`, with a scale for each column of a factor and for each row of an embedding table. In the graph
that is written, the inputs of products are rounded to 8 bits at run time and multiplied as integers, and of a table
only the rows that are looked up become floats (decision 0044). The int8 matrices are not in it: it names their places
in the package's file. What is lost is the rounding of the inputs, which have one scale for each product.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import onnx
from onnx import GraphProto, NodeProto, TensorProto
from onnx.helper import make_node

from core.adapters.models.local_embedder import GRAPH, WEIGHTS

_FLOAT = 1
"""ONNX's number for float32."""


@dataclass(frozen=True, slots=True)
class _Int8Matrix:
    """The names of a matrix of int8 and of its scales."""

    values: str
    scales: str


def with_integer_products(model: bytes) -> bytes:
    """The ONNX file with products by int8 matrices computed in integers. Products of activations stay as they are.

    Raises:
        google.protobuf.message.DecodeError: when it is none.
    """
    loaded = onnx.load_from_string(model)
    graph = loaded.graph
    matrices = dict(_int8_matrices(graph))
    nodes = list(_rewritten(graph, matrices))
    while len(used_nodes := _without_unused(nodes, graph)) < len(nodes):
        nodes = used_nodes
    del graph.node[:]
    graph.node.extend(nodes)
    rewritten: bytes = loaded.SerializeToString()
    return rewritten


def _int8_matrices(graph: GraphProto) -> Iterator[tuple[str, _Int8Matrix]]:
    """The int8 matrices, by the name of the float matrix that the graph makes of each."""
    stored = {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.INT8}
    cast = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Cast" and node.input[0] in stored
    }
    for node in graph.node:
        if node.op_type == "Mul" and node.input[0] in cast:
            yield node.output[0], _Int8Matrix(cast[node.input[0]], node.input[1])


def _rewritten(graph: GraphProto, matrices: dict[str, _Int8Matrix]) -> Iterator[NodeProto]:
    """The nodes in their order; an input of several products is rounded once."""
    rounded: set[str] = set()
    for node in graph.node:
        if node.op_type == "MatMul" and (factor := matrices.get(node.input[1])):
            if node.input[0] not in rounded:
                rounded.add(node.input[0])
                yield make_node("DynamicQuantizeLinear", [node.input[0]], _rounded(node.input[0]))
            yield from _product(node, factor)
        elif node.op_type == "Gather" and (table := matrices.get(node.input[0])):
            yield from _lookup(node, table)
        else:
            yield node


def _rounded(name: str) -> list[str]:
    """The names of the 8-bit values of an input, of their scale and of their zero point."""
    return [f"{name}:{part}" for part in ("uint8", "scale", "zero")]


def _product(node: NodeProto, factor: _Int8Matrix) -> Iterator[NodeProto]:
    result = node.output[0]
    values, scale, zero = _rounded(node.input[0])
    yield make_node("MatMulInteger", [values, factor.values, zero], [f"{result}:int32"])
    yield make_node("Cast", [f"{result}:int32"], [f"{result}:float"], to=_FLOAT)
    yield make_node("Mul", [scale, factor.scales], [f"{result}:scales"])
    yield make_node("Mul", [f"{result}:float", f"{result}:scales"], [result])


def _lookup(node: NodeProto, table: _Int8Matrix) -> Iterator[NodeProto]:
    result, rows = node.output[0], node.input[1]
    yield make_node("Gather", [table.values, rows], [f"{result}:int8"], axis=0)
    yield make_node("Gather", [table.scales, rows], [f"{result}:scales"], axis=0)
    yield make_node("Cast", [f"{result}:int8"], [f"{result}:float"], to=_FLOAT)
    yield make_node("Mul", [f"{result}:float", f"{result}:scales"], [result])


def _without_unused(nodes: list[NodeProto], graph: GraphProto) -> list[NodeProto]:
    used = {name for node in nodes for name in node.input} | {output.name for output in graph.output}
    return [node for node in nodes if not used.isdisjoint(node.output)]


def with_external_weights(model: bytes, weights: bytes, file_name: str) -> bytes:
    """Return the model with its int8 matrices as places in the file of weights.

    Args:
        model: an ONNX file.
        weights: the file that has every int8 matrix of the model somewhere in it.
        file_name: the name of that file, which lies in the folder that ONNX Runtime is told.

    Raises:
        ValueError: when a matrix is not in the file.
    """
    loaded = onnx.load_from_string(model)
    for tensor in loaded.graph.initializer:
        if tensor.data_type != TensorProto.INT8:
            continue  # scales are few, and floats had better begin at a multiple of four bytes
        values = tensor.raw_data
        place = {"location": file_name, "offset": weights.index(values), "length": len(values)}
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
    written: bytes = loaded.SerializeToString(deterministic=True)
    return written


def embedding_graph() -> bytes:
    """Return the graph of the shipped embedding model."""
    weights = WEIGHTS.read()
    return with_external_weights(with_integer_products(weights), weights, WEIGHTS.file.name)


if __name__ == "__main__":
    written = embedding_graph()
    GRAPH.write_bytes(written)
    print(f"{GRAPH}: {len(written):,} bytes, SHA-256 {hashlib.sha256(written).hexdigest()}")
