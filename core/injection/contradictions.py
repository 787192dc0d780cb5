"""Structured data that contradicts the visible page.

It concerns product names and prices, and the visible text is trusted more.
"""

import re
from collections.abc import Sequence

from core.model import InjectionKind, InjectionSign

_AMOUNT = re.compile(
    r"(?:[$€£¥₹]|\b(?:EUR|USD|GBP)) ?(\d[\d.,]{0,20})|\b(\d[\d.,]{0,20}) ?(?:[€£]|EUR|USD|kr|zł)"
)
_CENTS = re.compile(r"^(.*?)(?:[.,](\d\d?))?[.,]?$")
_MORE_ZEROS = re.compile(r"(?<=\.\d\d)0+$")
_FEWEST_WORDS = 2
"""The fewest words of a name that can be compared."""


def contradictions(name: str, prices: Sequence[str], visible: str) -> tuple[InjectionSign, ...]:
    """Return a weak sign if structured data contradicts the visible text.

    A name contradicts if most of its words are missing in the text, and prices if none is among the text's amounts of
    money. Offsets of the sign count in its quote.
    """
    declared = []
    name_words = set(re.findall(r"\w+", name.casefold()))
    if len(name_words) >= _FEWEST_WORDS:
        missing = name_words.difference(re.findall(r"\w+", visible.casefold()))
        declared += [f"name: {name}"] if 2 * len(missing) > len(name_words) else []
    shown = {_cents(before or after) for before, after in _AMOUNT.findall(visible)} if prices else set()
    if shown and shown.isdisjoint(_cents(_MORE_ZEROS.sub("", price)) for price in prices):
        declared.append(f"price: {', '.join(prices)}")
    quote, kind = "; ".join(declared), InjectionKind.CONTRADICTION
    sign = InjectionSign(kind=kind, start=0, end=len(quote), quote=quote, hidden=True, strong=False)
    return (sign,) if quote and visible else ()


def _cents(amount: str) -> str:
    """Return an amount in cents as digits. "1,299" and "1.299,00" give 129900."""
    whole, decimals = _CENTS.findall(amount)[0]
    return f"{re.sub(r'[^0-9]', '', whole).lstrip('0')}{decimals:0<2}"
