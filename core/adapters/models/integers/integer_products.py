"""Test whether ONNX Runtime's kernels multiply 8-bit integers exactly on this CPU.

x86-64 CPUs without VNNI add two such products in 16 bits, which overflows without notice. ONNX Runtime has slower
kernels for them, which it uses on every CPU once requested. A product is more reliable than the CPU's flags: the
library chooses kernels, and a virtual machine may hide or invent a flag.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.models.integers.onnx_runtime import onnx_runtime

SLOW_AND_EXACT = ("session.x64quantprecision", "1")
"""The session option for CPUs whose fast kernels overflow: twice the time, but the same result as on others."""

_DEPTH, _WIDTH = 64, 32
_ROWS = (1, 8)
"""A single row has a separate kernel."""
_LARGEST = 255 * 127
"""A product of the largest unsigned and signed bytes. Two of them need 17 bits."""


@functools.cache
def overflow() -> bool:
    """Test whether the fast kernels overflow on this CPU."""
    return not all(np.array_equal(_product(rows), _expected(rows)) for rows in _ROWS)


def describe() -> str:
    """Describe the kernels that embed on this machine."""
    if overflow():
        return "8-bit kernels: slow, as the fast ones overflow on this CPU (no VNNI)"
    return "8-bit kernels: fast"


def _expected(rows: int) -> NDArray[np.int32]:
    return np.full((rows, _WIDTH), _DEPTH * _LARGEST, dtype=np.int32)


def _product(rows: int) -> Any:
    """Compute the largest product of `rows` rows, by the fast kernels."""
    onnxruntime = onnx_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(largest_product(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.full((rows, _DEPTH), 255, dtype=np.uint8)})[0]


def largest_product() -> bytes:
    """Build an ONNX file that multiplies `x` by a matrix. `x` is uint8, and the constant int8 matrix has values of 127.

    Written by hand, because importing the package `onnx` takes longer than computing the product. Field numbers are
    those of onnx.proto.
    """
    weights = _message((1, _DEPTH), (1, _WIDTH), (2, 3), (8, b"w"), (9, b"\x7f" * (_DEPTH * _WIDTH)))
    node = _message((1, b"x"), (1, b"w"), (2, b"y"), (4, b"MatMulInteger"))
    graph = _message((1, node), (2, b"g"), (5, weights), (11, _value(b"x", 2)), (12, _value(b"y", 6)))
    return _message((1, 8), (7, graph), (8, _message((2, 13))))


def _value(name: bytes, element_type: int) -> bytes:
    matrix = _message((1, b""), (1, b""))  # two dimensions of any size
    return _message((1, name), (2, _message((1, _message((1, element_type), (2, matrix))))))


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    """Encode a message of Protocol Buffers."""
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, int):
            parts += [_varint(number << 3), _varint(value)]
        else:
            parts += [_varint(number << 3 | 2), _varint(len(value)), value]
    return b"".join(parts)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes((*groups, value))
