"""Language detection: by script, then by fastText's model, with the function words of short texts."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache

from core.text.language_model import probabilities, written_language
from core.text.tokenization import words

_SURE_ENOUGH = 0.4
"""The least probability of a language. Below it a text has no language."""
_WINDOW = 150
"""The characters at the beginning, middle and end of a long text that decide its language."""
_SHORT = 300
"""The most characters of a text whose function words count."""
_WORD_WEIGHT = 1.5
"""The factor, as a logarithm, by which a function word of a short text raises its language's probability."""
_DECIDES = 200
"""The fewest characters of a text that can overrule its page's declared language in the same script."""
_OVERRULES = 0.8
"""The least probability of a language that overrules a declared language in the same script."""
_REMEMBERED = 1_000
"""The number of short texts whose language is remembered. A run asks for its question's language many times."""

_FUNCTION_WORDS = {
    "cs": "a je na v se že do pro jsou s z o jako od byl byla který která které nebo po při také "
    "co kdo kde kdy proč jak jaký jaká jaké kolik kam čím",
    "da": "og det er til af på som ikke med den har var blev fra eller også efter "
    "hvad hvem hvor hvornår hvorfor hvordan hvilken hvilke",
    "de": "der die das und ist nicht ein eine mit von zu den im auf für sich dem auch als wird werden "
    "wer wie wo was wann warum wieso welche welcher welches wem wen wohin woher wurde gibt man",
    "en": "the of and to in is that was for with as are by this it from which be have not "
    "what where when who whom whose why how do does did can there were",
    "es": "el la los las de que y en un una es por con para como del se más fue su "
    "qué quién quiénes cómo dónde cuándo cuál cuáles cuánto cuántos son tiene",
    "et": "ja on ei et see oli ka mis aga või kui ning mida selle oma on siis "
    "kes kus millal miks kuidas milline mitu palju kust kuhu",
    "fi": "ja on ei että se oli hän mutta joka ovat myös kun mukaan tai sekä vuonna "
    "mikä mitä kuka missä milloin miksi miten kuinka",
    "fr": "le la les de des et est un une que dans pour par sur au avec qui ne pas du "
    "quoi quand où comment pourquoi quel quelle quels quelles combien sont a été",
    "hr": "i je u na se da su za od s kao koji koja koje nije ili bio bila iz po "
    "što tko gdje kada zašto kako koliko kakav kojeg kamo",
    "hu": "a az és hogy nem is egy volt meg ez mint vagy csak már még szerint "
    "mi mit ki hol mikor miért hogyan melyik mennyi hány",
    "id": "yang dan di dengan untuk dari ini pada itu adalah tidak dalam oleh sebagai "
    "apa siapa mana kapan mengapa kenapa bagaimana berapa",
    "it": "il di che la e è un una per non con del della sono si come nel gli dei alla "
    "cosa chi dove quando perché quale quali quanto quanti fu cos",
    "lt": "ir yra į iš kad su kaip ne bet tai buvo per nuo apie arba dėl po "
    "kas kur kada kodėl kiek koks kokia kuris kuri ar",
    "lv": "un ir no ar par kas ka uz bija nav bet vai pie tas tā arī pēc "
    "kur kad kāpēc kā cik kāds kāda kurš kura",
    "nl": "de het een en van is niet dat op te voor met zijn aan er ook als bij wordt "
    "wat wie waar wanneer waarom hoe welke hoeveel werd heeft",
    "no": "og det er til av på som ikke med den har var ble fra eller også etter "
    "hva hvem hvor når hvorfor hvordan hvilken hvilke",
    "pl": "i w na z się nie do jest że to przez oraz od jak po dla za był są "
    "co kto gdzie kiedy dlaczego jaki jaka jakie który która które ile czy",
    "pt": "o a os as de que e em um uma é por com para como do da não se mais foi ao "
    "quê quem onde quando porque qual quais quanto quantos são",
    "ro": "și de la în a cu pe nu este un o din care pentru mai sunt fost prin sau "
    "ce cine unde când cum câți câte",
    "sk": "a je na v sa že do pre sú s z o ako od bol bola ktorý ktorá ktoré alebo po pri "
    "čo kto kde kedy prečo koľko aký aká aké kam čím",
    "sl": "in je na v se da so za od s kot ki ni ali bil bila iz po pri tudi "
    "kaj kdo kje kdaj zakaj kako koliko kateri katera katero kam",
    "sv": "och det är att på som inte med av för den har var till från eller också efter "
    "vad vem när varför hur vilken vilka",
    "vi": "và của là có được cho trong một các không những người với này đã khi từ "
    "gì ai đâu nào sao bao nhiêu thế",
    "zh": "的 了 是 在 与 和 及 或 吗 呢 被 什么 什么样 哪 哪些 哪个 哪里 哪种 哪一 谁 几 几个 多少 多久 何时 何地 何种 如何 怎么 怎样 "
    "为什么 为何 时候 这 这个 这些 这种 那 那个 那些 它们 他们 她们 我们",
    "tr": "ve bir bu da de için ile olarak olan çok daha gibi en sonra kadar ne "
    "kim nedir nerede nasıl neden hangi kaç kimdir mi mı",
}
_SPELLINGS = (
    # Danish ends no word in two consonants, and writes "vej", "øje", "bogen".
    ("da", "no", re.compile(r"(?:kk|ll|mm|nn|pp|ss|tt)\b|ei|øy|au|\b(?!fra\b|hva\b)[a-zæøå]{3,}a\b")),
    # Slovenian has neither these letters nor "ch", and a "v" in place of "u" after a vowel.
    ("sl", "cs", re.compile(r"[áéíóúýůěřťďň]|ch|[aeo]u")),
    ("sl", "sk", re.compile(r"[áéíóúýĺŕôäľťďň]|ch|[aeo]u")),
)
"""Spellings that the second of two similar languages has and the first has not."""
_SCRIPTS = {
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi", "CJK": "zh", "HIRAGANA": "ja",
    "KATAKANA": "ja", "HANGUL": "ko", "THAI": "th", "HEBREW": "he", "ARMENIAN": "hy", "GEORGIAN": "ka",
    "BENGALI": "bn", "GUJARATI": "gu", "GURMUKHI": "pa", "KANNADA": "kn", "KHMER": "km", "LAO": "lo",
    "MALAYALAM": "ml", "MYANMAR": "my", "ETHIOPIC": "am", "ORIYA": "or", "SINHALA": "si", "TAMIL": "ta", "TELUGU": "te",
    "TIBETAN": "bo", "THAANA": "dv", "MONGOLIAN": "mn",
}  # fmt: skip
"""The most spoken language of each script, by the first word of its characters' Unicode names."""
_OF_SCRIPT = {
    "CYRILLIC": frozenset({"ru", "be", "bg", "kk", "ky", "mk", "mn", "sr", "tg", "tt", "uk", "ba", "cv", "ce", "os", "av"}),
    "ARABIC": frozenset({"ar", "fa", "ps", "sd", "ug", "ur"}),
    "DEVANAGARI": frozenset({"hi", "mr", "ne", "sa"}),
    "HEBREW": frozenset({"he", "yi"}),
    "BENGALI": frozenset({"bn", "as"}),
}  # fmt: skip
"""The languages of scripts that several languages are written in, as the model knows them."""
_NOT_LATIN = (
    frozenset(_SCRIPTS.values()).union(*_OF_SCRIPT.values()) | {"ckb", "dz", "ti"}
)  # fmt: skip
"""ISO 639-1 codes of languages mostly written in other scripts than Latin."""
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA")
_LETTER = re.compile("[A-Za-z]")
_LEAST_KANA = 0.1
"""The share of kana among Japanese and Chinese characters from which a text is Japanese."""
_LETTERS_WEIGHT = {"LATIN": 1, "CJK": 3, "HIRAGANA": 3, "KATAKANA": 3, "HANGUL": 3}
_OTHER_LETTERS_WEIGHT = 2
"""The weight of a script's letters. Texts in all scripts have names in Latin letters, and some scripts need fewer
letters for a word."""

_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


@cache
def commonest_function_words(language: str) -> frozenset[str]:
    """Return the commonest function words of a language's ISO 639-1 code, or none."""
    return frozenset(_FUNCTION_WORDS.get(language, "").split())


@lru_cache(_REMEMBERED)
def _remembered(text: str) -> tuple[str, str, float]:
    return _detected(text)


def _language(text: str) -> tuple[str, str, float]:
    """Return a text's script, its language or "", and the language's probability."""
    text = _sample(text.strip())
    return _remembered(text) if len(text) <= _SHORT else _detected(text)


def _detected(text: str) -> tuple[str, str, float]:
    script = _script(text)
    if script != "LATIN" and script not in _OF_SCRIPT:
        return script, _SCRIPTS.get(script, ""), 1.0
    found = probabilities(text)
    if script == "LATIN" and "sr" in found:  # Serbian in Latin letters is read as Croatian
        found["hr"] = found.get("hr", 0.0) + found.pop("sr")
    among = {
        language: value
        for language, value in found.items()
        if (language in _OF_SCRIPT[script] if script in _OF_SCRIPT else in_latin_script(language))
    }
    if script == "LATIN" and len(text) <= _SHORT:
        among = _with_function_words(among, text)
    best = max(among, key=among.__getitem__, default="")
    if best and among[best] >= _SURE_ENOUGH:
        return script, best, among[best]
    return script, _SCRIPTS.get(script, ""), _SURE_ENOUGH


def _with_function_words(among: dict[str, float], text: str) -> dict[str, float]:
    """Return the probabilities, raised for languages whose function words a text has."""
    text_words = words(text)
    among = _by_spelling(among, text)
    rest = max(0.0, 1 - sum(among.values()))
    raised = {
        language: value
        * math.exp(_WORD_WEIGHT * sum(word in commonest_function_words(language) for word in text_words))
        for language, value in among.items()
    }
    total = rest + sum(raised.values())
    return {language: value / total for language, value in raised.items()} if total else {}


def _by_spelling(among: dict[str, float], text: str) -> dict[str, float]:
    """Return the probabilities, corrected by spellings that only one of two similar languages has."""
    small = " ".join(word for word in text.split() if word.islower())  # names are spelt as elsewhere
    moved = dict(among)
    for language, similar, spelling in _SPELLINGS:
        if language in moved and similar in moved and spelling.search(small):
            moved[similar] += moved.pop(language)
    return moved


def _sample(text: str) -> str:
    """Return a short text, or the beginning, middle and end of a long one."""
    if len(text) <= 3 * _WINDOW:
        return text
    middle = (len(text) - _WINDOW) // 2
    return " ".join((text[:_WINDOW], text[middle : middle + _WINDOW], text[-_WINDOW:]))


def _script(text: str) -> str:
    """Return the script of most letters, by the first word of their Unicode names, or ""."""
    if text.isascii():
        return "LATIN" if _LETTER.search(text) else ""
    scripts = Counter[str]()
    for character, times in Counter(unicodedata.normalize("NFKC", text)).items():
        if script := _script_of(character):
            scripts[script] += times * _LETTERS_WEIGHT.get(script, _OTHER_LETTERS_WEIGHT)
    east_asian = sum(scripts.pop(script, 0) for script in _EAST_ASIAN[1:])
    if east_asian:
        japanese = east_asian >= _LEAST_KANA * (east_asian + scripts["CJK"])
        east_asian += scripts.pop("CJK", 0)
        scripts["HIRAGANA" if japanese else "CJK"] = east_asian
    return max(scripts, key=scripts.__getitem__, default="")


@lru_cache(10_000)
def _script_of(character: str) -> str:
    if not character.isalpha():
        return ""
    return unicodedata.name(character, "").split(" ")[0].partition("-")[0]


def page_language(declared: str, text: str) -> str:
    """Return a page's language: the declared one, unless the text clearly contradicts it.

    Without a declaration the language is detected. Templates declare English for any text. Letters of another script
    contradict a declaration in any text. Within a script only a text of some length contradicts it, if it is in another
    language with a probability of `_OVERRULES`.
    """
    script, language, probability = _language(text)
    if not declared:
        return language
    if not script:
        return declared
    said = written_language(declared.lower().partition("-")[0])
    if in_latin_script(said) != (script == "LATIN"):
        # Serbian is written in both scripts.
        return declared if (said, language) == ("sr", "hr") else language
    sure = len(text) >= _DECIDES and probability >= _OVERRULES
    return language if sure and language != said else declared


def dominant_language(texts: Iterable[str]) -> str:
    """Return the ISO 639-1 code of the language that most of the texts are in, or "".

    The texts decide together, each with an equal part of what is read. So a single question has a language too.
    """
    chosen = [text for text in texts if text.strip()]
    if len(chosen) == 1:
        return _language(chosen[0])[1]
    share = max(3 * _WINDOW // max(1, len(chosen)), 40)
    return _language(" ".join(text.strip()[:share] for text in chosen))[1]


def language_name(language: str) -> str:
    """Return the English name of a language's ISO 639-1 code, or the code."""
    return _NAMES.get(language, language)


def in_latin_script(language: str) -> bool:
    """Return whether a language is mostly written in the Latin script, by ISO 639-1 code."""
    return language not in _NOT_LATIN
