"""Filled form fields and notes of a PDF page, as lines of text with their labels and places."""

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from core.reading.normalization import clean_line, normalize

_MOST = 2_000
"""Annotations of one page that are read."""
_LONGEST = 20_000
_LABEL = 160
"""Characters of a label."""
_BESIDE = 300.0
"""Points to the right of a check box where its label is looked for."""
_OFF = ("", "Off")
_PASSWORD = 1 << 13
"""The flag of a text field whose value viewers show as dots."""
_UNITS = 65_536
"""UTF-16 units of a field's value or a note."""


def page_annotations(page: Any, text_page: Any, form: Any, unread: Counter[str]) -> list[str]:
    """Return the filled fields and the notes of a page, as lines, and count attached files and recordings.

    Args:
        page: the page of pdfium.
        text_page: its text, where labels are found.
        form: the form environment of the document, or None without a form.
        unread: counts of what is not text.
    """
    from pypdfium2 import raw

    found: list[tuple[float, str]] = []
    for place in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page, place)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            box = _box(raw, annotation)
            if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
                unread["attached file"] += 1
            elif kind in (raw.FPDF_ANNOT_SOUND, raw.FPDF_ANNOT_MOVIE, raw.FPDF_ANNOT_RICHMEDIA):
                unread["recording"] += 1
            if kind == raw.FPDF_ANNOT_WIDGET:
                line = _field(raw, annotation, box, text_page, form) if form else ""
            elif kind in (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK):
                line = ""
            else:
                line = _note(raw, annotation, box, text_page)
            if line and raw.FPDFAnnot_GetFlags(annotation) & (
                raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
            ):
                unread["hidden field" if kind == raw.FPDF_ANNOT_WIDGET else "hidden note"] += 1
            elif line:
                found.append((-box[3], line))
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    found.sort(key=lambda entry: entry[0])
    return list(dict.fromkeys(line for _, line in found))


Box = tuple[float, float, float, float]
"""Left, bottom, right and top in points."""


def _box(raw: Any, annotation: Any) -> Box:
    area = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, area)
    left, right = sorted((area.left, area.right))
    bottom, top = sorted((area.bottom, area.top))
    return left, bottom, right, top


def _field(raw: Any, annotation: Any, box: Box, text_page: Any, form: Any) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    checked = kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)

    def text(function: Callable[..., int]) -> str:
        return _text(lambda buffer, size: function(form, annotation, buffer, size))

    if checked:
        # Without an appearance, pdfium knows the state "Yes" alone.
        is_on = raw.FPDFAnnot_IsChecked(form, annotation) or _key(raw, annotation, b"AS") not in _OFF
        if kind == raw.FPDF_FORMFIELD_RADIOBUTTON and not is_on:
            return ""
        value = "☑ yes" if is_on else "☐ no"
    elif kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        value = ", ".join(_selected(raw, annotation, form)) or text(raw.FPDFAnnot_GetFormFieldValue)
    elif kind == raw.FPDF_FORMFIELD_TEXTFIELD:
        value = text(raw.FPDFAnnot_GetFormFieldValue)
        if raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
            value = "•" * len(value)
    else:
        return ""
    value = normalize(value[:_LONGEST])
    if not value:
        return ""
    label = (
        text(raw.FPDFAnnot_GetFormFieldAlternateName)
        or _beside(text_page, box, right=checked)
        or text(raw.FPDFAnnot_GetFormFieldName)
    )
    if kind == raw.FPDF_FORMFIELD_RADIOBUTTON:
        chosen = text(raw.FPDFAnnot_GetFormFieldExportValue)
        value = f"{value} ({chosen})" if chosen else value
    return f"{clean_line(label, _LABEL).rstrip(' :.…_')}: {value}"


def _selected(raw: Any, annotation: Any, form: Any) -> Iterator[str]:
    for place in range(min(max(raw.FPDFAnnot_GetOptionCount(form, annotation), 0), _MOST)):
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, place):
            yield _text(partial(raw.FPDFAnnot_GetOptionLabel, form, annotation, place))


def _beside(text_page: Any, box: Box, *, right: bool) -> str:
    """Return the text on the line of a field: to its left, or first to its right for a check box."""
    left_end, bottom, right_end, top = box
    middle = (bottom + top) / 2
    band = max(min(top - bottom, 20.0) / 2 - 1, 2.0)
    sides = [(0.0, left_end)]
    if right:
        sides.append((right_end, right_end + _BESIDE))
    for start, end in sides:
        words = clean_line(text_page.get_text_bounded(start, middle - band, end, middle + band), _LABEL)
        if words:
            return words
    return ""


def _note(raw: Any, annotation: Any, box: Box, text_page: Any) -> str:
    words = normalize(_key(raw, annotation, b"Contents")[:_LONGEST])
    if not words:
        return ""
    height = text_page.page.get_height() or 1.0
    middle = (box[1] + box[3]) / 2 / height
    where = "top" if middle > 2 / 3 else "bottom" if middle < 1 / 3 else "middle"
    marks = (
        raw.FPDF_ANNOT_HIGHLIGHT,
        raw.FPDF_ANNOT_UNDERLINE,
        raw.FPDF_ANNOT_SQUIGGLY,
        raw.FPDF_ANNOT_STRIKEOUT,
    )
    is_mark = raw.FPDFAnnot_GetSubtype(annotation) in marks
    marked = clean_line(text_page.get_text_bounded(*box), _LABEL) if is_mark else ""
    about = f" on “{marked}”" if marked else f" at the {where} of the page"
    return f"Note{about}: {words}"


def _key(raw: Any, annotation: Any, name: bytes) -> str:
    return _text(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, name, buffer, size))


def _text(fill: Callable[[Any, int], int]) -> str:
    """Return a text of pdfium, which reports its bytes and fills a buffer of UTF-16."""
    size = min(fill(None, 0), 2 * _UNITS)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    if fill(buffer, size) > size:
        return ""
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")
