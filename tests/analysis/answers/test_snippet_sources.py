"""A source of which only the search engine's snippet is known, on every face."""

from dataclasses import replace

import pytest

from core.analysis.answers.answer_stats import answer_stats, partial_version
from core.analysis.answers.source_cards import source_cards, source_context
from core.cli.ask import AnswerPrinter
from core.cli.progress_lines import PhaseLines
from core.config.prices import SHIPPED
from core.features.api.responses.answers import qa_response
from core.features.api.responses.run_view import run_view
from core.features.notebook.run_display import answer_display
from core.features.share.answer_export import answer_document
from core.features.share.conversation_export import conversation_document
from core.features.share.run_parts import run_parts
from core.model import snippet_numbers, source_numbers
from core.run import events as e
from core.run.state import Run
from core.stages.rank import sources
from core.text.markdown.safe_markdown import safe_markdown
from tests.features.share.synthetic_runs import synthetic_run


@pytest.fixture(scope="module")
def run() -> Run:
    """A run whose first source is the snippet of a page that could not be read."""
    whole = synthetic_run(40)
    key = whole.sources[0].passage.place.page
    pages = {**whole.pages, key: replace(whole.pages[key], snippet_only=True)}
    assert whole.ranking is not None and whole.index is not None
    return replace(whole, pages=pages, sources=sources(whole.ranking, whole.index, pages, whole.knobs.rank))


@pytest.fixture(scope="module")
def snippets(run: Run) -> frozenset[int]:
    return snippet_numbers(run.sources)


def test_source_knows_that_its_page_was_not_read(run: Run, snippets: frozenset[int]) -> None:
    assert 1 in snippets
    assert snippets < source_numbers(run.sources)


def test_citation_of_a_snippet_says_so_everywhere(run: Run, snippets: frozenset[int]) -> None:
    page = safe_markdown(run.text, source_numbers(run.sources), snippets)
    assert page.count("· snippet](#src-") == len(snippets)
    for document in (answer_document(run), conversation_document([run])):
        assert "[[1 · snippet]](#source-1)" in document
        assert document.count("Only the search engine's snippet of this page is known") == len(snippets)


def test_sources_and_context_are_marked(run: Run, snippets: frozenset[int]) -> None:
    assert {card.number for card in source_cards(run) if card.snippet_only} == snippets
    assert source_context(run).count("(snippet only)](") == len(snippets)


def test_replies_over_http_are_marked(run: Run, snippets: frozenset[int]) -> None:
    assert {source.number for source in run_view(run, SHIPPED).sources if source.snippet_only} == snippets
    assert {source.number for source in qa_response(run).sources if source.snippet_only} == snippets


def test_citations_of_snippets_count_apart(run: Run, snippets: frozenset[int]) -> None:
    version = partial_version(run)
    assert version is not None
    stats = answer_stats(version)
    assert stats.snippet_citations == len(snippets)
    assert stats.citations + stats.snippet_citations == len(run.sources)
    (notice,) = [str(notice) for notice in run.notices if "search engine's snippet" in notice.message]
    assert f"{len(snippets)} of {len(run.sources)} citations" in notice


def test_notebook_and_run_in_one_file_are_marked(run: Run, snippets: frozenset[int]) -> None:
    assert answer_display(run)._repr_html_().count("· snippet]") == len(snippets)
    assert str(run_parts(run)).count("'snippet': True") == len(snippets)


def test_terminal_marks_citations_and_sources(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = AnswerPrinter(PhaseLines(1), SHIPPED, verbose=False, stream=True, closed=lambda: None)
    terminal.show(e.Record(0.0, e.TokensWritten("Tea cools [1]. So [2].")), run)
    terminal.finish(run)
    shown = capsys.readouterr().out
    assert "Tea cools [1 · snippet]." in shown
    assert shown.count("(snippet only)\n") == len(snippet_numbers(run.sources))
