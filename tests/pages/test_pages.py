"""The pages as scripts: what they offer, and that they never show a traceback."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.config.access import Access
from core.config.knobs import Backend, Knobs
from core.config.run_knobs import Method
from core.config.schema import parameters
from core.features.share.answer_export import answer_document
from core.run import events as e
from core.run.recorded_run import RecordedRun
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from core.stages.rank import rank
from pages.parts import markup, runtime
from pages.parts.research.results_pane import TABS
from pages.parts.sidebar.knob_control import key as control_key
from tests import samples
from tests.features.share.synthetic_runs import synthetic_run
from tests.methods.agent_runs import KNOBS, OVERLAP
from tests.pages.conftest import answered, opened
from tests.runtime.waiting import finished, until
from tests.services.loopback import Gate, Loopback, Reply, Request, json_reply
from tests.services.openai_server import MODEL, FakeOpenAI, called, streamed
from tests.services.process import closed_port
from tests.services.reranker import Judge

pytestmark = pytest.mark.slow


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def tuned(registry: RunRegistry, app: AppTest, run: Run, **rank: int) -> Run:
    """The run under these ranking knobs, once the job that the page has started for them is done."""
    knobs = replace(run.knobs, rank=replace(run.knobs.rank, **rank))
    job = registry.retuning.start(app.session_state["session_id"], run.id, knobs)
    assert job is not None
    job.wait(20)
    return job.run


def test_first_page_offers_examples_and_tells_what_is_connected(registry: RunRegistry) -> None:
    app = opened()
    assert not app.exception
    assert len([button for button in app.button if (button.key or "").startswith("example_")]) == 2
    assert app.selectbox(key="knob_search_origin").options == ["30 built-in articles", "My documents", "Both"]
    chip = next(block.proto for block in app.get("popover") if block.proto.id.endswith("-connect"))
    assert chip.popover.label == "Offline, answers are quotations · :primary[Connect]"


def test_every_knob_has_a_control_with_its_bounds(registry: RunRegistry) -> None:
    app = opened(session={"knob_run_method": Method.AGENT.value})
    assert Method.AGENT.summary in {caption.value for caption in app.caption}
    sliders = {slider.key: slider for slider in app.slider}
    named = {slider.key: slider for slider in app.select_slider}
    assert named["knob_rank_per_page"].options[:3] == ["auto", "no limit", "1"]
    assert named["knob_rank_max_documents"].options[:2] == ["no limit", "1"]
    for parameter in parameters():
        key = control_key(parameter)
        assert app.session_state[key] is not None
        if key in named:
            assert len(named[key].options) == parameter.maximum - parameter.minimum + 1
            assert named[key].label == parameter.title
        elif parameter.minimum is not None:
            assert (sliders[key].min, sliders[key].max) == (parameter.minimum, parameter.maximum)
            assert sliders[key].label == parameter.title
    fields = {field.key: field for field in app.text_input}
    limits = {control_key(one): one.longest for one in parameters() if one.longest}
    assert "knob_rank_only_domains" in limits
    assert {key: fields[key].max_chars for key in limits} == limits


def test_controls_set_the_knobs_of_the_next_run(registry: RunRegistry) -> None:
    app = opened()
    app.slider(key="knob_plan_queries").set_value(1)
    app.text_input(key="question").set_value("Why?")
    app.session_state["knob_search_backend"] = "demo"
    app.button(key="go").click().run()
    assert not app.exception
    run = registry.get(app.session_state["run_id"])
    assert run is not None
    assert (run.question, run.knobs.plan.queries, run.knobs.search.backend) == ("Why?", 1, "demo")


def test_keystroke_echo_without_settings_is_no_second_request(
    registry: RunRegistry,
) -> None:
    def asked() -> None:
        import streamlit as st

        from core.config.knobs import Knobs
        from pages.parts import runtime

        demo, lost = Knobs.parse({"search": {"backend": "demo"}}), Knobs()
        question = "How does chunk overlap affect retrieval?"
        runs = []
        for wish in ((question, demo), (question, lost), (question, demo), (f"{question} Why?", demo)):
            runtime.ask(*wish)
            runs.append(st.session_state["run_id"])
        st.session_state["runs"] = runs

    app = AppTest.from_function(asked).run()
    first, echo, again, other = app.session_state["runs"]
    assert first == echo == again != other


def test_a_bad_language_is_refused_with_its_reason(registry: RunRegistry) -> None:
    app = opened()
    app.text_input(key="knob_search_language").set_value("not a language")
    app.text_input(key="question").set_value("Why?")
    app.button(key="go").click().run()
    assert not app.exception
    assert "search" in app.warning[0].value
    assert "run_id" not in app.session_state


def test_a_finished_run_is_shown_from_its_address(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    assert not app.exception
    assert run.question in html(app)
    assert any("](#src-1)" in block.value for block in app.markdown)
    assert len(app.dataframe) == 1
    table = app.dataframe[0].value
    assert list(table["rank"]) == sorted(table["rank"])
    assert table["fused"].is_monotonic_decreasing
    assert table["context"].notna().sum() == len(run.sources)


def test_answer_card_shows_tokens_and_cost_of_the_run(registry: RunRegistry, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("chunk overlap recall", usage=(120, 30), cost=0.001))
    fake_openai.chats.append(streamed("Overlap keeps facts whole [1].", usage=(900, 200), cost=0.01))
    knobs = Knobs.parse({"search": {"backend": "demo"}, "answer": {"stop": ["END"], "max_tokens": 61}})
    access = Access(base_url=fake_openai.base_url, chat_model=MODEL)
    app = opened(run=answered(registry, knobs=knobs, access=access).id)
    assert not app.exception
    shown = html(app)
    assert "1,020 + 230" in shown
    assert "$0.0110" in shown
    assert "planning: 120 + 30 in 1 call, $0.0010; " in shown
    assert "free" in shown, "the embedder inside OpenQuery is named"
    assert not any(caption.value.startswith("Today") for caption in app.caption), "nothing was spent"
    assert app.multiselect(key="knob_answer_stop").options == ["END"]


def test_slider_tunes_the_finished_run_and_leaves_its_sources(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    app.slider(key="knob_rank_top_k").set_value(3).run()
    assert not app.exception
    tuned(registry, app, run, top_k=3)
    app.run()
    assert app.dataframe[0].value["context"].notna().sum() == 3
    assert "Context vs. this answer" in html(app)
    kept = registry.get(run.id)
    assert kept is not None
    assert kept.sources == run.sources
    app.button(key="reset").click().run()
    assert app.slider(key="knob_rank_top_k").value == 6


def test_run_filled_after_its_answer_says_so_without_tuning_figures(
    registry: RunRegistry,
) -> None:
    run = synthetic_run(60, waiting=True)
    assert run.index is not None and run.index.question is not None
    waiting = run.index.waiting
    filled = run.index.with_vectors(waiting, np.tile(run.index.question, (len(waiting), 1)))
    run = replace(
        run,
        index=filled,
        ranking=rank(run.question, filled, run.knobs.rank, run.pages),
        embedded_for_answer=tuple(
            passage.id for row, passage in enumerate(filled.passages) if row not in waiting
        ),
    )
    run = replace(run, id=registry.import_run(RecordedRun.folded((), run)))
    app = opened(run=run.id)
    assert not app.exception
    shown = html(app)
    assert "Context vs. this answer" in shown and f"{len(waiting)}</b> embedded since the answer" in shown
    assert "vectors computed" not in shown
    app.slider(key="knob_rank_top_k").set_value(3).run()
    tuned(registry, app, run, top_k=3)
    app.run()
    assert "vectors computed" in html(app)


def test_an_address_of_no_run_is_a_message(registry: RunRegistry) -> None:
    app = opened(run="gone")
    assert not app.exception
    assert "There is no run gone" in app.warning[0].value


def test_a_citation_in_the_session_brings_up_the_reader(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    app.session_state["cited"] = 2
    app.run()
    assert not app.exception
    shown = html(app)
    assert "<mark>" in shown
    assert 'class="oq-source' in shown


def test_cards_of_one_page_stand_together_with_sections(
    registry: RunRegistry,
) -> None:
    run = answered(registry)
    shown = html(opened(run=run.id))
    pages = {source.passage.place.page for source in run.sources}
    assert shown.count('class="oq-source-page"') == len(pages)
    assert [f'id="src-{number}"' in shown for number in range(1, 8)] == [True] * 6 + [False]
    first = run.sources[0].passage.place
    section = run.pages[first.page].article.section_at(first.start)
    assert f'<span class="t" dir="auto">{section}</span>' in shown


def test_text_around_passages_is_tuned_and_marked_when_read(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    app.slider(key="knob_rank_surroundings").set_value(300).run()
    assert not app.exception
    tuned(registry, app, run, surroundings=300)
    app.run()
    assert "longer or shorter" in html(app)
    knobs = replace(run.knobs, rank=replace(run.knobs.rank, surroundings=300))
    wide = answered(registry, knobs=knobs)
    assert [source.passage for source in wide.sources] == [source.passage for source in run.sources]
    source = next(source for source in wide.sources if source.text != source.passage.text)
    assert wide.pages[source.place.page].text[source.place.start : source.place.end] == source.text
    assert len(source.text) > len(source.passage.text)
    app = opened(run=wide.id)
    app.session_state["cited"] = source.number
    app.run()
    assert not app.exception
    shown = html(app)
    assert '<span class="given">' in shown and "characters around it given too" in shown


def test_doubtful_answer_has_its_caveat_on_page_and_document(
    registry: RunRegistry,
) -> None:
    run = answered(registry, "When was chunk overlap invented?")
    (caveat,) = [str(notice) for notice in run.notices if notice.is_caveat]
    assert "The question asks for a year or a date" in caveat
    app = opened(run=run.id)
    assert not app.exception
    assert "These sources may not answer this." in html(app)
    document = answer_document(run)
    assert -1 < document.index("These sources may not answer this.") < document.index(run.text[:40])
    plain = answered(registry)
    assert not any(notice.is_caveat for notice in plain.notices)


def test_a_limit_of_documents_applies_live(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    app.select_slider(key="knob_rank_max_documents").set_value(1).run()
    assert not app.exception
    found = tuned(registry, app, run, max_documents=1)
    assert found.index is not None and found.ranking is not None
    assert len({found.index.passages[row].place.page for row in found.ranking.context}) == 1
    assert len(found.ranking.context) == 6, "the automatic limit per page makes room"


def test_the_system_page_tells_what_is_connected(registry: RunRegistry) -> None:
    app = opened("system")
    assert not app.exception
    shown = html(app)
    for part in ("SearXNG", "Chat model", "Embedder", "public addresses", "Concurrent runs"):
        assert part in shown


def test_unreadable_price_table_is_named_and_can_be_removed(registry: RunRegistry) -> None:
    registry.engine.prices.path.write_text("model,price\n")
    app = opened("system")
    assert "prices.csv is not used" in app.warning[0].value
    assert "Prices of 1 September 2025" in html(app)
    app.button(key="prices_reset").click().run()
    assert not app.exception
    assert not app.warning
    assert app.button(key="prices_reset").disabled


def test_the_handbook_lists_and_shows_articles(registry: RunRegistry) -> None:
    app = opened("handbook")
    shown = html(app)
    assert "Chunk overlap repeats" in shown
    parts = ("Basics", "Search", "Reading pages", "Passages", "Embeddings", "Ranking", "Answers")
    places = [shown.index(f"</span>{part}</h2>") for part in (*parts, "Evaluation")]
    assert places == sorted(places)
    app.text_input(key="handbook_words").set_value("reciprocal fusion").run()
    assert "Reciprocal rank fusion (RRF)" in html(app)
    assert "oq-part" not in html(app)
    links = [link.proto.label for link in opened("handbook", article="bm25").get("page_link")]
    assert "Next: Text Embeddings" in links
    assert not any(link.startswith("Previous") for link in links)


def test_failed_run_shows_its_reason_and_what_it_reached(registry: RunRegistry) -> None:
    run = answered(registry, "zxqv wvut?")
    app = opened(run=run.id)
    assert not app.exception
    assert run.error is not None
    assert run.error.message in app.error[0].value
    assert run.question in html(app)


def test_agent_steps_are_a_table_of_tool_input_and_output(
    registry: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats += [
        called(("open", {"url": OVERLAP}), text="I look there first."),
        called(("open", {"url": "http://10.0.0.1/<img/src=x>"})),
        streamed("DONE"),
    ]
    run = answered(registry, knobs=KNOBS, access=Access(base_url=fake_openai.base_url, chat_model=MODEL))
    app = opened(run=run.id)
    assert not app.exception
    page = html(app)
    assert "2 of 12 steps at most" in page
    assert "I look there first." in page
    assert "6 passages" in page
    assert page.count('class="bad"') == 1, "the refused call keeps its row"
    assert "address not allowed" in page
    assert "<img" not in page
    opened_page = run.steps[0].result.splitlines()[0]
    assert opened_page in page.partition("Result, as data")[2]


def test_failed_search_offers_another_backend_and_uses_none_itself(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.close()
    monkeypatch.setenv("SEARXNG_URL", f"http://127.0.0.1:{closed_port()}")
    runs = runtime.runs()
    failed = answered(runs, knobs=Knobs())
    assert failed.status is RunStatus.FAILED
    assert failed.sources == ()
    app = opened(run=failed.id)
    offered = [button for button in app.button if (button.key or "").startswith("ask_with_")]
    assert [button.label for button in offered] == [
        "Ask again with public search engines (ddgs)",
        "Ask again with demo library",
    ]
    app.button(key="ask_with_demo").click().run()
    shown = runs.get("".join(app.query_params["run"]))
    assert shown is not None
    assert shown.id != failed.id
    assert shown.knobs.search.backend is Backend.DEMO
    runs.stop(shown.id)


def test_search_engine_correction_is_asked_by_one_click(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = {
        "results": [],
        "answers": ["12 minutes"],
        "corrections": ["cooper test"],
        "suggestions": ["cooper"],
    }

    async def reply(request: Request) -> Reply:
        return json_reply(beside)

    with Loopback(reply) as server:
        runtime.close()
        monkeypatch.setenv("SEARXNG_URL", server.url)
        runs = runtime.runs()
        failed = answered(runs, "coper test", knobs=Knobs())
        assert failed.error is not None
        assert "answers “12 minutes”" in failed.error.message
        assert "corrects it: “cooper test”" in failed.error.hint
        app = opened(run=failed.id)
        offered = [button.label for button in app.button if (button.key or "").startswith("ask_words_")]
        assert offered == ["Ask “cooper test”", "Ask instead: “cooper”"]
        app.button(key="ask_words_0").click().run()
        asked = finished(runs, "".join(app.query_params["run"]))
    assert asked.question == "cooper test"
    notices = [notice.message for notice in failed.notices]
    assert "The search engine answers: “12 minutes”" in notices
    assert "The search engine corrects “coper test” to “cooper test”." in notices


def test_the_question_box_says_where_questions_go(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # through which engines count as reachable
    app = opened(session={"connect": True})
    assert "questions are sent to public search engines, through ddgs" in html(app)


def test_pages_left_out_for_time_can_be_fetched(registry: RunRegistry) -> None:
    run = Run()
    skip = samples.Skip(key=samples.SLOW, url=samples.SLOW, reason=samples.SkipReason.CUT, seconds=0.4)
    events = (*samples.until(e.PageRead), e.PageSkipped(skip), *samples.EVENTS[15:32], e.RunDone())
    for record in samples.records(*events):
        run = run.apply(record)
        registry.store.append(run, record)
    app = opened(run=run.id)
    app.session_state["results_tabs"] = TABS[2]
    app.run()
    assert not app.exception
    assert app.button(key="fetch_late").label == "Fetch again"
    assert any("1 page timed out" in block.value for block in app.markdown)


def test_stopped_run_shows_its_ranking_and_answers_from_it(registry: RunRegistry) -> None:
    run = Run()
    for record in samples.records(*samples.until(e.Ranked), e.RunStopped()):
        run = run.apply(record)
        registry.store.append(run, record)
    app = opened(run=run.id)
    assert not app.exception
    assert len(app.dataframe[0].value) == 2
    assert "The run was stopped. The ranking is complete." in html(app)
    assert "Best passages so far" in html(app)
    offer = app.button(key="answer_now")
    assert offer.label == "Answer now from 2 of 3 pages"
    offer.click().run()
    assert not app.exception
    answered_run = finished(registry, run.id)
    assert answered_run.status is RunStatus.DONE
    assert answered_run.sources
    app.run()
    assert not [button for button in app.button if button.key == "answer_now"]


@pytest.mark.parametrize("last", [e.RunStarted, e.QueryPlanned, e.SearchAnswered, e.PageRead])
def test_run_stopped_early_makes_no_offer_it_cannot_keep(registry: RunRegistry, last: type[e.Event]) -> None:
    run = Run()
    for record in samples.records(*samples.until(last), e.RunStopped()):
        run = run.apply(record)
        registry.store.append(run, record)
    app = opened(run=run.id)
    assert not app.exception
    assert "The run was stopped." in html(app)
    offers = [button.label for button in app.button if button.key == "answer_now"]
    assert offers == (["Answer now from 1 of 3 pages"] if last is e.PageRead else [])


def test_unfinished_answer_of_one_long_table_is_drawn_partly(
    registry: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    gate = Gate()
    table = "| name | use |\n|---|---|\n" + "".join(f"| kettle {n} | boils water [1] |\n" for n in range(700))
    fake_openai.chats.extend([streamed(table, gate, "\nEnd.")])
    access = Access(base_url=fake_openai.base_url, chat_model=MODEL)
    knobs = Knobs.parse({"search": {"backend": "demo"}, "plan": {"queries": 1}})
    run_id = registry.start("How does chunk overlap affect retrieval?", knobs, access)
    until(lambda: (run := registry.get(run_id)) and "kettle 699 | boils water [1] |" in run.text)
    app = opened(run=run_id)
    assert not app.exception
    (shown,) = [block.value for block in app.markdown if "kettle 699" in block.value]
    assert len(shown) < 20_000
    assert "| name | use |" in shown and "kettle 1 " not in shown
    gate.open()
    finished(registry, run_id)
    app.run()
    assert any("kettle 1 " in block.value for block in app.markdown)


def test_demo_pages_open_in_the_handbook_and_others_at_home() -> None:
    assert markup.open_url("https://handbook.openquery.example/chunk-size") == "/handbook?article=chunk-size"
    assert markup.open_url("https://a.example/b") == "https://a.example/b"
    assert markup.open_url("javascript:alert(1)") == ""


def test_durations_and_sizes_are_said_as_people_say_them() -> None:
    assert [markup.duration(seconds) for seconds in (0.0123, 1.26, 75)] == ["12 ms", "1.3 s", "1 min 15 s"]
    assert [markup.size(count) for count in (12, 1_200, 3_400_000)] == ["12 B", "1.2 kB", "3.4 MB"]


def test_reranked_passages_are_drawn_wherever_there_is_a_ranking(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Judge() as judge:
        monkeypatch.setenv("OPENQUERY_RERANK_URL", f"{judge.url}/rerank")
        runtime.close()
        knobs = Knobs.parse({"search": {"backend": "demo"}, "rank": {"rerank": True, "diversity": 0.3}})
        run = answered(runtime.runs(), knobs=knobs)
        assert run.ranking is not None
        assert run.ranking.strategy == "rerank"
        research = opened(run=run.id)
        assert not research.exception
        assert {"rerank", "diverse"} <= set(research.dataframe[0].value.dropna(axis=1, how="all").columns)
        for view in ("lost", "what-if"):
            assert not opened("explain", run=run.id, view=view).exception


def test_the_prompt_tab_shows_what_fills_the_context(registry: RunRegistry, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("chunk overlap recall"))
    fake_openai.chats.append(streamed("Overlap keeps facts whole [1].", usage=(900, 200)))
    access = Access(base_url=fake_openai.base_url, chat_model=MODEL)
    app = opened(session={"results_tabs": TABS[-1]}, run=answered(registry, access=access).id)
    assert not app.exception
    shown = html(app)
    for text in (
        "What fills the context",
        "Instructions",
        "Source 1",
        "Question",
        "900 counted by the server",
    ):
        assert text in shown
