"""Rich text files made ready for conversion: raised and lowered text written out, hidden text taken out."""

import re
from dataclasses import dataclass

import regex

from core.text.superscripts import lowered, raised

_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<code>[0-9a-fA-F]{2})|\\[^a-zA-Z]|(?P<brace>[{}])|[^\\{}]+",
    re.DOTALL,
)
_INFO = regex.compile(r"\{\\(title|author) ?((?:[^\\{}]++|\\'[0-9a-fA-F]{2}|\\u-?\d{1,10}+ ?+\??+)*+)\}")
"""A declared title or author. Backtracking would try 2ⁿ readings of n codes, so the pattern has none."""
_CODE = re.compile(r"\\'([0-9a-fA-F]{2})|\\u(-?\d{1,10}) ?\??")
_LEVELS = {"super": 1, "sub": -1, "nosupersub": 0, "plain": 0, "up": 1, "dn": -1}
_BINARY = "\\bin"


@dataclass(slots=True)
class _State:
    """What a group inherits: the level, whether text is hidden, and how many characters stand in for a \\u."""

    level: int = 0
    hidden: bool = False
    skipped: int = 1


def rewritten_rtf(body: bytes) -> tuple[bytes, str]:
    """Return the file with raised text in Unicode, without hidden text, and the hidden text."""
    text = body.decode("latin-1")
    if _BINARY in text:  # bytes that are no tokens
        return body, ""
    state, stack = _State(), list[_State]()
    out: list[str] = []
    part: list[str] = []
    hidden: list[str] = []
    skip = 0

    def end_part(level: int) -> None:
        if part:
            written = (raised if level > 0 else lowered)("".join(part))
            out.append("".join(map(_escaped, written)))
            part.clear()

    for match in _TOKEN.finditer(text):
        token, word, level = match[0], match["word"], state.level
        if match["brace"] or (word in _LEVELS):
            end_part(level)
        if match["brace"] == "{":
            stack.append(_State(state.level, state.hidden, state.skipped))
        elif match["brace"] and stack:
            state = stack.pop()
        elif word in _LEVELS:
            state.level = _LEVELS[word] if match["number"] != "0" else 0
            if word == "plain":
                state.hidden = False
        elif word == "v":
            state.hidden = match["number"] != "0"
        elif word == "uc":
            state.skipped = int(match["number"] or 1)
        elif (shown := _character(match)) is not None:
            shown, skip = shown[skip:], max(0, skip - len(shown))
            if word == "u":
                skip = state.skipped
            if state.hidden:
                hidden.append(shown)
                continue
            if level:  # line ends of the file are no text
                part.append(shown.replace("\r", "").replace("\n", ""))
                continue
        out.append(token)
    end_part(state.level)
    return "".join(out).encode("latin-1", "replace"), "".join(hidden).strip()


def rtf_facts(body: bytes) -> dict[str, str]:
    """Return title and author, as far as the file declares them."""
    head = body[:20_000].decode("latin-1")
    return {name: _CODE.sub(_decoded, words) for name, words in _INFO.findall(head)}


def _character(match: re.Match[str]) -> str | None:
    """Return the text of a token, or None for a control word."""
    if match["code"]:
        return bytes.fromhex(match["code"]).decode("cp1252", "replace")
    if match["word"] == "u":
        return chr(int(match["number"] or 0) % 65_536)
    if match["word"] or match["brace"]:
        return None
    return match[0].removeprefix("\\")


def _decoded(match: re.Match[str]) -> str:
    if match[1]:
        return bytes.fromhex(match[1]).decode("cp1252", "replace")
    return chr(int(match[2]) % 65_536)


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 128:
        return f"\\{character}" if character in "\\{}" else character
    codes = (f"\\u{unit - 65_536 if unit > 32_767 else unit}?" for unit in _units(character))
    return f"{{\\uc1{''.join(codes)}}}"


def _units(character: str) -> list[int]:
    data = character.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[place : place + 2], "little") for place in range(0, len(data), 2)]
