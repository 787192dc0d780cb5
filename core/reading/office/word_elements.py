"""Elements of Word documents that the conversion library drops, or reads in the wrong place, as plain ones.

They are signs of symbol fonts, fields of forms, text boxes inside of sentences, and rows or cells in content controls.
"""

from typing import Any

from lxml import etree

from core.reading.office.safe_xml import attribute, local

REWRITTEN = (b"noBreakHyphen", b":sym ", b"ffData", b"txbxContent", b"sdtContent", b"customXml", b"textpath")
"""Names of these elements in a part."""
_BOXES = ("☐", "☒")
_OFF = ("0", "false", "off")
_UNKNOWN_SIGN = "\ufffd"
# Symbol, from 0x21 and from 0xA1. A blank has no character of its own.
_SYMBOL = (
    "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…  ↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑           〉∫⌠ ⌡",
)
_WINGDINGS = {
    0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "☐", 0x72: "☐", 0x76: "❖", 0x78: "☒", 0x9F: "•", 0xA7: "▪", 0xA8: "☐",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip


def rewrite_elements(root: Any) -> None:
    """Rewrite a part of a Word document."""
    for hyphen in list(root.iter("{*}noBreakHyphen")):
        _become_text(hyphen, "-")
    for sign in list(root.iter("{*}sym")):
        _become_text(sign, _sign(attribute(sign, "font"), attribute(sign, "char")))
    for data in list(root.iter("{*}ffData")):
        _write_field(data)
    for wrapper in list(root.iter("{*}sdt", "{*}customXml")):
        if local(wrapper.getparent()) in ("tbl", "tr"):
            _unwrap(wrapper)
    for path in list(root.iter("{*}textpath")):
        _write_word_art(path)
    for box in reversed(list(root.iter("{*}txbxContent"))):
        _move_behind(box)


def _become_text(element: Any, text: str) -> None:
    element.tag = f"{{{etree.QName(element).namespace}}}t"
    element.text = text


def _sign(font: str, code: str) -> str:
    """Return the character of a sign in a font of symbols. Codes may stand in the private area of Unicode."""
    try:
        number = int(code, 16)
    except ValueError:
        return _UNKNOWN_SIGN
    if not 0xF000 <= number <= 0xF0FF and number > 0xFF:
        return chr(number) if number < 0xD800 or 0xF900 <= number < 0xFFFF else _UNKNOWN_SIGN
    place = number & 0xFF
    if font.casefold() == "wingdings":
        return _WINGDINGS.get(place, _UNKNOWN_SIGN)
    if font.casefold() != "symbol":
        return _UNKNOWN_SIGN if number > 0xFF else chr(number)
    row, column = (_SYMBOL[1], place - 0xA1) if place > 0x80 else (_SYMBOL[0], place - 0x21)
    sign = row[column] if 0 <= column < len(row) else " "
    return sign if sign != " " or place == 0x20 else _UNKNOWN_SIGN


def _write_field(data: Any) -> None:
    """Write the state of a check box, or the choice of a list, before the field."""
    run = next(data.iterancestors("{*}r"), None)
    box, choices = data.find("{*}checkBox"), data.find("{*}ddList")
    text = ""
    if box is not None:
        state = box.find("{*}checked")
        state = box.find("{*}default") if state is None else state
        text = _BOXES[state is not None and attribute(state, "val") not in _OFF]
    elif choices is not None:
        chosen, entries = choices.find("{*}result"), choices.findall("{*}listEntry")
        number = attribute(chosen, "val") if chosen is not None else "0"
        place = int(number) if number.isdecimal() else 0
        text = attribute(entries[place], "val") if place < len(entries) else ""
    if run is not None and text:
        shown = etree.Element(run.tag)
        _become_text(etree.SubElement(shown, run.tag), text)
        run.addprevious(shown)


def _write_word_art(path: Any) -> None:
    """Write the text of an old drawing of letters where it hangs."""
    run = next(path.iterancestors("{*}r"), None)
    if run is not None and (text := attribute(path, "string")):
        shown = etree.Element(run.tag)
        _become_text(etree.SubElement(shown, run.tag), text)
        run.addprevious(shown)


def _unwrap(wrapper: Any) -> None:
    content = wrapper.find("{*}sdtContent") if local(wrapper) == "sdt" else wrapper
    for inner in list(content if content is not None else ()):
        wrapper.addprevious(inner)
    wrapper.getparent().remove(wrapper)


def _move_behind(box: Any) -> None:
    """Move the text of a box behind the paragraph that it hangs in. An older form of the same box is removed."""
    paragraphs = list(box.iterancestors("{*}p"))
    parent = box.getparent()
    if parent is None or not paragraphs:
        return
    if next(box.iterancestors("{*}Fallback"), None) is None:
        for inner in reversed(list(box)):
            paragraphs[-1].addnext(inner)
    parent.remove(box)
