"""What is new between two runs of one question."""

import json
from dataclasses import replace

import pytest

from core.analysis.change_document import change_document, change_lines
from core.analysis.run_changes import ChangeKind, ChangeScores, run_changes
from core.model import SkipReason
from core.run.state import Run
from tests.analysis.sample import TEXTS, answered, run_of

BOATS, LAMPS, CLOUDS = TEXTS
ANSWER = "A red boat lies on the river [1]. Clouds drift [2]."
BEFORE = run_of(answer=ANSWER)
NOTHING = ChangeScores(sources=0, texts=0, answer=0)


def numbered(run: Run, url: str) -> int:
    return next(source.number for source in run.sources if source.url == url)


def test_a_run_has_nothing_new_against_its_like() -> None:
    changes = run_changes(BEFORE, run_of(answer=ANSWER))
    assert (changes.pages, changes.passages, changes.sources, changes.ranks) == ((), (), (), ())
    assert changes.scores == NOTHING
    assert [*change_lines(changes)] == []


def test_changed_fact_is_a_changed_source_with_its_sentence() -> None:
    texts = {**TEXTS, BOATS: TEXTS[BOATS].replace("1912", "1913")}
    changes = run_changes(BEFORE, run_of(texts, answer=ANSWER.replace("red", "blue")))
    (change,), (page,) = changes.sources, changes.pages
    assert (change.kind, page.kind) == (ChangeKind.CHANGED, ChangeKind.CHANGED)
    assert changes.scores == ChangeScores(sources=0, texts=1 / 3, answer=pytest.approx(1 / 2))
    lines = [*change_lines(changes)]
    assert "      - It was built in 1912 by Ada Stone." in lines
    assert "      + It was built in 1913 by Ada Stone." in lines
    assert lines[lines.index("Answer") :][1:3] == [
        "  - A red boat lies on the river.",
        "  + A blue boat lies on the river.",
    ]


def test_removed_and_added_sources_are_named_with_the_reason() -> None:
    texts = {url: text for url, text in TEXTS.items() if url != LAMPS}
    texts["https://d.example/rafts"] = "A raft is a flat boat for the river."
    after = run_of(texts, skipped={LAMPS: SkipReason.STATUS}, answer=ANSWER)
    changes = run_changes(BEFORE, after)
    assert [(change.kind, change.passage.text) for change in changes.sources] == [
        (ChangeKind.NEW, texts["https://d.example/rafts"]),
        (ChangeKind.GONE, TEXTS[LAMPS]),
    ]
    assert changes.scores.sources == pytest.approx(2 / 6)
    assert {kind: len(keys) for kind, keys in changes.source_pages.items()} == {
        ChangeKind.NEW: 1,
        ChangeKind.GONE: 1,
    }
    (gone,) = (change for change in changes.pages if change.kind is ChangeKind.GONE)
    assert gone.reason == "HTTP error: detail"
    lines = "\n".join(change_lines(changes))
    assert f"- [{numbered(BEFORE, LAMPS)}] Title of {LAMPS}" in lines
    assert f"+ [{numbered(after, 'https://d.example/rafts')}]" in lines
    assert "(HTTP error: detail)" in lines


def test_moved_text_is_no_change_of_the_sources() -> None:
    texts = {"https://mirror.example/boats": TEXTS[BOATS], LAMPS: TEXTS[LAMPS], CLOUDS: TEXTS[CLOUDS]}
    changes = run_changes(BEFORE, run_of(texts, answer=ANSWER))
    assert [change.kind for change in changes.sources] == [ChangeKind.MOVED]
    assert changes.scores == NOTHING


def test_reordered_context_is_a_change_of_ranks_alone() -> None:
    assert BEFORE.ranking is not None
    ranking = replace(BEFORE.ranking, context=BEFORE.ranking.context[::-1])
    changes = run_changes(BEFORE, replace(BEFORE, ranking=ranking))
    assert {(change.before_number, change.after_number) for change in changes.ranks} == {(1, 3), (3, 1)}


def test_run_without_an_answer_differs_wholly_from_one_with() -> None:
    changes = run_changes(BEFORE, run_of())
    assert changes.answer is None
    assert changes.scores == ChangeScores(sources=0, texts=0, answer=1)
    assert "  - there is none any more" in change_lines(changes)
    assert run_changes(Run(), Run()).scores == NOTHING


def test_all_that_is_new_is_json() -> None:
    document = change_document(run_changes(BEFORE, answered(run_of({BOATS: TEXTS[BOATS]}), "It is red [1].")))
    assert json.loads(json.dumps(document)) == document
    assert [source["kind"] for source in document["sources"]] == ["gone", "gone"]
    assert document["answer"]["added"] == ["It is red."]
    assert [rank["after"] for rank in document["ranks"]] == [None, None]
