"""JSON of foreign servers, read despite violations: its other parts may be useful."""

import json
from typing import Any

import orjson

from core.text.sanitize import json_without_surrogates

_BOM = "\ufeff"


def lenient_json(body: bytes) -> Any:
    """Parse a JSON body with common violations.

    It may have a byte order mark, Latin-1, NaN, half surrogate pairs, or control characters in texts. NaN and
    infinities become None. Texts may contain surrogates.

    Raises:
        ValueError: when it is not JSON even with these violations.
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
    """Parse JSON like `lenient_json`, and replace surrogates in texts by �."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json_without_surrogates(lenient_json(body))
    except RecursionError as error:
        raise ValueError("JSON that is nested too deep") from error


def count_values(body: bytes) -> int:
    """Return an upper bound on the values in a JSON text: its commas and brackets.

    Commas and brackets in texts count too. An empty array takes 20 times its length in memory, so a limit on bytes
    bounds memory only loosely.
    """
    return 1 + body.count(b",") + body.count(b"[") + body.count(b"{")


def _text(body: bytes) -> str:
    """Decode UTF-8, or else Latin-1 if no character beyond ASCII is valid UTF-8. Invalid bytes become �."""
    text = body.decode("utf-8", errors="replace")
    if "\ufffd" in text and not any(character > "\x7f" for character in text.replace("\ufffd", "")):
        return body.decode("cp1252", errors="replace")
    return text
