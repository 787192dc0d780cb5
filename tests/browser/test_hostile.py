"""A run whose every text was written by an attacker, opened in a real browser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

from core.model import Article, Index, Message, Passage, Phase, Place, Result, SearchReply, Source
from core.run import events as e
from core.stages.check import check
from tests import samples
from tests.browser.page_objects import App
from tests.seeding import keep_events

PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    "</div></style><script>alert(2)</script>",
    "\"><svg onload=alert(3)> ' onmouseover=alert(4) x='",
    "![p](https://evil.example/p.png) [c](javascript:alert(5)) <https://evil.example>",
    "[1]: https://evil.example/ref\n\n[1] www.evil.example me@evil.example",
    "`code` ``` :material/home: :red[x] :smile: $x^2$ \\[x\\]",
    "<a href='https://evil.example' id=src-1>x</a><base href=//evil.example><meta http-equiv=refresh content=0>",
    "{{constructor.constructor('alert(6)')()}} ${alert(7)} <%= alert(8) %>",
)


def hostile_events(run_id: str, payload: str) -> list[e.Event]:
    """The sample run with `payload` in the question, query, engines, titles, snippets, text and answer."""
    question = f"{payload} overlap"
    query = replace(samples.QUERY, text=payload)
    result = Result(
        url=samples.KEY, title=payload, snippet=payload, rank=1, engines=(payload,), published=payload
    )
    reply = SearchReply(backend=payload, results=(result,), silent=((payload, payload),))
    text = f"{payload}\n\nDelta. {payload}"
    article = Article(text=text, extractor=payload, title=payload, author=payload, date=payload, site=payload)
    page = replace(samples.PAGE, title=payload, article=article)
    passage = Passage(text=text, place=Place(page=samples.KEY, start=0, end=len(text)))
    one = np.array([[1, 0]], np.float32)
    index = Index(passages=(passage,), vectors=one, question=one[0], embedder=payload)
    ranking = replace(samples.EVIDENCE, order=np.array([0]), context=(0,), cosine=np.array([1], np.float32))
    source = Source(number=1, passage=passage, title=payload, url="javascript:alert(9)", site=payload)
    answer = replace(samples.ANSWER, text=f"Said [1]. {payload} [9]", model=payload)
    phases = (Phase.PLAN, Phase.SEARCH, Phase.READ, Phase.CHUNK, Phase.EMBED, Phase.RANK, Phase.ANSWER)
    return [
        replace(samples.EVENTS[0], id=run_id, question=question),  # type: ignore[type-var, call-arg]
        *map(e.PhaseStarted, phases),
        e.QueryPlanned(query),
        e.SearchStarted(query),
        e.SearchAnswered(query, reply),
        e.FetchStarted(samples.KEY, f"https://a.example/{payload}"),
        e.Fetched(samples.KEY, 10),
        e.PageRead(page),
        e.PageChunked(samples.KEY, (passage,)),
        e.Indexed(index),
        e.Ranked(ranking),
        e.SourcesChosen((source,)),
        e.Note(Phase.SEARCH, payload, payload),
        e.Prompted((Message(role=payload, content=payload),), payload),
        e.Answered(answer),
        e.Checked(check(answer.text, 1)),
        e.RunFailed("answer", payload, payload, 6),
    ]


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_nothing_that_strangers_wrote_acts_on_any_tab(app: App, number: int) -> None:
    run_id = f"hostile-run-{number}"
    keep_events(app.site.folder, *hostile_events(run_id, PAYLOADS[number]))
    app.open(f"/?run={run_id}")
    expect(app.own("question")).to_contain_text("overlap")
    app.answer.locator('a[href="#src-1"]').first.click()
    expect(app.keyed("reader_cited").locator("mark")).to_be_visible()
    expect(app.keyed("reader_cited").get_by_role("link", name="Open")).to_have_count(1)
    for name in ("Search hits", "Articles", "Timeline", "Prompt"):
        app.open_tab(name)
        app.at_rest()
        if name == "Articles":
            app.keyed("article_1").locator("summary").click()
            expect(app.keyed("article_1").locator(".oq-article")).to_be_visible()
    links = app.page.locator("a[href]").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert not [href for href in links if "evil" in href or href.startswith(("javascript:", "data:"))]
    assert app.page.locator(".stMain img[src^='http']").count() == 0
    app.open("/runs")
    expect(app.own("run").first).to_be_visible()
