"""Messages of chat clients, whatever stands in them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.features.openai.chat.messages import read_messages
from core.features.openai.chat.requests import ChatRequest
from core.serving.problems import Refusal
from core.text.questions import INSTRUCTIONS_LIMIT, QUESTION_LIMIT

PIECES = (
    *(
        "<chat_history>\n",
        "</chat_history>",
        "<user_query>",
        "</user_query>",
        "<context>",
        "</context>",
        "```\n",
    ),
    *(
        "USER: ",
        "ASSISTANT: ",
        "\n",
        "\n\n",
        "> ",
        "Question: ",
        "Context:\n",
        "Answer:",
        "{",
        '"role": "user", "content": "',
    ),
    *(
        "Write a title for this conversation.",
        "JSON only: ",
        '{"title": "…"}',
        "What is BM25?",
        "Thanks",
        "x" * 400,
    ),
    *(
        "\u200b",
        "\x00",
        "。",
        "？",
        "[[1]](https://a.example)",
        "\n**Sources**\n\n- [[1]](https://a.example) A",
    ),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60)
PARTS = st.lists(
    TEXTS
    | st.builds(lambda text: {"type": "text", "text": text}, TEXTS | st.none())
    | st.just({"type": "image_url", "image_url": {"url": "data:,"}}),
    max_size=4,
)
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(("system", "developer", "user", "assistant", "tool")),
    TEXTS | PARTS | st.none(),
)


@given(st.lists(MESSAGES, min_size=1, max_size=6))
def test_any_messages_are_read_or_refused_by_their_field(messages: list[dict[str, Any]]) -> None:
    request = ChatRequest.model_validate({"model": "openquery", "messages": messages})
    try:
        read = read_messages(request, accepts_instructions=True)
    except Refusal as refusal:
        assert refusal.errors[0].field.startswith("messages")
        return
    assert len(read.question) <= QUESTION_LIMIT
    assert read.question.strip() or read.client.message
    assert len(read.client.instructions) <= INSTRUCTIONS_LIMIT
    assert read.client.task is None or (read.client.message and not read.said)
