"""Limits of an article for all readers: valid text, offsets, and sizes."""

from dataclasses import replace

from core.injection import MAX_SIGNS
from core.model import Article
from core.reading.normalization import MAX_CHARACTERS, left_out
from core.text.sanitize import encodable

HIDDEN_LIMIT = 2_000
"""Characters of hidden text that an article holds."""
MAX_PAGES = 10_000
MAX_SECTIONS = 20_000
MAX_STRUCTURES = 20_000
MAX_KEPT = 100
SHORT_LIMIT = 400
"""Characters of a title, heading or any other text except the article's own."""
SHORT_TEXTS = (
    "extractor", "title", "author", "date", "site", "language", "declared_language", "kind", "kind_reason", "left_out", "fallback",
)  # fmt: skip


def within_limits(article: Article) -> Article:
    """Cut an article to the limits, with � for invalid characters.

    An article within all limits is returned equal.
    """
    text = encodable(article.text)[:MAX_CHARACTERS]
    length = len(text)
    cut = {name: encodable(getattr(article, name))[:SHORT_LIMIT] for name in SHORT_TEXTS}
    cut["left_out"] = cut["left_out"] or left_out(len(article.text))
    return replace(
        article,
        **cut,  # type: ignore[arg-type]
        text=text,
        hidden=encodable(article.hidden)[:HIDDEN_LIMIT],
        page_starts=tuple(sorted(start for start in article.page_starts if 0 <= start <= length)[:MAX_PAGES]),
        sections=tuple(
            sorted(
                (start, encodable(heading)[:SHORT_LIMIT])
                for start, heading in article.sections
                if 0 <= start <= length
            )[:MAX_SECTIONS]
        ),
        structures=tuple(
            (start, min(end, length), kind) for start, end, kind in article.structures if start < length
        )[:MAX_STRUCTURES],
        kept=tuple((start, min(end, length)) for start, end in article.kept if start < length)[:MAX_KEPT],
        injection_signs=tuple(
            replace(sign, quote=encodable(sign.quote)[:SHORT_LIMIT])
            for sign in article.injection_signs
            if 0 <= sign.start <= sign.end and (sign.hidden or sign.end <= length)
        )[:MAX_SIGNS],
    )
