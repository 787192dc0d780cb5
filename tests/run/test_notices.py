"""The one list of what a person should know of a run."""

import json
from dataclasses import replace

from core.features.share.answer_export import answer_document
from core.model import Answer, AnswerKind, Author, Phase, Query, SearchReply, Severity, Skip, SkipReason
from core.run import events as e
from core.run.codec import event_from_json, run_to_json
from core.run.state import Run
from core.stages.check import check
from tests import samples
from tests.analysis.folded import finished, run_of
from tests.analysis.sample import run_of as sample_run

QUERIES = tuple(Query(text=text, author=Author.MODEL) for text in ("mills", "tides", "ponds"))
DOWN = ("SearXNG did not answer.", "Is it running?")


def lines(run: Run) -> list[str]:
    return [str(notice) for notice in run.notices]


def test_searches_that_failed_for_one_reason_are_one_warning() -> None:
    planned = [e.QueryPlanned(query) for query in QUERIES]
    reply = e.SearchAnswered(QUERIES[2], samples.REPLY)
    run = run_of(*planned, *(e.QueryFailed(query, *DOWN) for query in QUERIES[:2]), reply)
    assert lines(run)[0] == (
        "Warning: Search failed for queries 'mills', 'tides': SearXNG did not answer. Is it running?"
    )
    assert all(notice.severity is Severity.WARNING for notice in run.notices)


def test_what_the_run_failed_with_is_not_told_twice() -> None:
    planned = [e.QueryPlanned(query) for query in QUERIES]
    failed = [e.QueryFailed(query, *DOWN) for query in QUERIES]
    assert lines(run_of(*planned, *failed, e.RunFailed("search", *DOWN))) == []


def test_silent_collection_and_web_are_named_with_reasons() -> None:
    unresponsive = (("mills", "There is no collection mills."), ("web", "It is down. Start it."))
    reply = SearchReply(backend="library", results=samples.REPLY.results, unresponsive_engines=unresponsive)
    run = run_of(e.QueryPlanned(QUERIES[0]), e.SearchAnswered(QUERIES[0], reply))
    assert lines(run) == [
        "Warning: Not searched: mills (There is no collection mills); web (It is down. Start it)."
    ]


def test_unread_parts_of_a_source_are_told() -> None:
    run = sample_run(top_k=1)
    unread = "3 pictures were not read"
    pages = {
        key: replace(page, article=replace(page.article, left_out=unread)) for key, page in run.pages.items()
    }
    told = [line for line in lines(replace(run, pages=pages)) if unread in line]
    assert told == [f"Parts of 1 source were not read: “Title of https://a.example/boats” ({unread})."]
    assert not any("not read" in line for line in lines(run))


def test_batches_failing_for_one_reason_are_counted_in_passages() -> None:
    lost = [e.BatchFailed(number, 2, "The time was over.") for number in range(30)]
    run = run_of(*samples.until(e.Embedded), *lost, e.Indexed(samples.INDEX))
    run = replace(run, passages=run.passages * 40)
    assert lines(run)[-1] == (
        "Warning: 60 of 80 passages are not ranked, for lack of a vector: The time was over."
    )
    by_words = replace(run, notes=(e.Note(Phase.EMBED, "Passages are ranked by BM25 only."),))
    assert "not ranked" not in " ".join(lines(by_words))


def test_unread_pages_are_a_warning_when_they_are_most() -> None:
    skips = [
        e.PageSkipped(Skip(key=key, url=key, reason=SkipReason.STATUS, detail="503"))
        for key in (samples.KEY, samples.DEAD, samples.SLOW)
    ]
    start = samples.until(e.FetchStarted)
    few = run_of(*start, skips[0], e.PhaseEnded(Phase.READ)).notices[-1]
    most = run_of(*start, *skips, e.PhaseEnded(Phase.READ)).notices[-1]
    assert (few.severity, most.severity) == (Severity.INFO, Severity.WARNING)
    assert most.message == "3 of 3 search results were not read: 3 × HTTP error."
    assert run_of(*start, *skips).notices[-1].phase is Phase.SEARCH, "nothing is counted while pages are read"


def test_figure_in_no_cited_source_is_a_warning() -> None:
    text = "Delta holds 4711 sacks [1]. Delta holds."
    run = finished()
    run = replace(
        run,
        text=text,
        answer=Answer(kind=AnswerKind.WRITTEN, text=text),
        check=check(text, range(1, len(run.sources) + 1)),
    )
    assert lines(run)[-1] == (
        "Warning: 4711 is not in the sources it cites: “Delta holds 4711 sacks.” "
        "Compare the sentence with its sources."
    )


def test_name_in_no_cited_source_is_a_warning() -> None:
    text = "The mill beside the river was built by the family Brennan [1]."
    run = finished()
    checked = check(text, range(1, len(run.sources) + 1))
    written = replace(run, text=text, answer=Answer(kind=AnswerKind.WRITTEN, text=text), check=checked)
    assert "Brennan is not in the sources it cites: “The mill beside the river" in lines(written)[-1]
    quoted = replace(written, answer=Answer(kind=AnswerKind.EXTRACTIVE, text=text))
    assert "Brennan" not in " ".join(lines(quoted))


def test_stored_note_without_a_severity_is_read() -> None:
    note = event_from_json(b'{"event": "Note", "phase": "embed", "message": "Old.", "hint": ""}')
    assert note == e.Note(Phase.EMBED, "Old.")


def test_the_exports_of_a_run_have_its_notices() -> None:
    run = finished()
    exported = run_to_json(run)
    listed = [(row["severity"], row["message"]) for row in json.loads(exported)["notices"]]
    assert listed == [(str(notice.severity), notice.message) for notice in run.notices]
    section = answer_document(run).partition("## Notices\n\n")[2].partition("\n\n")[0]
    assert section.count("\n- ") + 1 == len(run.notices)
    assert "Not searched: bing (timeout)" in section
