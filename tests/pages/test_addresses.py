"""Settings in the address of the Ask page, and numbers that are typed."""

import re

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from core.config.knobs import Knobs
from core.runtime.registry import RunRegistry
from tests.pages.conftest import DEMO, answered, opened, words
from tests.pages.test_explain_and_compare import plain_words

pytestmark = pytest.mark.slow

BY_WORDS = Knobs.parse({"search": {"backend": "demo"}, "rank": {"strategy": "bm25"}})
"""A ranking that embeds nothing when the passage size changes."""


def written(app: AppTest) -> list[str]:
    """The changes in the address: one is a string, several are a list."""
    found = app.query_params.get("set", [])
    return [found] if isinstance(found, str) else list(found)


def test_link_shows_its_tuning_and_controls_change_it(registry: RunRegistry) -> None:
    run = answered(registry, knobs=BY_WORDS)
    app = opened(run=run.id, set=["rank.top_k:3", "chunk.size:800"])
    assert not app.exception
    assert app.slider(key="knob_rank_top_k").value == 3
    assert app.slider(key="knob_chunk_size").value == 800
    app.slider(key="knob_rank_top_k").set_value(9).run()
    assert written(app) == ["chunk.size:800", "rank.top_k:9"]
    app.button(key="reset").click().run()
    assert written(app) == []
    assert app.slider(key="knob_chunk_size").value == run.knobs.chunk.size


def test_what_the_run_itself_has_is_not_written(registry: RunRegistry) -> None:
    knobs = Knobs.parse({"search": {"backend": "demo"}, "rank": {"top_k": 4}})
    app = opened(run=answered(registry, knobs=knobs).id)
    assert written(app) == []
    app.slider(key="knob_rank_top_k").set_value(6).run()
    assert written(app) == ["rank.top_k:6"], "the default differs from the run's own"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("rank.top_k:9999", "rank.top_k:9999 (must be 0 to 50)"),
        ("rank.nothing:1", "rank.nothing:1 (no such setting)"),
        ("answer.length:long", "answer.length:long (applies to the next run only)"),
        ("<script>alert(1)</script>", "<script>alert(1)</script> (no such setting)"),
    ],
)
def test_unusable_settings_of_a_link_are_named_beside_the_others(
    registry: RunRegistry, bad: str, message: str
) -> None:
    app = opened(run=answered(registry, knobs=BY_WORDS).id, set=[bad, "chunk.size:800"])
    assert not app.exception
    (told,) = app.warning
    assert message in plain_words(told.value)
    assert app.slider(key="knob_chunk_size").value == 800
    app.slider(key="knob_chunk_size").set_value(900).run()
    assert written(app) == ["chunk.size:900"]
    assert not app.warning


def test_another_run_brings_its_own_settings(registry: RunRegistry) -> None:
    first, second = answered(registry), answered(registry, "What is BM25?", DEMO)
    app = opened(run=first.id, set=["rank.top_k:3"])
    app.query_params["run"] = second.id
    del app.query_params["set"]
    app.run()
    assert app.slider(key="knob_rank_top_k").value == second.knobs.rank.top_k
    assert app.text_input(key="question").value == second.question
    assert written(app) == []


@pytest.mark.parametrize(
    ("page", "parameter", "told"),
    [
        ("handbook", "article", "There is no article tides. All articles are listed below."),
        (
            "library",
            "collection",
            "There is no collection tides. There are none yet. Adding documents creates it.",
        ),
        ("evaluate", "experiment", "There is no experiment tides. There are none yet."),
    ],
)
def test_an_address_of_what_does_not_exist_says_so(
    registry: RunRegistry, page: str, parameter: str, told: str
) -> None:
    app = opened(page, **{parameter: "tides"})
    assert not app.exception
    assert told in words(app)
    assert app.query_params[parameter] == "tides"


def field(app: AppTest, slider: str) -> TextInput:
    """The field beside the slider with this key."""
    starts = f"typed_{slider}_", f"typed_wide_{slider}_"
    (found,) = (one for one in app.text_input if (one.key or "").startswith(starts))
    return found


@pytest.mark.parametrize(
    ("typed", "value", "shown", "note"),
    [
        ("333", 333, "333 characters", ""),
        (" 1,200 characters", 1200, "1200 characters", ""),
        ("99999", 4000, "4000 characters", "At most 4000 characters."),
        ("-3", 100, "100 characters", "At least 100 characters."),
        ("many", 500, "500 characters", "Type a whole number."),
        ("2.5", 500, "500 characters", "Type a whole number."),
        ("", 500, "500 characters", "Type a whole number."),
    ],
)
def test_a_typed_number_moves_the_slider_or_is_answered(
    registry: RunRegistry, typed: str, value: int, shown: str, note: str
) -> None:
    app = opened()
    field(app, "knob_chunk_size").set_value(typed).run()
    assert not app.exception
    assert app.slider(key="knob_chunk_size").value == value
    assert field(app, "knob_chunk_size").value == shown
    assert [one.value for one in app.caption if "At " in one.value or "Type a" in one.value] == (
        [f":orange[{note}]"] if note else []
    )


def test_a_slider_and_its_field_agree_in_every_group(registry: RunRegistry) -> None:
    app = opened()
    assert field(app, "knob_rank_threshold").value == "off"
    app.slider(key="knob_rank_threshold").set_value(0.25).run()
    assert field(app, "knob_rank_threshold").value == "0.25"
    field(app, "knob_rank_threshold").set_value("0,125").run()
    assert app.slider(key="knob_rank_threshold").value == 0.125
    assert field(app, "knob_rank_threshold").value == "0.125"
    field(app, "knob_rank_threshold").set_value("off").run()
    assert app.slider(key="knob_rank_threshold").value == -1
    assert field(app, "knob_rank_threshold").value == "off"
    app.run()  # a change draws the controls of its group alone
    field(app, "knob_read_early_cut_idle").set_value("nan").run()
    assert app.slider(key="knob_read_early_cut_idle").value == 0.3
    field(app, "knob_read_early_cut_idle").set_value("7").run()
    assert app.slider(key="knob_read_early_cut_idle").value == 7.0
    app.run()
    for typed, value, shown in (("4", 4, "4"), ("No limit", 0, "no limit"), ("-1", -1, "auto")):
        field(app, "knob_rank_per_page").set_value(typed).run()
        assert app.select_slider(key="knob_rank_per_page").value == value
        assert field(app, "knob_rank_per_page").value == shown


def changed(app: AppTest) -> str:
    """Return what the settings say has changed."""
    return " ".join(
        re.sub(r"<[^>]+>", "", element.proto.body)
        for element in app.get("html")
        if "oq-changed" in element.proto.body
    ).removeprefix("Changed1")


def test_changed_settings_are_named_with_a_way_back(registry: RunRegistry) -> None:
    run = answered(registry, knobs=BY_WORDS)
    app = opened(run=run.id)
    assert changed(app) == ""
    app.slider(key="knob_chunk_size").set_value(800).run()
    app.slider(key="knob_plan_queries").set_value(1).run()
    app = app.run()
    assert changed(app) == "Search queries 1 was 3 Passage size 800 characters was 500 characters"
    app.button(key="back_knob_chunk_size").click().run()
    assert app.slider(key="knob_chunk_size").value == 500
    assert changed(app.run()) == "Search queries 1 was 3"
    assert not [button.key for button in app.button if button.key.startswith("back_")]  # Reset does the same
    app.button(key="reset").click().run()
    assert not app.exception
    assert changed(app.run()) == ""
    assert app.slider(key="knob_plan_queries").value == 3


def test_setting_is_found_by_words_of_name_or_help(registry: RunRegistry) -> None:
    app = opened(run=answered(registry, knobs=BY_WORDS).id)
    app.text_input(key="find_setting").set_value("near-identical").run()
    assert not app.exception
    shown = {slider.key for slider in (*app.slider, *app.select_slider) if slider.key.startswith("knob_")}
    assert shown == {"knob_rank_per_cluster"}
    app.text_input(key="find_setting").set_value("passage SIZE").run()
    assert "knob_chunk_size" in {slider.key for slider in app.slider}
    assert "knob_rank_top_k" not in {slider.key for slider in app.slider}
    app.slider(key="knob_chunk_size").set_value(800).run()
    app.text_input(key="find_setting").set_value("zzz").run()
    assert "No setting matches." in words(app)
    assert "Passage size 800 characters was 500 characters" in changed(app)
    app.button(key="reset").click().run()
    app.text_input(key="find_setting").set_value("").run()
    assert app.slider(key="knob_chunk_size").value == 500
