from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.retrieval.trace import TraceOutcome, absence_from_answer, matches
from core.model import SkipReason
from core.run.state import Run
from core.stages.ranking.context_selection import ExclusionReason
from tests.analysis.sample import TEXTS, run_of
from tests.growth import LINEAR, growth

GONE = "https://gone.example/"
RUN = run_of(skipped={GONE: SkipReason.STATUS}, answer="A red boat lies there [1].", top_k=2)


@pytest.mark.parametrize(
    ("sought", "end", "said"),
    [
        ("", TraceOutcome.EMPTY_QUERY, "Paste"),
        ("https://never.example/page", TraceOutcome.NEVER_A_HIT, "No query found"),
        ("https://a.example/other", TraceOutcome.NEVER_A_HIT, "1 other page"),
        (GONE, TraceOutcome.SKIPPED, "HTTP error"),
        ("http://www.a.example/boats/?utm_source=x", TraceOutcome.CITED, "source 1"),
        ("c.example/clouds", TraceOutcome.NOT_CITED, "never cites"),
        ("b.example/lamps", TraceOutcome.LEFT_OUT, "Ranked 3rd of 3"),
        ("They cost 15 crowns each.", TraceOutcome.LEFT_OUT, "below the cut-off"),
        ("a RED boat   lies on the “river”", TraceOutcome.CITED, "cites it"),
        ("Nobody ever wrote such a sentence anywhere.", TraceOutcome.NOT_IN_ANY_PAGE, "1 page was skipped"),
        ("Snippet about https gone example", TraceOutcome.SKIPPED, "snippet for"),
        (
            "Snippet about https a example boats",
            TraceOutcome.NOT_EXTRACTED,
            "extracted from the page does not",
        ),
    ],
)
def test_it_tells_where_a_sentence_or_address_ended(sought: str, end: TraceOutcome, said: str) -> None:
    trace = absence_from_answer(RUN, sought)
    assert trace.outcome is end
    assert said in trace.message


def test_limit_of_documents_is_named_where_it_excluded_a_page() -> None:
    trace = absence_from_answer(run_of(max_documents=1), "They cost 15 crowns each.")
    assert trace.outcome is TraceOutcome.LEFT_OUT
    assert trace.message.endswith("limit of documents reached.")


def test_rank_stands_beside_score_and_cut_off() -> None:
    trace = absence_from_answer(RUN, "They cost 15 crowns each.")
    assert RUN.index is not None and RUN.ranking is not None and RUN.ranking.fused is not None
    [part] = trace.passages
    assert (part.rank, part.number, part.reason) == (3, None, ExclusionReason.CUT)
    assert part.score == pytest.approx(float(RUN.ranking.fused[part.row]))
    assert trace.cutoff == pytest.approx(float(RUN.ranking.fused[RUN.ranking.context[-1]]))
    assert trace.place is not None
    assert RUN.pages[trace.place.page].text[trace.place.start : trace.place.end] == "They cost 15 crowns each"


def test_reported_score_is_the_one_that_decided() -> None:
    for knobs, name in (({"strategy": "fused"}, "fused"), ({"diversity": 0.5}, "marginal relevance")):
        run = run_of(top_k=2, **knobs)
        trace = absence_from_answer(run, "They cost 15 crowns each.")
        assert trace.score_name == name
        assert trace.cutoff is not None
        assert trace.passages[0].score is not None
        assert trace.passages[0].score <= trace.cutoff


def test_sentence_cut_in_two_has_the_ranks_of_both() -> None:
    sentence = "The boat " + " ".join(f"passed bridge number{n}" for n in range(20)) + "."
    run = run_of({"https://a.example/": sentence}, size=200)
    trace = absence_from_answer(run, sentence)
    assert trace.outcome is TraceOutcome.SPLIT
    assert len(trace.passages) > 1
    assert [part.number for part in trace.passages[:2]] == [1, 2]


def test_changed_sentence_is_found_with_its_similarity() -> None:
    trace = absence_from_answer(RUN, "In 1912 it was built by Ada")
    assert trace.place is not None
    assert 0.6 <= trace.similarity < 1
    assert "1912" in RUN.pages[trace.place.page].text[trace.place.start : trace.place.end]


def test_result_beyond_the_limit_names_query_and_rank() -> None:
    run = run_of({f"https://{n}.example/": f"boat {n}" for n in range(8)})
    trace = absence_from_answer(run, "https://7.example")
    assert trace.outcome is TraceOutcome.BEYOND_THE_LIMIT
    assert "rank 8" in trace.message


def test_the_furthest_of_several_places_is_reported() -> None:
    same = "One sentence stands on two pages."
    run = run_of(
        {"https://a.example/": f"{same} The river boat.", "https://b.example/": f"Nothing else. {same}"},
        top_k=1,
    )
    assert absence_from_answer(run, same).outcome is TraceOutcome.NOT_CITED


def test_scripts_without_spaces_are_searched_too() -> None:
    texts = {"a": "昨日は東京で雨が降った。今日は晴れている。", "b": "京都の寺を訪ねた。"}
    [match] = matches("東京で雨が降った", texts)
    assert texts["a"][match.start : match.end] == "東京で雨が降った"


def test_passages_of_unfinished_runs_are_traced_too() -> None:
    assert absence_from_answer(Run(question="?"), "anything at all").outcome is TraceOutcome.NOT_IN_ANY_PAGE
    waiting = replace(RUN, pages={}, skips={})
    assert absence_from_answer(waiting, "https://a.example/boats").outcome is TraceOutcome.NOT_READ_YET
    assert (
        absence_from_answer(replace(RUN, ranking=None), "https://a.example/boats").outcome
        is TraceOutcome.NOT_RANKED
    )
    assert absence_from_answer(run_of({}), "x").outcome is TraceOutcome.NOT_IN_ANY_PAGE


@given(st.one_of(st.text(max_size=60), st.sampled_from([*TEXTS.values(), *TEXTS, "http://[", "a.b:99999/"])))
def test_it_never_raises(sought: str) -> None:
    assert absence_from_answer(RUN, sought).message


@pytest.mark.slow
def test_time_to_find_a_sentence_grows_linearly_with_pages() -> None:
    def texts(pages: int) -> dict[str, str]:
        return {f"p{n}": f"word{n % 97} river boat lamp {n} stone. " * 60 for n in range(pages)}

    sought = "the river boat carried lamps of stone past bridge ninety"
    assert growth(texts, lambda pages: matches(sought, pages), 100, 1_000) < LINEAR
