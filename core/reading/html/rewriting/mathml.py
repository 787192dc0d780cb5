"""The text of a MathML formula, with fractions, roots, powers and indices in one line."""

from __future__ import annotations

import lxml.html

from core.text.superscripts import lowered, raised

TEX = frozenset({"application/x-tex", "application/x-latex", "latex", "tex", "text/x-tex", "text/latex"})
_MAX_DEPTH = 60
"""Levels of nesting whose form is kept. Deeper levels are read as plain text."""
_UNSEEN = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064\u200b"))
"""Invisible operators, such as the one between factors."""


def mathml_text(element: lxml.html.HtmlElement, depth: int = 0) -> str:
    """Return the text of a formula or of a part."""
    tag = str(element.tag).rpartition(":")[2]
    if tag in ("annotation", "annotation-xml", "mphantom", "mprescripts", "none", "template"):
        return ""
    if depth > _MAX_DEPTH or not len(element):
        return " ".join("".join(element.itertext()).translate(_UNSEEN).split())
    inside = [part for part in element if isinstance(part.tag, str)]
    parts = [mathml_text(part, depth + 1) for part in inside]
    match tag, parts:
        case "mfrac", [above, below]:
            return f"{_grouped(above)}/{_grouped(below)}"
        case (("msup" | "mover"), [base, script]):
            return base + _script(script, up=True)
        case (("msub" | "munder"), [base, script]):
            return base + _script(script, up=False)
        case (("msubsup" | "munderover"), [base, below, above]):
            return base + _script(below, up=False) + _script(above, up=True)
        case "msqrt", _:
            return f"√{_grouped(''.join(parts))}"
        case "mroot", [base, index]:
            return f"{_script(index, up=True)}√{_grouped(base)}"
        case "mfenced", _:
            return f"{element.get('open', '(')}{', '.join(parts)}{element.get('close', ')')}"
        case (("mtable" | "mstack"), _):
            return "; ".join(parts)
        case (("mtr" | "mlabeledtr"), _):
            return ", ".join(parts)
        case _:
            for number, part in enumerate(inside):
                beside = [other.tag for other in inside[max(number - 1, 0) : number + 2] if other is not part]
                if part.tag == "mfrac" and any(other != "mo" for other in beside):
                    parts[number] = f"({parts[number]})"  # else 1/2 before x is 1/(2x)
            return (element.text or "").strip() + "".join(parts)


def _script(text: str, *, up: bool) -> str:
    """Return a power or an index. Accents and other marks stay as they are."""
    is_mark = not any(map(str.isalnum, text)) and text.strip("+-−")
    return text if is_mark or not text else (raised if up else lowered)(text)


def _grouped(text: str) -> str:
    """Return a text in brackets, unless it is one number or name."""
    return text if len(text) < 2 or text.replace(".", "").isalnum() else f"({text})"
