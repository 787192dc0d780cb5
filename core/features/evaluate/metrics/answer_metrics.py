"""Metrics of one answer: against reference answers, and for its citations.

Citation recall and precision are those of ALCE (Gao, Yen, Yu and Chen 2023, "Enabling Large Language Models to Generate
Text with Citations", section 3.3), with another judge of support. ALCE uses an entailment model. Here a source supports
a sentence if it has a similar sentence and all of its numbers, by `core.analysis.answers.attribution`. This is an
estimate by similarity: a contradicting source counts as support.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

from core.analysis.answers.attribution import AttributedSentence, Cell

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def exact_match(answer: str, references: Sequence[str]) -> float:
    """Return 1 if the normalised answer equals a normalised reference, else 0 (Rajpurkar et al. 2016)."""
    return float(normalized(answer) in map(normalized, references))


def token_f1(answer: str, references: Sequence[str]) -> float:
    """Return the F1 of the answer's words for the best reference (Rajpurkar et al. 2016).

    F1 is the harmonic mean of precision and recall. If the answer or the reference has no words, it is 1 if neither has
    any (Rajpurkar et al. 2018). Raises ValueError without a reference.
    """
    return max(_f1(normalized(answer).split(), normalized(reference).split()) for reference in references)


def contains_reference(answer: str, references: Sequence[str]) -> float:
    """Return 1 if the answer contains the words of a reference in a row, else 0.

    Both are normalised. This is the string match of ASQA (Stelmakh et al. 2022), which does not punish a long answer
    like F1 does.
    """
    words = f" {normalized(answer)} "
    return float(any(f" {reference} " in words for reference in map(normalized, references) if reference))


def citation_recall(sentences: Sequence[AttributedSentence]) -> float | None:
    """Return the supported share of the sentences, or None.

    The cited sources of a sentence must support it together. A sentence without citations is not supported.
    """
    if sentences:
        return sum(supports(sentence.citations) for sentence in sentences) / len(sentences)
    return None


def citation_precision(sentences: Sequence[AttributedSentence], unknown: int = 0) -> float | None:
    """Return the needed share of the citations, or None.

    A citation is needed if the sentence is supported, and either the cited source supports it alone, or the other
    sources do not support it without the citation. `unknown` counts citations of sources that do not exist, which are
    not needed. Without citations the share is 0.
    """
    if not sentences:
        return None
    cited = sum(len(sentence.citations) for sentence in sentences) + unknown
    needed = sum(_needed(sentence, cell) for sentence in sentences for cell in sentence.citations)
    return needed / cited if cited else 0.0


def supports(cells: Sequence[Cell]) -> bool:
    """Return whether the sources together support their sentence.

    One source must have a similar sentence, and each number must be in a source.
    """
    missing = set.intersection(*(set(cell.missing_numbers) for cell in cells)) if cells else set()
    return any(not cell.dissimilar for cell in cells) and not missing


def normalized(text: str) -> str:
    """Return the text in lower case, without punctuation, English articles and extra white space.

    This is SQuAD's normalisation (Rajpurkar et al. 2016), with the punctuation of all scripts as in MLQA (Lewis et al.
    2020).
    """
    plain = "".join(
        character
        for character in text.lower()
        if character not in string.punctuation and not unicodedata.category(character).startswith("P")
    )
    return " ".join(_ARTICLES.sub(" ", plain).split())


def _f1(answer: Sequence[str], reference: Sequence[str]) -> float:
    if not answer or not reference:
        return float(answer == reference)
    common = (Counter(answer) & Counter(reference)).total()
    return 2 * common / (len(answer) + len(reference))


def _needed(sentence: AttributedSentence, cell: Cell) -> bool:
    cited = sentence.citations
    others = [other for other in cited if other is not cell]
    return supports(cited) and (supports([cell]) or not supports(others))
