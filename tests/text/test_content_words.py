"""The content words of a text, and how much of a word a text has: joined words, and scripts without spaces."""

import pytest

from core.text.content_words import WordsOfText, content_runs, content_words


def test_joined_word_is_found_by_its_parts() -> None:
    text = WordsOfText("Die Dauer der Prüfung beträgt drei Stunden.", "de", joined=True)
    assert text.share_of("prüfungsdauer") > 0.8
    assert text.share_of("prüfungen") == 1
    assert not text.share_of("wetterbericht")


def test_parts_of_words_count_only_where_words_are_joined() -> None:
    assert not WordsOfText("Die Dauer der Prüfung beträgt drei Stunden.", "de").share_of("prüfungsdauer")
    assert not WordsOfText("An internal matter.", "en", joined=True).share_of("international")


def test_run_without_spaces_is_found_wherever_its_words_begin() -> None:
    text = WordsOfText("这本书介绍图书馆的历史。", "zh")
    assert text.share_of("图书馆") == text.share_of("历史") == 1
    assert text.share_of("历史图书馆") == 1  # no pair of characters across the two words is needed
    assert text.share_of("图书馆位置") == pytest.approx(3 / 5)
    assert not text.share_of("天气预报")


def test_text_without_spaces_is_divided_at_function_words() -> None:
    assert content_runs("图书馆的历史是什么？", "zh") == ("图书馆", "历史")
    assert content_runs("Wer baute die Brücke?", "de") == ("baute", "brücke")


def test_end_of_a_contraction_is_no_word_but_a_single_letter_is() -> None:
    assert content_words("What's the dose of vitamin D?", "en") == ("dose", "vitamin", "d")
    assert content_words("Why don’t T cells divide?", "en") == ("t", "cells", "divide")
