"""The price table: which model costs what, and what becomes of an operator's file."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from core.config.egress import EgressPolicy
from core.config.prices import MOST_PRICES, SHIPPED, Cost, Prices, parsed
from core.errors import BadInput
from core.model import ModelUsage, Usage
from core.storage.price_file import PriceFile

OWN = EgressPolicy(own_hosts=frozenset({"loopback", "gpu.lan"}))
TABLE = "model,prompt,completion,as_of\ngpt-4o,2.5,10,2026-11-03\nacme/*,1,2,2026-10-01\ngpt-4o-2024-05-13,5,15,2026-11-03\n"


def used(model: str, *, cost: float | None = None, local: bool = False) -> ModelUsage:
    tokens = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cost=cost)
    return ModelUsage(model=model, tokens=tokens, local=local)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("gpt-4o@api.openai.com", 3.5),
        ("openai/gpt-4o@openrouter.ai", 3.5),
        ("GPT-4o-2024-08-06@api.openai.com", 3.5),
        ("gpt-4o-2024-05-13@api.openai.com", 6.5),
        ("acme/large@acme.example", 1.2),
        ("gpt-4o-mini@api.openai.com", None),
        ("gpt-4o", 3.5),
        ("gpt-4o@127.0.0.1:8080", 0.0),
        ("gpt-4o@gpu.lan:8080", 0.0),
    ],
)
def test_model_costs_what_its_most_specific_row_says(model: str, dollars: float | None) -> None:
    cost = Prices(rows=parsed(TABLE), policy=OWN).cost(used(model))
    assert (cost and round(cost.dollars, 9)) == (dollars if dollars is not None else None)
    assert not cost or cost.estimated == bool(dollars)


def test_provider_cost_is_no_estimate_and_built_in_models_are_free() -> None:
    assert SHIPPED.cost(used("gpt-4o@api.openai.com", cost=0.25)) == Cost(0.25)
    assert SHIPPED.cost(used("gpt-4o", local=True)) == Cost(0)


def test_reasoning_only_in_the_total_costs_like_writing() -> None:
    tokens = Usage(prompt_tokens=0, completion_tokens=100_000, total_tokens=1_000_000)
    cost = Prices(rows=parsed(TABLE)).cost(ModelUsage(model="gpt-4o@api.openai.com", tokens=tokens))
    assert cost == Cost(10.0, estimated=True)


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Cost(0), "$0.00"),
        (Cost(0.00001, estimated=True), "<$0.0001"),
        (Cost(0.00403, estimated=True), "~$0.0040"),
        (Cost(0.41), "$0.41"),
        (Cost(1234.5), "$1,234.50"),
    ],
)
def test_an_amount_is_shown_with_the_digits_that_matter(cost: Cost, text: str) -> None:
    assert str(cost) == text


def test_operator_prices_replace_ours_until_deleted(tmp_path: Path) -> None:
    file = PriceFile(tmp_path, OWN)
    assert file.read() == replace(SHIPPED, policy=OWN)
    file.write(parsed(TABLE))
    assert file.read() == Prices(rows=parsed(TABLE), policy=OWN)
    assert file.read().as_of == date(2026, 10, 1)
    file.delete()
    assert file.read().rows == SHIPPED.rows


def test_byte_order_mark_and_further_columns_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(
        TABLE.replace("as_of", "as_of,note", 1).replace("-03", "-03,checked"), "utf-8-sig"
    )
    assert len(PriceFile(tmp_path, OWN).read().rows) == 3


@pytest.mark.parametrize(
    "body",
    [
        TABLE.replace(",", ";").encode(),
        f"sep=;\r\n{TABLE.replace(',', ';')}".encode("utf-16"),
        TABLE.replace(",", "\t").replace("model", " Model ", 1).encode("cp1252"),
    ],
    ids=["semicolons", "sep= in UTF-16", "tabs"],
)
def test_price_table_of_a_spreadsheet_is_read(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(body)
    assert PriceFile(tmp_path, OWN).read() == Prices(rows=parsed(TABLE), policy=OWN)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no column model"),
        (b"model,prompt,as_of\n", "no column completion"),
        (TABLE.encode() + b"x,1,2\n", "Line 5 of the price table: x has no date"),
        (TABLE.encode() + b"x,-1,2,2026-11-03\n", "x has a price that is no number from 0"),
        (TABLE.encode() + b"x,nan,2,2026-11-03\n", "x has a price that is no number from 0"),
        (TABLE.encode() + b",1,2,2026-11-03\n", "the name of a model has 1 to 200 characters"),
        (TABLE.encode() + b"x,1,2,2026-11-03\n" * MOST_PRICES, "more than 1,000 rows"),
        (b"\xff\xfe\x00", "no column model"),
        (b"x" * 1_000_001, "more than 1,000 KB"),
    ],
)
def test_unreadable_table_leaves_ours_and_says_why(body: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(body)
    prices = PriceFile(tmp_path, OWN).read()
    assert prices.rows == SHIPPED.rows
    assert prices.problem.startswith("prices.csv is not used. ")
    assert reason in prices.problem


def test_table_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    file = PriceFile(tmp_path, OWN)
    with pytest.raises(BadInput):
        file.write(parsed(TABLE)[:1] * (MOST_PRICES + 1))
    assert not file.path.exists()
