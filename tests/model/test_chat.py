"""Messages, tools and tokens are valid from birth, and go to OpenAI's JSON and back."""

from typing import Any

import pytest

from core.adapters.models.replies.calls import ToolCallAssembler
from core.model import ROLES, FunctionCall, Message, ModelUsage, ToolCall, ToolDefinition, ToolFunction, Usage

CALL = ToolCall(id="call_1", function=FunctionCall(name="search_web", arguments='{"query": "kettles"}'))
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOL = ToolDefinition(
    function=ToolFunction(name="search_web", description="Searches the web.", parameters=SCHEMA)
)


@pytest.mark.parametrize(
    ("message", "json"),
    [
        (Message(role="user", content="Hi."), {"role": "user", "content": "Hi."}),
        (Message(role="developer", content=""), {"role": "developer", "content": ""}),
        (
            Message(role="assistant", tool_calls=(CALL,)),
            {"role": "assistant", "content": None, "tool_calls": [CALL.to_json()]},
        ),
        (
            Message(role="tool", content="Three results.", tool_call_id="call_1"),
            {"role": "tool", "content": "Three results.", "tool_call_id": "call_1"},
        ),
    ],
)
def test_a_message_goes_to_json_and_back(message: Message, json: dict[str, Any]) -> None:
    assert message.to_json() == json
    assert Message.from_json(json) == message


def test_tool_and_its_call_survive_json() -> None:
    assert TOOL.to_json() == {
        "type": "function",
        "function": {"name": "search_web", "description": "Searches the web.", "parameters": SCHEMA},
    }
    assert ToolDefinition.from_json(TOOL.to_json()) == TOOL
    assert CALL.to_json() == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "search_web", "arguments": '{"query": "kettles"}'},
    }
    assert ToolCall.from_json(CALL.to_json()) == CALL


def test_content_in_parts_is_their_text() -> None:
    parts = [{"type": "text", "text": "What is "}, {"type": "text", "text": "BM25?"}]
    assert Message.from_json({"role": "user", "content": parts}).content == "What is BM25?"


@pytest.mark.parametrize(
    ("json", "said"),
    [
        ({"role": "wizard", "content": "x"}, ", ".join(ROLES)),
        ({"content": "x"}, "role"),
        ({"role": "user", "content": "x", "tool_calls": [CALL.to_json()]}, "assistant"),
        ({"role": "tool", "content": "x"}, "tool_call_id"),
        ({"role": "user", "content": "x", "tool_call_id": "call_1"}, "tool_call_id"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}, "arguments"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "type": "custom", "custom": {}}]}, "function"),
        ({"role": "assistant", "tool_calls": "none"}, "list"),
        ("user: x", "object"),
    ],
)
def test_what_is_no_message_is_refused(json: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Message.from_json(json)


@pytest.mark.parametrize("function", [{"name": "two words"}, {"name": "f", "parameters": 3}, {}, None])
def test_what_is_no_tool_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="function"):
        ToolDefinition.from_json({"type": "function", "function": function})


@pytest.mark.parametrize(
    ("json", "counts"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}, (100, 50, 150)),
        ({"prompt_tokens": 100, "completion_tokens": 50}, (100, 50, 150)),
        ({"prompt_tokens": 100, "total_tokens": 100}, (100, 0, 100)),
        ({"total_tokens": 7}, (7, 0, 7)),
        ({"prompt_tokens": 10.0, "completion_tokens": 5, "total_tokens": 40}, (10, 5, 40)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 3}, (10, 5, 15)),
    ],
)
def test_total_of_tokens_is_at_least_their_sum(json: dict[str, Any], counts: tuple[int, int, int]) -> None:
    usage = Usage.from_json(json)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == counts
    assert Usage.from_json(usage.to_json()) == usage


@pytest.mark.parametrize(
    "json", [None, [], {}, {"prompt_tokens": -1}, {"prompt_tokens": True}, {"prompt_tokens": "9"}]
)
def test_what_counts_no_tokens_is_refused(json: Any) -> None:
    with pytest.raises(ValueError, match="usage"):
        Usage.from_json(json)


def test_tokens_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Usage(prompt_tokens=-1)
    with pytest.raises(ValueError, match="total_tokens"):
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=4)


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1, True, "1"])
def test_a_cost_that_is_none_is_left_out(cost: Any) -> None:
    assert Usage.from_json({"prompt_tokens": 1, "cost": cost}).cost is None


def test_tokens_add_up_and_a_stated_cost_stays() -> None:
    paid, free = (
        Usage(prompt_tokens=10, completion_tokens=5, cost=0.5),
        Usage(prompt_tokens=1, total_tokens=9),
    )
    assert paid + free == Usage(prompt_tokens=11, completion_tokens=5, total_tokens=24, cost=0.5)
    assert (free + free).cost is None
    both = ModelUsage(model="m", tokens=paid) + ModelUsage(model="m", tokens=free, estimated=True)
    assert both.estimated
    assert both.tokens.total_tokens == 24


def _assembled(*deltas: Any) -> list[ToolCall]:
    assembler = ToolCallAssembler()
    for delta in deltas:
        assembler.read(delta)
    return list(assembler.calls())


def _call(call_id: str, name: str, arguments: str) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments))


def test_pieces_of_two_calls_are_joined_by_index() -> None:
    found = _assembled(
        [{"index": 1, "id": "b", "type": "function", "function": {"name": "read", "arguments": ""}}],
        [{"index": 0, "id": "a", "type": "function", "function": {"name": "search", "arguments": '{"q'}}],
        [{"index": 1, "function": {"arguments": "{}"}}, {"index": 0, "function": {"arguments": '": 1}'}}],
    )
    assert found == [_call("a", "search", '{"q": 1}'), _call("b", "read", "{}")]


def test_whole_calls_without_index_or_id_are_told_apart() -> None:
    found = _assembled(
        [{"function": {"name": "search", "arguments": "{}"}}, {"function": {"name": "read"}}],
        [{"function": {"arguments": '{"page": 2}'}}],
    )
    assert found == [_call("call_0", "search", "{}"), _call("call_1", "read", '{"page": 2}')]


@pytest.mark.parametrize(
    "deltas", [None, "search", [None], [{"index": 0}], [{"index": 0, "function": {"arguments": "{}"}}]]
)
def test_pieces_of_no_call_are_dropped(deltas: Any) -> None:
    assert _assembled(deltas) == []
