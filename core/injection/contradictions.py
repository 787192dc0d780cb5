"""Structured data that names another product, or another price, than the page shows: what is visible wins."""

import re
from collections.abc import Sequence

_AMOUNT = re.compile(
    r"(?:[$€£¥₹]|\b(?:EUR|USD|GBP)) ?(\d[\d.,]{0,20})|\b(\d[\d.,]{0,20}) ?(?:[€£]|EUR|USD|kr|zł)"
)
_CENTS = re.compile(r"(.*?)(?:[.,](\d\d?))?[.,]?")
_MORE_ZEROS = re.compile(r"(?<=\.\d\d)0+$")
_FEWEST_WORDS = 2
"""Words from which a name can be told from another."""


def contradictions(name: str, prices: Sequence[str], visible: str) -> str:
    """What structured data declares and the visible text contradicts, in words; empty: nothing.

    A name of which most words are nowhere in the text; prices none of which is among its amounts of money.
    """
    declared = []
    wanted = set(re.findall(r"\w+", name.casefold()))
    if len(wanted) >= _FEWEST_WORDS:
        missing = wanted.difference(re.findall(r"\w+", visible.casefold()))
        declared += [f"name: {name}"] if 2 * len(missing) > len(wanted) else []
    if prices:
        shown = {_cents(before or after) for before, after in _AMOUNT.findall(visible)}
        declared += (
            [f"price: {', '.join(prices)}"]
            if shown and shown.isdisjoint(_cents(_MORE_ZEROS.sub("", price)) for price in prices)
            else []
        )
    return "; ".join(declared)


def _cents(amount: str) -> str:
    """The digits of an amount with two decimals: 129900 for "1,299" and for "1.299,00"."""
    match = _CENTS.fullmatch(amount)
    whole, decimals = match.groups("") if match else (amount, "")
    return re.sub(r"\D", "", whole).lstrip("0") + decimals.ljust(2, "0")
