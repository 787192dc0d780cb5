"""`POST /runs/{id}/quote`."""

import pytest

from core.analysis.run_activity import writes_answer
from tests.features.api.conftest import QUESTION, Api, Visitor
from tests.runtime.waiting import until
from tests.services.loopback import Gate
from tests.services.openai_server import failure, streamed

pytestmark = pytest.mark.slow


def test_silent_model_gives_way_to_quotations(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed("Overlap", Gate()))
    headers = {"Accept": "text/event-stream"}
    with visitor.client.stream("POST", "/research", json={"question": QUESTION}, headers=headers) as reply:
        lines = reply.iter_lines()
        assert any(line == "event: TokensWritten" for line in lines)
        (live,) = [run for run in visitor.runs.history(5) if run.status == "running"]
        view = visitor.get(f"/runs/{live.id}").json()
        assert (view["can_quote"], view["waiting"]) == (True, "")
        assert visitor.post(f"/runs/{live.id}/quote").status_code == 202
        assert any(line == "event: result" for line in lines)
    run = visitor.get(f"/runs/{live.id}").json()
    assert (run["status"], run["kind"], run["can_quote"]) == ("done", "extractive", False)


def test_failed_model_is_a_problem_that_names_the_offer(visitor: Visitor) -> None:
    visitor.model.chats.append(failure(401))
    problem = visitor.post("/research", json={"question": QUESTION}).json()
    assert "POST /runs/{id}/quote" in problem["hint"]
    assert visitor.get(f"/runs/{problem['run']}").json()["can_quote"]
    assert visitor.post(f"/runs/{problem['run']}/quote").status_code == 202
    until(lambda: visitor.get(f"/runs/{problem['run']}").json()["kind"] == "extractive")


def test_run_that_plans_has_nothing_to_quote(visitor: Visitor) -> None:
    gate = Gate()
    visitor.put("/config", json={"value": {"plan.queries": 2}}).raise_for_status()
    visitor.model.chats.append(streamed(gate, "chunk overlap"))
    headers = {"Accept": "text/event-stream"}
    with visitor.client.stream("POST", "/research", json={"question": QUESTION}, headers=headers) as reply:
        lines = reply.iter_lines()
        assert any(line == "event: ModelAsked" for line in lines)
        (live,) = [run for run in visitor.runs.history(5) if run.status == "running"]
        stored = visitor.runs.get(live.id)
        assert stored is not None and not writes_answer(stored)
        assert visitor.post(f"/runs/{live.id}/quote").status_code == 409
    gate.open()


def test_missing_run_is_not_found(api: Api) -> None:
    assert api.post("/runs/none/quote").status_code == 404
