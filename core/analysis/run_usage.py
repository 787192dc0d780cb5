"""The tokens of a run in words."""

from core.model import ModelUsage, Phase
from core.run.state import Run

_PURPOSES = {
    Phase.PLAN: "search queries",
    Phase.SEARCH: "search in collections",
    Phase.EMBED: "embeddings",
    Phase.RANK: "reranking",
    Phase.ANSWER: "answers",
}


def usage_by_purpose(run: Run) -> tuple[str, ...]:
    """What used how many tokens, such as `search queries: 120 + 30`, in the order of first use."""
    purposes = _PURPOSES | ({Phase.PLAN: "steps"} if run.decisions else {})
    return tuple(f"{purposes.get(call.phase, call.phase)}: {_counts(call.usage)}" for call in run.model_usage)


def is_usage_estimated(run: Run) -> bool:
    """Whether a part of the run's usage was estimated, because a server did not count it."""
    return any(call.usage.estimated for call in run.model_usage if not call.usage.local)


def _counts(usage: ModelUsage) -> str:
    tokens = usage.tokens
    counts = f"{tokens.prompt_tokens:,}" + (
        f" + {tokens.completion_tokens:,}" if tokens.completion_tokens else ""
    )
    return f"{'≈' if usage.estimated else ''}{counts}{' (inside OpenQuery, free)' if usage.local else ''}"
