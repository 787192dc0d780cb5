"""Null distribution of cosines: scores of unrelated questions on the same passages."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.text_vectors import Vectors, embed_texts
from core.ports import Embed
from core.run.state import Run
from core.text.display import decimal
from core.text.sanitize import plural, pluralize

PERCENTILE = 99.0
"""The percentile of unrelated cosines that a significant cosine exceeds."""

NEAREST_DROPPED = 4
"""The number of the forty questions to drop as too similar to this question."""

BINS = 40
UNRELATED_QUESTIONS = (
    "How long should rye bread rest before it is baked?",
    "Which muscles does swimming backstroke strengthen?",
    "When did the last glacier leave the valley?",
    "Who painted the ceiling of the town hall?",
    "Why do cats purr when they are ill?",
    "How is a cello tuned for an orchestra?",
    "What time does the night ferry leave the harbour?",
    "Which mushrooms grow under birch trees in autumn?",
    "How many players are on a handball team?",
    "What does a notary check before a house is sold?",
    "Why is the sea saltier in some bays than in others?",
    "How do you remove red wine from a wool carpet?",
    "Which king signed the peace treaty after the long war?",
    "What should a beginner know about keeping bees?",
    "How fast can a peregrine falcon dive?",
    "When are tomatoes ready to be planted outdoors?",
    "Which vaccine is given against yellow fever?",
    "How does a steam locomotive climb a steep line?",
    "What is the dress code at a summer wedding?",
    "Why did the share price of the airline fall last spring?",
    "How are pearls formed inside an oyster?",
    "Which chess opening suits a patient player?",
    "What is the capital of the island republic?",
    "How much water does a camel drink in a day?",
    "Who may vote in an election for the parish council?",
    "Why do bridges have gaps between their plates?",
    "How is cheese protected from mould while it ripens?",
    "What are the symptoms of a sprained ankle?",
    "Which novels did the lighthouse keeper's daughter write?",
    "How do farmers know when barley is ripe?",
    "What does a red flag on the beach mean?",
    "How long does a visa for a student take?",
    "Why does a boomerang come back?",
    "Which planet has the shortest year?",
    "How do you fold a paper crane?",
    "What was the rent of a flat in the old quarter in 1950?",
    "Which dog breeds get on well with small children?",
    "How is a broken violin bow repaired?",
    "What is served for breakfast in the mountains?",
    "Why do some people sneeze in bright sunlight?",
)
"""Forty questions that resemble neither each other nor a typical question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NullDistribution:
    """This question's cosines against those of unrelated questions.

    `question_shares` and `unrelated_shares` are shares of the passages in the bins between `edges`. `percentile_99` and
    `median` are of the unrelated questions' cosines. `above` of this question's cosines exceed `percentile_99`.
    """

    edges: tuple[float, ...]
    question_shares: tuple[float, ...]
    unrelated_shares: tuple[float, ...]
    passages: int
    percentile_99: float
    median: float
    above: int
    context_above: int
    context: int
    lowest_in_context: float | None

    @property
    def summary(self) -> str:
        """A sentence for a person."""
        return (
            f"{self.above:,} of {pluralize(self.passages, 'passage')} {plural(self.above, 'scores', 'score')} above {decimal(self.percentile_99, 2)}, the 99th percentile "
            f"of unrelated questions; {self.context_above} of the {self.context} in the context do."
        )


async def null_distribution(run: Run, embed: Embed) -> NullDistribution | None:
    """Return the null distribution of the run's cosines, or None without vectors or passages.

    Raises:
        EmbedFailed: when the embedder fails, or is not the one that embedded the run.
    """
    if run.index is None or run.index.vectors is None or run.index.question is None or run.ranking is None:
        return None
    cosine = run.ranking.cosine
    if cosine is None or not np.isfinite(cosine).any():
        return None
    vectors = await embed_texts(UNRELATED_QUESTIONS, embed, index=run.index)
    unrelated = null_scores(run.index.vectors, run.index.question, vectors)
    finite = cosine[np.isfinite(cosine)].astype(np.float64)
    percentile_99 = float(np.percentile(unrelated, PERCENTILE))
    context = [float(cosine[row]) for row in run.ranking.context]
    low, high = min(finite.min(), unrelated.min()), max(finite.max(), unrelated.max())
    edges = np.linspace(low, high if high > low else low + 0.01, BINS + 1)
    question_shares, unrelated_shares = (
        np.histogram(scores, edges)[0] / len(scores) for scores in (finite, unrelated)
    )
    return NullDistribution(
        edges=tuple(edges.tolist()),
        question_shares=tuple(question_shares.tolist()),
        unrelated_shares=tuple(unrelated_shares.tolist()),
        passages=len(finite),
        percentile_99=percentile_99,
        median=float(np.median(unrelated)),
        above=int((finite > percentile_99).sum()),
        context_above=sum(score > percentile_99 for score in context),
        context=len(context),
        lowest_in_context=min(context, default=None),
    )


def null_scores(passages: Vectors, question: Vectors, unrelated: Vectors) -> NDArray[np.float64]:
    """Return the cosines of passages with unrelated questions, flat.

    The questions nearest to this question are dropped.
    """
    far = np.argsort(unrelated @ question, kind="stable")[: max(len(unrelated) - NEAREST_DROPPED, 1)]
    scores = passages[~np.isnan(passages).any(axis=1)] @ unrelated[far].T
    return scores.astype(np.float64).ravel()
