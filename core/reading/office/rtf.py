"""Rich text files made ready for conversion: raised and lowered text written out, hidden text taken out."""

import codecs
import re
from dataclasses import dataclass, replace

import regex

from core.text.decoding import codec_for
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
_BREAKS = frozenset(("par", "line", "tab", "page", "column", "sect", "cell", "nestcell", "row", "nestrow"))
"""Control words that end a raised text."""
_SIGNS = {
    "endash": "–", "emdash": "—", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
    "~": "\u00a0", "_": "‑", "-": "",
}  # fmt: skip
"""Control words and symbols of one character."""
_SHOWN = frozenset(("shptxt", "footnote"))
"""Groups of text inside of groups that a reader may ignore."""
_PAGES = {1361: "johab", 10_000: "mac-roman", 65_001: "utf-8"}
"""Code pages whose codec has another name."""
_CHARSETS = {
    0: 1252, 77: 10_000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255,
    178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250,
}  # fmt: skip
"""The code page of each character set of a font."""
_DECLARED = re.compile(r"\\ansicpg(\d{1,6})(?!\d)")
_FONT = re.compile(
    r"\\f(\d{1,6})(?!\d)[^\\{}]*(?:\\(?!f\d)[a-z]+-?\d*[^\\{}]*){0,4}?\\fcharset(\d{1,4})(?!\d)"
)
_DEFAULT_FONT = re.compile(r"\\deff(\d{1,6})(?!\d)")
_HEAD = 20_000
"""The number of characters before which title, author and code pages are declared."""


@dataclass(slots=True)
class _State:
    """The inherited state of a group. `skipped` characters replace a \\u in old readers."""

    level: int = 0
    hidden: bool = False
    skipped: int = 1
    ignored: bool = False
    """Whether the group is no text, such as the name of a bookmark."""
    font: str = ""


class _Codes:
    """The characters of codes, by the code page of the file and of its fonts. A character may have two codes."""

    def __init__(self, head: str) -> None:
        declared = _DECLARED.search(head)
        self._of_file = _codec(int(declared[1])) if declared else "cp1252"
        self._of_font = {
            font: _codec(_CHARSETS.get(int(charset), 0)) for font, charset in _FONT.findall(head)
        }
        default = _DEFAULT_FONT.search(head)
        self.font = default[1] if default else ""
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}

    def characters(self, codes: bytes, font: str = "") -> str:
        """Return the characters that these bytes complete."""
        codec = self._of_font.get(font) or self._of_file
        if codec not in self._decoders:
            self._decoders[codec] = codecs.getincrementaldecoder(codec)("replace")
        return self._decoders[codec].decode(codes)


def _codec(page: int) -> str:
    """Return the codec of a code page. 0 and unknown ones have that of Western Europe."""
    return codec_for(_PAGES.get(page, f"cp{page}")) or "cp1252"


def rewritten_rtf(body: bytes) -> tuple[bytes, str]:
    """Return the file with raised text in Unicode, without hidden text, and the hidden text."""
    text = body.decode("latin-1")
    if _BINARY in text:  # bytes that are no tokens
        return body, ""
    codes = _Codes(text[:_HEAD])
    state, stack = _State(font=codes.font), list[_State]()
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
        if match["brace"] or word in _LEVELS or word in _BREAKS:
            end_part(level)
        if match["brace"] == "{":
            stack.append(replace(state))
        elif match["brace"] and stack:
            state = stack.pop()
        elif word in _LEVELS:
            state.level = _LEVELS[word] if match["number"] != "0" else 0
            if word == "plain":
                state.hidden, state.font = False, codes.font
        elif word in ("v", "deleted"):
            state.hidden = match["number"] != "0"
        elif word == "uc":
            state.skipped = int(match["number"] or 1)
        elif word == "f":
            state.font = match["number"] or ""
        elif match[0] == r"\*" or word in _SHOWN:
            state.ignored = word is None
        elif skip and match["code"]:  # it stands in for the \u before
            skip -= 1
            if state.hidden or level:
                continue
        elif not state.ignored and (shown := _characters(match, codes, state.font)) is not None:
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
    head = body[:_HEAD].decode("latin-1")
    codes = _Codes(head)

    def decoded(match: re.Match[str]) -> str:
        if match[1]:
            return codes.characters(bytes.fromhex(match[1]))
        return chr(int(match[2]) % 65_536)

    return {name: _CODE.sub(decoded, words) for name, words in _INFO.findall(head)}


def _characters(match: re.Match[str], codes: _Codes, font: str) -> str | None:
    if match["code"]:
        return codes.characters(bytes.fromhex(match["code"]), font)
    if match["word"] == "u":
        return chr(int(match["number"] or 0) % 65_536)
    if match["brace"]:
        return None
    if match["word"]:
        return _SIGNS.get(match["word"])
    if not match[0].startswith("\\"):
        return codes.characters(match[0].encode("latin-1"), font)
    return _SIGNS.get(match[0][1:], match[0][1:])


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 128:
        return f"\\{character}" if character in "\\{}" else character
    codes = (f"\\u{unit - 65_536 if unit > 32_767 else unit}?" for unit in _units(character))
    return f"{{\\uc1{''.join(codes)}}}"


def _units(character: str) -> list[int]:
    data = character.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[place : place + 2], "little") for place in range(0, len(data), 2)]
