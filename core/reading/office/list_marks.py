"""Marks of list items: numbers, letters, Roman numbers and bullets."""

_BULLET = "-"


def marker(kind: str, number: int) -> str:
    """Return the mark of a list's item, such as "3." or a dash without numbers."""
    if kind == "decimal":
        return f"{number}."
    if kind in ("lower_alpha", "upper_alpha") and 0 < number <= 26:
        letter = chr(96 + number)
        return f"{letter if kind == 'lower_alpha' else letter.upper()})"
    if kind in ("lower_roman", "upper_roman"):
        roman = _roman(number)
        return f"{roman if kind == 'lower_roman' else roman.upper()}."
    return f"{number}." if "alpha" in kind else _BULLET


def _roman(number: int) -> str:
    written = ""
    for value, letters in (
        (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
        (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
    ):  # fmt: skip
        count, number = divmod(number, value)
        written += letters * min(count, 20)
    return written
