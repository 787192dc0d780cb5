"""`GET /runs`, `GET /runs/{id}`, `DELETE /runs/{id}`."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.storage.bundle import from_bundle
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve, Visitor
from tests.services.loopback import Gate
from tests.services.openai_server import streamed

pytestmark = pytest.mark.slow


def asked(api: Api, headers: dict[str, str] | None = None, **knobs: dict[str, object]) -> str:
    reply = api.post("/research", json={"question": QUESTION, "knobs": knobs}, headers=headers)
    reply.raise_for_status()
    run_id: str = reply.json()["id"]
    return run_id


def test_a_run_is_listed_newest_first_and_found_again(api: Api) -> None:
    first, second = asked(api), asked(api)
    assert [run["id"] for run in api.get("/runs", params={"limit": 2}).json()["runs"]] == [second, first]
    run = api.get(f"/runs/{first}").json()
    assert (run["question"], run["status"]) == (QUESTION, "done")


def test_runs_are_listed_in_pages_by_filters(serve: Serve) -> None:
    api = serve()
    api.put("/config", json={"value": DEMO}).raise_for_status()
    runs = [asked(api) for _ in range(3)]
    api.runs.store.tag(runs[:2], "kept")
    api.runs.store.flush()
    first = api.get("/runs", params={"limit": 2}).json()
    assert [run["id"] for run in first["runs"]] == [runs[2], runs[1]]
    last = api.get("/runs", params={"limit": 2, "cursor": first["next"]}).json()
    assert ([run["id"] for run in last["runs"]], last["next"]) == ([runs[0]], None)
    kept = api.get("/runs", params={"tag": "kept", "limit": 1}).json()
    assert (kept["runs"][0]["id"], kept["runs"][0]["tags"]) == (runs[1], ["kept"])
    kept = api.get("/runs", params={"tag": "kept", "limit": 1, "cursor": kept["next"]}).json()
    assert ([run["id"] for run in kept["runs"]], kept["next"]) == ([runs[0]], None)
    assert api.get("/runs", params={"words": "OVERLAP chunk", "status": "done"}).json()["runs"]
    assert api.get("/runs", params={"words": "absent"}).json() == {"runs": [], "next": None}
    assert api.get("/runs", params={"status": ["failed", "stopped"]}).json()["runs"] == []


@pytest.mark.parametrize("cursor", ["nonsense", "WzAsImEiLCJiIl0", "é"])
def test_a_cursor_of_another_version_is_refused(api: Api, cursor: str) -> None:
    reply = api.get("/runs", params={"cursor": cursor})
    assert reply.status_code == 404
    assert reply.json()["errors"][0]["field"] == "cursor"


def test_unknown_query_parameters_are_refused_by_name(api: Api) -> None:
    reply = api.get("/runs", params={"limit": 1, "offset": 1})
    assert reply.status_code == 422
    assert reply.json()["errors"] == [{"field": "offset", "message": "There is no such query parameter."}]
    assert "cursor" in reply.json()["hint"]
    assert api.get("/v1/models", params={"api-version": "1"}).status_code == 200


@pytest.mark.parametrize("form", ["short", "full"])
def test_a_run_is_sent_once_and_compressed(api: Api, form: str) -> None:
    path = f"/runs/{asked(api)}?form={form}"
    first = api.get(path, headers={"Accept-Encoding": "gzip"})
    assert first.headers["content-encoding"] == "gzip"
    assert first.headers["cache-control"] == "private, no-cache"
    again = api.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_deletion_refused_by_the_store_is_503_and_keeps_the_run(api: Api) -> None:
    run_id = asked(api)
    api.runs.store.flush()
    with closing(sqlite3.connect(api.runs.store.path)) as db, db:
        db.execute("CREATE TRIGGER full BEFORE DELETE ON runs BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    reply = api.delete(f"/runs/{run_id}")
    with closing(sqlite3.connect(api.runs.store.path)) as db, db:
        db.execute("DROP TRIGGER full")
    assert reply.status_code == 503
    assert "The run was not deleted: disk full." in reply.text
    assert api.get(f"/runs/{run_id}").status_code == 200
    assert api.delete(f"/runs/{run_id}").status_code == 204


def test_a_deleted_run_is_not_found(api: Api) -> None:
    run_id = asked(api)
    assert api.delete(f"/runs/{run_id}").status_code == 204
    for reply in (api.get(f"/runs/{run_id}"), api.delete(f"/runs/{run_id}")):
        assert (reply.status_code, reply.json()["title"]) == (404, "Not Found")
    assert run_id not in api.get("/runs").text


def test_deleting_a_run_under_way_stops_it(visitor: Visitor) -> None:
    gate = Gate()
    visitor.model.chats.append(streamed("Half of it. ", gate))
    headers = {"Accept": "text/event-stream"}
    with visitor.client.stream("POST", "/research", json={"question": QUESTION}, headers=headers) as reply:
        lines = reply.iter_lines()
        assert any(line == "event: TokensWritten" for line in lines)
        (newest, *_) = visitor.get("/runs", params={"limit": 1}).json()["runs"]
        assert newest["status"] == "running"
        assert visitor.delete(f"/runs/{newest['id']}").status_code == 204
        assert any(line == "event: RunStopped" for line in lines)
    assert visitor.get(f"/runs/{newest['id']}").status_code == 404


def test_the_full_form_is_the_whole_run(api: Api) -> None:
    run = api.get(f"/runs/{asked(api)}", params={"form": "full"}).json()
    assert run["pages"][0]["article"]["text"]
    assert run["ranking"]["order"]
    assert run["timeline"]["phases"]["embed"]["end"]


def test_run_is_exported_by_its_file_ending(api: Api) -> None:
    run_id = asked(api)
    bundle = api.get(f"/runs/{run_id}/export")
    name = "how-does-chunk-overlap-affect-retrieval.zip"
    assert (
        bundle.headers["content-disposition"] == f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}"
    )
    assert from_bundle(bundle.content).run.id == run_id
    table = api.get(f"/runs/{run_id}/export", params={"ending": ".csv"})
    assert table.headers["content-type"].startswith("text/csv") and "cosine" in table.text
    assert api.get(f"/runs/{run_id}/export", params={"ending": ".exe"}).status_code == 422
    assert api.get("/runs/nobody/export").status_code == 404


def test_agent_form_has_a_message_for_every_model_step(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed("chunk overlap recall\noverlap of passages\n"))
    visitor.model.chats.append(streamed("Overlap keeps facts whole [1].", usage=(300, 7)))
    run_id = asked(visitor, plan={"queries": 2})
    response = visitor.get(f"/runs/{run_id}", params={"form": "agent"}).json()
    of_the_design = {"query", "agent_messages", "iterations", "execution_time", "content", "error"}
    assert set(response) == of_the_design | {"notes", "stored"}
    plan, answer = response["agent_messages"]
    assert (plan["agent"], plan["content"]) == ("plan", "chunk overlap recall\noverlap of passages")
    assert [tool["input"] for tool in plan["tools"]] == plan["content"].split("\n")
    assert all("demo" in tool["output"] for tool in plan["tools"])
    assert answer["agent"] == "answer"
    assert answer["content"] == response["content"] == "Overlap keeps facts whole [1]."
    usage = answer["response_metadata"]["token_usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (300, 7, 307)
    assert 0 < answer["execution_time"] <= response["execution_time"]
    assert (response["iterations"], response["error"]) == (1, "")


def test_without_a_model_there_is_an_answer_without_agents(api: Api) -> None:
    response = api.get(f"/runs/{asked(api)}", params={"form": "agent"}).json()
    assert response["agent_messages"] == []
    assert response["content"]


@pytest.mark.parametrize(("path", "field"), [("/runs?limit=0", "limit"), ("/runs/a?form=long", "form")])
def test_a_wrong_parameter_is_named(api: Api, path: str, field: str) -> None:
    reply = api.get(path)
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"].endswith(field)


@pytest.mark.parametrize("run_id", ["a.b", "%2e%2e", "x" * 65, "%00"])
def test_a_malformed_id_is_not_looked_up(api: Api, run_id: str) -> None:
    assert api.get(f"/runs/{run_id}").status_code in (404, 422)


def test_a_run_that_is_not_stored_says_so(serve: Serve, warm_folder: Path) -> None:
    with closing(sqlite3.connect(warm_folder / "runs.sqlite")) as db:
        db.execute("PRAGMA user_version = 99")
    api = serve()
    api.put("/config", json={"value": DEMO}).raise_for_status()
    run = api.post("/research", json={"question": QUESTION}).json()
    answers = [
        run,
        api.post("/qa", json={"question": QUESTION}).json(),
        api.post("/query", json={"query": QUESTION}).json(),
        api.get(f"/runs/{run['id']}").json(),
    ]
    chat = {"model": "openquery", "messages": [{"role": "user", "content": QUESTION}]}
    stream = api.post("/v1/chat/completions", json={**chat, "stream": True})
    pieces = [line.removeprefix("data: ") for line in stream.text.splitlines() if line.startswith("data: {")]
    answers += [
        api.get(f"/runs/{run['id']}?form=agent").json(),
        api.post("/v1/chat/completions", json=chat).json(),
        json.loads(pieces[-1]),
    ]
    assert [answer["stored"] for answer in answers] == [False] * 7
    assert all("in memory only" in answer["notes"][-1] for answer in answers)


def test_a_run_that_is_stored_says_so(api: Api) -> None:
    run = api.post("/research", json={"question": QUESTION}).json()
    assert run["stored"] is True
    assert not any("in memory only" in note for note in run["notes"])


def test_head_has_the_headers_of_get_and_no_body(api: Api) -> None:
    run_id = asked(api)
    for path in ("/runs", f"/runs/{run_id}", "/openapi.json", f"/runs/{run_id}/export?ending=.json"):
        got, head = api.get(path), api.client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
    assert api.client.head("/runs/nobody").status_code == 404
