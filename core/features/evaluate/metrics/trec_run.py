"""Rankings and judgements in TREC's formats, which trec_eval and its relatives read.

A run has lines `question Q0 document rank score tag`, and the judgements (qrels) `question 0 document grade`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from core.features.evaluate.data_sets.data_set import Question
from core.text.digest import text_digest
from core.text.qrels_names import page_name

SUFFIX = ".run"
QRELS = "qrels.txt"
_LONGEST_TAG = 120


def run_tag(setting: str) -> str:
    """Return the name of a setting as a word that is also a name of a file."""
    tag = re.sub(r"[^\w.=,+-]+", "_", setting).strip("._") or "defaults"
    return tag if len(tag) <= _LONGEST_TAG else f"{tag[:_LONGEST_TAG]}-{text_digest(setting)[:8]}"


def run_lines(rankings: Mapping[str, Sequence[str]], tag: str) -> str:
    """Return one line for each ranked document, by question.

    The score is 1 / rank, because programs sort by it. White space and non-ASCII characters of ids are percent-encoded.
    """
    return "".join(
        f"{page_name(question)} Q0 {page_name(document)} {rank} {1 / rank:.6f} {tag}\n"
        for question, documents in rankings.items()
        for rank, document in enumerate(documents, 1)
    )


def qrels_lines(questions: Iterable[Question]) -> str:
    """Return one line for each judged document, by question. Ids are encoded as in `run_lines`."""
    return "".join(
        f"{page_name(question.id)} 0 {page_name(document)} {grade}\n"
        for question in questions
        for document, grade in question.judgements.items()
    )
