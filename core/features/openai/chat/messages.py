"""The messages of a chat client read as instructions, question, task and history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import BadInput
from core.features.openai.chat.requests import ChatRequest, ClientMessage, last_user
from core.methods.client_task import NAMES
from core.model import ClientRequest, Exchange
from core.serving.problems import Fault, Refusal
from core.text.chat.client_tasks import ClientTask, find_task
from core.text.chat.question_finding import find_question
from core.text.markdown.source_links import without_source_links
from core.text.questions import INSTRUCTIONS_LIMIT, MESSAGE_LIMIT, QUESTION_LIMIT, checked_question
from core.text.sanitize import one_line, plural, pluralize

INSTRUCTING = ("system", "developer")
"""Roles of the messages of a client's operator."""

TASK_CHARACTERS = 200
"""Characters of the title under which the run of a task is listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessages:
    """The messages of a request, read for a run."""

    question: str
    """The question, or "" if one has to be written for `client.message`."""
    client: ClientRequest
    said: tuple[Exchange, ...]
    """Earlier messages of the user, each with its answer."""


def read_messages(request: ChatRequest, *, accepts_instructions: bool) -> ReadMessages:
    """Read the messages of a request.

    Raises:
        Refusal: when no user asks, a message is too long, or it has instructions that this server does not accept; it
            names the field.
    """
    row = last_user(request)
    instructing = [place for place, message in enumerate(request.messages) if _instructs(message)]
    if instructing and not accepts_instructions:
        raise Refusal(
            400,
            "This server accepts no instructions of chat clients.",
            "Leave out system and developer messages, or have the operator set OPENQUERY_CLIENT_PROMPTS.",
            errors=[
                Fault(field=f"messages.{place}.content", message="Instructions are refused here.")
                for place in instructing
            ],
            code="unsupported_parameter",
        )
    said = history_of(request)
    message = _checked_message(request, row)
    instructions = "\n\n".join(request.messages[place].text.strip() for place in instructing)
    earlier = tuple(exchange.question for exchange in said)
    notes = tuple(_notes(request, row, instructions))
    if instructing and instructing[-1] == len(request.messages) - 1:
        # The instruction of a task may come last, as a system message.
        last = request.messages[instructing[-1]].text
        if task := find_task(last, earlier=(*earlier, message)):
            others = "\n\n".join(request.messages[place].text.strip() for place in instructing[:-1])
            history = (*said, Exchange(question=message, answer=_answers_after(request, row)))
            return _task(task, last, others, history, notes)
    if task := find_task(message, instructions, earlier):
        return _task(task, message, instructions, said, notes)
    question = find_question(message)
    is_part = question != message
    if is_part and question:
        notes += (f"The question was taken from a message of {pluralize(len(message), 'character')}.",)
    client = ClientRequest(
        instructions=instructions[:INSTRUCTIONS_LIMIT], message=message if is_part else "", notes=notes
    )
    return ReadMessages(question=question, client=client, said=said)


def history_of(request: ChatRequest) -> tuple[Exchange, ...]:
    """Return the messages of the user before the last one, each with its answer."""
    answers: list[tuple[str, list[str]]] = []
    for message in request.messages:
        if message.role == "user":
            answers.append((message.text, []))
        elif message.role == "assistant" and answers and message.text:
            answers[-1][1].append(message.text)
    return tuple(
        Exchange(question=question, answer=without_source_links("\n".join(texts)))
        for question, texts in answers[:-1]
        if question.strip()
    )


def _answers_after(request: ChatRequest, row: int) -> str:
    """Return the assistant's words after the last message of the user."""
    texts = [message.text for message in request.messages[row:] if message.role == "assistant"]
    return without_source_links("\n".join(filter(None, texts)))


def _instructs(message: ClientMessage) -> bool:
    return message.role in INSTRUCTING and bool(message.text.strip())


def _checked_message(request: ChatRequest, row: int) -> str:
    """Return the user's last message, of at most `MESSAGE_LIMIT` characters."""
    text = request.messages[row].text.strip() if row >= 0 else ""
    fault = Fault(
        field="messages" if row < 0 else f"messages.{row}.content",
        message="The last message of the user is the question.",
    )
    if len(text) > MESSAGE_LIMIT:
        raise Refusal(
            400,
            f"The message has {len(text):,} characters; the limit is {MESSAGE_LIMIT:,}.",
            "Leave out what the question does not need, or add the text to a collection.",
            errors=[fault],
        )
    try:
        checked_question(text[:QUESTION_LIMIT])
    except BadInput as error:
        raise Refusal(400, error.message, error.hint, errors=[fault]) from error
    return text


def _notes(request: ChatRequest, row: int, instructions: str) -> Iterator[str]:
    """Yield notes for a person on how the messages were read."""
    if len(instructions) > INSTRUCTIONS_LIMIT:
        yield (
            f"The model was given the first {INSTRUCTIONS_LIMIT:,} of "
            f"{pluralize(len(instructions), 'character')} of the chat client's instructions."
        )
    if tools := request.client_tools:
        yield f"The client offers {pluralize(len(tools), 'tool')}. OpenQuery calls none: it answers from its own search."
    if left_out := sum(len(message.other_parts) for message in request.messages[:row]):
        were = plural(left_out, "was", "were")
        yield f"{pluralize(left_out, 'image or other part')} of earlier messages {were} not read: only text is."


def _task(
    task: ClientTask, message: str, instructions: str, history: Sequence[Exchange], notes: tuple[str, ...]
) -> ReadMessages:
    """Return a task as a run, with a title for lists of runs as its question."""
    name = NAMES[task.kind].capitalize()
    client = ClientRequest(
        instructions=instructions[:INSTRUCTIONS_LIMIT],
        message=message,
        task=task.kind,
        history=tuple(history),
        reply=task.reply_without_model(),
        notes=notes,
    )
    title = one_line(f"{name} for a chat client: {task.about or task.latest or message}", TASK_CHARACTERS)
    return ReadMessages(question=title, client=client, said=())
