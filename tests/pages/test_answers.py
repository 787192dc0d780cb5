"""The Answers view of Evaluate without a chat model: quotations measured, two evaluations compared, and who may not."""

import time
from html import unescape
from pathlib import Path

import pytest

from core.cli.main import main
from core.config.knobs import Knobs
from core.features.evaluate.metrics.metric_help import HELP
from core.features.evaluate.services.answer_evaluations import AnswerEvaluations
from core.features.evaluate.services.experiments import Experiments
from core.runtime.registry import RunRegistry
from tests.features.evaluate.test_answers import QUESTIONS, TEXTS
from tests.pages.conftest import PATIENCE, opened
from tests.pages.test_evaluate import html

pytestmark = pytest.mark.slow


def data_set(registry: RunRegistry) -> str:
    """Two questions that can be answered by quotation, and one without an answer: the data set's name."""
    folder = registry.service(Experiments).data.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    rows = [",".join(f'"{part}"' for part in (question, *rest)) for question, rest in QUESTIONS.items()]
    (folder / "mills.csv").write_text("\n".join(["question,excerpt,source,answer", *rows]))
    return "mills.csv"


def answered(registry: RunRegistry, data: str, knobs: Knobs | None = None) -> str:
    """An evaluation that has ended: its id."""
    name = registry.service(AnswerEvaluations).start(data, knobs)
    end = time.monotonic() + PATIENCE
    while (evaluation := registry.service(AnswerEvaluations).get(name)) and evaluation.live:
        assert time.monotonic() < end, "the evaluation did not end"
        time.sleep(0.02)
    assert evaluation and not evaluation.error
    return name


def test_quotations_are_evaluated_from_the_form_with_explained_figures(registry: RunRegistry) -> None:
    name = data_set(registry)
    app = opened("evaluate", view="answers")
    assert "nobody can judge" in " ".join(element.value for element in app.caption)
    app.selectbox(key="answers_data").set_value(name).run()
    app.button(key="answers_start").click().run()
    assert not app.exception
    (evaluation,) = registry.service(AnswerEvaluations).all()
    assert app.query_params["evaluation"] == evaluation.id
    end = time.monotonic() + PATIENCE
    while registry.service(AnswerEvaluations).get(evaluation.id).live:  # type: ignore[union-attr]
        assert time.monotonic() < end
        time.sleep(0.02)
    app.run()
    assert not app.exception
    page = unescape(html(app))
    for metric in ("answered", "citation recall"):
        assert HELP[metric] in page, "the same sentence as in docs/metrics.md"
    assert page.count("#pick-answer/") == 4, "a row each, and the answer after the one that is open"
    assert "oq-reference" in page and "in source 1" in page


def test_two_evaluations_are_compared_question_by_question(registry: RunRegistry) -> None:
    name = data_set(registry)
    first = answered(registry, name)
    second = answered(registry, name, Knobs.parse({"rank": {"top_k": 1}}))
    app = opened("evaluate", view="answers", evaluation=second, baseline=first)
    assert not app.exception
    assert app.selectbox(key="answers_baseline").value == first
    assert "Paired, 2 questions" in html(app)
    assert html(app).count(".000 [") >= 2
    app = opened("evaluate", view="answers", evaluation="gone", show="nonsense", baseline="nonsense")
    assert not app.exception
    assert "There is no evaluation gone." in " ".join(element.value for element in app.warning)


def test_what_the_command_line_wrote_is_shown(registry: RunRegistry, warm_folder: Path) -> None:
    data = registry.service(Experiments).data.folder / data_set(registry)
    out = warm_folder / "answers" / "nightly"
    assert main(["eval", "answers", "--data", str(data), "--out", str(out)]) == 0
    app = opened("evaluate", view="answers", evaluation="nightly")
    assert not app.exception
    page = html(app)
    assert "Answers to mills" in page and page.count("#pick-answer/") == 4
    app.button(key="answers_delete").click().run()
    assert registry.service(AnswerEvaluations).get("nightly") is None
    app.button(key="answers_undo").click().run()
    assert registry.service(AnswerEvaluations).get("nightly")


def test_damaged_answers_are_named_and_others_stay(registry: RunRegistry, warm_folder: Path) -> None:
    kept, damaged = (answered(registry, data_set(registry)) for _ in range(2))
    (warm_folder / "answers" / damaged / "answers.jsonl").write_text('{"data": 1}\n')
    app = opened("evaluate", view="answers", evaluation=damaged)
    assert not app.exception
    assert "line 1 is damaged" in " ".join(element.value for element in app.error)
    assert kept in html(app) and damaged not in html(app)
