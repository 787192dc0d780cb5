"""The History: a table of summaries, and what is done with the selected runs."""

import io
import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from core.config.knobs import Knobs
from core.run import events as e
from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts import tables
from pages.parts.sharing.export_menu import exported
from tests.pages.conftest import DEMO, answered, opened
from tests.runtime.waiting import until as wait_until
from tests.samples import EVENTS, records, until
from tests.seeding import until_ended

pytestmark = pytest.mark.slow


def stored(
    registry: RunRegistry, number: int, question: str, knobs: Knobs | None = None, end: int = 0
) -> str:
    """A finished run; a later number began later. `end` is the first event that did not happen."""
    start = e.RunStarted(f"run-{number}", question, knobs or Knobs(), f"2026-01-02T03:{number:02}:05+00:00")
    run = Run()
    for record in records(start, *(EVENTS[1:end] if end else until(e.RunDone)[1:])):
        run = run.apply(record)
        registry.store.append(run, record)
    return run.id


def select(app: AppTest, ids: list[str], *rows: int) -> AppTest:
    """Tick rows of the table that lists these runs."""
    app.session_state[tables.rows_key("history", ids)] = {
        "selection": {"rows": list(rows), "columns": [], "cells": []}
    }
    return app.run()


def questions(app: AppTest) -> list[str]:
    return list(app.dataframe[0].value["question"]) if app.dataframe else []


def test_run_is_a_line_with_counts_and_changed_settings(registry: RunRegistry) -> None:
    stored(registry, 1, "What is overlap?", Knobs.parse({"rank": {"top_k": 3}, "plan": {"queries": 1}}))
    registry.tag(["run-1"], "draft")
    (line,) = opened("runs").dataframe[0].value.to_dict("records")
    assert line["question"] == "What is overlap?"
    assert (line["pages"], line["passages"], line["in context"], line["tokens"]) == (1, 2, 1, 13)
    assert (line["cost"], line["status"]) == (0.001, "✓ done")
    assert list(line["changed settings"]) == ["queries 1", "top_k 3"]
    assert list(line["tags"]) == ["draft"]


def test_cost_is_in_words_also_for_earlier_stored_runs(
    registry: RunRegistry,
) -> None:
    stored(registry, 1, "What is overlap?")
    registry.store.flush()
    with closing(sqlite3.connect(registry.store.path)) as db, db:
        db.execute("UPDATE runs SET model_usage = NULL, cost = NULL")
    assert _shown_costs(opened("runs")) == ["unknown"]
    stored(registry, 2, "What is overlap?")
    assert _shown_costs(opened("runs")) == ["$0.0010", "unknown"]


def _shown_costs(app: AppTest) -> list[str]:
    display = pa.ipc.open_stream(app.dataframe[0].proto.arrow_data.styler.display_values).read_all()
    return display.column("cost").to_pylist()


def test_the_list_is_filtered_by_words_status_and_tag(registry: RunRegistry) -> None:
    stored(registry, 1, "What is chunk overlap?")
    stored(registry, 2, "Why overlap at all?")
    stored(registry, 3, "What is BM25?", end=5)
    registry.tag(["run-2"], "draft")
    app = opened("runs")
    assert questions(app) == ["What is BM25?", "Why overlap at all?", "What is chunk overlap?"]
    app.text_input(key="history_words").set_value("OVERLAP what").run()
    assert questions(app) == ["What is chunk overlap?"]
    app.text_input(key="history_words").set_value("").run()
    app.multiselect(key="history_filter_tags").set_value(["draft"]).run()
    assert questions(app) == ["Why overlap at all?"]
    app.multiselect(key="history_filter_tags").set_value([]).run()
    app.multiselect(key="history_statuses").set_value(["interrupted", "running"]).run()
    assert questions(app) == ["What is BM25?"]
    app.text_input(key="history_words").set_value("zzzz").run()
    assert not app.exception
    assert questions(app) == []


def test_several_runs_are_tagged_and_deleted_at_once(registry: RunRegistry) -> None:
    for number in (1, 2, 3):
        stored(registry, number, f"Question {number}?")
    ids = ["run-3", "run-2", "run-1"]
    app = select(opened("runs"), ids, 0, 1)
    assert not app.exception
    field = next(one for one in app.multiselect if (one.key or "").startswith("tags_of_"))
    field.set_value(["to read"]).run()
    assert {line.id: line.tags for line in registry.history()} == {
        "run-1": (),
        "run-2": ("to read",),
        "run-3": ("to read",),
    }
    field = next(one for one in app.multiselect if (one.key or "").startswith("tags_of_"))
    assert field.value == ["to read"]
    field.set_value([]).run()
    assert all(line.tags == () for line in registry.history())
    assert app.button(key="history_delete_confirmed").label == "Delete these 2 runs"
    app.button(key="history_delete_confirmed").click().run()
    assert not app.exception
    assert questions(app) == ["Question 1?"]
    assert [line.id for line in registry.history()] == ["run-1"]


def test_two_runs_are_compared_with_the_earlier_as_a(registry: RunRegistry) -> None:
    for number in (1, 2):
        stored(registry, number, f"Question {number}?")
    app = select(opened("runs"), ["run-2", "run-1"], 0, 1)
    links = {link.proto.label: link.proto for link in app.get("page_link")}
    assert links["Compare"].query_string == "run=run-1&view=what-if&a=own&b=run%3Arun-2"
    assert not links["Compare"].disabled
    assert links["Open"].disabled
    app = select(opened("runs"), ["run-2", "run-1"], 1)
    links = {link.proto.label: link.proto for link in app.get("page_link")}
    assert links["Compare"].disabled
    assert links["Open"].query_string == "run=run-1"


def test_one_run_exports_as_a_file_and_several_zipped(registry: RunRegistry) -> None:
    for number in (1, 2):
        stored(registry, number, f"Question {number}?")
    stored(registry, 3, "Stopped before its sources?", end=2)
    assert json.loads(exported(["run-1"], ".json"))["question"] == "Question 1?"
    with zipfile.ZipFile(io.BytesIO(exported(["run-1", "gone", "run-2", "run-3"], ".bib"))) as archive:
        assert archive.namelist() == ["01-question-1.bib", "02-question-2.bib", "left-out.txt"]
        assert archive.read("left-out.txt").startswith(b"03 Stopped before its sources?: ")


def test_five_hundred_runs_are_listed_without_reading_one(registry: RunRegistry) -> None:
    for number in range(500):
        start = e.RunStarted(f"run-{number}", f"Question {number}?", Knobs(), "2026-01-02T03:04:05+00:00")
        run = Run().apply(e.Record(0.0, start))
        registry.store.append(run, e.Record(0.0, start))
        registry.store.append(run.apply(end := e.Record(1.0, e.RunDone())), end)
    registry.store.flush()
    with sqlite3.connect(registry.store.path) as database:
        database.execute("UPDATE records SET event = x'00'")  # whoever reads one fails
    assert len(registry.history(500)) == 500
    app = opened("runs")
    assert not app.exception
    assert len(questions(app)) == 500


def test_question_is_asked_again_and_a_link_shows_changes(registry: RunRegistry) -> None:
    asked = answered(registry).id
    app = select(opened("runs"), [asked], 0)
    app.button(key="history_ask_again").click().run()
    wait_until(lambda: len(registry.history()) == 2)  # a run is in the history once it has begun
    (new,) = (run.id for run in registry.history() if run.id != asked)
    again = until_ended(registry, [new])[0]
    assert again.knobs == replace(DEMO, read=replace(DEMO.read, fresh=True))
    links = {link.proto.label: link.proto for link in app.run().get("page_link")}
    (link,) = (proto for label, proto in links.items() if label.startswith("See what is new"))
    assert link.query_string == f"run={asked}&view=what-if&a=own&b=run%3A{new}"
    compared = opened("explain", view="what-if", run=asked, a="own", b=f"run:{new}")
    assert not compared.exception
    assert "Nothing: pages, sources and answer are the same." in "\n".join(
        element.proto.body for element in compared.get("html")
    )
