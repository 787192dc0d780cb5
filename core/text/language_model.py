"""The fastText model for 176 languages. Its file is shipped, and loaded on first use.

The file is `lid.176.ftz` of https://fasttext.cc/docs/en/language-identification.html, under CC BY-SA 3.0.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

MODEL_FILE = Path(__file__).with_name("lid.176.ftz")
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_MOST_LABELS = 10
_PREFIX = len("__label__")

_SAME = {
    "als": "de", "bar": "de", "pfl": "de", "arz": "ar", "ast": "es", "bs": "hr", "bh": "hi", "eml": "it", "lmo": "it",
    "lrc": "fa", "mai": "hi", "mzn": "fa", "nap": "it", "nn": "no", "nb": "no", "pms": "it", "scn": "it", "sh": "hr",
    "vec": "it", "vls": "nl", "wuu": "zh", "yue": "zh",
}  # fmt: skip
"""Languages that are treated as a larger one, with the larger one's stemmer."""


def written_language(code: str) -> str:
    """Return the language whose rules serve a code's language, as an ISO 639 code."""
    return _SAME.get(code, code)


def probabilities(text: str) -> dict[str, float]:
    """Return the probabilities of a text's likeliest languages, by ISO 639-1 code.

    The text is lower-cased first, because the model takes capitals for Chinese. Languages without such a code are left
    out, so that the sum may be below 1.

    Raises:
        OSError: when the model's file is missing or is not the file that was expected.
    """
    labels, values = _model(MODEL_FILE).predict(" ".join(text.lower().split()), k=_MOST_LABELS)
    found: dict[str, float] = {}
    for label, value in zip(labels, values, strict=True):
        language = written_language(label[_PREFIX:])
        if len(language) == 2:
            found[language] = found.get(language, 0.0) + min(float(value), 1.0)
    return found


@cache
def _model(file: Path) -> Any:
    import fasttext

    if hashlib.sha256(file.read_bytes()).hexdigest() != SHA256:
        raise OSError(f"The language model {file.name} is damaged. Install OpenQuery again.")
    return fasttext.load_model(str(file))
