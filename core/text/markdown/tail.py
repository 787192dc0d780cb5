"""The end of a long Markdown text, as Markdown."""

import re

LEFT_OUT = "*… the beginning is shown when the answer is complete.*\n\n"
_FENCES = ("```", "~~~")
_MOST_LINES = 150
"""Fewer than the table rows that `safe_markdown` shows, so that the latest are visible."""
_MARK = re.compile(r"\\.|`{1,8}|\*{1,3}|_{1,3}|~~", re.DOTALL)
_BLOCK_START = re.compile(
    r"\n[ \t]*\n|^[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]|>|(?=\|))[ \t]*", re.MULTILINE
)
"""Limits of emphasis: a blank line, and the start of a list item, heading, quote or row."""
_SCANNED = 100_000
"""Characters before the cut to search for the beginning of code."""


def closed_markdown(text: str) -> str:
    """Close the open marks of the last block, and drop a final mark that encloses nothing."""
    if _open_fence(text[-_SCANNED:]):
        return text
    start = 0
    for match in _BLOCK_START.finditer(text):
        start = match.end()
    opened: list[str] = []
    block = text[start:]
    for match in _MARK.finditer(block):
        mark, before, after = match[0], block[: match.start()][-1:], block[match.end() :][:1]
        if opened and opened[-1][0] == "`":
            if mark == opened[-1]:
                opened.pop()
            continue
        if mark[0] == "\\":
            continue
        rest = mark
        while opened and before.strip() and rest.startswith(opened[-1]):
            rest = rest[len(opened.pop()) :]
        if not rest:
            continue
        if not after:
            block = block[: len(block) - len(rest)]
        elif after.strip() and not (before.isascii() and before.isalnum() and after.isalnum()):
            opened.append(rest)
    if not opened:
        return f"{text[:start]}{block}"
    return f"{text[:start]}{block.rstrip()}{''.join(reversed(opened))}"


def tail_of_markdown(text: str, limit: int) -> str:
    """Return about the last `limit` characters of `text`, at most 150 lines.

    A text within the limit is unchanged. Otherwise a first line says that the beginning is left out.

    The tail begins with a whole line if a line ends in it. A cut table keeps its head, and cut code its fence, so that
    both keep their form. At most about `2 * limit` characters are returned, and the work does not grow with the text.
    """
    if len(text) <= limit:
        return text
    cut = text.find("\n", len(text) - limit) + 1 or len(text) - limit
    lines = text[cut:].splitlines(keepends=True)
    cut += sum(map(len, lines[:-_MOST_LINES]))
    before, tail = text[:cut], text[cut:]
    return LEFT_OUT + (_open_fence(before[-_SCANNED:]) or _table_head(before, limit)) + tail


def _open_fence(before: str) -> str:
    """Return the line that opens the code at the end of the text, or ""."""
    opened = ""
    for line in before.splitlines():
        mark = line.lstrip()[:3]
        if mark in _FENCES and (not opened or mark == opened[:3]):
            opened = "" if opened else line.strip()[:40]
    return f"{opened}\n" if opened else ""


def _table_head(before: str, limit: int) -> str:
    """Return the first two lines of the table at the end of the text, or ""."""
    start = before.rfind("\n\n") + 2 if "\n\n" in before else 0
    head = before[start : start + limit].split("\n", 2)[:2]
    if len(head) < 2 or "|" not in head[0] or set(head[1].strip()) - set("|:- ") or "-" not in head[1]:
        return ""
    return "\n".join(head) + "\n"
