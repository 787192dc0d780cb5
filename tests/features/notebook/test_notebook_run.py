"""A run in a notebook: tables, one-liners, and displays of whatever stands in its pages."""

import json
import re
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from core.analysis.rankings.context_membership import ranked
from core.analysis.retrieval.trace import TraceOutcome
from core.errors import BadInput
from core.features.notebook import session
from core.features.notebook.notebook_run import NotebookRun
from core.model import Label
from core.reading.absence import Absence
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.registry import RunRegistry
from core.storage.bundle import from_bundle
from tests.features.share.large_run import large_run
from tests.features.share.synthetic_runs import synthetic_run
from tests.features.share.test_formats import HOSTILE, with_page
from tests.samples import KEY
from tests.storage.test_bundle import RECORDED

RUN = synthetic_run(60)


def notebook_run(run: Run = RUN) -> NotebookRun:
    return NotebookRun(RecordedRun(run=run, base=run))


def displays(run: NotebookRun) -> dict[str, object]:
    """Everything that a cell can show of a run, by name."""
    shown = {name: getattr(run, name) for name in DISPLAYS}
    shown |= {f"source {number}": source for number, source in enumerate(run.sources)}
    shown |= {"run": run, "why_not": run.why_not(HOSTILE), "compare": run.compare(NotebookRun(RECORDED))}
    return shown | ({"metrics": run.metrics()} if run.run.ranking else {})


def tags_of(page: str) -> tuple[set[str], set[str]]:
    """The names of the elements and of the attributes of HTML, of which every element is closed."""
    tags, attributes, still_open = set[str](), set[str](), list[str]()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            attributes.update(name for name, _ in given)
            still_open.extend([tag] if tag not in ("br", "hr") else [])

        def handle_endtag(self, tag: str) -> None:
            assert still_open.pop() == tag

    Reader().feed(page)
    assert not still_open
    return tags, attributes


def test_the_tables_are_frames_of_the_run() -> None:
    run = notebook_run()
    assert list(run.passages["rank"]) == list(range(1, 61))
    assert sorted(run.passages["source"].dropna()) == list(range(1, len(RUN.sources) + 1))
    assert list(run.hits["url"]) == [hit.url for hit in RUN.hits]
    assert set(run.hits["outcome"]) == {"read"}
    assert run.pages["passages"].sum() == len(run.passages)
    skipped = NotebookRun(RECORDED).hits.set_index("url").loc["https://a.example/dead"]
    assert skipped["reason"].endswith(": 404")


def test_a_run_without_anything_shows_and_says_so() -> None:
    run = notebook_run(Run(question="Why?"))
    assert [len(frame) for frame in (run.passages, run.hits, run.pages)] == [0, 0, 0]
    assert "no answer" in repr(run.answer)
    assert "no ranking" in repr(run.ranking)
    assert "no ranking" in repr(run.compare(run))
    with pytest.raises(BadInput, match="no ranked passages"):
        run.metrics()


def test_retuning_ranks_as_the_pages_and_keeps_the_run() -> None:
    run = notebook_run()
    tuned = run.retune(top_k=3, strategy="bm25")
    expected = ranked(replace(RUN, knobs=tuned.knobs))
    assert expected.ranking and tuned.run.ranking and RUN.ranking
    assert tuned.run.ranking.context == expected.ranking.context
    assert len(tuned.run.ranking.context) == 3
    assert run.run is RUN
    left = sum(1 for source in RUN.ranking.context if source not in tuned.run.ranking.context)
    assert f"{left} left" in repr(run.compare(tuned))
    assert run.retune(**{"rank.top_k": 3}).knobs.rank.top_k == 3


def test_retuning_costs_a_fraction_of_a_slider_ranking() -> None:
    """Of 2,400 passages: where writing them as JSON takes 1 ms, 25 times that is half of what a slider may take."""
    run = notebook_run(synthetic_run(2400))
    run.retune(top_k=3)

    def seconds(work: object) -> float:
        def once() -> float:
            start = time.perf_counter()
            work()  # type: ignore[operator]
            return time.perf_counter() - start

        return min(once() for _ in range(5))

    texts = [passage.text for passage in run.run.index.passages]  # type: ignore[union-attr]
    assert seconds(lambda: run.retune(top_k=4, strategy="bm25")) < 25 * seconds(lambda: json.dumps(texts))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"top": 3}, "no setting top"),
        ({"top_k": 99}, "out of bounds: rank.top_k"),
        ({"backend": "demo"}, "next run only"),
        ({"strategy": "best"}, "rank.strategy"),
    ],
)
def test_setting_that_cannot_apply_is_refused_with_advice(values: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        notebook_run().retune(**values)
    assert refused.value.hint


def test_sliders_rank_the_run_again_as_they_move() -> None:
    run = notebook_run()
    panel = run.controls()
    assert panel.run is run
    assert "0 entered, 0 left" in panel.html
    for name, value in (("top_k", 3), ("strategy", "bm25"), ("diversity", 0.5), ("min_similarity", 0.1)):
        panel.controls[name].value = value
    expected = run.retune(top_k=3, strategy="bm25", diversity=0.5, min_similarity=0.1)
    assert panel.run.knobs == expected.knobs
    assert repr(panel.run.ranking) == repr(expected.ranking)
    assert expected.ranking._repr_html_() in panel.html
    assert "application/vnd.jupyter.widget-view+json" in panel._repr_mimebundle_()
    with pytest.raises(BadInput, match="no ranked passages"):
        notebook_run(Run(question="Why?")).controls()


def test_without_ipywidgets_the_sliders_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(BadInput, match="ipywidgets") as refused:
        notebook_run().controls()
    assert refused.value.hint == "pip install ipywidgets"


def test_labels_give_metrics_and_travel_with_runs_and_bundles(tmp_path: Path) -> None:
    stored: list[Label] = []
    run = NotebookRun(RecordedRun.folded(large_run(80)), store=stored.append)
    run.label(1, "relevant")
    shown = run.label(2, 0)
    assert shown.value.labelled == len(stored) == 2
    assert "2 of 10 labelled" in repr(shown)
    assert run.retune(strategy="bm25").metrics().value.grades == shown.value.grades
    run.label(2, "partly")
    exported = from_bundle(run.export(tmp_path / "run.zip").read_bytes())
    assert [int(label.grade) for label in exported.labels] == [2, 1]
    for rank, grade in ((0, 2), (81, 2), (1, "good"), (1, 3)):
        with pytest.raises(BadInput):
            run.label(rank, grade)


async def test_text_kept_in_an_article_is_exported_with_the_run(
    registry: RunRegistry, tmp_path: Path
) -> None:
    run = await session.research("How does chunk overlap affect retrieval?", backend="demo", results=2)
    address, text = next(iter(run.run.pages)), "The demo library of OpenQuery"
    assert run.why_not_extracted(address, text) is Absence.AROUND
    kept = run.keep(address, text)
    assert not run.run.pages[address].article.kept
    (block,) = kept.run.pages[address].article.kept_texts
    assert block == "The demo library of OpenQuery: short articles about retrieval."
    assert block in kept.run.pages[address].text
    opened = from_bundle(kept.export(tmp_path / "run.zip").read_bytes()).run
    assert opened.pages == kept.run.pages and opened.notices == kept.run.notices != run.run.notices
    for page, asked, message in (
        (address, text, "The article has these words"),
        (address, "Words of another page altogether", "It cannot be kept"),
        ("https://elsewhere.example/", text, "No page of this run"),
    ):
        with pytest.raises(BadInput, match=message):
            kept.keep(page, asked)


def test_why_not_says_how_far_a_sentence_came() -> None:
    run = notebook_run()
    last = run.passages.iloc[-1]
    trace = run.why_not(last["text"])
    assert trace.value.outcome is TraceOutcome.LEFT_OUT
    assert "✗ in the context" in repr(trace)
    assert run.why_not("").value.outcome is TraceOutcome.EMPTY_QUERY


@pytest.mark.usefixtures("registry")
def test_displays_are_plain_elements_whatever_stands_in_the_pages() -> None:
    hostile = with_page(title=f"{HOSTILE}\x1b[2J", text=HOSTILE + DONE_TEXT, site=HOSTILE)
    hostile = replace(hostile, run=replace(hostile.run, question=HOSTILE, text=f"{HOSTILE}\x1b[2J [1]"))
    for run in (NotebookRun(hostile), NotebookRun(RECORDED), notebook_run()):
        for name, shown in displays(run).items():
            bundle = shown._repr_mimebundle_()  # type: ignore[attr-defined]
            assert set(bundle) == {"text/html", "text/plain"}, name
            assert bundle["text/html"] == shown._repr_html_()  # type: ignore[attr-defined]
            assert bundle["text/html"].startswith('<div class="oq mathjax_ignore tex2jax_ignore">'), name
            assert bundle["text/plain"] == repr(shown) != "", name
            assert "\x1b" not in bundle["text/plain"], name
            tags, attributes = tags_of(bundle["text/html"])
            assert not tags & {"script", "img", "a", "iframe", "link", "object", "form", "input"}, name
            assert attributes <= {"class", "style", "title", "dir"} | SVG_ATTRIBUTES, name
            assert not re.search(r"url\(|@import|https?://www\.w3", bundle["text/html"]), name


DONE_TEXT = RECORDED.run.pages[KEY].text
DISPLAYS = ("answer", "ranking", "phases", "attrition", "scores", "map", "attribution")
SVG_ATTRIBUTES = {
    *("viewbox", "width", "height", "role", "aria-label", "points", "fill", "fill-opacity", "x", "y"),
    *("text-anchor", "cx", "cy", "r", "x1", "x2", "y1", "y2", "stroke", "stroke-width", "stroke-dasharray"),
}
