"""`POST /research` by the method deep, and `POST /runs/{id}/plan`."""

import pytest

from tests.features.api.conftest import QUESTION, Api, Visitor
from tests.services.openai_server import streamed

pytestmark = pytest.mark.slow


def test_a_plan_is_returned_approved_once_and_researched(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed(f"{QUESTION}\nWhat does BM25 reward?"))
    run = visitor.post("/research", json={"question": QUESTION, "method": "deep"}).json()
    assert (run["status"], run["hits"], run["answer"], run["sections"]) == ("planned", 0, "", [])
    assert run["plan"]["sub_questions"] == [QUESTION, "What does BM25 reward?"]
    path = f"/runs/{run['id']}/plan"
    for wrong in ([], ["x" * 5000], [f"What is topic {n}?" for n in range(60)]):
        assert visitor.post(path, json={"sub_questions": wrong}).status_code == 422
    visitor.model.chats.extend([streamed("Overlap repeats text [1]."), streamed("It repeats text [1].")])
    assert visitor.post(path, json={"sub_questions": [QUESTION]}).status_code == 202
    report = visitor.until(run["id"], "done")
    assert report["answer"].startswith("## In brief\n\nIt repeats text [1].")
    section = {"question": QUESTION, "state": "written", "reason": "", "sources": [1, 2, 3, 4, 5, 6]}
    assert report["sections"] == [section]
    assert visitor.post(path, json={"sub_questions": [QUESTION]}).status_code == 409
    assert visitor.post("/runs/nothing/plan", json={"sub_questions": [QUESTION]}).status_code == 404


@pytest.mark.parametrize("method", ["agent", "deep"])
def test_method_needing_a_chat_model_conflicts_without_one(method: str, api: Api) -> None:
    reply = api.post("/research", json={"question": QUESTION, "method": method})
    assert reply.status_code == 409
    assert reply.json()["detail"] == f"The method {method} needs a chat model, and none is connected."
    assert reply.json()["hint"]
