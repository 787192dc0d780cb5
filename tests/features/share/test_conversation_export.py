"""A conversation as a file: its sources keep their numbers, and its citations lead to them."""

from dataclasses import replace

from core.features.share.conversation_export import conversation_document, conversation_json
from core.model import AnswerFrom
from core.run.conversation import next_turn
from tests.analysis.sample import run_of
from tests.features.share.test_answer_export import anchors, section
from tests.text.rendered import links, loads_or_runs

FIRST = run_of(answer="A dam [1].\n\n## Source 1\n\nMore [2].", question="What is a tide mill?")
TURN = next_turn(FIRST, written="And *how* old?", answer_from=AnswerFrom.PAGES, coverage=0.8)
SECOND = replace(run_of(answer="Very old [2] <img src=x>.", question="How old is a tide mill?"), turn=TURN)


def test_questions_are_verbatim_and_citations_share_one_source_list() -> None:
    document = conversation_document([FIRST, SECOND])
    assert [line for line in document.splitlines() if line.startswith(("# ", "## "))] == [
        "# What is a tide mill?",
        "## 1. What is a tide mill?",
        r"## 2. And \*how\* old?",
        "## Sources",
    ]
    assert "Understood as “How old is a tide mill?”: from the pages in hand, coverage 0.80." in document
    targets = {target.removeprefix("#") for target in links(document) if target.startswith("#")}
    assert targets == {"source-1-1", "source-2"} <= set(anchors(document))
    for source in FIRST.sources[:2]:
        anchor = "source-1-1" if source.number == 1 else "source-2"
        assert source.passage.text in section(document, anchor).replace("> ", "")
    assert document.count("### Source 2") == 1
    assert not loads_or_runs(document)


def test_json_turns_name_their_sources_by_number() -> None:
    value = conversation_json([FIRST, SECOND])
    first, second = value["turns"]
    assert (first["written"], first["answer_from"]) == (FIRST.question, None)
    assert (second["written"], second["question"]) == ("And *how* old?", SECOND.question)
    assert (second["answer_from"], second["coverage"], second["cited"]) == ("pages", 0.8, [2])
    assert {number for turn in value["turns"] for number in turn["sources"]} == {
        source["number"] for source in value["sources"]
    }
