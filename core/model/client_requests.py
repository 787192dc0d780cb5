"""The request of a chat client: instructions, the whole message, a task."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.conversation import Exchange
from core.model.usage import ModelUsage


class ClientTaskKind(StrEnum):
    """Kinds of tasks that chat clients set, besides the person's questions."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    """Questions that the person may ask next."""
    QUERIES = "queries"
    """Search queries for the client's own search."""
    QUESTION = "question"
    """The last question, rewritten as a standalone question."""
    COMPLETION = "completion"
    """The rest of a text that the person is typing."""
    SUMMARY = "summary"
    OTHER = "other"
    """Any other task, such as an emoji or a prompt for an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """The request of a chat client from which a run was started."""

    instructions: str = ""
    """System and developer messages: the words of the client's operator."""
    message: str = ""
    """The person's whole message, or "" if the question is all of it."""
    task: ClientTaskKind | None = None
    """The task that `message` sets, or None if a person asks."""
    history: tuple[Exchange, ...] = ()
    """Earlier messages that a task is about."""
    reply: str | None = None
    """The reply to a task without a chat model, or None."""
    origins: frozenset[str] = frozenset()
    """Origins of the texts that a task may quote, see `Run.origins`."""
    notes: tuple[str, ...] = ()
    """Notes for a person on how the request was read."""
    usage: tuple[ModelUsage, ...] = ()
    """Tokens of the model that wrote the question, which count in the run."""


NO_CLIENT = ClientRequest()
"""The request of a question that no chat client sent."""
