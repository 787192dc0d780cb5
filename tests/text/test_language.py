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


TEXTS = {
    "en": "Every morning the miller opened the sluice, and the wheel began to turn. Farmers from both valleys waited in "
    "the yard with their carts, told each other what the hail had done, and agreed that flour would be dear this year.",
    "de": "Jeden Morgen öffnete der Müller das Wehr, und das Rad begann sich zu drehen. Die Bauern aus beiden Tälern "
    "warteten mit ihren Karren im Hof, erzählten vom Hagel und waren sich einig, dass Mehl in diesem Jahr teuer wird.",
    "es": "Cada mañana el molinero abría la compuerta y la rueda empezaba a girar. Los campesinos de los dos valles "
    "esperaban en el patio con sus carros, hablaban del granizo y decían que la harina sería muy cara este año.",
    "tr": "Değirmenci her sabah savağın kapağını açar, çark yavaş yavaş dönmeye başlardı. İki vadiden gelen köylüler "
    "arabalarıyla avluda bekler, dolunun tarlalara neler yaptığını anlatır, bu yıl unun pahalı olacağını söylerdi.",
}


@pytest.mark.parametrize("declared", TEXTS)
@pytest.mark.parametrize("language", TEXTS)
def test_a_text_of_some_length_decides_over_another_declared_language(language: str, declared: str) -> None:
    assert page_language(declared, TEXTS[language]) == language
    assert page_language(f"{declared}-XX", TEXTS[language]) == (
        f"{declared}-XX" if declared == language else language
    )


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ("en", TEXTS["de"][:150]),
        ("en", " ".join(f"Boots {size} Nordwand Trek GTX $ {size}9.95" for size in range(36, 48))),
        ("nb", TEXTS["de"]),
        ("de", "1234567890 " * 40),
        ("en", "\0" * 400),
    ],
    ids=["short", "list of products", "language without a profile", "digits", "nothing to read"],
)
def test_what_is_short_or_unsure_keeps_the_declared_language(declared: str, text: str) -> None:
    assert page_language(declared, text) == declared


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
