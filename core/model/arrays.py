"""Convert arrays to JSON and back bit for bit. Restored arrays are read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import ValidationInfo

# numpy, pydantic and pybase64 are imported inside functions, because extraction processes hold no arrays, and these
# packages would be a third of the memory of each.

ARRAYS = "arrays"
"""The validation context's key for a function that returns an array by name, for `{"part": name}`."""


def array_to_json(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as `{"dtype", "shape", "base64"}`.

    This is exact, and a quarter of the size of decimal numbers.
    """
    import numpy as np
    import pybase64

    data = pybase64.b64encode_as_string(
        np.ascontiguousarray(array).data
    )  # without copying the array to bytes
    return {"dtype": str(array.dtype), "shape": list(array.shape), "base64": data}


def _array_from_json(value: Any, info: ValidationInfo) -> NDArray[Any]:
    import numpy as np
    import pybase64

    if isinstance(value, dict) and value.keys() == {"part"} and info.context:
        value = info.context[ARRAYS](value["part"])
    elif not isinstance(value, np.ndarray):
        data = pybase64.b64decode(value["base64"], validate=True)
        value = np.frombuffer(data, dtype=np.dtype(value["dtype"])).reshape(value["shape"])
    array: NDArray[Any] = value
    array.flags.writeable = False
    return array


class _AsJson:
    """Tells pydantic to write arrays with `array_to_json` and to read that form."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(
            _array_from_json,
            serialization=core_schema.plain_serializer_function_ser_schema(array_to_json, when_used="json"),
        )


if TYPE_CHECKING:
    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]
else:
    Floats = Rows = Annotated[Any, _AsJson()]
