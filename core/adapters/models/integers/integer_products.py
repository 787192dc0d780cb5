"""Test whether ONNX Runtime's kernels multiply 8-bit integers exactly on this CPU.

x86-64 CPUs without VNNI add two such products in 16 bits, which overflows without notice. ONNX Runtime has slower
kernels for them, which it uses on every CPU once requested. A product is more reliable than the CPU's flags: the
library chooses kernels, and a virtual machine may hide or invent a flag.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np

SLOW_AND_EXACT = ("session.x64quantprecision", "1")
"""The session option for CPUs whose fast kernels overflow: twice the time, but the same result as on others."""

PRODUCT = Path(__file__).with_name("largest_product.onnx")
"""The product of an input `x` of `DEPTH` columns and a matrix of 127, made by `scripts/largest_product.py`."""
DEPTH = 64
_ROWS = (1, 8)
"""A single row has a separate kernel."""
_LARGEST = 255 * 127
"""A product of the largest unsigned and signed bytes. Two of them need 17 bits."""


@functools.cache
def overflow() -> bool:
    """Test whether the fast kernels overflow on this CPU."""
    return any((_product(rows) != DEPTH * _LARGEST).any() for rows in _ROWS)


def describe() -> str:
    """Describe the kernels that embed on this machine."""
    if overflow():
        return "8-bit kernels: slow, as the fast ones overflow on this CPU (no VNNI)"
    return "8-bit kernels: fast"


def _product(rows: int) -> Any:
    """Compute the largest product of `rows` rows, by the fast kernels."""
    onnxruntime = onnx_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(PRODUCT), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.full((rows, DEPTH), 255, dtype=np.uint8)})[0]


def onnx_runtime() -> Any:
    """Import ONNX Runtime with its telemetry off. The import is slow, and not every command embeds."""
    # From 1.29 on, the package's builds for Linux and macOS send usage to Microsoft, with an identifier that they store
    # on disk. They read this variable when they are loaded, and then do neither.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
