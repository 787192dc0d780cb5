"""Prices of hosted models by a dated table, and the cost of calls."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from core.config.egress import Destination, EgressPolicy
from core.config.settings import LOOPBACK
from core.errors import BadInput
from core.model import ModelUsage, Usage
from core.text.delimited import MalformedRow, column_places, delimited_rows

COLUMNS = ("model", "prompt", "completion", "as_of")
"""The columns of a price table as CSV: the model, US dollars a million tokens read and written, and an ISO 8601 date."""
MOST_PRICES, MOST_DOLLARS = 1000, 100_000.0
"""The most rows of a table, and the highest price a million tokens."""

LONGEST_NAME = 200
"""The most characters of a model's name."""

_FORMAT = (
    f"A price table is CSV with the columns {', '.join(COLUMNS)}; prices are US dollars a million tokens."
)
_OWN_MACHINE = EgressPolicy(own_hosts=frozenset({LOOPBACK}))
_VERSION_DATE = re.compile(r"-20\d\d-?\d\d-?\d\d$")


class Cost(NamedTuple):
    """An amount in US dollars."""

    dollars: float
    estimated: bool = False
    """By a price table, not as the provider states it."""

    def __str__(self) -> str:
        """Such as `$0.41`, `~$0.0040` for an estimate, or `<$0.0001`."""
        if 0 < self.dollars < 0.0001:
            return "<$0.0001"
        amount = f"${self.dollars:,.{2 if self.dollars >= 0.1 or not self.dollars else 4}f}"
        return f"{'~' if self.estimated else ''}{amount}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, in US dollars a million tokens."""

    model: str
    """Its name, or a pattern with `*` and `?`."""
    prompt: float
    completion: float
    as_of: date

    def of(self, tokens: Usage) -> Cost:
        """Return the cost of these tokens."""
        dollars = self.prompt * tokens.prompt_tokens
        dollars += self.completion * (tokens.total_tokens - tokens.prompt_tokens)  # reasoning is written, too
        return Cost(dollars / 1e6, estimated=dollars > 0)


FREE = Price(model="*", prompt=0, completion=0, as_of=date.max)
"""The price of models on own hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A price table. Models inside OpenQuery or on own hosts cost nothing."""

    rows: tuple[Price, ...]
    policy: EgressPolicy = _OWN_MACHINE
    """Says which hosts are one's own."""
    problem: str = ""
    """Why the built-in table is used in place of the operator's."""

    @property
    def as_of(self) -> date | None:
        """Return the date of the oldest price, or None for an empty table."""
        return min((row.as_of for row in self.rows), default=None)

    @property
    def dated(self) -> str:
        """The table with its date in words, such as `Prices of 3 November 2026`."""
        return f"Prices of {self.as_of.day} {self.as_of:%B %Y}" if self.as_of else "No prices"

    def price(self, identity: str) -> Price | None:
        """Return the price of a model by its identity, `model@host`, or None.

        The first row counts that matches its name, else its name without provider, else that without the date of a
        version: `openai/gpt-4o-2024-08-06`, `gpt-4o-2024-08-06`, `gpt-4o`.
        """
        model, at, host = identity.lower().rpartition("@")
        if at and self.policy.destination(host) is not Destination.HOSTED:
            return FREE
        model = model or host
        bare = model.rpartition("/")[2]
        names = dict.fromkeys((model, bare, _VERSION_DATE.sub("", bare)))
        return next(
            (row for name in names for row in self.rows if fnmatchcase(name, row.model.lower())), None
        )

    def cost(self, usage: ModelUsage) -> Cost | None:
        """Return the cost of a model's calls, or None if unknown. A stated cost comes before the table's."""
        if usage.local:
            return Cost(0)
        if usage.tokens.cost is not None:
            return Cost(usage.tokens.cost)
        price = self.price(usage.model)
        return price.of(usage.tokens) if price else None

    def to_csv(self) -> str:
        """The table as `parsed` reads it."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((row.model, row.prompt, row.completion, row.as_of) for row in self.rows)
        return text.getvalue()


def parsed(text: str) -> tuple[Price, ...]:
    """Return the rows of a price table in delimited text, with the columns `COLUMNS`.

    Raises:
        BadInput: naming the line that cannot be used.
    """
    try:
        lines = list(delimited_rows(text))
    except MalformedRow as error:
        raise BadInput(f"Line {error.line} of the price table is no CSV.", hint=_FORMAT) from error
    places = column_places(lines[0][1] if lines else ())
    if missing := [name for name in COLUMNS if name not in places]:
        raise BadInput(f"The price table has no column {missing[0]}.", hint=_FORMAT)
    rows = tuple(_price(line, dict(enumerate(cells)), places) for line, cells in lines[1:])
    if len(rows) > MOST_PRICES:
        raise BadInput(f"The price table has more than {MOST_PRICES:,} rows.", hint="Use patterns.")
    return rows


def _price(line: int, cells: Mapping[int, str], places: Mapping[str, int]) -> Price:
    try:
        return checked_price(*(cells.get(places[name], "") for name in COLUMNS))
    except BadInput as error:
        raise BadInput(f"Line {line} of the price table: {error.message}", hint=error.hint) from None


def checked_price(model: str, prompt: object, completion: object, as_of: object) -> Price:
    """Return a row of a price table from typed values.

    Raises:
        BadInput: when a value is missing or out of bounds.
    """
    model = " ".join(model.split())
    if not model or len(model) > LONGEST_NAME:
        raise BadInput(f"the name of a model has 1 to {LONGEST_NAME} characters.", hint=_FORMAT)
    try:
        day = date.fromisoformat(str(as_of).strip())
    except ValueError:
        raise BadInput(f"{model} has no date like 2026-11-03.", hint=_FORMAT) from None
    return Price(
        model=model, prompt=_dollars(model, prompt), completion=_dollars(model, completion), as_of=day
    )


def _dollars(model: str, value: object) -> float:
    try:
        dollars = float(str(value))
    except ValueError:
        dollars = -1
    if not 0 <= dollars <= MOST_DOLLARS:  # which holds for no NaN either
        raise BadInput(f"{model} has a price that is no number from 0 to {MOST_DOLLARS:,.0f}.", hint=_FORMAT)
    return dollars


SHIPPED = Prices(rows=parsed(Path(__file__).with_name("prices.csv").read_text("utf-8")))
"""The table that comes with OpenQuery. Providers change their prices: check them."""
