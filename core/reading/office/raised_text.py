"""Superscripts, subscripts, reading aids and hidden text in the XML of office files.

The conversion library drops the properties of characters. So raised and lowered text is written in plain
text first, and text that is no part of the document is removed.
"""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from lxml import etree

from core.reading.office.safe_xml import attribute, is_inside, local
from core.text.superscripts import lowered, raised

_PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"
_OFF = ("0", "false", "off", "none")
_WRITE: dict[int, Callable[[str], str]] = {1: raised, -1: lowered}
_SIDE_MATTER = ("annotation", "annotation-end", "tracked-changes", "table-of-content")
_BREAKS = ("line-break", "tab", "s", "p", "h")
"""Elements of OpenDocument that end a raised text."""
_COUNTED = ("vertAlign", "position", "vanish")
"""Properties of a run of a Word document that count here."""
_MARKED_START, _MARKED_END = re.compile(r"^(\s*)"), re.compile(r"(?<!\s)(\s*)$")
"""The places of the marks of a struck text, inside its white space."""
_HALF_POINTS = 4
"""Least displacement from the line, in half points, of text that is raised by its position."""


def rewrite_word(root: Any, styles: dict[str, Any]) -> list[str]:
    """Rewrite a part of a Word document, and return its hidden texts.

    `styles` has the run properties of each style by id.
    """
    _keep_word_bases(root)
    hidden: list[str] = []
    for paragraph in _paragraphs_with(root, styles):
        shown: list[tuple[Any, int]] = []
        for run in paragraph.iter("{*}r"):
            if _owner(run, "p") is not paragraph:
                continue
            properties = _properties(run, paragraph, styles)
            if _is_on(properties.get("vanish")):
                text = "".join(run.itertext("{*}t", with_tail=False)).strip()
                hidden += [text] if text else []
                for inner in list(run):
                    if local(inner) in ("t", "tab", "br", "cr", "sym"):
                        run.remove(inner)
            elif not is_inside(run, paragraph, "del", "moveFrom"):
                shown.append((run, _word_level(properties)))
        _rewrite_runs(shown)
    return hidden


def word_styles(root: Any) -> dict[str, Any]:
    """Return the run properties of the styles by id. A style without own properties has those of its base."""
    styles = {attribute(style, "styleId"): style for style in root.iter("{*}style")}
    found: dict[str, Any] = {}
    for name in styles:
        style, passed = styles.get(name), set[str]()
        while style is not None and (key := attribute(style, "styleId")) not in passed:
            passed.add(key)
            properties = style.find("{*}rPr")
            if properties is not None and any(properties.find(f"{{*}}{tag}") is not None for tag in _COUNTED):
                found[name] = properties
                break
            base = style.find("{*}basedOn")
            style = None if base is None else styles.get(attribute(base, "val"))
    return found


def rewrite_drawing(root: Any) -> None:
    """Rewrite a slide, its notes, a chart or a diagram. `baseline` is a percentage above the line.

    Of alternatives inside of a paragraph, such as a formula and its picture, the first is kept.
    """
    for choice in list(root.iter("{*}Choice")):
        alternatives = choice.getparent()
        above = alternatives.getparent()
        if above is not None and local(above) == "p":
            for inner in list(choice):
                alternatives.addprevious(inner)
            above.remove(alternatives)
    for paragraph in root.iter("{*}p"):
        _rewrite_runs([(run, _drawing_level(run)) for run in paragraph if local(run) in ("r", "fld", "br")])


def rewrite_strings(root: Any) -> None:
    """Rewrite the rich texts of a spreadsheet's strings and cells. Reading aids are removed.

    Text that is struck through gets the marks of Markdown, since the library drops its style.
    """
    for aid in list(root.iter("{*}rPh")):
        aid.getparent().remove(aid)
    for string in root.iter("{*}si", "{*}is"):
        runs = [run for run in string if local(run) == "r"]
        _rewrite_runs([(run, _string_level(run)) for run in runs])
        for is_struck, group in groupby(runs, _is_struck):
            texts = [text for run in group for text in run.iter("{*}t") if (text.text or "").strip()]
            if is_struck and texts:
                texts[0].text = _MARKED_START.sub(r"\1~~", texts[0].text, count=1)
                texts[-1].text = _MARKED_END.sub(r"~~\1", texts[-1].text, count=1)


def _is_struck(run: Any) -> bool:
    return _is_on(run.find("{*}rPr/{*}strike"))


def rewrite_opendocument(root: Any, styles: dict[str, tuple[int, bool]]) -> list[str]:
    """Rewrite the content of an OpenDocument file, and return its hidden texts.

    `styles` has the level (1 raised, -1 lowered) and the hiding of each text style.
    """
    _keep_opendocument_bases(root)
    _drop_side_matter(root)
    hidden: list[str] = []
    removed: set[Any] = set()
    for element in list(
        root.iter("{*}span", "{*}p", "{*}h", "{*}hidden-text", "{*}hidden-paragraph", "{*}section")
    ):
        if element in removed:
            continue
        name = local(element)
        level, vanishes = styles.get(attribute(element, "style-name"), (0, False))
        display, state = attribute(element, "display"), attribute(element, "is-hidden")
        conditional = name.startswith("hidden-") and state != "false"
        if conditional or vanishes or display == "none" or (display == "condition" and state == "true"):
            target = element.getparent() if name == "hidden-paragraph" else element
            text = (attribute(element, "string-value") or "".join(target.itertext())).strip()
            hidden += [text] if text else []
            removed.update(target.iterdescendants())
            _empty(target)
        elif level and name == "span":
            for places in _opendocument_texts(element):
                _rewrite(places, level)
    return hidden


def opendocument_styles(*roots: Any) -> dict[str, tuple[int, bool]]:
    """Return level and hiding of the text styles in these parts, by name. A style inherits from its parent."""
    styles = {attribute(style, "name"): style for root in roots for style in root.iter("{*}style")}
    found: dict[str, tuple[int, bool]] = {}
    for name in styles:
        position, display, passed, above = "", "", set[str](), name
        while above in styles and above not in passed:
            passed.add(above)
            properties = styles[above].find("{*}text-properties")
            if properties is not None:
                position = position or attribute(properties, "text-position")
                display = display or attribute(properties, "display")
            above = attribute(styles[above], "parent-style-name")
        level = _position_level(position)
        if level or display == "none":
            found[name] = (level, display == "none")
    return found


def _position_level(position: str) -> int:
    """Return the level of a position such as "super 58%" or "33% 58%"."""
    place = position.partition(" ")[0]
    return {"super": 1, "sub": -1}.get(place) or _sign(place.rstrip("%"))


def _keep_word_bases(root: Any) -> None:
    """Replace annotated text by its base, without the reading. Backwards, so that neighbours keep their order."""
    for ruby in reversed(list(root.iter("{*}ruby"))):
        run, base = ruby.getparent(), ruby.find("{*}rubyBase")
        for inner in reversed(list(base if base is not None else ())):
            run.addnext(inner)
        run.remove(ruby)


def _keep_opendocument_bases(root: Any) -> None:
    for ruby in list(root.iter("{*}ruby")):
        for inner in list(ruby):
            if local(inner) == "ruby-text":
                ruby.remove(inner)
            else:
                inner.tag = str(inner.tag).replace("ruby-base", "span")
        ruby.tag = str(ruby.tag).replace("}ruby", "}span")


def _drop_side_matter(root: Any) -> None:
    """Remove comments, deleted text and tables of contents. A picture keeps its longer description."""
    for element in list(root.iter(*(f"{{*}}{name}" for name in _SIDE_MATTER))):
        before, parent = element.getprevious(), element.getparent()
        if element.tail and before is not None:
            before.tail = (before.tail or "") + element.tail
        elif element.tail:
            parent.text = (parent.text or "") + element.tail
        parent.remove(element)
    for frame in root.iter("{*}frame"):
        title, description = frame.find("{*}title"), frame.find("{*}desc")
        if title is not None and description is not None and description.text:
            title.text = description.text


def _owner(element: Any, name: str) -> Any:
    return next(element.iterancestors(f"{{*}}{name}"), None)


def _paragraphs_with(root: Any, styles: dict[str, Any]) -> Iterable[Any]:
    """Return the paragraphs with a property that counts, of their own or by a style. Most have none."""
    found: dict[Any, None] = {}
    for element in root.iter("{*}rStyle", "{*}pStyle", *(f"{{*}}{name}" for name in _COUNTED)):
        if local(element) in _COUNTED or attribute(element, "val") in styles:
            found[_owner(element, "p")] = None
    found.pop(None, None)
    return found


def _properties(run: Any, paragraph: Any, styles: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that count: of a run, of its style, or of the style of its paragraph."""
    own = run.find("{*}rPr")
    sources = [] if own is None else [own]
    for path, element in (("{*}rStyle", own), ("{*}pPr/{*}pStyle", paragraph)):
        style = element.find(path) if element is not None and styles else None
        if style is not None and (properties := styles.get(attribute(style, "val"))) is not None:
            sources.append(properties)
    found: dict[str, Any] = {}
    for source in sources:
        for each in source:
            if (name := local(each)) in _COUNTED:
                found.setdefault(name, each)
    return found


def _is_on(switch: Any) -> bool:
    return switch is not None and attribute(switch, "val") not in _OFF


def _word_level(properties: dict[str, Any]) -> int:
    align, position = properties.get("vertAlign"), properties.get("position")
    if align is not None:
        return {"superscript": 1, "subscript": -1}.get(attribute(align, "val"), 0)
    return 0 if position is None else _sign(attribute(position, "val"), _HALF_POINTS)


def _drawing_level(run: Any) -> int:
    properties = run.find("{*}rPr")
    return 0 if properties is None else _sign(attribute(properties, "baseline").rstrip("%"))


def _string_level(run: Any) -> int:
    align = run.find("{*}rPr/{*}vertAlign")
    return 0 if align is None else {"superscript": 1, "subscript": -1}.get(attribute(align, "val"), 0)


def _sign(number: str, least: float = 0.001) -> int:
    """Return 1 for a number from `least`, -1 for one to its negative, else 0."""
    try:
        value = float(number)
    except ValueError:
        return 0
    return (value >= least) - (value <= -least)


def _rewrite_runs(runs: Iterable[tuple[Any, int]]) -> None:
    """Rewrite runs of one paragraph. Neighbours of one level are one text, up to a break or a tab."""
    for level, group in groupby(runs, key=lambda pair: pair[1]):
        if level:
            inner = (each for run, _ in group for each in run.iter("{*}t", "{*}br", "{*}cr", "{*}tab"))
            for written, texts in groupby(inner, key=lambda each: local(each) == "t"):
                if written:
                    _rewrite([(text, "text") for text in texts if text.text], level)


def _rewrite(places: list[tuple[Any, str]], level: int) -> None:
    """Join the texts of these places in the first place."""
    for number, ((element, name), text) in enumerate(
        zip(
            places,
            [_WRITE[level]("".join(getattr(*place) for place in places))] + [""] * len(places),
            strict=False,
        )
    ):
        setattr(element, name, text)
        if not number and text != text.strip():
            element.set(_PRESERVE, "preserve")


def _opendocument_texts(element: Any) -> list[list[tuple[Any, str]]]:
    """Return the places of the texts in an element, up to each break or tab.

    A place is an element with the name of an attribute.
    """
    parts: list[list[tuple[Any, str]]] = [[]]
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        if event == "start" and inner.text:
            parts[-1].append((inner, "text"))
        elif event == "end" and local(inner) in _BREAKS:
            parts.append([])
        if event == "end" and inner.tail and inner is not element:
            parts[-1].append((inner, "tail"))
    return [places for places in parts if places]


def _empty(element: Any) -> None:
    """Remove the content of an element, but not the text behind it."""
    tail = element.tail
    for inner in list(element):
        element.remove(inner)
    element.text, element.tail = None, tail
