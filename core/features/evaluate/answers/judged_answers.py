"""Answers scored by an LLM judge, with its measured agreement with people.

A judge is asked whether the cited sources entail each sentence, several times with the same prompt, and the majority
decides. Its scores come with Cohen's kappa between its majority and labels of people, if labels are given, and with the
agreement among its repetitions.
"""

import csv
import io
from collections import Counter
from collections.abc import AsyncGenerator, Hashable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import pstdev

from core.analysis.answers.llm_judge import Entailment, Judge
from core.errors import BadInput, ChatFailed
from core.features.evaluate.answers.answering import AT_ONCE, AnsweredQuestion
from core.features.evaluate.data_sets.lines import rows
from core.features.evaluate.data_sets.source import Source
from core.features.evaluate.record_file import RecordHeader
from core.features.evaluate.statistics.significance import Interval, mean_interval
from core.model import Sentence
from core.stages.check import check
from core.stages.streams import map_concurrently, stream
from core.text.sanitize import pluralize, spreadsheet_cell

COLUMNS = ("claim", "source", "label")
LEAST_LABELS = 20
"""The fewest labelled claims for measuring agreement: fewer give a meaningless interval."""
_LABELS_HINT = "Write a .csv with the columns claim, source (its text) and label: entailed, contradicted or not addressed."


_SUPPORT = {
    Entailment.ENTAILED: True,
    Entailment.CONTRADICTED: False,
    Entailment.NOT_ADDRESSED: False,
    Entailment.UNCLEAR: None,
}
_LABELS = {str(verdict): support for verdict, support in _SUPPORT.items() if support is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledClaim:
    """A claim with the label that a person gave it."""

    claim: str
    source: str
    """The text to compare the claim with."""
    supported: bool
    """Whether the label is `entailed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The agreement of a judge with labels of people."""

    kappa: Interval
    """Cohen's kappa. A claim without a clear verdict disagrees with any label."""
    claims: int
    unclear: int
    """Claims without a clear verdict."""
    stable: int
    """Claims with the same verdict in all repetitions."""


@dataclass(frozen=True, kw_only=True)
class JudgeHeader(RecordHeader):
    """The judge of a folder's answers."""

    judge: str
    repeats: int
    agreement: Agreement | None = None
    """The agreement with people, or None without labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """The verdicts on one answer, or the reason why the judge failed."""

    id: str
    verdicts: tuple[tuple[Entailment, ...], ...] = ()
    """The verdicts of all repetitions, for each sentence."""
    failed: str = ""

    @property
    def decided(self) -> tuple[bool | None, ...]:
        """Whether each sentence is entailed, by the majority."""
        return tuple(map(majority, self.verdicts))

    @property
    def score(self) -> float | None:
        """The entailed share of the sentences with a clear verdict, or None without any."""
        return _score(self.decided)


@dataclass(frozen=True, kw_only=True)
class JudgedAnswers:
    """A judge's scores of answers.

    A score is the share of an answer's sentences that their cited sources entail.
    """

    header: JudgeHeader
    answers: tuple[JudgedAnswer, ...]

    @cached_property
    def judged(self) -> tuple[JudgedAnswer, ...]:
        """The judged answers that have a sentence."""
        return tuple(answer for answer in self.answers if answer.verdicts)

    @property
    def failed(self) -> tuple[str, ...]:
        """The reasons why answers were not judged."""
        return tuple(answer.failed for answer in self.answers if answer.failed)

    @cached_property
    def by_answer(self) -> dict[str, float]:
        """The score of each scored answer, by question id."""
        return {answer.id: score for answer in self.judged if (score := answer.score) is not None}

    @cached_property
    def scores(self) -> Interval | None:
        """The mean score over answers, or None without scores."""
        return mean_interval(list(self.by_answer.values())) if self.by_answer else None

    @cached_property
    def repetitions(self) -> tuple[float, ...]:
        """The mean score by each repetition alone, if it has a clear verdict."""
        means = (_mean_of(self.judged, number) for number in range(self.header.repeats))
        return tuple(mean for mean in means if mean is not None)

    @property
    def deviation(self) -> float:
        """The standard deviation of `repetitions`, which is due to the judge alone."""
        return pstdev(self.repetitions) if self.repetitions else 0.0

    @property
    def unclear(self) -> int:
        """The number of sentences without a clear verdict, which no score counts."""
        return sum(answer.decided.count(None) for answer in self.judged)

    @cached_property
    def stable(self) -> Interval | None:
        """The mean share of an answer's sentences with the same verdict in all repetitions."""
        shares = [
            sum(_is_stable(verdicts) for verdicts in answer.verdicts) / len(answer.verdicts)
            for answer in self.judged
        ]
        return mean_interval(shares) if shares else None


def read_labels(path: Path) -> tuple[LabelledClaim, ...]:
    """Read the labelled claims of a CSV file.

    Raises:
        BadInput: for a missing column, an unknown label, too few claims, or labels that are all the same.
    """
    try:
        labelled = tuple(_labelled(path))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error}.", hint=_LABELS_HINT) from error
    if len(labelled) < LEAST_LABELS:
        raise BadInput(
            f"{path.name} has {pluralize(len(labelled), 'labelled claim')}; agreement needs {LEAST_LABELS}.",
            hint="Label more claims, best those of your own answers.",
        )
    if len({claim.supported for claim in labelled}) < 2:
        raise BadInput(
            f"All claims of {path.name} are {'' if labelled[0].supported else 'not '}entailed, so agreement beyond chance is not defined.",
            hint="Add claims with another label.",
        )
    return labelled


def claims_to_label(answers: Sequence[AnsweredQuestion]) -> bytes:
    """Return the citing sentences and their sources as a CSV file for labelling.

    `read_labels` reads the file after a person has filled in the labels.
    """
    out = io.StringIO()
    sheet = csv.writer(out)
    sheet.writerow(COLUMNS)
    for answer in answers:
        for sentence in answer.sentences:
            if sentence.cited:
                texts = (answer.sources[use.number - 1] for use in sentence.cited)
                sheet.writerow(spreadsheet_cell(text) for text in (sentence.text, "\n\n".join(texts), ""))
    return out.getvalue().encode("utf-8-sig", "replace")


async def agreement(judge: Judge, labelled: Sequence[LabelledClaim]) -> Agreement:
    """Measure the judge on labelled claims.

    Raises:
        ChatFailed: when the model does not answer.
    """
    numbers = {
        text: number for number, text in enumerate(dict.fromkeys(claim.source for claim in labelled), 1)
    }
    claims = [
        Sentence(start=0, end=0, cites=(numbers[claim.source],), text=claim.claim) for claim in labelled
    ]
    verdicts_by_claim = await judge.verdicts(claims, {number: text for text, number in numbers.items()})
    decided = [majority(verdicts) for verdicts in verdicts_by_claim]
    return Agreement(
        kappa=kappa_interval([claim.supported for claim in labelled], decided),
        claims=len(labelled),
        unclear=decided.count(None),
        stable=sum(map(_is_stable, verdicts_by_claim)),
    )


def kappa_interval(first: Sequence[Hashable], second: Sequence[Hashable]) -> Interval:
    """Return Cohen's kappa of two raters (Cohen 1960).

    Kappa is (observed agreement - agreement by chance) / (1 - agreement by chance). Chance is the product of the
    raters' own shares of each category. 1 is full agreement, 0 is agreement by chance.

    The interval is Wilson's of the observed agreement on kappa's scale. Agreement by chance is taken as known, as in
    Cohen's own standard error.

    Raises:
        ValueError: when there is no item, the lengths differ, or both raters use one and the same category only.
    """
    chance = _chance(first, second)
    observed = mean_interval([rating == other for rating, other in zip(first, second, strict=True)])
    mean, low, high = (
        (share - chance) / (1 - chance) for share in (observed.mean, observed.low, observed.high)
    )
    return Interval(mean, max(low, -1.0), high)


async def judge_answers(judge: Judge, answers: Sequence[AnsweredQuestion]) -> AsyncGenerator[JudgedAnswer]:
    """Yield the verdicts on all answers except refusals.

    A sentence without a citation is not entailed, and the model is not asked about it. An answer on which the model
    fails is yielded with the reason.
    """

    async def judged(answer: AnsweredQuestion) -> JudgedAnswer:
        try:
            return JudgedAnswer(id=answer.id, verdicts=await _verdicts(judge, answer))
        except ChatFailed as error:
            return JudgedAnswer(id=answer.id, failed=str(error))

    to_judge = stream(answer for answer in answers if not (answer.refused or answer.failed))
    async with aclosing(map_concurrently(to_judge, judged, at_once=AT_ONCE)) as results:
        async for result in results:
            yield result


def majority(verdicts: Sequence[Entailment]) -> bool | None:
    """Return the clear majority of the verdicts, or None.

    True means that more than half of the repetitions say "entailed", False that more than half say the contrary.
    """
    support, count = Counter(_SUPPORT[verdict] for verdict in verdicts).most_common(1)[0]
    return support if 2 * count > len(verdicts) else None


async def _verdicts(judge: Judge, answer: AnsweredQuestion) -> tuple[tuple[Entailment, ...], ...]:
    texts = dict(enumerate(answer.sources, 1))
    sentences = check(answer.answer, texts).sentences
    cited_verdicts = iter(await judge.verdicts([sentence for sentence in sentences if sentence.cites], texts))
    uncited = (Entailment.NOT_ADDRESSED,) * judge.repeats
    return tuple(next(cited_verdicts) if sentence.cites else uncited for sentence in sentences)


def _is_stable(verdicts: Sequence[Entailment]) -> bool:
    return len({_SUPPORT[verdict] for verdict in verdicts}) == 1


def _score(decided: Sequence[bool | None]) -> float | None:
    clear = [supported for supported in decided if supported is not None]
    return sum(clear) / len(clear) if clear else None


def _mean_of(answers: Sequence[JudgedAnswer], number: int) -> float | None:
    scores = [_score([_SUPPORT[verdicts[number]] for verdicts in answer.verdicts]) for answer in answers]
    defined = [score for score in scores if score is not None]
    return sum(defined) / len(defined) if defined else None


def _labelled(path: Path) -> Iterator[LabelledClaim]:
    for line, (claim, source, label) in rows(Source(path), COLUMNS):
        if not claim or not source or label.lower() not in _LABELS:
            raise BadInput(
                f"{path.name}, line {line} has no claim, no source, or another label: {label[:40]!r}.",
                hint=_LABELS_HINT,
            )
        yield LabelledClaim(claim=claim, source=source, supported=_LABELS[label.lower()])


def _chance(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return raters' agreement by chance from their category shares."""
    if not first or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings are no pairs")
    ours, theirs = Counter(first), Counter(second)
    chance = sum(ours[category] * theirs[category] for category in ours) / (len(first) * len(second))
    if chance >= 1:
        raise ValueError("both raters use one category only, so agreement by chance is full")
    return chance
