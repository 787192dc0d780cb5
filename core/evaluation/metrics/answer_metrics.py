"""Metrics of one answer: against reference answers, and of its citations.

Citation recall and precision are those of ALCE (Gao, Yen, Yu and Chen 2023, "Enabling Large Language Models to Generate
Text with Citations", section 3.3), with another judge of support. ALCE asks a model of entailment; here a source
supports a sentence when it has a similar sentence and all of its numbers, by `core.analysis.answers.attribution`. That
is an estimate by similarity: a source that says the opposite counts as support.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

from core.analysis.answers.attribution import AttributedSentence, Cell

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def exact_match(answer: str, references: Sequence[str]) -> float:
    """1 when the answer is one of the references, both normalised (Rajpurkar et al. 2016), else 0."""
    return float(normalized(answer) in map(normalized, references))


def token_f1(answer: str, references: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of the answer's words, for the reference that it is highest for
    (Rajpurkar et al. 2016). Where there are no words on a side it is 1 if there are none on either (Rajpurkar et al.
    2018). ValueError without a reference."""
    return max(_f1(normalized(answer).split(), normalized(reference).split()) for reference in references)


def contains_reference(answer: str, references: Sequence[str]) -> float:
    """1 when a reference's words stand in the answer in a row, both normalised, else 0: the string match of ASQA
    (Stelmakh et al. 2022), which does not punish a long answer as F1 does."""
    words = f" {normalized(answer)} "
    return float(any(f" {reference} " in words for reference in map(normalized, references) if reference))


def citation_recall(sentences: Sequence[AttributedSentence]) -> float | None:
    """The share of the sentences whose cited sources support them together; one without a citation is not supported.
    None without a sentence."""
    if sentences:
        return sum(supports(sentence.citations) for sentence in sentences) / len(sentences)
    return None


def citation_precision(sentences: Sequence[AttributedSentence], unknown: int = 0) -> float | None:
    """The share of the citations that are needed, 0 when there is none. None without a sentence.

    A citation is needed when the sentence is supported, and either the cited source supports it alone, or the others
    do not without it. `unknown` are citations of sources that do not exist, which count as not needed.
    """
    if not sentences:
        return None
    cited = sum(len(sentence.citations) for sentence in sentences) + unknown
    needed = sum(_needed(sentence, cell) for sentence in sentences for cell in sentence.citations)
    return needed / cited if cited else 0.0


def supports(cells: Sequence[Cell]) -> bool:
    """Whether the sources of these cells support their sentence together: one has a similar sentence, and each number is in one."""
    missing = set.intersection(*(set(cell.missing_numbers) for cell in cells)) if cells else set()
    return any(not cell.dissimilar for cell in cells) and not missing


def normalized(text: str) -> str:
    """Lower case, without punctuation, English articles and further white space: SQuAD's normalisation (Rajpurkar et
    al. 2016), with the punctuation of all scripts as in MLQA (Lewis et al. 2020)."""
    plain = "".join(character for character in text.lower() if not _is_punctuation(character))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def _f1(answer: Sequence[str], reference: Sequence[str]) -> float:
    if not answer or not reference:
        return float(answer == reference)
    common = (Counter(answer) & Counter(reference)).total()
    return 2 * common / (len(answer) + len(reference))


def _needed(sentence: AttributedSentence, cell: Cell) -> bool:
    cited = sentence.citations
    others = [other for other in cited if other is not cell]
    return supports(cited) and (supports([cell]) or not supports(others))
