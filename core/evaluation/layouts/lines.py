"""Lines of a text file with their numbers, none longer than a limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import Path as ZipPath

from core.errors import BadInput

LINE_LIMIT = 32_000_000
"""The longest line, in bytes. A longer one is refused before it is read."""


def lines(path: Path | ZipPath) -> Iterator[tuple[int, str]]:
    """Number and text of every line that is not empty, from 1, without its end and without a byte-order mark.

    Raises:
        BadInput: for a line that is too long or not UTF-8, with its number.
        OSError: when the file cannot be read.
    """
    with path.open("rb") as file:
        number = 0
        while data := file.readline(LINE_LIMIT + 1):
            number += 1
            if len(data) > LINE_LIMIT:
                raise BadInput(
                    f"{path.name}, line {number} is longer than {LINE_LIMIT:,} bytes.",
                    hint="Split the document, or check that the file has one object a line.",
                )
            try:
                text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise BadInput(
                    f"{path.name}, line {number} is not UTF-8.", hint="Convert the file to UTF-8."
                ) from error
            if text:
                yield number, text


def objects(path: Path | ZipPath) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of every line of a JSON Lines file.

    Raises:
        BadInput: as `lines`, and for a line that is no JSON object.
    """
    for number, text in lines(path):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(
                f"{path.name}, line {number} is not JSON: {error}.", hint="Correct or remove the line."
            ) from error
        if not isinstance(value, dict):
            raise BadInput(f"{path.name}, line {number} is no JSON object.", hint="Write one object a line.")
        yield number, value


def text_field(path: Path | ZipPath, number: int, value: dict[str, Any], *names: str) -> str:
    """The first of these fields that the object has, as text; a number is written out.

    Raises:
        BadInput: when it has none of them, or something else than text.
    """
    for name in names:
        found = value.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if isinstance(found, str):
            return found
    raise BadInput(
        f"{path.name}, line {number} has no {' or '.join(names)}.",
        hint="Every line needs this field, as text.",
    )
