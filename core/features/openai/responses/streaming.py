"""The events of a streamed response, numbered, under the names of OpenAI's responses API."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import orjson

from core.features.api.responses.answers import answer_of, nothing_found
from core.features.api.run_following import RunFollower, RunStep, refusal_of
from core.features.openai.chat.responses import AnswerText
from core.features.openai.chat.routes import written_by
from core.features.openai.responses.views import OutputText, ResponseView, citations, message_id, response
from core.run.state import Run


class ResponseEvents:
    """Writes the events of one response."""

    def __init__(self, *, links: bool, echoed: dict[str, Any]) -> None:
        self._text = AnswerText(links=links)
        self._links, self._echoed = links, echoed
        self._number = 0
        self._sent = ""

    def begin(self, run: Run) -> Iterator[bytes]:
        """Yield the events of a response that begins."""
        begun = self._response(run).model_copy(update={"status": "in_progress"}).model_dump(mode="json")
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)

    def write(self, run: Run, text: str) -> Iterator[bytes]:
        """Yield the events of the next piece of the answer."""
        if piece := self._text.piece(run, text):
            yield from self._delta(run, piece)

    def end(self, run: Run, unsaved: str) -> Iterator[bytes]:
        """Yield the events of a response that has ended."""
        whole = self._response(run, unsaved)
        if whole.output:
            rest = self._text.end(run) if run.text else self._text.piece(run, answer_of(run))
            yield from self._delta(run, rest)
            yield from self._close(run, whole.output[0].status)
            # What was sent cannot be taken back, so it is what the response has.
            part = OutputText(text=self._sent, annotations=citations(self._text, run))
            message = whole.output[0].model_copy(update={"content": [part]})
            whole = whole.model_copy(update={"output": [message]})
        name = whole.status if whole.status in ("incomplete", "failed") else "completed"
        yield self._event(f"response.{name}", response=whole.model_dump(mode="json"))

    def fail(self, run: Run, message: str) -> bytes:
        """Return the event of a response without an answer."""
        failed = self._response(run).model_dump(mode="json")
        failed |= {"status": "failed", "error": {"code": "server_error", "message": message}}
        return self._event("response.failed", response=failed)

    def _response(self, run: Run, unsaved: str = "") -> ResponseView:
        return response(run, unsaved, links=self._links, **self._echoed)

    def _delta(self, run: Run, piece: str) -> Iterator[bytes]:
        if not self._sent:
            item = {**self._item(run, "in_progress"), "content": []}
            yield self._event("response.output_item.added", output_index=0, item=item)
            part = OutputText(text="").model_dump()
            yield self._event("response.content_part.added", **self._place(run), part=part)
        if piece:
            self._sent += piece
            yield self._event("response.output_text.delta", **self._place(run), delta=piece, logprobs=[])

    def _close(self, run: Run, status: str) -> Iterator[bytes]:
        part = OutputText(text=self._sent, annotations=citations(self._text, run))
        for index, mark in enumerate(part.annotations):
            yield self._event(
                "response.output_text.annotation.added",
                **self._place(run),
                annotation_index=index,
                annotation=mark.model_dump(),
            )
        place, content = self._place(run), part.model_dump()
        yield self._event("response.output_text.done", **place, text=self._sent, logprobs=[])
        yield self._event("response.content_part.done", **place, part=content)
        item = {**self._item(run, status), "content": [content]}
        yield self._event("response.output_item.done", output_index=0, item=item)

    def _item(self, run: Run, status: str) -> dict[str, Any]:
        return {"id": message_id(run), "type": "message", "role": "assistant", "status": status}

    def _place(self, run: Run) -> dict[str, Any]:
        return {"item_id": message_id(run), "output_index": 0, "content_index": 0}

    def _event(self, name: str, **fields: Any) -> bytes:
        data = orjson.dumps({"type": name, "sequence_number": self._number, **fields})
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


async def events_of(
    follower: RunFollower, steps: AsyncGenerator[RunStep], events: ResponseEvents
) -> AsyncGenerator[bytes]:
    """Yield the events of a run as it is answered. A failure in the middle is an event, and ends the stream."""
    async with aclosing(steps):
        run = None
        async for record, current_run, _ in steps:
            if run is None:
                for event in events.begin(current_run):
                    yield event
            run = current_run
            if record is None and run.live:
                yield b": still waiting\n\n"
            elif record is not None:
                for event in events.write(run, written_by(record.event)):
                    yield event
    if run is None:
        return
    refusal = refusal_of(run)
    if refusal and not nothing_found(run):
        yield events.fail(run, str(refusal))
        return
    for event in events.end(run, await follower.unsaved(run)):
        yield event
