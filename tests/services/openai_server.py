"""FakeOpenAI: an OpenAI-compatible server on loopback, scripted by the test.

    def test_something(fake_openai): ...              # the fixture, or `with FakeOpenAI() as fake_openai:`

    fake_openai.base_url                              # "http://127.0.0.1:<port>/v1"
    fake_openai.chats.append(streamed("Hel", "lo [1]."))   # the next chat reply; one entry a request
    fake_openai.chats.append(failure(429, retry_after="1"))
    fake_openai.embeddings.append(Fault.SHUFFLED)     # what is wrong with the next embedding reply
    fake_openai.embeddings.append(failure(500))
    fake_openai.embeddings.extend([None, failure(500)])    # good vectors first, and then a failure
    fake_openai.models = ["my-model"]                 # what /models lists
    fake_openai.serves = {"my-model"}                 # any other model gets 404; None, as at first: none does
    fake_openai.lists = False                         # /models is 404, as with servers that have no list
    fake_openai.key = "sk-right"                      # any other key gets 401

`MARKDOWN_ANSWER` is an answer with all the Markdown that chat models write, for sources 1 to 3.

With nothing scripted, a chat request is answered with `fake_openai.chat` (streamed or whole, as asked)
and an embedding request with good vectors. Scripted entries are used up in the order of the requests.

What was received: `requests` (all, each with `.path`, `.headers`, `.body`, `.json`), `chat_requests`,
`embedding_requests`. `await request.hung_up()` waits until the client dropped that request.

Chat replies
    streamed(*texts, reasoning=(), finish="stop", usage=(12, 5), cost=None, split=False)
                        `split` sends every byte by itself, so no character arrives whole; a Gate among the
                        texts holds the stream there: `await gate.reached()`, look, then `gate.open()`;
                        Cut() among the texts resets the connection; a text may also be raw bytes
    called(("find", {"text": "x"}), ..., text="")   tool calls, their arguments cut into pieces
    streamed(..., finish=None, done=False)   ends cleanly without an end mark
    streamed(..., unended=True)              closes in the middle of the chunked body
    whole(text)                              one JSON completion, streamed or not asked for
    failure(status, message="...", retry_after=None)   an error in OpenAI's JSON shape
    html_reply(...), Reply(...)              from tests.services.loopback: anything else

Vectors: `vector(text, width)` is deterministic; texts that share words have a higher cosine. Replies come as
base64 or floats, as the request's `encoding_format` says. `fake_openai.width` is their width (default 64).
"""

import base64
import hashlib
import json
import re
from collections import deque
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.services.loopback import Cut, Gate, Loopback, Reply, Request, json_reply

MODEL = "fake-chat"
EMBEDDER = "fake-embed"

MARKDOWN_ANSWER = """\
## What the sources say

**Short answer:** three rules apply to a tide mill [1][2].

- **Siting rules.** The dam must lie above the low-water mark. [1, 2]
- **Licences.** A licence is needed (Source 2), and it lapses after 20 years.[3]
  - It may be renewed once [Source 2: Licences of the coast](https://coast.example/licences).
  - *Transfers* need the consent of the port [2].

The steps are:

1. Apply to the port [1].
2. Wait for the survey, e.g. by Dr. Tide, of 3.5 weeks [2][3].

| Mill | Built | Wheels |
|:-----|------:|--------|
| **Eling** | 1785 [1] | two |
| Woodbridge | 1793 | one [2] |

> The tide waits for nobody. [3]

```python
head = tide["high"] - tide["low"]  # metres [1]
```

---

In short, ask the port before you build.
"""
"""Headings, bold lead-ins, nested and numbered lists, a table, a quote, code, and citations in every bracket."""


class Fault(StrEnum):
    """What is wrong with an embedding reply."""

    SHUFFLED = "shuffled"
    """All vectors with their right indexes, in another order: a client must put them back."""
    TOO_FEW = "too few"
    TOO_MANY = "too many"
    REPEATED_INDEX = "repeated index"
    NAN = "nan"
    ZERO = "zero"
    OTHER_WIDTH = "other width"
    """Every row has another width than `width`, though all have the same."""
    MIXED_WIDTHS = "mixed widths"


def sse(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    """One `chat.completion.chunk` event. With `delta` None it has no choices, as usage-only chunks do."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return sse(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": MODEL,
            "choices": choices,
            **more,
        }
    )


def streamed(
    *texts: str | bytes | Gate | Cut,
    reasoning: Sequence[str] = (),
    finish: str | None = "stop",
    usage: tuple[int, int] | None = (12, 5),
    cost: float | None = None,
    done: bool = True,
    unended: bool = False,
    split: bool = False,
) -> Reply:
    parts: list[bytes | Gate | Cut] = [chunk({"role": "assistant", "content": ""})]
    parts += [chunk({"reasoning": text, "content": ""}) for text in reasoning]
    parts += [chunk({"content": text}) if isinstance(text, str) else text for text in texts]
    if finish is not None:
        parts.append(chunk({}, finish=finish))
    if usage is not None:
        parts.append(chunk(usage=_usage(usage, cost)))
    if done and not unended:
        parts.append(b"data: [DONE]\n\n")
    if split:
        parts = [
            piece for part in parts for piece in (_bytewise(part) if isinstance(part, bytes) else [part])
        ]
    return Reply(tuple(parts), content_type="text/event-stream", streamed=True, unended=unended)


def called(
    *calls: tuple[str, Any],
    text: str = "",
    usage: tuple[int, int] | None = (12, 5),
    cost: float | None = None,
) -> Reply:
    """A reply that calls these tools, each by its name and its arguments, which may be no JSON at all."""
    deltas: list[dict[str, Any]] = []
    for index, (name, arguments) in enumerate(calls):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        deltas.append({"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name}})
        deltas += (
            {"index": index, "function": {"arguments": written[start : start + 5]}}
            for start in range(0, len(written), 5)
        )
    pieces = [chunk({"content": None, "tool_calls": [delta]}) for delta in deltas]
    return streamed(*([text] if text else []), *pieces, finish="tool_calls", usage=usage, cost=cost)


def whole(text: str, *, finish: str = "stop", usage: tuple[int, int] = (12, 5)) -> Reply:
    message = {"role": "assistant", "content": text}
    return json_reply(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": _usage(usage, None),
        }
    )


def failure(status: int, message: str = "It went wrong.", *, retry_after: str | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return json_reply(
        {"error": {"message": message, "type": "error", "code": status}}, status=status, headers=headers
    )


def vector(text: str, width: int) -> NDArray[np.float32]:
    """The unit vector of a text: the sum of a fixed random direction for each of its words."""
    total = np.zeros(width)
    for word in re.findall(r"\w+", text.lower()) or [text]:
        total += _direction(word, width)
    return (total / np.linalg.norm(total)).astype(np.float32)


@cache
def _direction(word: str, width: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(width)


class FakeOpenAI(Loopback):
    def __init__(self) -> None:
        super().__init__(self._reply)
        self.chats: deque[Reply] = deque()
        self.embeddings: deque[Reply | Fault | None] = deque()
        self.chat = "An answer from the test server [1]."
        self.models = [MODEL, EMBEDDER]
        self.serves: set[str] | None = None
        self.lists = True
        self.key: str | None = None
        self.width = 64

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def chat_requests(self) -> list[Request]:
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    @property
    def embedding_requests(self) -> list[Request]:
        return [request for request in self.requests if request.path == "/v1/embeddings"]

    async def _reply(self, request: Request) -> Reply:
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return failure(401, "Incorrect API key provided.")
        match request.method, request.path:
            case "GET", "/v1/models" if self.lists:
                models = [{"id": name, "object": "model", "owned_by": "tests"} for name in self.models]
                return json_reply({"object": "list", "data": models})
            case "POST", "/v1/chat/completions" if not self._is_served(request.json.get("model")):
                return failure(404, f"The model {request.json.get('model')} does not exist.")
            case "POST", "/v1/chat/completions":
                if self.chats:
                    return self.chats.popleft()
                return streamed(self.chat) if request.json.get("stream") else whole(self.chat)
            case "POST", "/v1/embeddings":
                scripted = self.embeddings.popleft() if self.embeddings else None
                return scripted if isinstance(scripted, Reply) else self._embedded(request, scripted)
        return failure(404, "No such endpoint.")

    def _is_served(self, model: object) -> bool:
        return self.serves is None or model in self.serves

    def _embedded(self, request: Request, fault: Fault | None) -> Reply:
        texts = request.json["input"]
        texts = [texts] if isinstance(texts, str) else texts
        as_base64 = request.json.get("encoding_format") == "base64"
        vectors = _spoiled([vector(text, self.width) for text in texts], fault)
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.tobytes()).decode() if as_base64 else row.tolist(),
            }
            for index, row in enumerate(vectors)
        ]
        if fault is Fault.SHUFFLED:
            rows = rows[1::2] + rows[::2]
        if fault is Fault.REPEATED_INDEX:
            rows[0]["index"] = rows[-1]["index"]  # not 0 alone, which some servers say of every row
        tokens = sum(len(text.split()) for text in texts)
        return json_reply(
            {
                "object": "list",
                "data": rows,
                "model": request.json.get("model"),
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )


def _spoiled(vectors: list[NDArray[np.float32]], fault: Fault | None) -> list[NDArray[np.float32]]:
    match fault:
        case Fault.TOO_FEW:
            return vectors[:-1]
        case Fault.TOO_MANY:
            return [*vectors, vectors[0]]
        case Fault.NAN:
            return [*vectors[:-1], np.full_like(vectors[-1], np.nan)]
        case Fault.ZERO:
            return [*vectors[:-1], np.zeros_like(vectors[-1])]
        case Fault.OTHER_WIDTH:
            return [np.append(row, np.float32(0.5)) for row in vectors]
        case Fault.MIXED_WIDTHS:
            return [*vectors[:-1], np.append(vectors[-1], np.float32(0.5))]
        case _:
            return vectors


def _usage(usage: tuple[int, int], cost: float | None) -> dict[str, Any]:
    counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return counted if cost is None else {**counted, "cost": cost}


def _bytewise(part: bytes) -> list[bytes]:
    return [part[i : i + 1] for i in range(len(part))]
