"""Two rankings compared by labels on the Evaluate page: the next passage, the figures, and the way there."""

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core.config.knobs import Knobs, RankKnobs, Strategy
from core.features.evaluate.labels.label_verdict import LabelVerdict, Proposal
from core.features.evaluate.statistics.significance import Interval, Verdict
from core.runtime.registry import RunRegistry
from tests.pages.conftest import PATIENCE, answered, opened
from tests.pages.test_labels import html, press

pytestmark = pytest.mark.slow

QUESTIONS = (
    "How does chunk overlap affect retrieval?",
    "What is BM25?",
    "When is a reranker worth its time?",
)


def comparing(**session: object) -> AppTest:
    rankings = {"verdict_first": "rank.strategy:cosine", "verdict_second": "rank.strategy:bm25"}
    app = opened("evaluate", session={**rankings, **session}, view="labels")
    assert not app.exception
    return app


def place(app: AppTest) -> str:
    """Where the passage to label stands."""
    found = re.search(r'data-place="([^"]+)"', html(app))
    assert found
    return found[1]


def sentence(app: AppTest) -> str:
    (found,) = (
        one.value for one in app.markdown if "ecided yet" in one.value or "a difference** after" in one.value
    )
    return str(found)


def test_passages_of_all_questions_are_labelled_in_turn(registry: RunRegistry) -> None:
    runs = [answered(registry, question) for question in QUESTIONS]
    app = comparing()
    assert "0 of 3</b> questions" in html(app)
    assert "Not decided yet** after 0 labels" in sentence(app)
    assert "3 questions cannot decide a difference of 0.20; about " in html(app)
    labelled = 0
    while "label_skip" in {one.key for one in app.button} and labelled < 60:
        press(app, "grade_RELEVANT")
        labelled += 1
        assert f"<b>{labelled}</b> label" in html(app)
    assert sum(len(registry.labels.of(run.question)) for run in runs) == labelled > 3
    assert "3 of 3</b> questions" in html(app)
    assert "Too few questions to show a difference** after" in sentence(app)
    assert "Nothing is left to label: ask more questions" in sentence(app)
    assert "A minus B, DCG@10 of passages: " in html(app)


def test_the_passages_of_a_question_are_labelled_on_one_screen(registry: RunRegistry) -> None:
    runs = [answered(registry, question) for question in QUESTIONS[:2]]
    app = comparing(label_several=True)

    def grades() -> list[str]:
        return [str(one.key) for one in app.button_group if str(one.key).startswith("grade_of_")]

    def labels() -> list[int]:
        return [len(registry.labels.of(run.question)) for run in runs]

    count = len(grades())
    assert count > 1 and "label_skip" in {one.key for one in app.button}
    for number, key in enumerate(grades()[:-1], 1):
        app.segmented_control(key=key).set_value("partly").run()
        assert not app.exception
        assert sorted(labels()) == [0, number], "the question stays while a passage of it is open"
    app.segmented_control(key="grade_of_0").set_value(None).run()
    assert sorted(labels()) == [0, count - 2]
    press(app, "label_undo")
    press(app, "label_skip")
    assert "Question 2 of 2" in html(app)


def test_labels_are_undone_singly_and_their_passages_open_again(registry: RunRegistry) -> None:
    run = answered(registry)
    app = comparing()
    assert app.button(key="label_undo").disabled
    places = []
    for grade in ("RELEVANT", "PARTLY"):
        places.append(place(app))
        press(app, f"grade_{grade}")
    assert len({*places, place(app)}) == 3, "each label brings the next passage"
    assert "Before the latest label: " in html(app)
    for number, opened_again in enumerate(reversed(places), 1):
        press(app, "label_undo")
        assert place(app) == opened_again
        assert len(registry.labels.of(run.question)) == 2 - number
    press(app, "label_skip")
    assert place(app) != places[0]


def test_two_people_label_separately_and_differences_are_listed(registry: RunRegistry) -> None:
    run = answered(registry)
    first = comparing(labeller="Ada")
    labelled = [place(first)]
    press(first, "grade_RELEVANT")
    labelled.append(place(first))
    press(first, "grade_NOT_RELEVANT")
    second = comparing(labeller="Ben")
    assert place(second) == labelled[0], "what another person labelled is not labelled"
    press(second, "grade_PARTLY")
    press(second, "grade_NOT_RELEVANT")
    assert second.selectbox(key="labeller_other").value == "person Ada"
    assert "2 passages of 1 question labelled by both; they differ in 1; Cohen’s kappa 0.333 [" in html(
        second
    )
    assert registry.labels.of(run.question) == ()
    assert len(registry.labels.of_all(run.question)) == 2
    press(second, "label_undo")
    assert len(registry.labels.of(run.question, "person Ben")) == 1


def test_the_passage_is_opened_in_its_run(registry: RunRegistry) -> None:
    run = answered(registry)
    app = comparing()
    app.button(key="verdict_open").click().run()
    assert not app.exception
    assert app.query_params["run"] == run.id
    assert run.index is not None
    assert app.session_state["passage"] in {one.id for one in run.index.passages}


def test_tuned_ranking_is_compared_over_all_questions(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    assert "label_all" not in {one.key for one in app.button}
    app.segmented_control(key="knob_rank_strategy").set_value("bm25").run()
    job = registry.retuning.start(
        app.session_state["session_id"],
        run.id,
        replace(run.knobs, rank=replace(run.knobs.rank, strategy=Strategy.BM25)),
    )
    assert job is not None
    job.wait(PATIENCE)
    press(app.run(), "label_all")
    assert (app.selectbox(key="verdict_first").value, app.selectbox(key="verdict_second").value) == (
        "defaults",
        "rank.strategy:bm25",
    )
    assert "0 of 1</b> question" in html(app)


def test_presets_that_order_passages_differently_can_be_chosen(registry: RunRegistry) -> None:
    registry.presets.save("diverse", Knobs(rank=RankKnobs(diversity=0.5)))
    registry.presets.save("short", Knobs(rank=RankKnobs(top_k=2)))
    app = comparing()
    assert "diverse (preset)" in app.selectbox(key="verdict_second").options
    assert "short (preset)" not in app.selectbox(key="verdict_second").options
    assert "There are no runs" in html(app)
    app.selectbox(key="verdict_second").set_value(app.selectbox(key="verdict_first").value).run()
    assert app.info[0].value == "Choose two different rankings."


@pytest.mark.parametrize(
    ("verdict", "labels", "proposed", "words"),
    [
        (Verdict.BETTER, 14, True, "**A is better**, p = .0120 after 14 labels."),
        (Verdict.WORSE, 14, True, "**B is better**, p = .0120 after 14 labels."),
        (Verdict.OPEN, 1, True, "**Not decided yet** after 1 label."),
        (Verdict.NO_DIFFERENCE, 30, True, "30% of what labelling the first 10"),
        (
            Verdict.NO_DIFFERENCE,
            30,
            True,
            "5 labelled questions show a difference of DCG@10 of passages from about 0.80 on",
        ),
        (Verdict.NO_DIFFERENCE, 30, False, "nothing is left to label"),
        (
            Verdict.TOO_FEW,
            30,
            True,
            "5 labelled questions show no difference of DCG@10 of passages, however large. Label more",
        ),
        (Verdict.NO_DIFFERENCE, 0, False, "the same, or nearly so"),
    ],
)
def test_the_verdict_is_a_sentence(verdict: Verdict, labels: int, proposed: bool, words: str) -> None:
    found = LabelVerdict(
        labels=labels,
        pool=100,
        questions=5,
        of=9,
        difference=Interval(0.1, 0.0, 0.2),
        p_value=0.012,
        verdict=verdict,
        shown=0.8 if labels else None,
        needed=None,
        planned=0.2,
        open=(Proposal(question="q", passage="p"),) if proposed else (),
    )
    assert words in found.summary
