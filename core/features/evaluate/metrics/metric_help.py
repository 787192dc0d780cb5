"""The unit of each metric, and one sentence of help for newcomers.

The pages and docs/metrics.md show these sentences.
"""

from collections.abc import Mapping
from typing import Literal

ANSWERED, REFUSED = "answered", "refused"
EXACT, TOKEN_F1, CONTAINS = "exact match", "token F1", "contains answer"
CITATION_RECALL, CITATION_PRECISION = "citation recall", "citation precision"
ENTAILED, KAPPA, STABLE = "entailed (judge)", "kappa (judge)", "unchanged verdicts"

HELP: Mapping[str, str] = {
    "nDCG@10": "How much of the best possible order the first ten documents reach: a relevant document counts less "
    "the lower it stands, and 1 is the best order.",
    "recall@10": "The share of the relevant documents that are among the first ten.",
    "MRR@10": "One divided by the rank of the first relevant document, and 0 where the first ten have none.",
    "MAP@10": "At the rank of each relevant document, the share of relevant ones down to there; the mean of these, "
    "with 0 for a document that is not among the first ten.",
    "precision@10": "The share of the first ten documents that are relevant.",
    "judged@10": "The share of the first ten documents that somebody has judged at all; where it is low, the other "
    "figures say little.",
    "excerpt recall": "The share of the marked text that the context holds.",
    "excerpt precision": "The share of the context that is marked text.",
    "excerpt IoU": "The marked text in the context, divided by all text that is in the context or marked.",
    "context tokens": "What the context costs: its length in tokens of about four characters.",
    ANSWERED: "The share of the questions with an answer that were answered; the others were refused wrongly.",
    REFUSED: "The share of the questions without an answer in the documents that were refused, as they should be.",
    EXACT: "The share of answers that are a reference answer, but for case, punctuation and articles.",
    TOKEN_F1: "How many words an answer shares with its reference: the harmonic mean of their share of the answer and "
    "their share of the reference.",
    CONTAINS: "The share of answers in which a reference answer stands word for word, however long they are.",
    CITATION_RECALL: "The share of an answer's sentences that the sources cited there support together.",
    CITATION_PRECISION: "The share of an answer's citations that its sentences need for their support.",
    ENTAILED: "The share of an answer's sentences that their cited sources entail, as a chat model judges it.",
    KAPPA: "How far the judge agrees with people beyond chance: 1 is always, 0 as often as by chance.",
    STABLE: "The share of an answer's sentences on which the judge says the same each time that it is asked.",
}


def with_unit(metric: str, unit: Literal["documents", "passages"] = "documents") -> str:
    """Name a metric with its unit, as in `nDCG@10 of documents`.

    Experiments rank documents, each at the rank of its best passage; labels of a run are of passages. Metrics of text,
    such as excerpt recall, have no such unit.
    """
    return f"{metric} of {unit}" if "@" in metric else metric
