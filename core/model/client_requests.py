"""What a chat client sends with a question: its instructions, the whole message, or a task of its own."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.conversation import Exchange
from core.model.usage import ModelUsage


class ClientTaskKind(StrEnum):
    """What a chat client asks of a model beside the person's questions."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    """Questions that the person may ask next."""
    QUERIES = "queries"
    """Search queries for the client's own search."""
    QUESTION = "question"
    """The last question, rewritten so that it stands alone."""
    COMPLETION = "completion"
    """The rest of a text that the person is typing."""
    SUMMARY = "summary"
    OTHER = "other"
    """Such as an emoji or a prompt for an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """What a chat client sent with the question of a run."""

    instructions: str = ""
    """Its system and developer messages: the words of whoever operates it."""
    message: str = ""
    """The person's whole message; empty: it is the question."""
    task: ClientTaskKind | None = None
    """The task that `message` sets; None: a person asks."""
    history: tuple[Exchange, ...] = ()
    """The messages that a task is about, where they came before it."""
    reply: str | None = None
    """What a task is answered with where no model is connected; None: nothing."""
    origins: frozenset[str] = frozenset()
    """Where the texts come from that a task may quote, as `Run.origins`."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the request was read."""
    usage: tuple[ModelUsage, ...] = ()
    """What a model took that found the question, which counts in the run."""


NO_CLIENT = ClientRequest()
"""Of a question that no chat client sent."""
