"""`GET /config`, `PUT /config`, and the rules of the schema that they publish."""

from typing import Any

import pytest
from pydantic import ValidationError

from core.config.schema import parameters
from core.features.api.routes.config import ConfigArrayItem, ConfigParameter, ConfigPayload
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve, Visitor
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow


def test_every_knob_is_published_with_an_allowed_value(api: Api) -> None:
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


def test_the_configuration_that_was_read_can_be_sent_back(api: Api) -> None:
    payload = api.get("/config").json()
    assert api.put("/config", json=payload).json() == payload


def test_set_values_apply_and_the_rest_is_default_again(api: Api) -> None:
    api.put("/config", json={"value": {**DEMO, "rank.top_k": 2}}).raise_for_status()
    run = api.post("/research", json={"question": QUESTION}).json()
    assert len(run["sources"]) == 2
    api.put("/config", json={"value": DEMO}).raise_for_status()
    assert api.get("/config").json()["value"]["rank.top_k"] == 6


def test_all_wrong_fields_are_reported_and_nothing_is_set(api: Api) -> None:
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
    fields = {fault["field"] for fault in reply.json()["errors"]}
    assert fields == {f"value.{name}" for name in value if name != "answer.length"} - {
        "value.rank.excluded"
    } | {"value.rank.excluded.0"}
    assert api.get("/config").json() == before


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("read.enough", "read.early_cut_percent"),
        ("read.quiet", "read.early_cut_idle"),
        ("answer.messages", "answer.prompt_layout"),
    ],
)
def test_former_knob_name_is_422_with_the_current_one(api: Api, former: str, current: str) -> None:
    group, name = former.split(".")
    value = "three" if group == "answer" else 1
    set_reply = api.put("/config", json={"value": {former: value}})
    asked = api.post("/research", json={"question": QUESTION, "knobs": {group: {name: value}}})
    assert [set_reply.status_code, asked.status_code] == [422, 422]
    (set_fault,), (asked_fault,) = set_reply.json()["errors"], asked.json()["errors"]
    assert (set_fault["field"], asked_fault["field"]) == (f"value.{former}", f"knobs.{former}")
    assert set_fault["message"] == asked_fault["message"] == f"It is called {current} now."


def test_a_session_has_a_configuration_of_its_own(api: Api, fake_openai: FakeOpenAI) -> None:
    header = api.session(fake_openai)
    api.put("/config", json={"value": {**DEMO, "rank.top_k": 3}}, headers=header).raise_for_status()
    assert api.get("/config", headers=header).json()["value"]["rank.top_k"] == 3
    assert api.get("/config").json()["value"]["rank.top_k"] == 6


def test_shared_server_refuses_settings_that_apply_to_others(serve: Serve) -> None:
    api = serve(shared=True)
    assert api.put("/config", json={"value": DEMO}).status_code == 403
    header = api.connect()
    assert api.put("/config", json={"value": DEMO}, headers=header).status_code == 200


# --- by method ----------------------------------------------------------------------------------------------

ASKED = {"qa": "question", "query": "query"}
"""The field of each method's request that has the question."""
MOST = {"qa": "top_k", "query": "max_results"}
"""The field that says how many passages are used."""
PLAN = "chunk overlap recall\noverlap of passages\n"


def knobs_of_last_run(api: Api, header: dict[str, str] | None = None) -> dict[str, Any]:
    run = api.get("/session", headers=header).json()["messages"][-1]["run"]
    knobs: dict[str, Any] = api.get(f"/runs/{run}").json()["knobs"]
    return knobs


@pytest.mark.parametrize("method", ["qa", "query"])
def test_method_follows_its_configuration_and_a_request_wins(visitor: Visitor, method: str) -> None:
    own = {**DEMO, "plan.queries": 2, "rank.top_k": 3, "rank.threshold": 0.1, "answer.length": "short"}
    visitor.put(f"/config?method={method}", json={"value": own}).raise_for_status()
    visitor.model.chats.extend(
        [streamed(PLAN), streamed("Overlap [1]."), streamed(PLAN), streamed("It [1].")]
    )
    visitor.post(f"/{method}", json={ASKED[method]: QUESTION}).raise_for_status()
    used = knobs_of_last_run(visitor)
    assert (used["plan"]["queries"], used["rank"]["top_k"], used["rank"]["threshold"]) == (2, 3, 0.1)
    assert used["answer"]["length"] == "short"
    body = {ASKED[method]: QUESTION, MOST[method]: 1}
    reply = visitor.post(f"/{method}", json=body).raise_for_status().json()
    assert len(reply["sources"]) == 1
    used = knobs_of_last_run(visitor)
    assert (used["plan"]["queries"], used["rank"]["top_k"], used["rank"]["threshold"]) == (2, 1, 0.1)


def test_unconfigured_knobs_follow_each_methods_contract(api: Api) -> None:
    header = api.connect()
    api.put("/config", json={"value": {"search.backend": "demo"}}, headers=header).raise_for_status()
    payloads = {m: api.get(f"/config?method={m}", headers=header).json() for m in ("qa", "query", "research")}
    fields = ("plan.queries", "rank.top_k", "rank.strategy")
    assert [payloads["qa"]["value"][name] for name in fields] == [1, 5, "cosine"]
    assert [payloads["query"]["value"][name] for name in (*fields, "rank.min_similarity")] == [
        1,
        5,
        "cosine",
        0.5,
    ]
    assert [payloads["research"]["value"][name] for name in fields] == [3, 6, "fused"]
    for payload in payloads.values():
        defaults = {name: rules["default"] for name, rules in payload["config_schema"].items()}
        assert payload["value"] == {**defaults, "search.backend": "demo"}
    api.post("/query", json={"query": QUESTION}, headers=header).raise_for_status()
    used = knobs_of_last_run(api, header)
    assert (used["plan"]["queries"], used["rank"]["top_k"], used["rank"]["min_similarity"]) == (1, 5, 0.5)


def test_value_for_all_applies_to_each_beside_own_defaults(visitor: Visitor) -> None:
    everything = visitor.get("/config").json()
    everything["value"]["rank.min_similarity"] = 0.2
    visitor.put("/config", json=everything).raise_for_status()
    for method in ("qa", "query"):
        value = visitor.get(f"/config?method={method}").json()["value"]
        assert (value["rank.min_similarity"], value["rank.top_k"]) == (0.2, 5)


# --- the schema ---------------------------------------------------------------------------------------------

GOOD: list[dict[str, Any]] = [
    {"type": "integer", "default": 3, "minimum": 1, "maximum": 3},
    {"type": "integer", "default": 2, "minimum": 2, "maximum": 2},
    {"type": "number", "default": 3},
    {"type": "integer", "required": True, "default": None, "minimum": 1},
    {"type": "array", "default": [[1]], "array_items": {"type": "array", "array_items": {"type": "integer"}}},
    {"type": "string", "default": "a", "enum": ["a", "b"]},
    {"type": "string", "required": True, "default": "b", "enum": ["a", "b"]},
    {"type": "boolean", "default": True},
    {"type": "null", "default": None},
    {"type": "object", "default": {"a": 1}},
]

BAD: list[tuple[str, dict[str, Any]]] = [
    ("type", {"type": "float", "default": 3}),
    ("type", {"default": 3}),
    ("required", {"type": "null", "default": None, "required": "yes"}),
    ("required", {"type": "null", "default": None, "required": None}),
    ("default", {"type": "string"}),
    ("array_items", {"type": "array", "default": []}),
    ("array_items", {"type": "array", "default": [], "array_items": {"type": "array"}}),
    ("array_items", {"type": "array", "default": [], "array_items": {"type": "float"}}),
    ("array_items", {"type": "string", "default": "a", "array_items": {"type": "string"}}),
    ("rules", {"type": "array", "default": [[1]], "array_items": {"type": "array", "array_items": {"type": "string"}}}),
    ("minimum", {"type": "string", "default": "a", "minimum": 1}),
    ("maximum", {"type": "boolean", "default": True, "maximum": 1}),
    ("maximum", {"type": "integer", "default": 3, "minimum": 4, "maximum": 2}),
    ("rules", {"type": "integer", "default": 5, "minimum": 1, "maximum": 4}),
    ("finite", {"type": "number", "default": 1, "minimum": float("-inf")}),
    ("rules", {"type": "integer", "default": True}),
    ("rules", {"type": "integer", "default": "3"}),
    ("rules", {"type": "integer", "default": 1.5}),
    ("enum", {"type": "string", "default": "c", "enum": ["a", "b"]}),
    ("enum", {"type": "string", "required": True, "default": "c", "enum": ["a", "b"]}),
    ("enum", {"type": "string", "required": True, "default": None, "enum": ["a", "b"]}),
    ("enum", {"type": "integer", "required": True, "default": True, "enum": [1, 2]}),
    ("enum", {"type": "string", "default": "a", "enum": []}),
    ("enum", {"type": "string", "default": "a", "enum": ["a", 1]}),
    ("description", {"type": "string", "default": "a", "description": 1}),
    ("pattern", {"type": "string", "default": "a", "pattern": "a"}),
]  # fmt: skip


def parameter(rules: dict[str, Any]) -> ConfigParameter:
    return ConfigParameter(**{"required": False, **rules})


@pytest.mark.parametrize("rules", GOOD)
def test_a_parameter_that_keeps_the_rules_is_accepted(rules: dict[str, Any]) -> None:
    config_parameter = parameter(rules)
    assert config_parameter.type == rules["type"]
    unset = {"array_items", "minimum", "maximum", "enum"} - rules.keys()
    assert (config_parameter.description, *(getattr(config_parameter, name) for name in unset)) == (None,) * (
        len(unset) + 1
    )
    assert parameter({**rules, "description": "A knob."}).description == "A knob."


@pytest.mark.parametrize(("field", "rules"), BAD)
def test_a_parameter_that_breaks_a_rule_is_refused(field: str, rules: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=field):
        parameter(rules)


def test_array_item_is_a_type_with_nested_items() -> None:
    assert ConfigArrayItem(type="string").array_items is None
    nested = ConfigArrayItem(type="array", array_items=ConfigArrayItem(type="integer"))
    assert nested.allows([1, 2])
    assert not nested.allows([1, "2"])
    for wrong in ({"type": "array"}, {"type": "date"}, {"type": "string", "minimum": 1}):
        with pytest.raises(ValidationError):
            ConfigArrayItem(**wrong)


def test_a_payload_has_one_parameter_a_value() -> None:
    rules = {"type": "integer", "required": True, "default": 1, "maximum": 3}
    assert ConfigPayload(value={"a": 2}, config_schema={"a": rules}).value == {"a": 2}
    for value, schema in (
        ({"a": 2}, {}),
        ({}, {"a": rules}),
        ({"b": 2}, {"a": rules}),
        ({"a": 4}, {"a": rules}),
    ):
        with pytest.raises(ValidationError, match=r"config_schema|own schema"):
            ConfigPayload(value=value, config_schema=schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "same keys"),
        ({"rank.top_k": {"type": "integer", "required": False, "default": 6}, "rank.knob": {"type": "null", "required": False, "default": None}}, "rank.knob"),
        ({"rank.top_k": {"type": "integer", "required": False, "default": 6, "maximum": 2}}, "default"),
        ({"rank.top_k": {"type": "string", "required": True, "default": ""}}, "rank.top_k"),
        ({"rank.top_k": {"type": "integer", "required": True, "default": 6, "enum": [1, 2, 3]}}, "enum"),
        ({"rank.top_k": {"type": "float", "required": True, "default": 6}}, "rank.top_k.type"),
    ],
)  # fmt: skip
def test_payload_contradicting_its_schema_is_refused_and_sets_nothing(
    api: Api, schema: dict[str, Any], message: str
) -> None:
    before = api.get("/config").json()
    reply = api.put("/config", json={"value": {"rank.top_k": 3}, "config_schema": schema})
    assert reply.status_code == 422
    assert message in str(reply.json()["errors"])
    assert api.get("/config").json() == before
