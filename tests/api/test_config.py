"""`GET /config`, `PUT /config`, and the rules of the schema that they publish."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from core.api.routes.config import ConfigParameter
from core.config.schema import parameters
from tests.api.conftest import DEMO, QUESTION, Api, Serve
from tests.services.openai_server import FakeOpenAI

pytestmark = pytest.mark.slow


def test_every_knob_is_published_and_has_a_value_that_its_rules_allow(api: Api) -> None:
    payload = api.get("/config").json()
    assert set(payload) == {"value", "config_schema"}
    assert set(payload["value"]) == set(payload["config_schema"]) == {knob.path for knob in parameters()}
    for name, rules in payload["config_schema"].items():
        assert ConfigParameter(**rules).allows(payload["value"][name]), name
    top_k = payload["config_schema"]["rank.top_k"]
    assert (top_k["type"], top_k["required"], top_k["default"]) == ("integer", False, 6)
    assert (top_k["minimum"], top_k["maximum"]) == (0, 50)
    assert payload["config_schema"]["rank.excluded"]["array_items"] == {"type": "string"}
    assert "demo" in payload["config_schema"]["search.backend"]["enum"]


def test_what_was_got_can_be_put_back(api: Api) -> None:
    payload = api.get("/config").json()
    assert api.put("/config", json=payload).json() == payload


def test_what_is_set_applies_to_questions_and_the_rest_is_default_again(api: Api) -> None:
    api.put("/config", json={"value": {**DEMO, "rank.top_k": 2}}).raise_for_status()
    run = api.post("/research", json={"question": QUESTION}).json()
    assert len(run["sources"]) == 2
    api.put("/config", json={"value": DEMO}).raise_for_status()
    assert api.get("/config").json()["value"]["rank.top_k"] == 6


def test_every_wrong_field_is_reported_at_once_and_nothing_is_set(api: Api) -> None:
    before = api.get("/config").json()
    value = {
        "rank.top_k": 99,
        "rank.threshold": "0.5",
        "search.backend": "altavista",
        "rank.excluded": [1],
        "read.robots": 1,
        "rank.knob": 1,
        "rank": {"top_k": 2},
        "answer.length": "short",
    }
    reply = api.put("/config", json={"value": value})
    assert reply.status_code == 422
    named = {fault["field"] for fault in reply.json()["errors"]}
    assert named == {f"value.{name}" for name in value if name != "answer.length"} - {
        "value.rank.excluded"
    } | {"value.rank.excluded.0"}
    assert api.get("/config").json() == before


def test_a_session_has_a_configuration_of_its_own(api: Api, fake_openai: FakeOpenAI) -> None:
    header = api.session(fake_openai)
    api.put("/config", json={"value": {**DEMO, "rank.top_k": 3}}, headers=header).raise_for_status()
    assert api.get("/config", headers=header).json()["value"]["rank.top_k"] == 3
    assert api.get("/config").json()["value"]["rank.top_k"] == 6


def test_on_a_shared_server_nobody_sets_what_applies_to_others(serve: Serve) -> None:
    api = serve(shared=True)
    assert api.put("/config", json={"value": DEMO}).status_code == 403
    header = {"X-OpenQuery-Session": api.post("/connect", json={}).json()["session"]}
    assert api.put("/config", json={"value": DEMO}, headers=header).status_code == 200


GOOD: list[dict[str, Any]] = [
    {"type": "integer", "default": 3, "minimum": 1, "maximum": 3},
    {"type": "number", "default": 3},
    {"type": "integer", "required": True, "minimum": 1},
    {"type": "array", "default": [[1]], "array_items": {"type": "array", "array_items": {"type": "integer"}}},
    {"type": "string", "default": "a", "enum": ["a", "b"]},
    {"type": "null", "default": None},
    {"type": "object", "default": {"a": 1}},
]

BAD: list[dict[str, Any]] = [
    {"type": "float", "default": 3},
    {"type": "array", "default": []},
    {"type": "array", "default": [], "array_items": {"type": "array"}},
    {"type": "array", "default": [[1]], "array_items": {"type": "array", "array_items": {"type": "string"}}},
    {"type": "string", "default": "a", "array_items": {"type": "string"}},
    {"type": "string", "default": "a", "minimum": 1},
    {"type": "boolean", "default": True, "maximum": 1},
    {"type": "integer", "default": 3, "minimum": 4, "maximum": 2},
    {"type": "integer", "default": 5, "minimum": 1, "maximum": 4},
    {"type": "number", "default": float("nan"), "minimum": 0},
    {"type": "integer", "default": True},
    {"type": "integer", "default": "3"},
    {"type": "string", "default": "c", "enum": ["a", "b"]},
    {"type": "string", "default": "a", "enum": []},
    {"type": "string", "default": "a", "enum": ["a", 1]},
    {"type": "string", "default": "a", "pattern": "a"},
]


@pytest.mark.parametrize("rules", GOOD)
def test_a_parameter_that_keeps_the_rules_is_one(rules: dict[str, Any]) -> None:
    assert ConfigParameter(description="A knob.", **rules).type == rules["type"]


@pytest.mark.parametrize("rules", BAD)
def test_a_parameter_that_breaks_a_rule_is_none(rules: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ConfigParameter(description="A knob.", **rules)


def test_a_parameter_without_a_description_is_none() -> None:
    with pytest.raises(ValidationError):
        ConfigParameter(type="null", description="")
