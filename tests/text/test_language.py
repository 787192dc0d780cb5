"""The language of a page, and of a question."""

import pytest

from core.text.language import dominant_language, in_latin_script, page_language

HINDI = "गिद्ध ऊँची चट्टानों पर घोंसला बनाते हैं और हर साल वहीं लौटते हैं। "
CHINESE = "海鸥在北方池塘的岛上筑巢，狐狸到不了那里。"
ENGLISH = "Gulls nest on the island of the northern pond, where no fox can reach them in spring. "
GERMAN = "Die Möwen brüten auf der Insel im nördlichen Teich, wohin im Frühling kein Fuchs gelangt. "


@pytest.mark.parametrize(
    ("declared", "text", "language"),
    [
        ("en", ENGLISH * 4, "en"),
        ("en-GB", ENGLISH * 4, "en-GB"),
        ("", GERMAN * 4, "de"),
        ("", CHINESE, "zh"),
        ("", ENGLISH, ""),
        ("", "", ""),
        ("hi", "", "hi"),
        ("en", CHINESE, "zh"),
        ("sr", ENGLISH, ""),
        ("fa", "الطيور تعيش على الجزيرة", "fa"),
    ],
)
def test_what_a_page_declares_holds_unless_its_letters_contradict(
    declared: str, text: str, language: str
) -> None:
    assert page_language(declared, text) == language


def test_a_template_that_declares_english_around_hindi_is_not_believed() -> None:
    assert not in_latin_script(page_language("en", HINDI * 20))


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Where do gulls nest?", "en"),
        ("Wer brütet dort?", "de"),
        ("¿Dónde anidan las gaviotas?", "es"),
        ("Où nichent les mouettes ?", "fr"),
        ("海鸥在哪里筑巢？", "zh"),
        ("カモメはどこに巣を作る？", "ja"),
        ("갈매기는 어디에 둥지를 트나요?", "ko"),
        ("42", ""),
    ],
)
def test_a_short_question_has_a_language(question: str, language: str) -> None:
    assert dominant_language([question]) == language
