"""JSON of other people's servers, read although it breaks the rules: its other parts may still be useful."""

import json
from typing import Any

import orjson

from core.text.sanitize import json_without_surrogates

_BOM = "\ufeff"


def lenient_json(body: bytes) -> Any:
    """The value of a body, also with a byte order mark, in Latin-1, with NaN, half surrogate pairs, or control
    characters in its texts. NaN and infinities become None; texts may hold surrogates.

    Raises:
        ValueError: when it is no JSON for all that.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(_text(body).lstrip(_BOM), strict=False, parse_constant=lambda _: None)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deep") from error


def valid_json(body: bytes) -> Any:
    """As `lenient_json`, with � in texts for what UTF-8 cannot hold."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json_without_surrogates(lenient_json(body))
    except RecursionError as error:
        raise ValueError("JSON that is nested too deep") from error


def count_values(body: bytes) -> int:
    """At least the number of values in a JSON text: its commas and brackets, also those in texts.

    An empty array takes 20 times its length in memory, so a limit on bytes bounds that of a foreign text loosely.
    """
    return 1 + body.count(b",") + body.count(b"[") + body.count(b"{")


def _text(body: bytes) -> str:
    """UTF-8 where any character of it makes sense as that, with � for what does not; else Latin-1 as browsers read it."""
    text = body.decode("utf-8", errors="replace")
    if "\ufffd" in text and not any(character > "\x7f" for character in text.replace("\ufffd", "")):
        return body.decode("cp1252", errors="replace")
    return text
