"""A conversation of OpenAI's own client with the service: the messages are the history of the last one."""

from typing import Any

import openai
import pytest

from core.features.api.sessions import HEADER
from tests.features.api.conftest import QUESTION, Visitor
from tests.services.openai_server import streamed

pytestmark = pytest.mark.slow

WRITTEN = "And how large should it be?"
STANDALONE = "How large should the overlap of chunks be?"
OTHER_WRITTEN = "Who discovered the moons of that planet?"
OTHER = "Who discovered the moons of Jupiter?"


class ChatClient:
    """OpenAI's client with the list of messages that it keeps."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._client = openai.OpenAI(base_url=f"{visitor.url}/v1", api_key="none", max_retries=0)
        self.messages: list[Any] = [{"role": "system", "content": "You are a helpful assistant."}]

    def ask(self, question: str, *replies: str, stream: bool = False) -> tuple[dict[str, Any], str]:
        """The run of a question to which the model replies so, and the answer."""
        self._visitor.model.chats.extend(map(streamed, replies))
        self.messages.append({"role": "user", "content": question})
        headers = {HEADER: self._visitor.client.headers[HEADER]}
        reply = self._client.chat.completions.create(
            model="openquery", messages=self.messages, stream=stream, extra_headers=headers
        )
        chunks = list(reply) if stream else [reply]
        answer = "".join(
            (choice.delta if stream else choice.message).content or ""
            for chunk in chunks
            for choice in chunk.choices
        )
        self.messages.append({"role": "assistant", "content": answer})
        run_id = chunks[0].id.removeprefix("chatcmpl-")
        run: dict[str, Any] = self._visitor.get(f"/runs/{run_id}?form=full").json()
        return {**run, "said": chunks[-1].model_extra}, answer


def test_second_of_three_turns_needs_no_search_nor_fetch(visitor: Visitor) -> None:
    client = ChatClient(visitor)
    first, answer = client.ask(QUESTION, "Overlap keeps facts whole [1].")
    assert answer.startswith("Overlap keeps facts whole [[1]](https://")
    assert (first["answer"]["text"], first["turn"]) == ("Overlap keeps facts whole [1].", None)
    second, _ = client.ask(WRITTEN, STANDALONE, "A tenth [1].", stream=True)
    assert (second["question"], second["turn"]["written"]) == (STANDALONE, WRITTEN)
    assert (second["turn"]["answer_from"], second["turn"]["follows"]) == ("pages", first["id"])
    assert [query["author"] for query in second["queries"]] == ["conversation"]
    assert [note for note in second["said"]["notes"] if STANDALONE in note and "pages in hand" in note]
    third, _ = client.ask(OTHER_WRITTEN, OTHER, "Galileo [1].")
    assert (third["question"], third["turn"]["answer_from"]) == (OTHER, "both")
    assert (third["turn"]["number"], third["turn"]["conversation"]) == (3, first["id"])
    rewriting = visitor.model.chat_requests[-2].body.decode()
    assert QUESTION in rewriting and "A tenth" in rewriting and OTHER_WRITTEN in rewriting
    assert "handbook.openquery.example" not in rewriting, "links and lists are left out of the history"
    numbers: dict[str, int] = {}
    for run in (first, second, third):
        for source in run["sources"]:
            place = source["passage"]["place"]
            assert (
                numbers.setdefault(f"{place['page']} {place['start']}", source["number"]) == source["number"]
            )


def test_history_of_other_answers_is_understood_and_searched_for(visitor: Visitor) -> None:
    client = ChatClient(visitor)
    client.messages += [
        {"role": "assistant", "content": "Ask me."},
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "It helps, another model said."},
    ]
    run, _ = client.ask(WRITTEN, STANDALONE, "A tenth [1].")
    assert (run["question"], run["turn"]["written"]) == (STANDALONE, WRITTEN)
    assert (run["turn"]["answer_from"], run["turn"]["follows"]) == ("search", "")
    assert "another model said" in visitor.model.chat_requests[0].body.decode()


def test_a_changed_history_has_no_pages_in_hand(visitor: Visitor) -> None:
    client = ChatClient(visitor)
    client.ask(QUESTION, "Overlap keeps facts whole [1].")
    client.messages[-1]["content"] = "It does nothing."
    run, _ = client.ask(WRITTEN, STANDALONE, "A tenth [1].")
    assert run["turn"]["answer_from"] == "search"


def test_history_that_the_client_trimmed_is_known_again(visitor: Visitor) -> None:
    client = ChatClient(visitor)
    first, answer = client.ask(QUESTION, "Overlap keeps facts whole [1, 2].")
    client.messages[-1]["content"] = f"\n{answer.strip()}\n"
    run, _ = client.ask(WRITTEN, STANDALONE, "A tenth [1].")
    assert run["turn"]["follows"] == first["id"]


def test_five_hundred_turns_are_cut_with_a_note(visitor: Visitor) -> None:
    client = ChatClient(visitor)
    for turn in range(500):
        client.messages += [
            {"role": "user", "content": f"What is rule {turn}?"},
            {"role": "assistant", "content": f"Rule {turn} is about overlap. " * 10},
        ]
    run, _ = client.ask(WRITTEN, STANDALONE, "A tenth [1].")
    assert any("earlier questions left out" in note for note in run["said"]["notes"])
    prompt = visitor.model.chat_requests[0].body.decode()
    assert "What is rule 499?" in prompt and "What is rule 7?" not in prompt


def test_required_call_is_refused_in_a_conversation_too(visitor: Visitor) -> None:
    body = {
        "model": "openquery",
        "messages": [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": "It helps."},
            {"role": "user", "content": WRITTEN},
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": "required",
    }
    reply = visitor.post("/v1/chat/completions", json=body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "tool_choice")
    assert visitor.model.chat_requests == []
