"""Arrays that go to JSON and back bit for bit, and come back read-only."""

from __future__ import annotations

import base64
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator


def array_to_json(array: NDArray[Any]) -> dict[str, Any]:
    """`{"dtype", "shape", "base64"}`: exact, and a quarter of the size of the numbers written out."""
    data = np.ascontiguousarray(array).tobytes()
    return {"dtype": str(array.dtype), "shape": list(array.shape), "base64": base64.b64encode(data).decode()}


def _array_from_json(value: Any) -> NDArray[Any]:
    if not isinstance(value, np.ndarray):
        data = base64.b64decode(value["base64"], validate=True)
        value = np.frombuffer(data, dtype=np.dtype(value["dtype"])).reshape(value["shape"])
    array: NDArray[Any] = value
    array.flags.writeable = False
    return array


_as_json = (PlainValidator(_array_from_json), PlainSerializer(array_to_json, when_used="json"))
Floats = Annotated[NDArray[np.float32], *_as_json]
Rows = Annotated[NDArray[np.int64], *_as_json]
