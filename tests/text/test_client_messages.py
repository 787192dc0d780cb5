"""Messages of chat clients: reading them takes linear time, and a cut changes no task into a failure."""

import json
from pathlib import Path

import pytest

from core.model import ClientTaskKind
from core.text.chat.client_tasks import find_task
from core.text.chat.question_finding import find_question
from core.text.questions import MESSAGE_LIMIT, QUESTION_LIMIT
from tests.growth import LINEAR, growth, repeated

HOSTILE = (
    "<a>",
    "<a></b>",
    "<history>\n",
    "[[ ## a ## ]]\n",
    "User: a\nAI: b\n",
    '{"role": "user", "content": "\\',
    "```\n",
    "Question: a\n",
    "Give this conversation a short title only\n\n",
    "a? ",
    "\n ",
    "> a\n",
    "{ ",
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.thorough
def test_reading_a_message_takes_linear_time(piece: str) -> None:
    def read(text: str) -> None:
        find_task(text, text[:8000])
        find_question(text)

    assert growth(repeated(piece), read, MESSAGE_LIMIT // 10, MESSAGE_LIMIT) < LINEAR


def test_prompt_that_is_cut_anywhere_is_read() -> None:
    lines = (Path(__file__).parents[1] / "data" / "chat_clients.jsonl").read_text("utf-8").splitlines()
    prompt = json.loads(lines[0])["body"]["messages"][0]["content"]
    begins = prompt.index("<chat_history>\n") + len("<chat_history>\n")
    for end in range(len(prompt)):
        task = find_task(prompt[:end])
        assert len(find_question(prompt[:end])) <= QUESTION_LIMIT
        assert task is None or task.kind is ClientTaskKind.TITLE
        assert task is not None or end <= begins
