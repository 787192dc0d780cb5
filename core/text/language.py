"""Language detection: of one long text by its n-grams, of several short ones by their function words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from core.text.tokenization import words

_SHORTEST = 100
"""Characters below which n-grams tell too little."""
_SAMPLE = 20_000
_LARGEST_DISTANCE = 1_000
"""Distance of resiliparse's language profiles beyond which a text is unlike all of them."""

_FUNCTION_WORDS = {
    "da": "og det er til af på som ikke med den har var blev fra eller også efter",
    "de": "der die das und ist nicht ein eine mit von zu den im auf für sich dem auch als wird werden",
    "en": "the of and to in is that was for with as are by this it from which be have not",
    "es": "el la los las de que y en un una es por con para como del se más fue su",
    "fi": "ja on ei että se oli hän mutta joka ovat myös kun mukaan tai sekä vuonna",
    "fr": "le la les de des et est un une que dans pour par sur au avec qui ne pas du",
    "hu": "a az és hogy nem is egy volt meg ez mint vagy csak már még szerint",
    "id": "yang dan di dengan untuk dari ini pada itu adalah tidak dalam oleh sebagai",
    "it": "il di che la e è un una per non con del della sono si come nel gli dei alla",
    "nl": "de het een en van is niet dat op te voor met zijn aan er ook als bij wordt",
    "no": "og det er til av på som ikke med den har var ble fra eller også etter",
    "pl": "i w na z się nie do jest że to przez oraz od jak po dla za był są",
    "pt": "o a os as de que e em um uma é por com para como do da não se mais foi ao",
    "ro": "și de la în a cu pe nu este un o din care pentru mai sunt fost prin sau",
    "sv": "och det är att på som inte med av för den har var till från eller också efter",
    "vi": "và của là có được cho trong một các không những người với này đã khi từ",
    "tr": "ve bir bu da de için ile olarak olan çok daha gibi en sonra kadar ne",
}
_SCRIPTS = {"CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi"}


def detect_language(text: str) -> str:
    """The ISO 639-1 code of the language of a text; empty when it is short or unlike any that is known."""
    if len(text) < _SHORTEST:
        return ""
    from resiliparse.parse.lang import detect_fast

    language, distance = detect_fast(text[:_SAMPLE])
    return str(language) if distance and distance < _LARGEST_DISTANCE else ""


def dominant_language(texts: Iterable[str]) -> str:
    """The ISO 639-1 code of the language that most of the texts seem to be in; empty when nothing tells.

    Works on a single question, where n-grams fail, and knows few languages: those with a stemmer, and Vietnamese.
    """
    seen = Counter(word for text in texts for word in words(text))
    scripts = Counter[str]()
    for word, times in seen.items():
        scripts[unicodedata.name(word[0], "").split(" ")[0]] += times
    script = scripts.most_common(1)[0][0] if scripts else ""
    if script != "LATIN":
        return _SCRIPTS.get(script, "")
    votes = {code: sum(seen[word] for word in known.split()) for code, known in _FUNCTION_WORDS.items()}
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] else ""
