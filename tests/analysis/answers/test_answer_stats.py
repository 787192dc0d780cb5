from dataclasses import replace

from core.analysis.answers.answer_stats import AnswerStats, answer_stats, partial_version
from core.model import AnswerKind
from core.run import events as e
from core.run.state import Run
from tests import samples
from tests.analysis.folded import finished, run_of


def stats_of(run: Run) -> AnswerStats:
    version = partial_version(run)
    assert version is not None
    return answer_stats(version)


def test_the_answer_is_reported_in_figures() -> None:
    stats = stats_of(finished())
    assert (stats.citations, stats.sources_cited, stats.sources) == (1, 1, 1), "[7] is no source"
    assert (stats.sentences_cited, stats.sentences, stats.length.words) == (1, 2, 5)
    assert stats.unknown == (7,)
    assert stats.author == "m@h"


def test_that_nothing_was_found_is_no_sentence_without_a_citation() -> None:
    run = finished()
    assert run.answer is not None
    nothing = replace(run.answer, kind=AnswerKind.NOT_FOUND)
    stats = stats_of(replace(run, answer=nothing))
    assert (stats.sentences_cited, stats.sentences) == (0, 0)


def test_an_answer_is_counted_while_it_is_written() -> None:
    stats = stats_of(run_of(*samples.until(e.TokensWritten)))
    assert stats.citations == 1
    assert stats.author == ""
