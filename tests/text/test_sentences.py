"""Sentence splitting."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.sanitize import sanitize
from core.text.sentences import sentences
from tests.growth import LINEAR, growth, repeated

anything = st.text() | st.text(
    alphabet="aA1 .!?…\n-[]#。「」\"'\u200d\u200c\ufe0f\u202e\u00adé👩", max_size=80
)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@given(anything)
def test_sentences_are_in_order_and_omit_only_white_space(text: str) -> None:
    reached = 0
    for start, end in sentences(text):
        assert reached <= start < end <= len(text)
        assert not text[reached:start].strip()
        assert text[start:end] == text[start:end].strip()
        reached = end
    assert not text[reached:].strip()


@pytest.mark.parametrize(
    "parts",
    [
        ("Am 28. Mai 1998 begann es, im 19. Jahrhundert.", "Es endete am 31.", "Danach kam nichts."),
        ("Dr. Smith paid 3.50 to J. K. Rowling.", "He left!", "Why?", "Nobody knows…"),
        ("The U.S. Army came.", "It left the U.S.", "The end."),
        ("See Fig. 3, No. 5 and Sect. 2.", "The answer is no.", "Then stop."),
        ('He said "Why?" and left.', '"No."', "She agreed, e.g. Foo did."),
        ("Measured at 9 a.m. on 3 May.", "(Twice.)", "Then again."),
        ("It is so.[1][2]", "It is not. [3]", "Perhaps [4].", "Who knows?"),
        ("It is so.【1】", "It is not.[^2]", "Perhaps."),
        ("你好。", "世界！", "「好。」", "吗？"),
        ("मैं यहाँ हूँ।", "तुम कहाँ हो?"),
        ("هل هذا صحيح؟", "نعم."),
        ("Բարեւ։", "Ինչպես ես"),
        ("Er fragte: „Wann?“", "Sie sagte: „Um 6.30 Uhr.“", "‚Gut.‘", "Dann ging sie."),
        ("डॉ. शर्मा आज सुबह यहाँ आए।", "सब ठीक है।"),
        ("ნავსადგური იხსნება.", "ნავი მოდის?", "დიახ."),
        ("Er liegt z. B. am Fluss, d. h. hier.", "Т. е. там."),
        ("「来ますか？」と彼は聞いた。", "「はい。」", "とても寒い。"),
        ("**Bold.**", "_Slanted._", "Plain."),
        ("¿Dónde?", "¡Aquí!", "“Sí.”", "«No.»"),
        ("Elle dit : « Oui ! »", "Il part.", "« Où ? », dit-elle.", "« Là ! » cria-t-il.", "Fin."),
        ("»Ja«, sagte er.", "»Nein«, sagte sie.", "Er ging.", "»Gut.«"),
        ("Salió de EE. UU. en mayo.", "Las FF. AA. no.", "Nunca vio EE. UU."),
        ("Mein 1. Versuch war gut, der 2. Versuch besser.", "Es war der 3.", "Danach kam keiner."),
        ("— ¿Vienes? — preguntó Ana.", "— Sí.", "–Nunca –dijo él.", "Fin."),
        ("It rose.¹", "It fell.²³", "It froze.†", "It stayed.[a][note 2]", "Why?[citation needed]", "So."),
        ("Sales rose.", "iPhone sales fell.", "mRNA left.", "The pH fell.", "That is e.g. iOS."),
        ("Write `a. B` or `x(). Y`.", "A stray ` ends.", "It was `here' once.", "`There' too."),
        ("Samuel F. Du Pont sailed.", "Roe v. Wade fell."),
        ("Die Oel & Co. KG liefert.", "Oel Inc. Chairman Lee came.", "He left Oel Inc.", "The end."),
        ("In Oel v. Lee, 5 F.3d 12 (9th Cir. 2001), it held.", "See 42 U.S.C. § 12.", "It applies."),
        ("ܫܠܡܐ ܠܟ܀", "ܬܘܒ܀"),
        ("They met at 3 p.m. EST.", "He left.", "It opens at 10.30.", "Then it closes."),
        ("2.1. Tides turn.", "The pH was 7.4.", "It fell."),
        ("Er kam z. Zt. nicht, u. a. Dr. med. Beck.", "Das war 50 v. Chr. in Rom."),
        ("ড. রহমান আজ সকালে এসেছেন।", "তিনি ভালো আছেন।"),
        ("திரு. குமார் இன்று வந்தார்.", "அவர் பேசினார்."),
        ("What‽", "Nothing."),
    ],
)
def test_sentences_end_where_a_reader_would_say(parts: tuple[str, ...]) -> None:
    assert split(" ".join(parts)) == list(parts)


def test_unspaced_scripts_need_no_space_between_sentences() -> None:
    assert split("你好。世界！再见") == ["你好。", "世界！", "再见"]
    assert split("円周率は約３．１４です。次です．終わり") == [
        "円周率は約３．１４です。",
        "次です．",
        "終わり",
    ]


@pytest.mark.parametrize(
    "parts",
    [
        ("Πότε ανοίγει το λιμάνι;", "«Στις έξι;»", "Ναι."),
        ("Երբ է բացվում նավահանգիստը:", "Վաղ առավոտյան:"),
        ("ទន្លេហូរទៅសមុទ្រ។", "កប៉ាល់ ទូក ។ល។", "ចប់៕"),
        ("ᠨᠠᠷᠠ ᠭᠠᠷᠴᠠᠢ᠃", "ᠰᠠᠯᠬᠢ ᠦᠯᠢᠶᠡᠪᠡ᠃"),
        ("නැව වරායට පැමිණියේය෴", "කප්පිත්තා ගොඩබැස්සේය෴"),
        ("གྲུ་གཟིངས་སླེབས་སོང་།", "མི་ཚོ་འཛུལ་བཞག", "དུས་ཚོད་ཕྱི་སོང་།"),
        ("ወደቡ ይከፈታል።", "መቼ ነው፧", "ጠዋት።"),
    ],
    ids=["Greek", "Armenian", "Khmer", "Mongolian", "Sinhala", "Tibetan", "Ethiopic"],
)
def test_scripts_end_sentences_with_their_own_marks(parts: tuple[str, ...]) -> None:
    assert split(" ".join(parts)) == list(parts)


@pytest.mark.parametrize(
    ("text", "sentences_of_it"),
    [
        ("船开走了……港口空了。“等等……”他喊。", 3),
        ("我……我不知道。", 1),
        ("The lamp burns oil; it is lit at dusk: always.", 1),
        ("She waited…… and left.", 1),
        ("What is α; a letter.", 1),
    ],
)
def test_marks_of_a_script_end_nothing_elsewhere(text: str, sentences_of_it: int) -> None:
    assert len(split(text)) == sentences_of_it


@pytest.mark.parametrize(
    "parts",
    [
        ("Der Hafen kostet inkl. Zoll 3 Mio. Euro.", "Das gilt gem. Art. 5.", "Er öffnet am 5. Okt. wieder."),
        ("Biuro jest na ul. Portowej.", "Otwarto je w 1950 r.", "Kieruje nim inż. Nowak."),
        ("Порт стоит на ул. Морской.", "Его открыли в 1950 г.", "Им управляет проф. Иванов."),
        ("Le port appartient à M. Martin.", "Il ouvre en janv. Prochain."),
        ("El puerto tiene aprox. Veinte barcos.", "Lo dirige la Dra. Ruiz."),
        ("De haven is van dhr. Jansen.", "Hij verkoopt bijv. Vis."),
        ("Přístav je na nám. Svobody.", "Řídí ho ing. Novák."),
    ],
    ids=["German", "Polish", "Russian", "French", "Spanish", "Dutch", "Czech"],
)
def test_abbreviations_of_a_language_end_no_sentence(parts: tuple[str, ...]) -> None:
    assert split(" ".join(parts)) == list(parts)


def test_an_abbreviation_of_another_language_is_a_word() -> None:
    parts = ["They waited in the harbour for Mio.", "Then they sailed home."]
    assert split(" ".join(parts)) == parts


def test_blank_lines_and_list_items_end_a_sentence() -> None:
    text = "A heading\n\nOne line\ngoes on here.\n1. First item\n2. Second. More\n- Third\n# Next"
    assert split(text) == [
        "A heading",
        "One line\ngoes on here.",
        "1. First item",
        "2. Second.",
        "More",
        "- Third",
        "# Next",
    ]


@pytest.mark.parametrize(
    ("text", "sentences_of_it"),
    [
        ("(a) one\n(b) two\nc) three", 3),
        ("Here:\nii. two\niii. three\n① four", 4),
        ("as in panels\n(b) and (c) of it", 1),
        ("see ibid.\n(a) and more", 2),
    ],
)
def test_lines_with_letters_are_items_after_items_and_marks(text: str, sentences_of_it: int) -> None:
    assert len(split(text)) == sentences_of_it


@pytest.mark.slow
@pytest.mark.parametrize("work", [sanitize, sentences])
@pytest.mark.parametrize(
    "piece",
    [
        ".",
        ". ",
        ".[1 ",
        ".[1, ",
        "\n ",
        "\n",
        "a. B ",
        "Dr. ",
        '."',
        "1. ",
        "。",
        "\n- ",
        "[1]",
        ".[a]",
        ".¹",
        "! » ",
        "`a. B",
        "\n(a) ",
        "\nA: b; c",
        "\u200d",
        "\ufe0f ",
        "x" * 50,
    ],
)
@pytest.mark.thorough
def test_time_grows_no_faster_than_the_text(work: Callable[[str], object], piece: str) -> None:
    assert growth(repeated(piece), work, 8_000, 80_000) < LINEAR


@pytest.mark.thorough
def test_row_of_stops_inside_a_word_takes_linear_time() -> None:
    assert growth(lambda size: "." * size + "a", sentences, 8_000, 80_000) < LINEAR


THAI = (
    "กังหันลมสูงสามสิบเมตรและมีใบพัดสี่ใบ ช่างโม่หันหลังคาเข้าหาลมทุกเช้า\nหินโม่บดข้าวโพดและข้าวต่าง ๆ ในหุบเขา ปี 1871 มีคนซื้อโรงสีนี้"
)


def test_rows_that_name_their_columns_are_sentences() -> None:
    table = ["Country: Spain; Growth: 1.1%", "Country: France; Growth: 0.3%; Note: est. 2024"]
    text = "\n".join(["Growth of countries", *table, "A sentence goes", "on: here; it ends."])
    assert [text[start:end] for start, end in sentences(text)] == [
        "Growth of countries",
        *table,
        "A sentence goes\non: here; it ends.",
    ]


def test_blanks_divide_thai_without_stops() -> None:
    assert [THAI[start:end] for start, end in sentences(THAI)] == [
        "กังหันลมสูงสามสิบเมตรและมีใบพัดสี่ใบ",
        "ช่างโม่หันหลังคาเข้าหาลมทุกเช้า\nหินโม่บดข้าวโพดและข้าวต่าง ๆ ในหุบเขา",
        "ปี 1871 มีคนซื้อโรงสีนี้",
    ]
    assert len(sentences(f"{THAI}.")) == 1
