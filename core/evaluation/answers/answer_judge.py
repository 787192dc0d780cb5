"""The chat model as a judge of answers, with its measured agreement with people.

A judge is asked whether the cited sources entail each sentence, several times with the same prompt, and the majority
decides. Replies are cached by prompt, model and repetition. Before any of its scores is used, it judges claims that
people have labelled; Cohen's kappa of its majority and the labels belongs to every score.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from core.adapters.cache.disk_cache import DiskCache
from core.analysis.answers.llm_judge import CLAIMS_PER_REQUEST, Verdict, judge_prompt, reply_to, verdicts
from core.errors import BadInput, ChatFailed
from core.evaluation.answers.answering import AT_ONCE, AnsweredQuestion
from core.evaluation.data_sets.lines import rows
from core.evaluation.data_sets.source import Source
from core.evaluation.statistics.agreement import kappa_interval
from core.evaluation.statistics.significance import Interval, mean_interval
from core.model import Message, Sentence
from core.ports import Chat
from core.stages.check import check
from core.stages.streams import map_concurrently
from core.text.sanitize import pluralize

COLUMNS = ("claim", "source", "label")
LEAST_LABELS = 20
"""The fewest labelled claims that agreement is measured on; with fewer its interval means nothing."""
SPACE = "judge"
"""The space of the cache."""
_LABELS_HINT = "Write a .csv with the columns claim, source (its text) and label: entailed, contradicted or not addressed."


class Support(StrEnum):
    """What the majority of a judge's verdicts on one claim comes to."""

    ENTAILED = "entailed"
    NOT_ENTAILED = "not entailed"
    """Contradicted or not addressed."""
    UNCLEAR = "no clear verdict"


_SUPPORT = {
    Verdict.ENTAILED: Support.ENTAILED,
    Verdict.CONTRADICTED: Support.NOT_ENTAILED,
    Verdict.NOT_ADDRESSED: Support.NOT_ENTAILED,
    Verdict.UNCLEAR: Support.UNCLEAR,
}
_LABELS = {str(verdict): support for verdict, support in _SUPPORT.items() if verdict is not Verdict.UNCLEAR}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledClaim:
    claim: str
    source: str
    """The text that it is compared with."""
    label: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge against labels of people."""

    kappa: Interval
    """Cohen's kappa; a claim without a clear verdict disagrees with any label."""
    claims: int
    unclear: int
    """Claims without a clear verdict."""
    stable: int
    """Claims on which all repetitions say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswers:
    """A judge's scores of answers: the share of an answer's sentences that their cited sources entail."""

    scores: Interval | None
    """The mean over answers; None when no answer has a score."""
    repetitions: tuple[float, ...]
    """The same mean by the verdicts of each repetition alone, where it has any clear one."""
    answers: int
    unclear: int
    """Sentences without a clear verdict, which are in no score."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Why an answer was not judged, by the question's id."""


class Judge:
    """A chat model that is asked about the same claims several times."""

    def __init__(self, chat: Chat, cache: DiskCache, repeats: int) -> None:
        self.identity, self.repeats = chat.identity, repeats
        self._chat, self._cache = chat, cache

    async def verdicts(
        self, claims: Sequence[Sentence], texts: Mapping[int, str]
    ) -> list[tuple[Support, ...]]:
        """The verdict of each repetition on each claim, by the texts of the sources that it cites.

        Raises:
            ChatFailed: when the model does not answer.
        """
        found: list[tuple[Support, ...]] = []
        for at in range(0, len(claims), CLAIMS_PER_REQUEST):
            some = claims[at : at + CLAIMS_PER_REQUEST]
            messages = judge_prompt(some, texts, _boundary(some, texts))
            replies = [await self._reply(messages, len(some), number) for number in range(self.repeats)]
            by_reply = [[_SUPPORT[one] for one in verdicts(reply, len(some))] for reply in replies]
            found += zip(*by_reply, strict=True)
        return found

    async def _reply(self, messages: Sequence[Message], claims: int, number: int) -> str:
        asked = repr((self.identity, number, [(one.role, one.content) for one in messages]))
        key = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()
        cached = await asyncio.to_thread(self._cache.get_many, SPACE, [key])
        if key in cached:
            return cached[key].decode()
        reply = await reply_to(messages, claims, self._chat)
        await asyncio.to_thread(self._cache.put_many, SPACE, {key: reply.encode("utf-8", "replace")})
        return reply


def read_labels(path: Path) -> tuple[LabelledClaim, ...]:
    """The labelled claims of a CSV file.

    Raises:
        BadInput: for a missing column, an unknown label, too few claims, or labels that are all the same.
    """
    try:
        found = tuple(_labelled(path))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error}.", hint=_LABELS_HINT) from error
    if len(found) < LEAST_LABELS:
        raise BadInput(
            f"{path.name} has {pluralize(len(found), 'labelled claim')}; agreement needs {LEAST_LABELS}.",
            hint="Label more claims, best those of your own answers.",
        )
    if len({one.label for one in found}) < 2:
        raise BadInput(
            f"All claims of {path.name} are {found[0].label}, so agreement beyond chance is not defined.",
            hint="Add claims with another label.",
        )
    return found


async def agreement(judge: Judge, labelled: Sequence[LabelledClaim]) -> Agreement:
    """Measure the judge on labelled claims, asked in the form in which answers are judged.

    Raises:
        ChatFailed: when the model does not answer.
    """
    numbers = {text: number for number, text in enumerate(dict.fromkeys(one.source for one in labelled), 1)}
    claims = [Sentence(start=0, end=0, cites=(numbers[one.source],), text=one.claim) for one in labelled]
    found = await judge.verdicts(claims, {number: text for text, number in numbers.items()})
    decided = [majority(one) for one in found]
    return Agreement(
        kappa=kappa_interval([one.label for one in labelled], decided),
        claims=len(labelled),
        unclear=decided.count(Support.UNCLEAR),
        stable=sum(len(set(one)) == 1 for one in found),
    )


async def judge_answers(judge: Judge, answers: Sequence[AnsweredQuestion]) -> JudgedAnswers:
    """The judge's scores of all answers but refusals. A sentence that cites nothing is not entailed, and nobody is
    asked about it. An answer that could not be judged is named with the reason, and is in no mean."""
    failed: dict[str, str] = {}
    judged: dict[str, list[tuple[Support, ...]]] = {}

    async def source() -> AsyncGenerator[AnsweredQuestion]:
        for answer in answers:
            if not (answer.refused or answer.failed):
                yield answer

    async def work(answer: AnsweredQuestion) -> bool:
        try:
            judged[answer.id] = await _sentences(judge, answer)
        except ChatFailed as error:
            failed[answer.id] = str(error)
        return True

    async with aclosing(map_concurrently(source(), work, at_once=AT_ONCE)) as progress:
        async for _ in progress:
            pass
    in_order = [judged[one.id] for one in answers if judged.get(one.id)]
    decided = [[majority(sentence) for sentence in one] for one in in_order]
    scores = [score for one in decided if (score := _score(one)) is not None]
    return JudgedAnswers(
        scores=mean_interval(scores) if scores else None,
        repetitions=tuple(
            mean for number in range(judge.repeats) if (mean := _mean_of(in_order, number)) is not None
        ),
        answers=len(scores),
        unclear=sum(one.count(Support.UNCLEAR) for one in decided),
        failed=failed,
    )


def majority(verdicts: Sequence[Support]) -> Support:
    """The verdict of more than half of the repetitions; unclear when none has so many."""
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else Support.UNCLEAR


def example_prompt() -> str:
    """The judge's prompt with one claim and one source, as it is sent."""
    claim = Sentence(start=0, end=0, cites=(1,), text="The claim.")
    messages = judge_prompt([claim], {1: "The text of source 1."}, "0123456789abcdef")
    return "\n\n".join(f"[{one.role}]\n{one.content}" for one in messages)


async def _sentences(judge: Judge, answer: AnsweredQuestion) -> list[tuple[Support, ...]]:
    texts = dict(enumerate(answer.sources, 1))
    sentences = check(answer.answer, len(texts)).sentences
    asked = iter(await judge.verdicts([one for one in sentences if one.cites], texts))
    uncited = (Support.NOT_ENTAILED,) * judge.repeats
    return [next(asked) if one.cites else uncited for one in sentences]


def _score(decided: Sequence[Support]) -> float | None:
    clear = [one for one in decided if one is not Support.UNCLEAR]
    return clear.count(Support.ENTAILED) / len(clear) if clear else None


def _mean_of(answers: Sequence[Sequence[tuple[Support, ...]]], number: int) -> float | None:
    scores = [_score([sentence[number] for sentence in one]) for one in answers]
    known = [one for one in scores if one is not None]
    return sum(known) / len(known) if known else None


def _boundary(claims: Sequence[Sentence], texts: Mapping[int, str]) -> str:
    """A code that depends on all that it encloses, so that equal questions are cached and no text can hold it."""
    enclosed = repr(([(one.text, one.cites) for one in claims], sorted(texts.items())))
    return hashlib.sha256(enclosed.encode("utf-8", "replace")).hexdigest()[:16]


def _labelled(path: Path) -> Iterator[LabelledClaim]:
    for line, (claim, source, label) in rows(Source(path), COLUMNS):
        if not claim or not source or label.lower() not in _LABELS:
            raise BadInput(
                f"{path.name}, line {line} has no claim, no source, or another label: {label[:40]!r}.",
                hint=_LABELS_HINT,
            )
        yield LabelledClaim(claim=claim, source=source, label=_LABELS[label.lower()])
