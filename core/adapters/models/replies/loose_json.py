"""JSON as models write it, with other quotation marks, bare keys, surplus commas or missing brackets."""

import json
import re
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<open>[{\[])|(?P<close>[}\]])|(?P<sign>[,:])
    |"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'
    |(?P<quote><\|"\|>|<escape>)(?P<quoted>.*?)(?P=quote)
    |(?P<word>[^\s{}\[\],:"'<>]+)
    )""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)|\"", re.DOTALL)
_ESCAPED = '"\\/bfnrtu'
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "none": "null"}
_CLOSING = {"{": "}", "[": "]"}
_MOST_CHARACTERS = 8_000
"""The maximum characters that are read loosely. No tool needs more."""


def strict_value(text: str, start: int = 0) -> tuple[Any, int] | None:
    """Return the JSON value at `start` and its end, or None."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def loose_value(text: str, start: int = 0) -> tuple[Any, int] | None:
    """Return the object or list that a model wrote at `start`, and its end, or None.

    A text without its closing quotation mark is damaged, because its end is unknown. Missing brackets at the end are
    added.
    """
    end, limit = start, min(len(text), start + _MOST_CHARACTERS)
    written: list[str] = []
    opened: list[str] = []
    while not written or opened:
        token = _TOKEN.match(text, end, limit)
        if token is None:
            break
        end = token.end()
        if token["close"]:
            if not opened or opened.pop() != token["close"]:
                return None
            if written[-1] == ",":
                written.pop()
        elif token["open"]:
            opened.append(_CLOSING[token["open"]])
        written.append(_json_of(token))
    if opened and text[end:limit].strip()[:1] not in ("", "<"):  # marks may follow
        return None
    value = strict_value("".join((*written, *reversed(opened))))
    return value and (value[0], end)


def _json_of(token: re.Match[str]) -> str:
    text = token["double"] if token["single"] is None else token["single"]
    if text is not None:
        return f'"{_ESCAPE.sub(_escape, text)}"'
    if token["quote"]:
        return json.dumps(token["quoted"])
    word = token["word"]
    if word is None:
        return token[0].strip()
    return _CONSTANTS.get(word.lower()) or (word if _NUMBER.fullmatch(word) else json.dumps(word))


def _escape(match: re.Match[str]) -> str:
    """Return an escape sequence or a quotation mark as JSON has it. JSON does not escape other characters."""
    if match[1] is None:
        return '\\"'
    return match[0] if match[1] in _ESCAPED else match[1]
