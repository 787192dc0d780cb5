"""Evaluations of answers in the background: what fails, is stopped or killed loses nothing, and the judge's figures."""

import csv
import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.config.knobs import AnswerKnobs, Knobs, Length
from core.config.settings import Settings
from core.errors import BadInput
from core.features.evaluate.answers.answers_folder import AnswerEvaluation
from core.features.evaluate.answers.judged_answers import claims_to_label, read_labels
from core.features.evaluate.services.answer_evaluations import AnswerEvaluations
from core.runtime.event_loop import TaskStatus
from core.runtime.registry import RunRegistry
from tests.services.loopback import Gate
from tests.services.openai_server import MODEL, FakeOpenAI, failure, streamed
from tests.services.small_model import SmallModel, brief

pytestmark = pytest.mark.slow

QUESTIONS = 20
PATIENCE = 120.0
ANSWER = "The moon pulls the water [1]."


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        server.chat = ANSWER
        yield server


@pytest.fixture
def begin(tmp_path: Path, model: FakeOpenAI) -> Iterator[Callable[[], RunRegistry]]:
    """Begins a process on the data folder: a registry. Those before it are closed."""
    folder = tmp_path / "data_sets"
    folder.mkdir()
    (folder / "tides.txt").write_text("The moon pulls the water.\n\nThe sun pulls less.")
    rows = [f"What pulls number {one}?,The moon pulls,tides.txt,The moon" for one in range(QUESTIONS)]
    (folder / "tides.csv").write_text("\n".join(["question,excerpt,source,answer", *rows]))
    registries: list[RunRegistry] = []

    def begun() -> RunRegistry:
        while registries:
            registries.pop().close()
        registries.append(
            RunRegistry(
                Settings(
                    data=tmp_path,
                    ollama_url="",
                    base_url=model.base_url,
                    chat_model=MODEL,
                    embedding_model="local",
                )
            )
        )
        return registries[0]

    yield begun
    registries.pop().close()


def ended(registry: RunRegistry, name: str) -> AnswerEvaluation:
    end = time.monotonic() + PATIENCE
    while (evaluation := registry.service(AnswerEvaluations).get(name)) and evaluation.live:
        assert time.monotonic() < end, "the evaluation did not end"
        time.sleep(0.02)
    assert evaluation
    return evaluation


def test_model_failing_on_every_tenth_call_loses_nothing(
    begin: Callable[[], RunRegistry], model: FakeOpenAI
) -> None:
    registry = begin()
    model.chats.extend([*[streamed(ANSWER)] * 9, failure(400), *[streamed(ANSWER)] * 9, failure(400)])
    name = registry.service(AnswerEvaluations).start("tides.csv")
    evaluation = ended(registry, name)
    assert (evaluation.status, evaluation.done, len(evaluation.failed)) == (
        TaskStatus.DONE,
        QUESTIONS,
        2,
    )
    assert evaluation.answers
    interval, counted = evaluation.answers.intervals["answered"]
    assert (interval.mean, counted) == (1.0, QUESTIONS - 2)
    asked = len(model.chat_requests)
    registry.service(AnswerEvaluations).resume(name)
    assert ended(registry, name).failed == ()
    assert len(model.chat_requests) - asked == 2, "only what failed is asked again"


def test_one_that_is_stopped_goes_on_in_another_process(
    begin: Callable[[], RunRegistry], model: FakeOpenAI
) -> None:
    registry = begin()
    gates = [Gate() for _ in range(4)]
    model.chats.extend([*[streamed(ANSWER)] * 6, *(streamed("The ", gate, "moon [1].") for gate in gates)])
    name = registry.service(AnswerEvaluations).start("tides.csv")
    end = time.monotonic() + PATIENCE
    while registry.service(AnswerEvaluations).get(name).done < 6:  # type: ignore[union-attr]
        assert time.monotonic() < end
        time.sleep(0.02)
    registry.service(AnswerEvaluations).stop(name)
    assert ended(registry, name).status is TaskStatus.STOPPED
    for gate in gates:
        gate.open()
    registry = begin()
    evaluation = registry.service(AnswerEvaluations).get(name)
    assert evaluation and (evaluation.status, evaluation.done) == (TaskStatus.STOPPED, 6)
    model.chats.clear()
    asked = len(model.chat_requests)
    registry.service(AnswerEvaluations).resume(name)
    assert ended(registry, name).status is TaskStatus.DONE
    assert len(model.chat_requests) - asked == QUESTIONS - 6
    assert begin().service(AnswerEvaluations).all()[0].status is TaskStatus.DONE


def test_a_judge_has_its_agreement_and_its_own_variance(
    begin: Callable[[], RunRegistry], model: FakeOpenAI, tmp_path: Path
) -> None:
    registry = begin()
    evaluations = registry.service(AnswerEvaluations)
    name = evaluations.start("tides.csv")
    ended(registry, name)
    evaluations.delete(name)
    assert evaluations.get(name) is None and evaluations.is_restorable(name)
    evaluations.restore(name)
    assert evaluations.get(name)

    claims = [f"Claim {n},Text {n},{'entailed' if n % 2 else 'contradicted'}" for n in range(20)]
    labels = "\n".join(["claim,source,label", *claims])
    with pytest.raises(BadInput, match="agreement needs 20"):
        evaluations.start("tides.csv", repeats=2, labels=labels[:-60].rpartition("\n")[0].encode())
    assert len(evaluations.all()) == 1, "labels that cannot be used start nothing"

    with pytest.raises(BadInput, match="1 to 20 times"):
        evaluations.judge(name, repeats=21)
    answers = evaluations.get(name).answers  # type: ignore[union-attr]
    assert answers
    rows = list(csv.DictReader(io.StringIO(claims_to_label(answers.answered).decode("utf-8-sig"))))
    assert rows[0]["claim"] == "The moon pulls the water." and rows[0]["claim"] in rows[0]["source"]
    labelled = tmp_path / "labelled.csv"
    with labelled.open("w", newline="") as file:
        sheet = csv.DictWriter(file, rows[0])
        sheet.writeheader()
        sheet.writerows(row | {"label": "not addressed" if n else "entailed"} for n, row in enumerate(rows))
    assert len(read_labels(labelled)) == QUESTIONS, "a person fills in the labels"

    model.chat = "\n".join(f"{n}: entailed" for n in range(1, 21))
    asked = len(model.chat_requests)
    evaluations.judge(name, repeats=1)
    later = ended(registry, name)
    assert later.answers and later.answers.judged and later.answers.judged.header.agreement is None
    assert asked < len(model.chat_requests) <= asked + QUESTIONS, "the answers stay, the judge alone is asked"
    model.chats.extend([streamed(ANSWER)] * QUESTIONS)
    evaluation = ended(registry, evaluations.start("tides.csv", repeats=2, labels=labels.encode()))
    assert evaluation.answers and (judged := evaluation.answers.judged)
    assert judged.header.agreement and judged.header.agreement.kappa.mean == 0
    assert judged.scores and judged.stable
    assert (judged.scores.mean, judged.stable.mean, judged.deviation) == (1.0, 1.0, 0.0)
    assert evaluation.judged == evaluation.to_judge == QUESTIONS


@pytest.mark.thorough
@pytest.mark.model
@pytest.mark.timeout(600)  # some hundred tokens of prompts on the processor
def test_a_real_model_answers_and_judges_itself(tmp_path: Path, small_model: SmallModel) -> None:
    folder = tmp_path / "data_sets"
    folder.mkdir()
    (folder / "tides.txt").write_text("The moon pulls the water.\n\nThe sun pulls less.")
    (folder / "tides.csv").write_text(
        "question,excerpt,source,answer\nWhat pulls?,The moon pulls,tides.txt,The moon"
    )
    with brief(small_model, max_tokens=12) as model:
        settings = Settings(
            data=tmp_path,
            ollama_url="",
            base_url=model.base_url,
            chat_model=model.name,
            openai_api_key=model.key,
            embedding_model="local",
        )
        registry = RunRegistry(settings)
        try:
            knobs = Knobs(answer=AnswerKnobs(length=Length.SHORT))
            evaluation = ended(
                registry, registry.service(AnswerEvaluations).start("tides.csv", knobs, repeats=1)
            )
        finally:
            registry.close()
    assert (evaluation.status, evaluation.failed) == (TaskStatus.DONE, ())
    assert evaluation.answers and evaluation.answers.answers[0].answer
    assert evaluation.answers.answers[0].tokens > 0
    assert evaluation.judged == evaluation.to_judge
