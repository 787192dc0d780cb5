"""The Evaluate page: an experiment from its form to a setting that is used, and what cannot be tried."""

import json
import re
import sys
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.config.knobs import Strategy
from core.errors import BadInput
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.labels.passage_labels import LABELS_NAME, label
from core.features.evaluate.services.experiments import Experiments
from core.model import Grade
from core.run.state import Run, RunStatus
from core.runtime.event_loop import TaskStatus
from core.runtime.registry import RunRegistry
from tests.pages.conftest import PATIENCE, answered, opened
from tests.pages.test_explain_and_compare import plain_words

pytestmark = pytest.mark.slow

BY_WORDS = {"rank": {"strategy": ["bm25"], "top_k": [4, 8]}}


def ended(registry: RunRegistry, name: str) -> Experiment:
    end = time.monotonic() + PATIENCE
    while (found := registry.service(Experiments).get(name)) is not None and found.live:
        assert time.monotonic() < end, "the experiment did not end"
        time.sleep(0.02)
    assert found is not None
    return found


def data_set(registry: RunRegistry, name: str = "tides.csv", *, questions: int = 3) -> str:
    """A data set in the folder of the registry."""
    folder = registry.service(Experiments).data.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tides.txt").write_text("The moon pulls the water.\n\nThe sun pulls less.")
    rows = [f"What pulls number {one}?,The moon pulls,tides.txt" for one in range(questions)]
    (folder / name).write_text("\n".join(["question,excerpt,source", *rows]))
    return name


def html(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def test_experiment_is_run_from_the_form_and_its_best_setting_used(registry: RunRegistry) -> None:
    app = opened("evaluate")
    assert not app.exception
    app.button_group(key="evaluate_rank_strategy").set_value(["fused", "bm25"]).run()
    app.button(key="evaluate_start").click().run()
    assert not app.exception
    (experiment,) = registry.service(Experiments).all()
    assert ended(registry, experiment.id).status is TaskStatus.DONE
    assert (app.query_params["view"], app.query_params["experiment"]) == ("results", experiment.id)
    app.run()
    assert not app.exception
    page = html(app)
    assert "MiniLM-L6-v2 (built in)" in page
    assert "<b>No other setting</b> is ahead of the defaults: nDCG@10 of documents ." in page
    assert page.count("#pick-setting/") == 2
    assert "even after Holm&#39;s correction for 1 comparison" in page
    app.button(key="evaluate_use").click().run()
    assert not app.exception
    assert app.button_group(key="knob_rank_strategy").value == Strategy.FUSED


def test_metric_baseline_and_setting_are_in_the_link(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start("handbook", {"rank": {"strategy": ["bm25", "cosine"]}})
    ended(registry, name)
    link = {"experiment": name, "metric": "recall@10", "baseline": "rank.strategy:bm25"}
    app = opened("evaluate", **link, setting="rank.strategy:cosine")
    assert not app.exception
    assert app.selectbox(key="evaluate_metric").value == "recall@10"
    assert app.selectbox(key="evaluate_baseline").value == "rank.strategy:bm25"
    assert 'aria-label="ranking cosine" aria-current="true"' in html(app)
    app.selectbox(key="evaluate_metric").set_value("MRR@10").run()
    assert app.query_params["metric"] == "MRR@10"
    app = opened("evaluate", experiment=name, metric="nonsense", baseline="gone", setting="rank.top_k:99")
    assert not app.exception
    assert app.selectbox(key="evaluate_metric").value == "nDCG@10"


def test_columns_and_the_cost_of_results_are_chosen(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start(data_set(registry), BY_WORDS)
    ended(registry, name)
    app = opened("evaluate", experiment=name)
    assert 'title="Ranking and measuring one question"' in html(app)
    app.button_group(key="evaluate_cost").set_value("$").run()
    app.selectbox(key="evaluate_priced_model").select("gpt-4o").run()
    *_, costs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert costs["layout"]["xaxis"]["title"]["text"] == "US dollars for 1,000 contexts read by gpt-4o"
    app.session_state["evaluate_columns"] = ["Δ"]
    app.run()
    assert not app.exception
    assert 'title="Ranking and measuring one question"' not in html(app)
    assert 'title="Difference to the baseline"' in html(app)


def test_questions_are_compared_under_the_best_other_setting(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start("handbook", {"rank": {"strategy": ["bm25", "cosine"]}})
    ended(registry, name)
    app = opened("evaluate", experiment=name, part="questions")
    assert not app.exception
    assert "#pick-question/" in html(app)
    app.button(key="evaluate_add_questions").click().run()
    assert (app.query_params["view"], app.query_params["part"]) == ("labels", "drafts")
    assert "Test questions from your own passages" in html(app)


def test_an_experiment_is_named_with_a_note(registry: RunRegistry) -> None:
    experiments = registry.service(Experiments)
    name = experiments.start(data_set(registry), BY_WORDS)
    assert ended(registry, name).name == "passages in the context"
    experiments.describe(name, "Words <b>or</b> meaning", "For the talk.")
    app = opened("evaluate", experiment=name)
    assert "Words &lt;b&gt;or&lt;/b&gt; meaning" in html(app)
    assert "For the talk." in {element.value for element in app.caption}
    experiments.describe(name, "", "")
    assert ended(registry, name).name == "passages in the context"


def test_data_set_question_opens_in_explain_and_compare(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start("handbook", {"rank": {"strategy": ["bm25", "cosine"]}})
    ended(registry, name)
    results = registry.service(Experiments).results(name)
    assert results is not None
    lost, next_one, *_ = results.changes("rank.strategy:bm25", "rank.strategy:cosine", "nDCG@10")
    link = {"baseline": "rank.strategy:bm25", "setting": "rank.strategy:cosine", "part": "questions"}
    app = opened("evaluate", **link)
    page = html(app)
    assert not app.exception
    first = page[page.index("#pick-question/") :]
    assert first.startswith(f"#pick-question/{lost.question}"), (
        "the question that lost most is first, and open"
    )
    assert results.questions[lost.question] in app.markdown[-1].value
    assert "<mark>" in page
    assert "Its passage is at rank " in page
    assert "cosine → <b>BM25</b>" in page
    assert re.search(
        r'aria-label="Rank of each source. [^"]*: rank \d+ under the baseline, [^"]* under this setting', page
    )
    assert re.search(r'<span class="relevant"[^>]*>\w+ \w+', page), (
        "a passage with relevant text has its beginning"
    )
    app.button(key="evaluate_next_question").click().run()
    assert app.query_params["question"] == next_one.question


def test_opened_question_is_a_run_over_its_data_set(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start("handbook", {"rank": {"strategy": ["bm25", "cosine"]}})
    ended(registry, name)
    link = {"baseline": "rank.strategy:bm25", "setting": "rank.strategy:cosine", "part": "questions"}
    app = opened("evaluate", **link)
    app.button(key="evaluate_compare").click().run()
    assert not app.exception
    assert {run.knobs.rank.strategy for run in stored_runs(registry)} == {Strategy.BM25, Strategy.COSINE}
    (run, _) = stored_runs(registry)
    assert run.status is RunStatus.DONE
    assert run.index is not None and len(run.index.passages) > 100
    opened("evaluate", **link).button(key="evaluate_explain").click().run()
    for page in ("explain", "research"):
        shown = opened(page, run=run.id)
        assert not shown.exception
        assert run.question in html(shown) + "".join(element.value for element in shown.markdown)


def test_picked_settings_are_lined_up_beside_the_baseline(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start(
        "handbook", {"rank": {"strategy": ["fused", "bm25", "cosine"]}}
    )
    ended(registry, name)
    app = opened("evaluate", experiment=name)
    assert "evaluate_unpick" not in {button.key for button in app.button}
    app = opened("evaluate", experiment=name, picked=["rank.strategy:bm25", "rank.strategy:cosine", "gone"])
    page = html(app)
    assert not app.exception
    assert "2 settings beside the baseline" in page
    assert page.count('aria-checked="true"') == 2
    assert "<b>BM25</b>" in page and "excerpt recall" in page
    app.button(key="evaluate_unpick").click().run()
    assert "beside the baseline" not in html(app)


def test_experiments_over_the_same_questions_are_opened_together(registry: RunRegistry) -> None:
    experiments = registry.service(Experiments)
    first, second, other = (
        ended(registry, experiments.start(data, swept)).id
        for data, swept in (
            ("handbook", {"rank": {"strategy": ["fused", "bm25"]}}),
            ("handbook", {"chunk": {"size": [500, 300]}}),
            (data_set(registry), BY_WORDS),
        )
    )
    app = opened("evaluate", experiment=first, **{"with": [second, "gone"]})
    page = html(app)
    assert not app.exception and not app.error
    assert "ranking = passage size" in page, "the defaults of both are alike for every question"
    assert 'aria-label="compare passage size 300"' in page
    app = opened("evaluate", experiment=first, **{"with": [other]})
    assert "different questions" in app.error[0].value
    assert "ranking BM25" in html(app)


def stored_runs(registry: RunRegistry) -> list[Run]:
    return [run for summary in registry.history() if (run := registry.get(summary.id))]


def test_values_that_cannot_be_tried_are_told_and_nothing_starts(registry: RunRegistry) -> None:
    app = opened("evaluate")
    for written, message in (
        ("many", "'many' is no list of whole numbers. An example: 500."),
        ("99999", "99999 is out of bounds. Use 100 to 4000."),
    ):
        app.text_input(key="evaluate_chunk_size_other").set_value(written).run()
        assert plain_words(app.error[0].value) == f"Passage size: {message}"
        assert app.button(key="evaluate_start").disabled
    assert registry.service(Experiments).all() == ()


def test_stopped_experiment_goes_on_with_the_rest(registry: RunRegistry) -> None:
    experiments = registry.service(Experiments)
    name = experiments.start(data_set(registry), BY_WORDS)
    assert ended(registry, name).done == 2
    lines = Path(registry.settings.folder, "experiments", name, "results.jsonl")
    first, second, _ = lines.read_text().splitlines(keepends=True)
    lines.write_text(first + second + '{"setting": "cut by the end of a pro')
    experiments.resume(name)
    one = ended(registry, name)
    assert (one.status, one.done, one.settings) == (TaskStatus.DONE, 2, 2)
    assert lines.read_text().startswith(first + second), "what was done is not done again"
    found = experiments.results(name)
    assert found is not None
    assert len(found.results) == 2


def test_deleted_experiment_can_be_restored_until_the_next_deletion(registry: RunRegistry) -> None:
    experiments, data = registry.service(Experiments), data_set(registry)
    first, second = (experiments.start(data, BY_WORDS) for _ in range(2))
    for name in (first, second):
        ended(registry, name)
    experiments.delete(first)
    assert [one.id for one in experiments.all()] == [second]
    assert experiments.get(first) is None
    experiments.restore(first)
    one = experiments.get(first)
    assert one is not None
    assert (one.done, one.status) == (2, TaskStatus.DONE)
    experiments.delete(first)
    experiments.delete(second)
    assert not experiments.is_restorable(first)
    assert experiments.is_restorable(second)
    experiments.restore("../experiments")
    experiments.close()
    assert not experiments.is_restorable(second)
    assert experiments.all() == ()


def test_stopped_experiment_stays_stopped_and_another_gets_its_turn(registry: RunRegistry) -> None:
    experiments = registry.service(Experiments)
    data = data_set(registry)
    first = experiments.start(data, {"chunk": {"size": list(range(100, 400))}, "rank": {"strategy": "bm25"}})
    second = experiments.start(data, BY_WORDS)
    experiments.stop(first)
    stopped = experiments.get(first)
    assert stopped is not None
    assert stopped.status is TaskStatus.STOPPED
    assert ended(registry, second).status is TaskStatus.DONE


def test_unusable_data_is_a_message_on_the_page(registry: RunRegistry) -> None:
    folder = registry.service(Experiments).data.folder
    data_set(registry)
    (folder / "bad.json").write_text(json.dumps({"data": []}))
    name = registry.service(Experiments).start("bad.json", BY_WORDS)
    one = ended(registry, name)
    assert one.status is TaskStatus.FAILED
    app = opened("evaluate", experiment=name)
    assert not app.exception
    assert "bad.json" in app.error[0].value or "no questions" in app.error[0].value
    with pytest.raises(BadInput, match="There is no data set"):
        registry.service(Experiments).start("elsewhere", BY_WORDS)


def test_unfinished_or_damaged_results_leave_the_page_whole(registry: RunRegistry) -> None:
    experiments = registry.service(Experiments)
    name = experiments.start(data_set(registry), BY_WORDS)
    ended(registry, name)
    file = Path(registry.settings.folder, "experiments", name, "results.jsonl")
    for content, message in (
        ("", ""),
        ('{"data": "ti', ""),
        ('{"data": 1, "questions": 2}\n', "line 1 is damaged"),
    ):
        file.write_text(content)
        app = opened("evaluate", experiment=name)
        assert not app.exception
        assert message in " ".join(element.value for element in app.error)
        assert bool(message) is bool(app.error)
    file.write_text("")
    assert experiments.results(name) is None


def test_person_on_a_shared_server_has_one_experiment(registry: RunRegistry) -> None:
    experiments, name = registry.service(Experiments), data_set(registry)
    first = experiments.start(name, BY_WORDS, "anna")
    with pytest.raises(BadInput, match="One experiment of yours is under way"):
        experiments.start(name, BY_WORDS, "anna")
    second = experiments.start(name, BY_WORDS, "berta")
    assert {ended(registry, one).user for one in (first, second)} == {"anna", "berta"}
    assert ended(registry, experiments.start(name, BY_WORDS, "anna")).status is TaskStatus.DONE


def test_labelled_passages_are_a_data_set_over_run_pages(registry: RunRegistry) -> None:
    assert LABELS_NAME not in registry.service(Experiments).data.loaders()
    run = answered(registry)
    assert run.index is not None and run.ranking is not None
    best = run.index.passages[int(run.ranking.order[0])]
    page = run.pages[best.place.page]
    registry.labels.add(run.question, run.id, label(page, best.place, Grade.RELEVANT))
    name = registry.service(Experiments).start(LABELS_NAME, {"chunk": {"size": [300, 500]}})
    ended(registry, name)
    results = registry.service(Experiments).results(name)
    assert results is not None
    assert list(results.questions.values()) == [run.question]
    assert len(results.results) == 2
    (measured,) = results.by_setting["defaults"].values.values()
    assert measured["nDCG@10"] == measured["excerpt recall"] == 1
    app = opened("evaluate", view="new")
    assert not app.exception
    assert LABELS_NAME in app.selectbox(key="evaluate_data").options


def test_reranking_without_a_model_is_refused_on_the_form(registry: RunRegistry) -> None:
    app = opened("evaluate")
    assert not app.exception
    assert "No reranking model is connected" in html(app)
    with pytest.raises(BadInput, match="needs a reranking model"):
        registry.service(Experiments).start("handbook", {"rank": {"rerank": [True]}})
    assert registry.service(Experiments).all() == ()


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit that a process can set")
def test_an_experiment_on_a_full_disk_says_so(registry: RunRegistry) -> None:
    import resource

    name = data_set(registry, questions=5_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        experiment = ended(registry, registry.service(Experiments).start(name, BY_WORDS))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert experiment.status is TaskStatus.FAILED
    assert "File too large" in experiment.error
    assert "Check the space" in experiment.error
