"""Structured data that names another product, or another price, than the page shows: what is visible wins."""

import re
from collections.abc import Sequence

from core.model import InjectionKind, InjectionSign

_AMOUNT = re.compile(
    r"(?:[$€£¥₹]|\b(?:EUR|USD|GBP)) ?(\d[\d.,]{0,20})|\b(\d[\d.,]{0,20}) ?(?:[€£]|EUR|USD|kr|zł)"
)
_CENTS = re.compile(r"^(.*?)(?:[.,](\d\d?))?[.,]?$")
_MORE_ZEROS = re.compile(r"(?<=\.\d\d)0+$")
_FEWEST_WORDS = 2
"""Words from which a name can be told from another."""


def contradictions(name: str, prices: Sequence[str], visible: str) -> tuple[InjectionSign, ...]:
    """A weak sign with what structured data declares and the visible text contradicts, if anything: a name of which most
    words are nowhere in the text, prices none of which is among its amounts of money. Its offsets count in its quote."""
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
    """The digits of an amount with two decimals: 129900 for "1,299" and for "1.299,00"."""
    whole, decimals = _CENTS.findall(amount)[0]
    return f"{re.sub(r'[^0-9]', '', whole).lstrip('0')}{decimals:0<2}"
