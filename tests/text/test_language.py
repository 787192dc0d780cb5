"""The language of a page, and of a question."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.text.language import dominant_language, in_latin_script, page_language
from core.text.language_model import MODEL_FILE

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
        ("", ENGLISH, "en"),
        ("", "", ""),
        ("hi", "", "hi"),
        ("en", CHINESE, "zh"),
        ("sr", ENGLISH, "en"),
        ("sr", "Mlinar je svako jutro otvarao branu, a točak bi počeo da se okreće.", "sr"),
        ("sr", "Xy-400 Qz 12", ""),
        ("fa", "الطيور تعيش على الجزيرة", "fa"),
    ],
)
def test_what_a_page_declares_holds_unless_its_letters_contradict(
    declared: str, text: str, language: str
) -> None:
    assert page_language(declared, text) == language


def test_template_declaring_english_around_hindi_is_not_believed() -> None:
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
def test_longer_text_decides_over_a_declared_language(language: str, declared: str) -> None:
    assert page_language(declared, TEXTS[language]) == language
    assert page_language(f"{declared}-XX", TEXTS[language]) == (
        f"{declared}-XX" if declared == language else language
    )


def test_kurdish_in_latin_letters_keeps_its_language() -> None:
    assert page_language("ku", "Li gorî agahiyan çem di buharê de bilind dibe. " * 3) == "ku"


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ("en", TEXTS["de"][:150]),
        ("en", " ".join(f"Boots {size} Nordwand Trek GTX $ {size}9.95" for size in range(36, 48))),
        ("de", "1234567890 " * 40),
        ("en", "\0" * 400),
    ],
    ids=["short", "list of products", "digits", "nothing to read"],
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
        ("Чи сплять бджоли вночі?", "uk"),
        ("آیا شیشه مایع است؟", "fa"),
        ("NASUWT คืออะไร?", "th"),
        ("Energiprojekt AB发动机有多少个气缸?", "zh"),
        ("「の」是什么意思？这个字在中文广告里很常见", "zh"),
        ("WHERE DO GULLS NEST?", "en"),
        ("Hva heter broen som går over fjorden?", "no"),
        ("Hvor lang er elva?", "no"),
        ("Hvor lang er åen?", "da"),
        ("Hvad vejer et får?", "da"),
        ("Kdo je autor?", "cs"),
        ("Kdo je avtor?", "sl"),
        ("42", ""),
        ("...?!", ""),
        ("Xy-400 Qz 12", ""),
    ],
)
def test_a_short_question_has_a_language(question: str, language: str) -> None:
    assert dominant_language([question]) == language


@pytest.mark.parametrize(
    "question",
    [
        "Is a cache needed?",
        "Does sugar melt?",
        "Do bees sleep at night?",
        "Was Rome built in a day?",
        "Can penguins fly?",
        "Are tomatoes fruit?",
        "Should I use cosine?",
        "Will it rain?",
    ],
)
def test_english_yes_no_question_is_english(question: str) -> None:
    assert dominant_language([question]) == "en"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Internet2是什么", "zh"),
        ("Πού εδρεύει η Energiprojekt AB;", "el"),
        ("Кто основал General Electric?", "ru"),
        ("Microsoft Windowsとは何ですか", "ja"),
        ("What does 是什么 mean?", "en"),
    ],
)
def test_names_in_latin_letters_do_not_hide_the_script(question: str, language: str) -> None:
    assert dominant_language([question]) == language


def test_texts_have_the_language_of_most_of_them() -> None:
    assert dominant_language([GERMAN, ENGLISH, GERMAN, GERMAN]) == "de"


def test_page_has_its_texts_language_below_a_foreign_title() -> None:
    assert page_language("", "Gulls of the northern pond\n\n" + GERMAN * 20) == "de"


def test_damaged_language_model_is_refused(tmp_path: Path) -> None:
    tree = tmp_path / "core" / "text"
    shutil.copytree(MODEL_FILE.parent, tree, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "core" / "__init__.py").touch()
    with (tree / MODEL_FILE.name).open("ab") as file:
        file.write(b"\0")
    code = "from core.text.language import dominant_language; dominant_language(['Is it damaged?'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "lid.176.ftz is damaged" in done.stderr
