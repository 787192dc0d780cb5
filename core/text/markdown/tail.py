"""The end of a long Markdown text, as Markdown."""

import re

LEFT_OUT = "*… the beginning is shown when the answer is complete.*\n\n"
_FENCES = ("```", "~~~")
_MOST_LINES = 150
"""Fewer than the rows of a table that `safe_markdown` shows, so that the latest are among them."""
_MARK = re.compile(r"\\.|`{1,8}|\*{1,3}|_{1,3}|~~", re.DOTALL)
_BLOCK_START = re.compile(
    r"\n[ \t]*\n|^[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]|>|(?=\|))[ \t]*", re.MULTILINE
)
"""What emphasis does not cross: a blank line, and the start of a list item, heading, quote or row."""
_SCANNED = 100_000
"""Characters before the cut in which the beginning of code is looked for."""


def closed_markdown(text: str) -> str:
    """Close the marks that the last block has opened, and drop a mark at the end that encloses nothing yet."""
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
    """`text`, or about its last `limit` characters, at most 150 lines, after a line that says that the beginning is left out.

    It begins with a whole line where one of at most `limit` characters ends in that part. A table that is cut
    keeps its head, and code that is cut its fence, so that both still look like themselves. At most
    about `2 * limit` characters are returned, and the work does not grow with the text.
    """
    if len(text) <= limit:
        return text
    cut = text.find("\n", len(text) - limit) + 1 or len(text) - limit
    lines = text[cut:].splitlines(keepends=True)
    cut += sum(map(len, lines[:-_MOST_LINES]))
    before, tail = text[:cut], text[cut:]
    return LEFT_OUT + (_open_fence(before[-_SCANNED:]) or _table_head(before, limit)) + tail


def _open_fence(before: str) -> str:
    """The line that opens the code in which the text ends, or nothing."""
    opened = ""
    for line in before.splitlines():
        mark = line.lstrip()[:3]
        if mark in _FENCES and (not opened or mark == opened[:3]):
            opened = "" if opened else line.strip()[:40]
    return f"{opened}\n" if opened else ""


def _table_head(before: str, limit: int) -> str:
    """The first two lines of the table in which the text ends, or nothing."""
    start = before.rfind("\n\n") + 2 if "\n\n" in before else 0
    head = before[start : start + limit].split("\n", 2)[:2]
    if len(head) < 2 or "|" not in head[0] or set(head[1].strip()) - set("|:- ") or "-" not in head[1]:
        return ""
    return "\n".join(head) + "\n"
