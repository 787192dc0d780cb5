"""Which limit of tokens cut a reply."""

from core.model import Usage


def reached_limit(limit: int, usage: Usage | None) -> tuple[str, str]:
    """The limit that cut a reply which ended by its length, and what to do about it.

    `limit` is the number of tokens that was asked for. A server says only that a limit was reached: the
    tokens that it counted tell whether it was this one, or a lower one of its own or of the model's context.
    """
    if usage is None:
        return (
            f"a limit of tokens: that of {limit:,} for an answer, or a lower one of the model or its server",
            "Ask a narrower question, or choose fewer passages.",
        )
    if usage.completion_tokens >= limit:
        return f"the limit of {limit:,} tokens for an answer", "Ask a narrower question, or raise that limit."
    return (
        f"a limit of the model or its server after {usage.completion_tokens:,} tokens, with "
        f"{usage.prompt_tokens:,} of prompt and before the limit of {limit:,} for an answer",
        "Its context holds the prompt and the answer: choose fewer passages, or raise the context or reply limit "
        "of the server.",
    )
