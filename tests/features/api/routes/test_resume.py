"""`POST /runs/{id}/stop` and `/resume`, and every model call of a run in the form `agent`."""

import pytest

from tests.features.api.conftest import QUESTION, Api, Visitor
from tests.runtime.waiting import until
from tests.services.loopback import Gate
from tests.services.openai_server import failure, streamed

pytestmark = pytest.mark.slow

OTHER = "What does BM25 reward?"


def planned(visitor: Visitor, queries: int = 1) -> str:
    """The id of a deep run whose plan of two sub-questions waits for approval."""
    visitor.model.chats.append(streamed(f"{QUESTION}\n{OTHER}", usage=(70, 7)))
    knobs = {"plan": {"queries": queries}}
    body = {"question": QUESTION, "method": "deep", "knobs": knobs}
    run_id: str = visitor.post("/research", json=body).json()["id"]
    return run_id


def approve(visitor: Visitor, run_id: str) -> None:
    path = f"/runs/{run_id}/plan"
    visitor.post(path, json={"sub_questions": [QUESTION, OTHER]}).raise_for_status()


def test_stopped_run_is_kept_and_resumes_at_its_section(visitor: Visitor) -> None:
    run_id, gate = planned(visitor), Gate()
    visitor.model.chats.extend([streamed("Overlap repeats text [1]."), streamed("Rare ", gate)])
    approve(visitor, run_id)
    until(lambda: "Rare" in visitor.get(f"/runs/{run_id}").json()["answer"])
    stopped = visitor.post(f"/runs/{run_id}/stop")
    assert stopped.status_code == 200
    assert visitor.until(run_id, "stopped")["sections"][0]["state"] == "written"
    asked = len(visitor.model.chat_requests)
    visitor.model.chats.extend([streamed("Rare words [7]."), streamed("Both [1][7].")])
    assert visitor.post(f"/runs/{run_id}/resume").status_code == 202
    report = visitor.until(run_id, "done")
    assert [section["state"] for section in report["sections"]] == ["written", "written"]
    assert len(visitor.model.chat_requests) == asked + 2, "the first section is not written again"
    assert visitor.post(f"/runs/{run_id}/resume").status_code == 409
    assert visitor.post(f"/runs/{run_id}/stop").json()["status"] == "done"


def test_failed_agent_goes_on(visitor: Visitor) -> None:
    visitor.model.chats.append(failure(401))
    body = {"question": QUESTION, "method": "agent"}
    run_id = visitor.post("/research", json=body).json()["run"]
    visitor.model.chats.append(failure(401))
    assert visitor.post(f"/runs/{run_id}/resume").status_code == 202
    assert visitor.until(run_id, "failed")["error"]["part"] == "answer"


def test_pipeline_has_nothing_to_go_on_with(api: Api) -> None:
    run_id = api.post("/research", json={"question": QUESTION}).json()["id"]
    reply = api.post(f"/runs/{run_id}/resume")
    assert (reply.status_code, reply.json()["run"]) == (409, run_id)
    for action in ("stop", "resume"):
        assert api.post(f"/runs/none/{action}").status_code == 404


def test_agent_form_has_every_call_of_a_deep_run(visitor: Visitor) -> None:
    run_id = planned(visitor, queries=2)
    replies = [
        "chunk overlap\noverlap of passages",
        "Overlap [1].",
        "bm25\nrare words",
        "Rare [7].",
        "Both [1].",
    ]
    visitor.model.chats.extend(streamed(text, usage=(100 + n, n + 1)) for n, text in enumerate(replies))
    approve(visitor, run_id)
    run = visitor.until(run_id, "done")
    response = visitor.get(f"/runs/{run_id}?form=agent").json()
    messages = response["agent_messages"]
    assert len(messages) == len(visitor.model.chat_requests) == 6
    assert [message["agent"] for message in messages] == [
        "plan",
        "plan",
        "answer",
        "plan",
        "answer",
        "answer",
    ]
    assert [message["content"] for message in messages] == [f"{QUESTION}\n{OTHER}", *replies]
    assert [tool["input"] for tool in messages[1]["tools"]] == ["chunk overlap", "overlap of passages"]
    tokens = [message["response_metadata"]["token_usage"] for message in messages]
    assert sum(count["total_tokens"] for count in tokens) == run["usage"]["total_tokens"]
    assert (tokens[-1]["total_tokens"], tokens[-1]["estimated"]) == (104 + 5, False)
    assert all(0 < message["execution_time"] < run["seconds"] for message in messages)
