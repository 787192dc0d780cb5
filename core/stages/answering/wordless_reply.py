"""Errors for replies without the requested text, with the reason."""

from core.errors import ChatFailed
from core.model import ReplyText
from core.text.sanitize import one_line

FILTERED = "Rephrase the question, or choose another model."
"""A hint for a refusal of the model or of its provider."""
_QUOTED = 200


def wordless(model: str, said: ReplyText) -> ChatFailed | None:
    """Return the error for a reply without an answer.

    The reply was refused or filtered, or it is only a tool call or reasoning. None for any other reply.
    """
    match said.finish:
        case "content_filter":
            return ChatFailed(
                f"{model} withheld its answer: the content filter of its provider stopped it.", hint=FILTERED
            )
        case "refusal":
            words = f": “{one_line(said.text, _QUOTED)}”" if said.text.strip() else ""
            return ChatFailed(f"{model} refused{words}.", hint=FILTERED)
        case "tool_calls" if not said.text.strip():
            return ChatFailed(
                f"{model} called a tool instead of answering.", hint="Ask again, or pick another model."
            )
        case "length" if said.reasoning and not said.text.strip():
            return ChatFailed(
                f"{model} spent its limit of tokens on reasoning.", hint="Choose a model that reasons less."
            )
        case _ if said.reasoning and not said.text.strip():
            return ChatFailed(
                f"{model} thought and wrote no answer.",
                hint="Its reasoning is kept in the run. Ask again, or pick another model.",
            )
    return None
