"""The end of a long Markdown text, as Markdown."""

LEFT_OUT = "*… the beginning is shown when the answer is complete.*\n\n"
_FENCES = ("```", "~~~")
_MOST_LINES = 150
"""Fewer than the rows of a table that `safe_markdown` shows, so that the latest are among them."""
_SCANNED = 100_000
"""Characters before the cut in which the beginning of code is looked for."""


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
