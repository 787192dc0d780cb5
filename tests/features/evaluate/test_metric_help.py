"""docs/metrics.md: the sentences of the pages, pictures that are those of the code, and examples that are computed."""

import re
from pathlib import Path

import pytest

from bench.metric_pictures import IMAGES, file_name, picture
from core.analysis.answers.llm_judge import Entailment
from core.features.evaluate.answers.answering import METRICS
from core.features.evaluate.answers.judged_answers import (
    JudgedAnswer,
    JudgedAnswers,
    JudgeHeader,
    kappa_interval,
)
from core.features.evaluate.metrics import answer_metrics, excerpt_metrics
from core.features.evaluate.metrics.excerpt_metrics import EXCERPT_METRICS
from core.features.evaluate.metrics.metric_help import HELP, with_unit
from core.features.evaluate.metrics.ranking_metrics import DEPTH, DOCUMENT_METRICS
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.text.display import metric_text
from core.text.sanitize import estimated_tokens
from tests.features.evaluate.test_answers import attributed

DOCUMENT = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"### (.+)\n\n((?:(?!\n##).|\n(?!##))+)", DOCUMENT))
RANKING = [f"d{rank}" for rank in range(1, 11)]
FOUND = {"d2": 1, "d4": 1}
JUDGED = dict.fromkeys(("d1", "d2", "d3", "d4", "d6", "d9"), 0) | FOUND
EXCERPT, CONTEXT = [("text", 15, 35)], [("text", 20, 60)]
CLOSED = ("It closed in 1911", ["in 1911"])
SENTENCES = [attributed((True, ()), (False, ("1911",))), attributed(), attributed((False, ()))]
PEOPLE, JUDGE = [1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15


def judged(*verdicts: tuple[Entailment, ...]) -> JudgedAnswers:
    repeats = len(verdicts[0])
    header = JudgeHeader(data="", embedder="", questions={}, judge="", repeats=repeats)
    return JudgedAnswers(header=header, answers=(JudgedAnswer(id="1", verdicts=verdicts),))


def examples() -> dict[str, float]:
    """The figure of each example, computed."""
    yes, no = Entailment.ENTAILED, Entailment.CONTRADICTED
    documents = {name: metric(RANKING, FOUND, DEPTH) for name, metric in DOCUMENT_METRICS.items()}
    documents["recall@10"] = DOCUMENT_METRICS["recall@10"](RANKING, FOUND | {"d37": 1}, DEPTH)
    documents["judged@10"] = DOCUMENT_METRICS["judged@10"](RANKING, JUDGED, DEPTH)
    entailed = judged((yes,), (yes,), (no,), (yes,)).scores
    stable = judged((yes, yes, yes), (yes, yes, yes), (no, yes, no), (no, no, no)).stable
    assert entailed and stable
    answers = ("The 1911!", "in 1911", "1912", "1911")
    return {
        **documents,
        **{name: metric(EXCERPT, CONTEXT) for name, metric in EXCERPT_METRICS.items()},
        "answered": 4 / 5,
        "refused": 1 / 2,
        "exact match": sum(answer_metrics.exact_match(answer, ["1911"]) for answer in answers) / 4,
        "token F1": answer_metrics.token_f1(*CLOSED),
        "contains answer": answer_metrics.contains_reference(*CLOSED),
        "citation recall": answer_metrics.citation_recall(SENTENCES) or 0.0,
        "citation precision": answer_metrics.citation_precision(SENTENCES) or 0.0,
        "entailed (judge)": entailed.mean,
        "kappa (judge)": kappa_interval(PEOPLE, JUDGE).mean,
        "unchanged verdicts": stable.mean,
    }


def test_every_metric_has_its_sentence_and_no_other() -> None:
    measured = {*DOCUMENT_METRICS, *EXCERPT_METRICS, CONTEXT_TOKENS, *METRICS}
    assert measured <= set(HELP), "write a sentence in HELP of metric_help.py"
    assert set(SECTIONS) == set(HELP), "write a section in docs/metrics.md"
    for name, section in SECTIONS.items():
        assert section.startswith(f"{HELP[name]}\n"), name
        assert HELP[name].endswith(".") and HELP[name].count(". ") == 0, "one sentence"


@pytest.mark.parametrize("name", HELP)
def test_its_picture_is_the_one_that_the_code_draws(name: str) -> None:
    image = f"![{name}, drawn](images/{file_name(name)})"
    assert image in SECTIONS.get(name, ""), f"add {image} to its section of docs/metrics.md"
    file = IMAGES / file_name(name)
    drawn = file.read_text("utf-8") if file.exists() else ""
    assert drawn == picture(name), "run python -m bench.metric_pictures"


def test_the_examples_are_computed() -> None:
    figures = examples()
    assert set(figures) == set(HELP) - {CONTEXT_TOKENS}, "compute the figure in examples()"
    for name, value in figures.items():
        figure = f"**{metric_text(value)}**"
        assert figure in SECTIONS.get(name, ""), f"the example of {name} in docs/metrics.md is {figure}"
    assert f"**{estimated_tokens(2_100)}** tokens" in SECTIONS[CONTEXT_TOKENS]
    assert excerpt_metrics.excerpt_iou(EXCERPT, CONTEXT) == pytest.approx(1 / 3)


def test_rank_metrics_are_told_with_their_unit() -> None:
    assert with_unit("nDCG@10") == "nDCG@10 of documents"
    assert with_unit("nDCG@10", "passages") == "nDCG@10 of passages"
    assert with_unit("excerpt recall") == "excerpt recall"
