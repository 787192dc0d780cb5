"""Two answers side by side: which sentences and sources they share, and what each took."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.analysis.extraction.extractor_comparison import PagePart, Piece
from core.analysis.rankings.passage_matching import matched
from core.model import Answer, AnswerKind, Citation, Sentence
from core.run.state import AnswerVersion, Run
from core.stages.check import check
from core.text.sanitize import CHARACTERS_A_TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUsage:
    """What can be counted of one answer; None where it is not told."""

    words: int
    sentences: int
    cited: int
    """Sentences with a citation."""
    sources: int
    used: int
    """Sources that are cited."""
    context_tokens: int
    """Of its sources, estimated: four characters a token."""
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The second answer against the first.

    `pieces` are the sentences of both in reading order, kept, left out or added. `recited` counts those that
    are kept word for word and now cite other passages. `same` holds the numbers of sources that are one
    passage, first to second; `gone` and `new` those that only one has.
    """

    pieces: tuple[Piece, ...]
    recited: int
    same: Mapping[int, int]
    gone: tuple[int, ...]
    new: tuple[int, ...]
    before: SourceUsage
    after: SourceUsage

    def count(self, part: PagePart) -> int:
        return sum(piece.part is part for piece in self.pieces)

    @property
    def shared(self) -> float:
        """The share of the sentences of both that both have, from 0 to 1."""
        kept = self.count(PagePart.KEPT)
        return 2 * kept / (len(self.pieces) + kept) if self.pieces else 1.0


def versions(run: Run) -> tuple[AnswerVersion, ...]:
    """Every answer of the run, oldest first; the present one is the last."""
    now = present(run)
    return (*run.earlier_answers, now) if now else run.earlier_answers


def present(run: Run) -> AnswerVersion | None:
    """The answer that the run has now; None when there is none."""
    if run.answer is None:
        return None
    return AnswerVersion(answer=run.answer, sources=run.sources, check=run.check)


def so_far(run: Run) -> AnswerVersion | None:
    """The answer that the run has, or as much of it as is written; None before its first word."""
    if run.answer is not None or not run.text:
        return present(run)
    partial = Answer(kind=AnswerKind.WRITTEN, text=run.text, complete=False)
    return AnswerVersion(answer=partial, sources=run.sources, check=check(run.text, len(run.sources)))


def difference(before: AnswerVersion, after: AnswerVersion) -> Difference:
    """Compare two answers sentence by sentence (difflib). Case, white space and citation numbers do not count."""
    pairs = matched(
        [source.passage for source in before.sources], [source.passage for source in after.sources]
    )
    same = {before.sources[row].number: after.sources[other].number for row, other in pairs.items()}
    pieces, recited = _sentences(before, after, same)
    return Difference(
        pieces=pieces,
        recited=recited,
        same=same,
        gone=tuple(source.number for source in before.sources if source.number not in same),
        new=tuple(source.number for source in after.sources if source.number not in set(same.values())),
        before=source_usage(before),
        after=source_usage(after),
    )


def source_usage(one: AnswerVersion) -> SourceUsage:
    usage = one.answer.usage
    characters = sum(len(source.passage.text) for source in one.sources)
    return SourceUsage(
        words=len(one.answer.text.split()),
        sentences=len(one.check.sentences),
        cited=sum(bool(sentence.cites) for sentence in one.check.sentences),
        sources=len(one.sources),
        used=len(one.check.cited),
        context_tokens=math.ceil(characters / CHARACTERS_A_TOKEN),
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        cost=usage.cost if usage else None,
    )


def _sentences(
    before: AnswerVersion, after: AnswerVersion, same: Mapping[int, int]
) -> tuple[tuple[Piece, ...], int]:
    first, second = before.check.sentences, after.check.sentences
    matcher = SequenceMatcher(
        None, [_words(before, one) for one in first], [_words(after, one) for one in second], autojunk=False
    )
    pieces: list[Piece] = []
    recited = 0
    for what, start, end, other, last in matcher.get_opcodes():
        if what == "equal":
            for one, now in zip(first[start:end], second[other:last], strict=True):
                pieces.append(Piece(part=PagePart.KEPT, text=_text(after, now)))
                recited += {same.get(number, -number) for number in one.cites} != set(now.cites)
        else:
            pieces += (Piece(part=PagePart.LEFT_OUT, text=_text(before, one)) for one in first[start:end])
            pieces += (Piece(part=PagePart.ADDED, text=_text(after, one)) for one in second[other:last])
    return tuple(pieces), recited


def _text(version: AnswerVersion, sentence: Sentence) -> str:
    return version.answer.text[sentence.start : sentence.end]


def _words(version: AnswerVersion, sentence: Sentence) -> str:
    """Letters and digits of the sentence without its citations."""
    marks: list[Citation] = [
        mark for mark in version.check.citations if sentence.start <= mark.start < sentence.end
    ]
    text, at = "", sentence.start
    for mark in marks:
        text += version.answer.text[at : mark.start]
        at = max(at, mark.end)
    text += version.answer.text[at : sentence.end]
    return "".join(filter(str.isalnum, text.casefold()))
