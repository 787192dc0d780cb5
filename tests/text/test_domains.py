import pytest

from core.config.knobs import Knobs, RankKnobs, within_typed_sites
from core.text.urls import without_site_words


@pytest.mark.parametrize(
    ("text", "words", "only", "without"),
    [
        ("hot tea site:a.example", "hot tea", ("a.example",), ()),
        ("site:a.example OR site:www.B.example hot tea", "hot tea", ("a.example", "b.example"), ()),
        ("hot tea (site:a.example OR site:b.example)", "hot tea", ("a.example", "b.example"), ()),
        ("hot -site:b.example tea", "hot tea", (), ("b.example",)),
        ("hot tea SITE:https://a.example/x", "hot tea", ("a.example",), ()),
        ("on-site: what is it?", "on-site: what is it?", (), ()),
        ("Which website: a or b OR c?", "Which website: a or b OR c?", (), ()),
    ],
)
def test_site_words_are_read_apart(text, words, only, without) -> None:
    assert without_site_words(text) == (words, only, without)


def test_typed_sites_narrow_one_question() -> None:
    knobs = Knobs(rank=RankKnobs(only_domains="old.example", without_domains="bad.example"))
    question, narrowed = within_typed_sites("hot tea site:a.example -site:b.example", knobs)
    assert question == "hot tea"
    assert narrowed.rank.only_domains == "a.example"
    assert narrowed.rank.without_domains == "bad.example, b.example"
    assert within_typed_sites("hot tea", knobs) == ("hot tea", knobs)


def test_question_of_site_words_alone_is_asked_unchanged() -> None:
    assert within_typed_sites("site:a.example", Knobs()) == ("site:a.example", Knobs())
