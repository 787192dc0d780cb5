from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.retrieval.attrition import Attrition, AttritionStep, attrition
from core.analysis.retrieval.flow_diagram import DiagramStep, flow_diagram, flow_items
from core.model import SkipReason
from core.run.hit_merging import merge_hits
from core.run.state import Run
from tests.analysis.sample import run_of

FOUND = {
    "boats on rivers": ["https://a.example/boats", "https://gone.example/", "https://c.example/clouds"],
    "river traffic": ["https://www.a.example/boats/", "https://b.example/lamps", "https://app.example/"],
}
SKIPPED = {"https://gone.example/": SkipReason.STATUS, "https://app.example/": SkipReason.NEEDS_JAVASCRIPT}


def conserved(found: Attrition) -> None:
    """What enters each step leaves it, in counts within a unit and in widths everywhere."""
    for step in AttritionStep:
        into = [flow for flow in found.flows if flow.to is step]
        out = [flow for flow in found.flows if flow.start is step]
        assert found.counts.get(step, 0) >= sum(flow.count for flow in out if flow.to is None)
        if not out:
            continue
        if step is not AttritionStep.EXTRACTED:
            assert sum(flow.count for flow in out) == found.counts[step]
        if into and (step is not AttritionStep.EXTRACTED or out[0].count):
            assert sum(flow.width for flow in out) == pytest.approx(into[0].width)


def test_web_and_collections_count_their_ranks_from_one() -> None:
    run = run_of(found=FOUND, skipped=SKIPPED)
    replies = {
        query: replace(
            reply,
            results=tuple(
                replace(result, rank=1, collection="" if place == 1 else f"shelf {place}")
                for place, result in enumerate(reply.results, 1)
            ),
        )
        for query, reply in run.replies.items()
    }
    mixed = replace(run, replies=replies, hits=merge_hits(list(replies.items()), run.knobs.search))
    flows = attrition(mixed)
    conserved(flows)
    assert (flows.counts[AttritionStep.HITS], flows.counts[AttritionStep.UNIQUE]) == (6, len(mixed.hits))
    [again] = flows.losses(AttritionStep.HITS)
    assert (again.reason, again.count) == ("duplicate URL", 1)
    named = {
        item.url
        for flow in flows.flows
        if flow.start is AttritionStep.HITS
        for item in flow_items(mixed, flow)
    }
    assert named == {url for urls in FOUND.values() for url in urls}


def test_every_loss_has_its_reason_and_its_list() -> None:
    run = run_of(found=FOUND, skipped=SKIPPED, answer="A boat is there [1].", top_k=2)
    flows = attrition(run)
    assert flows.counts == {
        AttritionStep.HITS: 6,
        AttritionStep.UNIQUE: 5,
        AttritionStep.FETCHED: 4,
        AttritionStep.EXTRACTED: 3,
        AttritionStep.PASSAGES: 3,
        AttritionStep.RANKED: 3,
        AttritionStep.CONTEXT: 2,
        AttritionStep.CITED: 1,
    }
    lost = {(flow.start, flow.reason): flow for flow in flows.flows if flow.to is None}
    assert {key: flow.count for key, flow in lost.items()} == {
        (AttritionStep.HITS, "duplicate URL"): 1,
        (AttritionStep.UNIQUE, "HTTP error"): 1,
        (AttritionStep.FETCHED, "needs JavaScript"): 1,
        (AttritionStep.RANKED, "ranked below the cut-off"): 1,
        (AttritionStep.CONTEXT, "never cited"): 1,
    }
    [again] = flow_items(run, lost[AttritionStep.HITS, "duplicate URL"])
    assert again.url == "https://www.a.example/boats/"
    assert "river traffic" in again.detail
    [gone] = flow_items(run, lost[AttritionStep.UNIQUE, "HTTP error"])
    assert (gone.url, gone.detail) == ("https://gone.example/", "detail")
    [below] = flow_items(run, lost[AttritionStep.RANKED, "ranked below the cut-off"])
    assert below.detail.startswith("rank 3")
    for flow in flows.flows:
        assert len(flow_items(run, flow)) == flow.count
    assert len({flow.key for flow in flows.flows}) == len(flows.flows)
    conserved(flows)


def test_results_beyond_the_limit_and_duplicates_are_losses_too() -> None:
    same = "The very same words stand on both of these pages."
    run = run_of({f"https://{n}.example/": same for n in range(8)})
    flows = attrition(run)
    losses = {flow.reason: flow.count for flow in flows.flows if flow.to is None}
    assert losses["beyond the results per query"] == 3
    assert losses["duplicate text"] == 4
    conserved(flows)


def test_an_answer_from_another_context_says_nothing_about_citations() -> None:
    run = run_of(answer="A boat [1].", top_k=2)
    assert attrition(run).answered
    assert run.ranking is not None
    tuned = replace(run, ranking=replace(run.ranking, context=run.ranking.context[:1]))
    flows = attrition(tuned)
    assert not flows.answered
    assert AttritionStep.CITED not in flows.counts


def test_counts_add_up_in_a_run_that_hardly_began() -> None:
    whole = run_of(found=FOUND, skipped=SKIPPED)
    empty = Run(question="?")
    before_ranking = replace(whole, ranking=None)
    before_index = replace(whole, ranking=None, index=None)
    before_pages = replace(before_index, pages={}, passages=(), skips={})
    for run in (empty, before_pages, before_index, before_ranking):
        conserved(attrition(run))
    assert attrition(empty).counts[AttritionStep.HITS] == 0


WORDS = st.sampled_from(["river boat", "paper lamp", "a red boat on the river", "clouds"])
URLS = [f"https://{n}.example/" for n in range(6)]


@given(
    st.dictionaries(st.sampled_from(URLS[:4]), WORDS),
    st.dictionaries(st.sampled_from(URLS[4:]), st.sampled_from(SkipReason)),
    st.lists(st.lists(st.sampled_from(URLS), max_size=8), min_size=1, max_size=3),
    st.integers(0, 4),
    st.sampled_from([-1.0, 0.2]),
    st.integers(0, 2),
)
def test_counts_and_widths_are_conserved_whatever_happened(
    texts: dict[str, str],
    skipped: dict[str, SkipReason],
    found: list[list[str]],
    top_k: int,
    threshold: float,
    per_page: int,
) -> None:
    queries = {f"query {n}": urls for n, urls in enumerate(found)}
    run = run_of(
        texts,
        found=queries,
        skipped=skipped,
        top_k=top_k,
        threshold=threshold,
        per_page=per_page,
        max_documents=per_page,
    )
    conserved(attrition(run))
    for step in flow_diagram(attrition(run)):
        drawn_apart(step)


def drawn_apart(step: DiagramStep) -> None:
    """Bands leave the bar beside what passes on, each beside the next, and end on lines of their own."""
    ends = step.onward
    for band in reversed(step.losses):
        assert band.left == pytest.approx(ends)
        assert band.right > band.left
        ends = band.right
    assert ends <= max(step.width, step.onward) + 0.0061
    lines = [0.0, *(edge for band in step.losses for edge in (band.top, band.bottom)), 1.0]
    assert lines == sorted(lines)


def test_diagram_has_every_step_and_loss_that_occurred() -> None:
    run = run_of(found=FOUND, skipped=SKIPPED, answer="A boat is there [1].", top_k=2)
    flows = attrition(run)
    steps = flow_diagram(flows)
    assert [(step.step, step.count) for step in steps] == list(flows.counts.items())
    assert [(step.arriving.to if step.arriving else None) for step in steps] == [
        None,
        *[step.step for step in steps[1:]],
    ]
    assert [band.flow for step in steps for band in step.losses] == [
        flow for flow in flows.flows if flow.to is None
    ]
    assert steps[-1].onward == 0
    assert flow_diagram(attrition(Run(question="?"))) == ()


def test_limit_of_documents_is_a_loss_of_its_own() -> None:
    run = run_of(max_documents=1)
    lost = {flow.reason: flow.count for flow in attrition(run).losses(AttritionStep.RANKED)}
    assert lost == {"limit of documents reached": 2}
