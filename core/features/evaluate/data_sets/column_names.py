"""The names that the columns of questions and judgements have in files of others."""

import re
from collections.abc import Iterable, Mapping, Sequence

_NAMES: Mapping[str, str] = {
    "question": "question text, query text, question, query, user input, user query, prompt, input, frage, pregunta, "
    "domanda, pergunta",
    "excerpt": "excerpt, passage, passage text, evidence, quote, snippet, span, reference, context, reference context, "
    "contexts, answer text, answer span, relevant text, textstelle, kontext, beleg, auszug, zitat, extrait, contexte, "
    "passaggio, brano, contesto, fragmento, contexto, trecho",
    "source": "source, source file, document, doc, document name, document id, doc id, docid, file, file name, "
    "filename, path, quelle, dokument, datei, fichier, archivo, documento, fuente, fonte",
    "answer": "answer, short answer, ground truth, expected answer, reference answer, gold answer, ideal, antwort, "
    "réponse, respuesta, risposta, resposta",
    "question id": "query id, queryid, qid, question id, questionid, q id, topic id, topic number, topic, query, "
    "question",
    "document id": "corpus id, corpusid, doc id, docid, document id, documentid, docno, doc no, passage id, "
    "passageid, did, pid, doc, document, passage",
    "grade": "score, relevance, relevance score, rel, grade, label, relevancy, relevant, is relevant, judgement, judgment, "
    "rating, qrel",
}
"""The names of each column in order of preference, as `folded` writes them."""
_JOINTS = re.compile(r"[\s\ufeff\u200b_.:*-]+")


def named_places(head: Sequence[str], columns: Iterable[str]) -> dict[str, int]:
    """Return the places of the columns that a head names, each under one of its names.

    Case, blanks, hyphens and underscores do not count. The first of equal names does.
    """
    names = [folded(cell) for cell in head]
    places: dict[str, int] = {}
    for column in columns:
        known = (folded(name) for name in _NAMES.get(column, column).split(","))
        if found := next((name for name in known if name in names), ""):
            places[column] = names.index(found)
    return places


def folded(name: str) -> str:
    """Return a column's name in lower case, its words divided by single blanks."""
    return _JOINTS.sub(" ", name).strip().casefold()
