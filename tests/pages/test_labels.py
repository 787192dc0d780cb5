"""Labels on the Ask page: grades of passages, the figures that they give, and their file."""

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core.config.knobs import Strategy
from core.features.evaluate.labels.passage_labels import label
from core.features.evaluate.labels.qrels import to_qrels
from core.model import Grade
from core.run.state import Run
from core.runtime.registry import RunRegistry
from tests.pages.conftest import PATIENCE, answered, opened, words

pytestmark = pytest.mark.slow


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def best(run: Run, rank: int) -> str:
    assert run.index is not None and run.ranking is not None
    return run.index.passages[int(run.ranking.order[rank - 1])].id


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception
    return app


def labelled(app: AppTest, *grades: str) -> AppTest:
    """Label the passages that are proposed, one after the other."""
    for grade in grades:
        press(app, "label_next")
        press(app, f"grade_{grade}")
    return app


def label_directly(registry: RunRegistry, asked: Run, shown: Run, grade: Grade, ranks: Iterable[int]) -> None:
    """Label passages of the shown ranking without a page, which draws itself for every click."""
    assert shown.index is not None and shown.ranking is not None
    for rank in ranks:
        place = shown.index.passages[int(shown.ranking.order[rank - 1])].place
        if place not in {one.place for one in registry.labels.of(asked.question)}:
            registry.labels.add(asked.question, asked.id, label(shown.pages[place.page], place, grade))


def test_labels_give_figures_that_narrow_with_every_label(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    assert "0 of 10</b> labelled" in html(app)
    assert app.button(key="label_next").label == "Label passages"
    labelled(app, "RELEVANT")
    assert app.session_state["passage"] == best(run, 1)
    assert "1 of 10</b> labelled" in html(app)
    assert "<b>1.000</b> MRR@10" in html(app)
    label_directly(registry, run, run, Grade.NOT_RELEVANT, range(2, 10))
    app.run()
    assert "9 of 10</b> labelled" in html(app)
    labelled(app, "NOT_RELEVANT")
    assert "10 of 10</b> labelled" in html(app)
    assert "<b>1.000</b> nDCG@10 of passages" in html(app)
    assert "<b>1.000</b> recall" in html(app)
    assert app.button(key="label_next").disabled


def test_label_is_changed_and_removed_by_the_same_buttons(registry: RunRegistry) -> None:
    run = answered(registry)
    app = labelled(opened(run=run.id), "RELEVANT")
    press(app, "grade_PARTLY")
    (made,) = registry.labels.of(run.question)
    assert made.grade == 1
    assert made.text == run.pages[made.place.page].text[made.place.start : made.place.end]
    press(app, "grade_PARTLY")
    assert registry.labels.of(run.question) == ()
    assert "0 of 10</b> labelled" in html(app)


def test_labels_belong_to_the_question_and_its_next_run(registry: RunRegistry) -> None:
    first = answered(registry, "How does chunk overlap affect retrieval?")
    labelled(opened(run=first.id), "RELEVANT")
    again = answered(registry, "how does  chunk overlap affect Retrieval?")
    assert "1 of 10</b> labelled" in html(opened(run=again.id))
    other = answered(registry, "What is BM25?")
    assert "0 of 10</b> labelled" in html(opened(run=other.id))


def test_labels_stay_when_pages_are_cut_anew(registry: RunRegistry) -> None:
    run = answered(registry)
    app = labelled(opened(run=run.id), "RELEVANT")
    assert "1 of 10</b> labelled" in html(app)
    app.slider(key="knob_chunk_size").set_value(300).run()
    job = registry.retuning.start(
        app.session_state["session_id"],
        run.id,
        replace(run.knobs, chunk=replace(run.knobs.chunk, size=300)),
    )
    assert job is not None
    job.wait(PATIENCE)
    app.run()
    assert "the answer's ranking" in words(app)
    assert re.search(r"[1-9] of 10</b> labelled", html(app))


def test_another_ranking_is_judged_against_that_of_the_answer(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    labelled(app, "RELEVANT")
    assert "the answer's ranking" not in html(app)
    app.segmented_control(key="knob_rank_strategy").set_value("bm25").run()
    knobs = replace(run.knobs, rank=replace(run.knobs.rank, strategy=Strategy.BM25))
    job = registry.retuning.start(app.session_state["session_id"], run.id, knobs)
    assert job is not None
    job.wait(PATIENCE)
    assert "open until more is labelled" in html(app.run())
    label_directly(registry, run, run, Grade.NOT_RELEVANT, range(2, 11))
    label_directly(registry, run, job.run, Grade.NOT_RELEVANT, range(1, 10))
    app.run()
    while not app.button(key="label_next").disabled:
        labelled(app, "NOT_RELEVANT")
    assert "open until more is labelled" not in html(app)
    (own, answers) = re.findall(
        r"<b>([\d.]+)</b> (?:nDCG@10 of passages|the answer.{1,6}s ranking)", html(app)
    )
    (difference, verdict) = re.findall(r"<b>([+-][\d.]+)</b> (better|worse|equal)", html(app))[0]
    assert float(difference) == pytest.approx(float(own) - float(answers), abs=0.0011)
    expected = {"better": 1, "worse": -1, "equal": 0}[verdict]
    assert (float(difference) > 0) - (float(difference) < 0) == expected


def test_qrels_are_imported_and_unmatched_ones_counted(registry: RunRegistry) -> None:
    run = answered(registry)
    labelled(opened(run=run.id), "RELEVANT", "NOT_RELEVANT")
    labels = registry.labels.of(run.question)
    text = to_qrels(run.question, labels)
    registry.labels.remove(run.question, *(one.place for one in labels))
    app = labelled(opened(run=run.id), "PARTLY")
    app.get("file_uploader")[0].set_value(("labels.qrels", text.encode(), "text/plain")).run()
    assert {one.grade for one in registry.labels.of(run.question)} == {0, 2}
    app.get("file_uploader")[0].set_value(("labels.qrels", b"nonsense", "text/plain")).run()
    assert any("Line 1 is no label" in caption.value for caption in app.caption)
