"""Page texts and vectors as separate parts, so that a bundle has each of them once.

In the JSON of a bundle a page's text and the array of a run's vectors are replaced by `{"part": name}`. A passage has
no text, since its place identifies it.
"""

import base64
import io
from collections import defaultdict
from collections.abc import Mapping
from tokenize import TokenError
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from core.errors import BadInput
from core.model import Passage
from core.model.arrays import ARRAYS
from core.run.importer import MOST_DIMENSIONS

PART = "part"
PAGES, VECTORS = "pages", "vectors"


class PartsWriter:
    """Moves texts and vectors out of JSON. `parts` has them by name."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}
        self._names: defaultdict[str, dict[bytes, str]] = defaultdict(dict)
        self._texts: dict[str, str] = {}
        """The latest text of each page, by page key."""

    def shortened(self, document: bytes) -> bytes:
        """Return the JSON of an event or a run without its parts."""
        return orjson.dumps(self._shortened(orjson.loads(document)))

    def _shortened(self, value: Any) -> Any:
        match value:
            case {"key": str(key), "article": {"text": str(text)} as article}:
                self._texts[key] = text
                part = {PART: self._name(PAGES, ".txt", text.encode())}
                return {**value, "article": {**article, "text": part}}
            case {"text": str(text), "place": {"page": str(page), "start": int(start), "end": int(end)}} if (
                text == self._texts.get(page, "")[start:end]
            ):
                return {name: inner for name, inner in value.items() if name != "text"}
            case {"dtype": str(dtype), "shape": [int(rows), int(columns)], "base64": str(data)}:
                file = io.BytesIO()
                np.save(file, np.frombuffer(base64.b64decode(data), dtype).reshape(rows, columns))
                return {PART: self._name(VECTORS, ".npy", file.getvalue())}
            case dict():
                return {name: self._shortened(inner) for name, inner in value.items()}
            case list():
                return [self._shortened(inner) for inner in value]
            case _:
                return value

    def _name(self, folder: str, ending: str, content: bytes) -> str:
        names = self._names[folder]
        name = names.setdefault(content, f"{folder}/{len(names) + 1:04}{ending}")
        self.parts[name] = content
        return name


class PartsReader:
    """Puts texts back into JSON, and has the arrays of vectors. The JSON and the parts are untrusted."""

    def __init__(self, parts: Mapping[str, bytes], limit: int) -> None:
        """`limit` bounds the restored bytes. Parts may be named, and passages cut, many times.

        A passage that was cut before costs nothing, since `shared` reuses it.
        """
        self._parts = parts
        self.unused = set(parts)
        """Names of the parts that nothing has named yet."""
        self._left = limit
        self._texts: dict[str, str] = {}
        self._cut: set[tuple[str, int, int]] = set()
        self._passages: dict[Passage, Passage] = {}
        self.context = {ARRAYS: self._array}
        """The validation context for restored values."""

    def restored(self, document: bytes) -> Any:
        """Return the parsed JSON with texts restored. Vectors stay `{"part": name}`.

        Raises:
            BadInput: when a part is missing or has the wrong kind, or a passage is not in its page.
        """
        try:
            return self._restored(orjson.loads(document))
        except (orjson.JSONDecodeError, UnicodeDecodeError) as error:
            raise BadInput("The bundle has a part that is no JSON or no text.") from error
        except RecursionError as error:
            raise BadInput("The bundle has JSON that is nested too deep.") from error

    def shared(self, passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
        """Return the passages, replaced by equal earlier objects."""
        return tuple(self._passages.setdefault(passage, passage) for passage in passages)

    def _array(self, name: str) -> NDArray[np.float32]:
        return _array(self._part(VECTORS, name))

    def _restored(self, value: Any) -> Any:
        match value:
            case {"key": str(key), "article": {"text": {"part": str(name)}} as article}:
                self._texts[key] = text = self._part(PAGES, name).decode()
                self._cut.clear()
                return {**value, "article": {**article, "text": text}}
            case {"place": {"page": str(page), "start": int(start), "end": int(end)}} if "text" not in value:
                return {**value, "text": self._passage(page, start, end)}
            case dict():
                return {name: self._restored(inner) for name, inner in value.items()}
            case list():
                return [self._restored(inner) for inner in value]
            case _:
                return value

    def _part(self, folder: str, name: str) -> bytes:
        if not name.startswith(f"{folder}/") or name not in self._parts:
            raise BadInput(f"The bundle names a part in {folder} that it does not have.")
        self.unused.discard(name)
        self._spend(len(self._parts[name]))
        return self._parts[name]

    def _passage(self, page: str, start: int, end: int) -> str:
        if not 0 <= start <= end <= len(self._texts.get(page, "")):
            raise BadInput("The bundle has a passage that is not in its page.")
        if (page, start, end) not in self._cut:
            self._cut.add((page, start, end))
            self._spend(end - start)
        return self._texts[page][start:end]

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise BadInput("The bundle repeats its parts more often than any run does.")


def _array(npy: bytes) -> NDArray[np.float32]:
    """Return a matrix in NumPy's format, without a copy.

    Raises:
        BadInput: when the format is wrong, or the number of values differs from the header.
    """
    file = io.BytesIO(npy)
    try:
        np.lib.format.read_magic(file)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=1000)
    except (ValueError, TypeError, EOFError, SyntaxError, TokenError, MemoryError, RecursionError) as error:
        raise BadInput("The bundle has vectors that are not in NumPy's format.") from error
    start = file.tell()
    if (
        fortran
        or dtype != np.float32
        or len(shape) != 2
        or min(shape) < 0
        or shape[1] > MOST_DIMENSIONS
        or shape[0] * shape[1] * 4 != len(npy) - start
    ):
        raise BadInput("The bundle has vectors of another shape than they state.")
    return np.frombuffer(npy, np.float32, offset=start).reshape(shape)
