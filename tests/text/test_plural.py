"""A number is followed by the singular or plural of its noun, by one function."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.features.evaluate.sweep import is_plural, words
from core.text.sanitize import plural, pluralize

ROOT = Path(__file__).parents[2]
NOUNS = (
    "query page passage question sentence word character token row column hit source setting step vector text dimension "
    "entry item result second hour minute document file citation label warning loss address sitemap process"
)
FORMS = frozenset(plural(2, noun) for noun in NOUNS.split())
ABOVE_ONE = re.compile(
    r"the limit is|a question searches|are more than|a session's file|none contains|a bundle has"
)
"""What follows a number that is above a limit."""
ABOVE_ONE_HERE = {
    ("core/reading/pdf/reader.py", "count"),
    ("pages/parts/evaluate/sweep_form.py", "several"),
}
NOT_ADJECTIVES = {"of", "have", "gave", "more", "other"}


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "page", "0 pages"),
        (1, "common sentence", "1 common sentence"),
        (2, "query", "2 queries"),
        (1200, "worker process", "1,200 worker processes"),
        (1.0, "second", "1 second"),
        (2.5, "second", "2.5 seconds"),
    ],
)
def test_number_takes_the_form_of_its_noun(number: float, noun: str, said: str) -> None:
    assert pluralize(number, noun) == said


def test_the_defaults_take_a_plural_verb() -> None:
    assert words("defaults") == "the defaults"
    assert is_plural("defaults")
    assert not is_plural("rank.ranking=bm25")


def unchecked_counts(source: str) -> Iterator[tuple[str, str]]:
    """Find counts that may be 1 before plural nouns in f-strings, and what follows them."""
    for text in ast.walk(ast.parse(source)):
        if not isinstance(text, ast.JoinedStr):
            continue
        for value, after in zip(text.values, text.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            count, following = ast.unparse(value.value), str(after.value)
            is_constant = re.fullmatch(
                r"[A-Z0-9_.* ]*|len\([A-Z]+\)", re.sub(r"\blimit\b|\bself\b", "", count)
            )
            words = re.match(r" (?:([a-z-]+) )?([a-z]+)\b", following)
            if not words or is_constant or ABOVE_ONE.search(following):
                continue
            if words[1] in FORMS or (words[2] in FORMS and words[1] not in NOT_ADJECTIVES):
                yield count, following


def test_source_with_a_bare_plural_is_found() -> None:
    assert list(unchecked_counts('f"{len(a)} common sentences cite"')) == [
        ("len(a)", " common sentences cite")
    ]
    assert not list(unchecked_counts('f"{MOST} sentences"'))
    assert not list(unchecked_counts("f\"{pluralize(2, 'page')} of it\""))


@pytest.mark.slow
def test_no_count_stands_before_a_bare_plural() -> None:
    found = [
        (name, count, following)
        for folder in ("core", "pages")
        for path in (ROOT / folder).rglob("*.py")
        for count, following in unchecked_counts(path.read_text("utf-8"))
        if ((name := str(path.relative_to(ROOT))), count) not in ABOVE_ONE_HERE
    ]
    assert found == []
