"""What if, a view of Explain: two settings, models or embedders over the same pages, and their answers."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.pages.conftest import drawn_until, opened, words
from tests.services.openai_server import EMBEDDER, FakeOpenAI, failure

pytestmark = pytest.mark.slow


def compared(run: Run, **query: str | list[str]) -> AppTest:
    """Open the page on the run, and wait for both rankings."""
    app = opened("explain", {"measures": True}, view="what-if", run=run.id, **query)
    assert not app.exception
    return ranked(app)


def ranked(app: AppTest) -> AppTest:
    return drawn_until(app, lambda: "rank-biased overlap" in words(app))


def test_two_settings_are_ranked_side_by_side(registry: RunRegistry, web_run: Run) -> None:
    app = compared(web_run)
    assert controls(app) == {"side_b_rank_strategy": "cosine"}, "only what differs has a control"
    assert "Ranking fused →" in words(app)
    assert len(app.dataframe) >= 3, "a ranking for each side, and the changes"
    vary(app, "b", "rank.top_k").slider(key="side_b_rank_top_k").set_value(2).run()
    assert re.search(r"−[45] left", words(ranked(app)))
    vary(app, "b", "chunk.size").slider(key="side_b_chunk_size").set_value(100).run()
    assert re.search(r"(\d+) → (?!\1\b)\d+ passages", words(ranked(app)))
    for name in ("rank_strategy", "rank_top_k", "chunk_size"):
        app.button(key=f"back_side_b_{name}").click().run()
    assert "1.00 rank-biased overlap" in words(ranked(app))
    assert controls(app) == {} and app.query_params["b"] == "own"


def controls(app: AppTest) -> dict[str, object]:
    """The values of the knobs that have a control, by key."""
    widgets = [*app.segmented_control, *app.slider, *app.select_slider, *app.toggle]
    return {str(one.key): one.value for one in widgets if str(one.key).startswith("side_")}


def vary(app: AppTest, side: str, path: str) -> AppTest:
    """Choose a knob from the menu of a side."""
    return app.menu_button(key=f"side_{side}_add").click(path).run()


def test_a_comparison_is_a_link_and_can_be_swapped(registry: RunRegistry, web_run: Run) -> None:
    app = compared(web_run, a="own", b=["rank.top_k:3", "rank.strategy:bm25"])
    assert "−3 left" in words(app)
    assert app.segmented_control(key="side_b_rank_strategy").value == "bm25"
    app.button(key="swap").click().run()
    assert "+3 entered" in words(ranked(app))
    assert app.segmented_control(key="side_a_rank_strategy").value == "bm25"
    assert app.query_params["a"] == ["rank.strategy:bm25", "rank.top_k:3"]
    assert app.query_params["b"] == "own"
    app.button(key="copy_b").click().run()
    assert "1.00 rank-biased overlap" in words(ranked(app))


def test_a_link_replaces_the_settings_that_were_compared_before(registry: RunRegistry, web_run: Run) -> None:
    app = compared(web_run)
    vary(app, "b", "rank.top_k").slider(key="side_b_rank_top_k").set_value(2).run()
    app.query_params["a"], app.query_params["b"] = "own", "rank.strategy:bm25"
    app.run()
    assert app.segmented_control(key="side_b_rank_strategy").value == "bm25"
    assert app.query_params["b"] == "rank.strategy:bm25"
    for side in "ab":
        del app.query_params[side]
    app.run()
    assert app.query_params["b"] == "rank.strategy:bm25", "an address without settings keeps them"


def test_settings_that_do_not_exist_are_named(registry: RunRegistry, web_run: Run) -> None:
    app = compared(web_run, b=["rank.top_k:9999", "rank.nothing:1"])
    assert "rank.top_k:9999 (must be 0 to 50)" in words(app)
    assert "rank.nothing:1 (no such setting)" in words(app)


def test_two_chat_models_answer_from_one_ranking(
    model_registry: RunRegistry, web_run: Run, fake_openai: FakeOpenAI
) -> None:
    fake_openai.models = ["fake-chat", "other-chat"]
    app = compared(web_run, a="own", b=["own", "model:other-chat"])
    assert "1.00 rank-biased overlap" in words(app)
    app.button(key="answer_both").click().run()
    drawn_until(app, lambda: "oq-figures" in "".join(part.proto.body for part in app.get("html")))
    assert sorted(one.json["model"] for one in fake_openai.chat_requests) == ["fake-chat", "other-chat"]
    assert "other-chat" in words(app)


def test_two_embedders_rank_the_same_pages(
    model_registry: RunRegistry, web_run: Run, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENQUERY_EMBEDDING_MODEL", EMBEDDER)
    runtime.close()
    app = compared(web_run, a="own", b=["own", f"embedder:{EMBEDDER}"])
    assert "1.00 rank-biased overlap" not in words(app)
    assert fake_openai.embedding_requests
    assert app.selectbox(key="side_b_embedder").value == EMBEDDER
    app.button(key="swap").click().run()
    assert ranked(app).selectbox(key="side_a_embedder").value == EMBEDDER


def test_answers_that_wait_for_a_rate_limit_say_so(
    model_registry: RunRegistry, web_run: Run, fake_openai: FakeOpenAI
) -> None:
    app = compared(web_run)
    fake_openai.chats.extend(failure(429, retry_after="20") for _ in range(2))
    app.button(key="answer_both").click().run()
    counted_down = re.compile(r"rate limit of 127\.0\.0\.1\S*, retrying in 1?\d s")
    drawn_until(app, lambda: len(counted_down.findall(words(app))) == 2)
    app.button(key="stop_both").click().run()
    drawn_until(app, lambda: "answer_both" in {button.key for button in app.button})
