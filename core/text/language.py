"""Language detection: by n-grams for a long text, by function words for short texts."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any

from core.text.tokenization import words

_SHORTEST = 100
"""The fewest characters for detection by n-grams."""
_SAMPLE = 20_000
_FARTHEST = 1_000_000
"""No cutoff: a declared language is compared at any distance."""
_DECIDES = 200
"""The fewest characters of a text that can overrule its page's declared language."""
_SURE_DISTANCE = 600
"""The largest distance of an overruling profile. Lists of products, prices and names are farther from all profiles."""
_SURE_MARGIN = 40
"""The required lead over the declared language's profile. Similar languages (Spanish, Catalan) differ by less."""
_LETTERS = 2_000
"""The number of characters that decide the script."""
_LARGEST_DISTANCE = 1_000
"""The largest distance of a text's language in resiliparse's profiles."""

_FUNCTION_WORDS = {
    "da": "og det er til af på som ikke med den har var blev fra eller også efter "
    "hvad hvem hvor hvornår hvorfor hvordan hvilken hvilke",
    "de": "der die das und ist nicht ein eine mit von zu den im auf für sich dem auch als wird werden "
    "wer wie wo was wann warum wieso welche welcher welches wem wen wohin woher wurde gibt man",
    "en": "the of and to in is that was for with as are by this it from which be have not "
    "what where when who whom whose why how do does did can there were",
    "es": "el la los las de que y en un una es por con para como del se más fue su "
    "qué quién quiénes cómo dónde cuándo cuál cuáles cuánto cuántos son tiene",
    "fi": "ja on ei että se oli hän mutta joka ovat myös kun mukaan tai sekä vuonna "
    "mikä mitä kuka missä milloin miksi miten kuinka",
    "fr": "le la les de des et est un une que dans pour par sur au avec qui ne pas du "
    "quoi quand où comment pourquoi quel quelle quels quelles combien sont a été",
    "hu": "a az és hogy nem is egy volt meg ez mint vagy csak már még szerint "
    "mi mit ki hol mikor miért hogyan melyik mennyi hány",
    "id": "yang dan di dengan untuk dari ini pada itu adalah tidak dalam oleh sebagai "
    "apa siapa mana kapan mengapa kenapa bagaimana berapa",
    "it": "il di che la e è un una per non con del della sono si come nel gli dei alla "
    "cosa chi dove quando perché quale quali quanto quanti fu cos",
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
    "sv": "och det är att på som inte med av för den har var till från eller också efter "
    "vad vem när varför hur vilken vilka",
    "vi": "và của là có được cho trong một các không những người với này đã khi từ "
    "gì ai đâu nào sao bao nhiêu thế",
    "tr": "ve bir bu da de için ile olarak olan çok daha gibi en sonra kadar ne "
    "kim nedir nerede nasıl neden hangi kaç kimdir mi mı",
}
_SCRIPTS = {
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi", "CJK": "zh", "HIRAGANA": "ja",
    "KATAKANA": "ja", "HANGUL": "ko", "THAI": "th", "HEBREW": "he", "ARMENIAN": "hy", "GEORGIAN": "ka",
    "BENGALI": "bn", "GUJARATI": "gu", "GURMUKHI": "pa", "KANNADA": "kn", "KHMER": "km", "LAO": "lo",
    "MALAYALAM": "ml", "MYANMAR": "my", "ETHIOPIC": "am", "ORIYA": "or", "SINHALA": "si", "TAMIL": "ta", "TELUGU": "te",
    "TIBETAN": "bo",
}  # fmt: skip
"""The most spoken language of each script, by the first word of its characters' Unicode names."""
_NOT_LATIN = frozenset(_SCRIPTS.values()) | {
    "be", "bg", "ckb", "dv", "dz", "fa", "kk", "ku", "ky", "mk", "mn", "mr", "ne", "ps", "sa", "sd", "sr", "tg", "ti",
    "tt", "ug", "uk", "ur", "yi",
}  # fmt: skip
"""ISO 639-1 codes of languages mostly written in other scripts than Latin."""

_NAMES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "th": "Thai", "tr": "Turkish",
    "zh": "Chinese",
}  # fmt: skip


def function_words(language: str) -> frozenset[str]:
    """Return the commonest function words of a language's ISO 639-1 code, or none."""
    return frozenset(_FUNCTION_WORDS.get(language, "").split())


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, or "" if it is short or unknown."""
    if len(text) < _SHORTEST:
        return ""
    from resiliparse.parse.lang import detect_fast

    language, distance = detect_fast(text[:_SAMPLE])
    return str(language) if distance and distance < _LARGEST_DISTANCE else ""


def page_language(declared: str, text: str) -> str:
    """Return a page's language: the declared one, unless the text clearly contradicts it.

    Without a declaration the language is detected. Templates declare English for any text. Letters of another script
    contradict a declaration in any text. N-grams contradict it only in a Latin text that is long and near enough to
    another language. N-grams cannot tell two languages of another script apart, such as Hindi and Marathi.
    """
    sample = text[:_LETTERS]
    detected = dominant_language([sample])
    if declared and (not detected or in_latin_script(declared.lower()[:2]) == in_latin_script(detected)):
        return (_contradiction(declared.lower()[:2], text) if in_latin_script(detected) else "") or declared
    return detect_language(text) or ("" if in_latin_script(detected) else detected)


def _contradiction(declared: str, text: str) -> str:
    """Return the Latin language that the text clearly has instead of the declared one, or ""."""
    if len(text) < _DECIDES:
        return ""
    from resiliparse.parse.lang import detect_fast, supported_langs

    nearest: Any = detect_fast(text[:_SAMPLE], cutoff=_FARTHEST, n_results=len(supported_langs()))
    distances = {str(code): int(distance) for code, distance in nearest if in_latin_script(code)}
    best = min(distances, key=distances.__getitem__)
    sure = distances[best] <= min(_SURE_DISTANCE, distances.get(declared, 0) - _SURE_MARGIN)
    return best if sure else ""


def dominant_language(texts: Iterable[str]) -> str:
    """Return the ISO 639-1 code of the most frequent language of the texts, or "".

    This works on a single question, which is too short for n-grams. It knows the languages in the Latin script with a
    stemmer, and Vietnamese, and the most spoken language of each other script.
    """
    counts = Counter(word for text in texts for word in words(text))
    scripts = Counter[str]()
    for word, times in counts.items():
        scripts[unicodedata.name(word[0], "").split(" ")[0]] += times
    script = scripts.most_common(1)[0][0] if scripts else ""
    if script == "CJK" and scripts["HIRAGANA"] + scripts["KATAKANA"]:
        return "ja"
    if script != "LATIN":
        return _SCRIPTS.get(script, "")
    votes = {
        code: sum(counts[word] for word in function_words.split())
        for code, function_words in _FUNCTION_WORDS.items()
    }
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] else ""


def language_name(language: str) -> str:
    """Return the English name of a language's ISO 639-1 code, or the code."""
    return _NAMES.get(language, language)


def in_latin_script(language: str) -> bool:
    """Return whether a language is mostly written in the Latin script, by ISO 639-1 code."""
    return language not in _NOT_LATIN
