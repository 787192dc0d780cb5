"""The New view of the Evaluate page: a data set that is uploaded, read or fetched, and what it will take."""

import asyncio
import json

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import BadInput
from core.features.evaluate.labels.passage_labels import label
from core.features.evaluate.services.experiments import Experiments
from core.model import Grade
from core.runtime.event_loop import TaskStatus
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.loopback import LoopbackWeb, Reply
from tests.pages.conftest import answered, opened
from tests.pages.test_evaluate import ended, html
from tests.services.dask import dask_scheduler

pytestmark = pytest.mark.slow


def lines(*ends: int) -> bytes:
    """A document, and a question with a range that ends there for each."""
    questions = (
        {"question": f"Who nests {number}?", "relevant": [{"doc": "a", "start": 0, "end": end}]}
        for number, end in enumerate(ends)
    )
    return "\n".join(map(json.dumps, [{"id": "a", "text": "Gulls nest."}, *questions])).encode()


def uploaded(content: bytes) -> AppTest:
    app = opened("evaluate", {"data_set_way": "Upload"})
    app.file_uploader(key="data_set_upload").set_value(("gulls.jsonl", content, "")).run()
    assert not app.exception
    return app


def test_an_upload_is_checked_chosen_and_counted(registry: RunRegistry) -> None:
    app = uploaded(lines(5, 7))
    assert app.selectbox(key="evaluate_data").value == "gulls.jsonl"
    assert "<b>2</b><span>questions</span>" in html(app)
    assert "Too few questions to compare settings:" in html(app)
    assert "2 questions with an answer. With fewer than 6 no difference can be shown" in html(app)
    assert not app.button(key="evaluate_start").disabled


def test_wrong_line_is_shown_with_neighbours_and_omitted_when_asked(registry: RunRegistry) -> None:
    app = uploaded(lines(5, 0, 7))
    assert "gulls.jsonl, line 3: the excerpt from 0 to 0 is not in the document" in html(app)
    assert "Who nests 2?" in html(app), "the line after it"
    assert app.button(key="evaluate_start").disabled
    assert list(registry.service(Experiments).data.loaders()) == ["handbook"]
    app.button(key="data_set_leave_out").click().run()
    assert not app.exception
    assert "Left out, as you asked: line 3." in html(app)
    assert "<b>2</b><span>questions</span>" in html(app)


def test_a_path_is_offered_where_the_operator_names_folders(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    app = opened("evaluate", {"data_set_way": "Path"})
    assert "OPENQUERY_DOCUMENT_FOLDERS" in app.caption[0].value
    folder = tmp_path_factory.mktemp("documents")
    (folder / "gulls.jsonl").write_bytes(lines(5))
    monkeypatch.setenv("OPENQUERY_DOCUMENT_FOLDERS", str(folder))
    runtime.close()
    app = opened("evaluate", {"data_set_way": "Path"})
    app.text_input(key="data_set_path").set_value(str(folder / "gulls.jsonl")).run()
    assert "1 question with an answer. With fewer than 6" in html(app)
    app.button(key="evaluate_start").click().run()
    assert not app.exception
    (experiment,) = runtime.runs().service(Experiments).all()
    assert experiment.data == str(folder / "gulls.jsonl")


def test_an_address_is_fetched_by_the_client_for_pages(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch() -> None:
        async with LoopbackWeb({"/gulls.jsonl": Reply(lines(5), "application/x-ndjson")}) as web:
            address = web.url("/gulls.jsonl")
            with pytest.raises(BadInput, match="cannot be fetched"):
                await asyncio.to_thread(registry.service(Experiments).fetch, address)
            runtime.close()
            monkeypatch.setenv("OPENQUERY_ALLOW", address.split("/")[2])
            assert await asyncio.to_thread(runtime.runs().service(Experiments).fetch, address) == (
                "gulls.jsonl",
                (),
            )

    asyncio.run(fetch())


def test_visitors_of_a_shared_server_bring_no_data_sets(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENQUERY_SHARED", "1")
    runtime.close()
    app = opened("evaluate", {"data_set_way": "Upload"}, view="new")
    assert not app.exception
    assert not app.get("file_uploader")


def test_finished_experiment_shows_every_measured_setting(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start(
        "handbook", {"rank": {"strategy": ["bm25", "fused", "cosine"]}}
    )
    ended(registry, name)
    app = opened("evaluate", {"held_results": (name, 1)}, experiment=name)
    assert not app.exception
    assert html(app).count("#pick-setting/") == 3
    assert "evaluate_show" not in {each.key for each in app.button}


@pytest.mark.thorough
def test_experiment_runs_on_a_dask_cluster_of_the_operator(
    registry: RunRegistry, tmp_path_factory: pytest.TempPathFactory
) -> None:
    app = opened("evaluate", {"evaluate_where": "dask"})
    assert "needs the address of its scheduler" in app.error[0].value
    assert app.button(key="evaluate_start").disabled
    with dask_scheduler(tmp_path_factory.mktemp("dask")) as cluster:
        cluster.start_workers(2)
        app.text_input(key="evaluate_scheduler").set_value(cluster.address).run()
        assert "neither encrypted nor authenticated" in " ".join(element.value for element in app.caption)
        app.button(key="evaluate_start").click().run()
        assert not app.exception
        (experiment,) = registry.service(Experiments).all()
        done = ended(registry, experiment.id)
        assert (done.status, done.error) == (TaskStatus.DONE, "")
        there = registry.service(Experiments).results(experiment.id)
    here = registry.service(Experiments).results(
        ended(registry, registry.service(Experiments).start("handbook", experiment.swept, processes=1)).id
    )
    assert there and here
    assert [(result.setting, result.values) for result in there.results] == [
        (result.setting, result.values) for result in here.results
    ]


def test_absent_scheduler_is_told_and_the_experiment_can_continue(
    registry: RunRegistry,
) -> None:
    name = registry.service(Experiments).start("handbook", {}, scheduler="nonsense://x")
    failed = ended(registry, name)
    assert failed.status is TaskStatus.FAILED
    assert "is no address of a scheduler" in failed.error
    app = opened("evaluate", experiment=name)
    assert not app.exception
    assert not app.button(key="evaluate_continue").disabled


def test_a_visitor_of_a_shared_server_names_no_scheduler(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(registry)
    monkeypatch.setenv("OPENQUERY_SHARED", "1")
    runtime.close()
    shared = runtime.runs()
    assert run.index
    place = run.index.passages[0].place
    relevant = label(run.pages[place.page], place, Grade.RELEVANT)
    shared.labels.add(run.question, run.id, relevant, user="anna@example.org")
    person = {"email": "anna@example.org", "email_verified": True}
    app = opened("evaluate", user=person, view="new")
    assert not app.exception
    (where,) = [group for group in app.button_group if group.key == "evaluate_where"]
    assert "Dask" not in where.options
