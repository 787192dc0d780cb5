"""The run in one file, in Chromium: it ranks as the server does, asks nothing of a network, and tells when it was changed."""

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.config.knobs import RankKnobs
from core.errors import BadInput
from core.features.evaluate.labels.qrels import from_qrels
from core.features.share.html_export import check_file, html_export
from core.model import AnswerFrom, Grade, Turn
from core.run import events as e
from core.run.fold import folded_run
from core.run.state import Run
from core.stages.rank import rank
from tests.browser.axe import findings
from tests.features.share.synthetic_runs import random_knobs, synthetic_run
from tests.samples import EVENTS, records, until

SIZES = (60, 500, 2400)
SETTINGS = 500
SETTINGS_OF_LARGE = 150
"""For the larger sizes, whose rankings take up to forty times as long and differ in the same ways."""
OPENING_TIMES = 12

RANK_ALL = """
([settings, names]) => {
  const data = rankingData(JSON.parse(partText("ranking")));
  return JSON.stringify(settings.map(knobs => { const ranking = ranked(data, knobs); return names.map(name => ranking[name]); }));
}
"""
"""As JSON: a million ranks one by one take Playwright longer than both rankings."""


@pytest.fixture(scope="module", params=SIZES)
def run(request: pytest.FixtureRequest) -> Run:
    return synthetic_run(request.param)


@pytest.fixture
def settings_tried(run: Run) -> int:
    assert run.index is not None
    return SETTINGS if len(run.index.passages) <= min(SIZES) else SETTINGS_OF_LARGE


Open = Callable[..., Page]


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a file from disk. At the end nothing was asked, no dialog came and no error was written."""
    troubles: list[str] = []
    pages: list[Page] = []

    def open_file(html: str, **context: object) -> Page:
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(html, "utf-8")
        page = chromium.new_context(**context).new_page()  # type: ignore[arg-type]
        pages.append(page)
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: troubles.append(request.url))
        page.goto(file.as_uri())
        troubles.remove(file.as_uri())
        return page

    yield open_file
    for page in pages:
        page.context.close()
    assert [trouble for trouble in troubles if not trouble.startswith(("data:", "blob:"))] == []


def differences(page: Page, run: Run, settings: list[RankKnobs], compared: tuple[str, ...]) -> int:
    """Under how many settings the file and the server differ in one of what is compared."""
    assert run.index is not None
    ranked = json.loads(page.evaluate(RANK_ALL, [[asdict(knobs) for knobs in settings], compared]))
    count = 0
    for knobs, in_file in zip(settings, ranked, strict=True):
        ranking = rank(run.question, run.index, knobs, run.pages)
        server = {
            "order": ranking.order.tolist(),
            "context": list(ranking.context),
            "strategy": ranking.strategy,
        }
        count += in_file != [server[name] for name in compared]
    return count


def test_file_ranks_as_the_server_to_the_last_rank(opened: Open, run: Run, settings_tried: int) -> None:
    dice = random.Random(1)
    settings = [random_knobs(run, dice) for _ in range(settings_tried)]
    assert differences(opened(html_export(run)), run, settings, ("order", "context", "strategy")) == 0


def test_passages_without_vectors_count_as_on_the_server(opened: Open) -> None:
    run, dice = synthetic_run(500, waiting=True), random.Random(3)
    settings = [random_knobs(run, dice) for _ in range(SETTINGS // 5)]
    assert differences(opened(html_export(run)), run, settings, ("order", "context", "strategy")) == 0


@pytest.mark.thorough
def test_diverse_context_equals_the_servers_in_98_of_100_settings(
    opened: Open, run: Run, settings_tried: int
) -> None:
    dice = random.Random(2)
    settings = [random_knobs(run, dice, diversity=True) for _ in range(settings_tried)]
    assert (
        differences(opened(html_export(run)), run, settings, ("context", "strategy")) <= 0.02 * settings_tried
    )


@pytest.mark.thorough
def test_large_run_opens_about_as_fast_as_a_small(opened: Open) -> None:
    def seconds(size: int) -> float:
        html = html_export(synthetic_run(size))
        began = time.monotonic()
        expect(opened(html).get_by_role("row")).not_to_have_count(0)
        return time.monotonic() - began

    seconds(min(SIZES))  # the browser's own beginning
    small, large = min(seconds(min(SIZES)) for _ in range(2)), min(seconds(max(SIZES)) for _ in range(2))
    assert large < OPENING_TIMES * small


@pytest.mark.thorough
def test_large_run_opens_from_disk_without_access_faults(opened: Open) -> None:
    html = html_export(synthetic_run(max(SIZES)))
    for scheme in ("light", "dark"):
        page = opened(html, color_scheme=scheme)
        expect(page.get_by_role("row")).not_to_have_count(0)
        assert page.get_by_role("table", name="").locator("tbody tr").count() < 100
        assert findings(page, scheme) == ()
        page.locator("details.more summary").click()
        page.get_by_role("button", name="cosine", exact=True).click()
        page.locator(".cite").first.click()
        expect(page.locator(".tuned")).to_be_visible()
        assert findings(page, f"{scheme}, tuned") == ()


def test_phone_has_one_column_and_no_wider_line(opened: Open) -> None:
    page = opened(html_export(synthetic_run(60)), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert findings(page, "phone") == ()


def test_rows_far_down_come_when_they_are_scrolled_to(opened: Open) -> None:
    page = opened(html_export(synthetic_run(500)))
    page.locator(".list").evaluate("list => list.scrollTop = list.scrollHeight")
    expect(page.locator(".list tbody tr:not(.space)").last).to_have_attribute("aria-rowindex", "501")


def test_knobs_change_sources_citations_and_context_and_go_back(opened: Open) -> None:
    run = synthetic_run(60)
    page = opened(html_export(run))
    shown = page.locator(".srcs").first.locator(".src")
    numbers = [str(source.number) for source in run.sources]
    assert shown.locator(".nbox").all_text_contents() == numbers
    page.get_by_role("slider", name="Passages in the context").fill("3")
    assert shown.locator(".nbox").all_text_contents() == numbers[:3]
    expect(page.locator(".tuned")).to_contain_text("5 of 8 citations lose their passage.")
    expect(page.get_by_role("button", name="Source 4, left the context")).to_be_visible()
    page.locator(".tuned").get_by_role("button", name="As it was").click()
    assert shown.locator(".nbox").all_text_contents() == numbers
    expect(page.locator(".tuned")).to_be_hidden()


def test_page_is_excluded_where_read_and_included_again(opened: Open) -> None:
    run = synthetic_run(60)
    page = opened(html_export(run))
    excluded = run.sources[0].passage.place.page
    titles = [source.title for source in run.sources if source.passage.place.page == excluded]
    page.get_by_role("button", name="Source 1", exact=True).click()
    page.get_by_role("button", name="Exclude page").click()
    shown = page.locator(".srcs").first
    expect(shown).not_to_contain_text(titles[0])
    knobs = page.evaluate(
        "ranked(rankingData(JSON.parse(partText('ranking'))), {...JSON.parse(partText('run')).knobs, excluded: ["
        + json.dumps(excluded)
        + "]}).context"
    )
    assert run.index is not None
    assert knobs == list(
        rank(run.question, run.index, replace(run.knobs.rank, excluded=(excluded,)), run.pages).context
    )
    page.locator("details.more summary").click()
    assert findings(page, "excluded") == ()
    page.locator("details.more").get_by_role("button", name="Include").click()
    expect(page.locator(".tuned")).to_be_hidden()
    expect(shown).to_contain_text(titles[0])


def test_agent_steps_and_report_sections_are_shown(opened: Open) -> None:
    run = folded_run(records(*EVENTS[:-2]))
    page = opened(html_export(run))
    page.get_by_text("1 step of the agent").click()
    page.get_by_text("find overlap").click()
    steps = page.get_by_role("region", name="Steps of the agent")
    expect(steps).to_contain_text("I search first.")
    expect(steps.locator(".told")).to_have_text("Delta holds.")
    page.get_by_text("2 sub-questions", exact=True).click()
    sections = page.locator("details", has_text="2 sub-questions").get_by_role("listitem")
    expect(sections.nth(0)).to_contain_text("What is it? 1 source, 40 tokens")
    expect(sections.nth(1)).to_contain_text("Why? It broke.")
    assert findings(page, "steps") == ()
    page = opened(html_export(run, full_texts=False))
    page.get_by_text("1 step of the agent").click()
    assert page.locator(".told").count() == 0


def test_citation_opens_its_passage_and_labels_export_as_qrels(opened: Open, tmp_path: Path) -> None:
    run = synthetic_run(60)
    page = opened(html_export(run))
    page.get_by_role("button", name="Source 2", exact=True).click()
    reader = page.get_by_label("Passage reader")
    expect(reader.locator("mark.own")).to_have_text(run.sources[1].passage.text)
    page.keyboard.press("2")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export 1 label").click()
    download.value.save_as(tmp_path / "labels.qrels")
    (label,) = from_qrels((tmp_path / "labels.qrels").read_text("utf-8"), run.question, run.pages).labels
    assert (label.place, label.grade) == (run.sources[1].passage.place, Grade.PARTLY)


def test_numbers_are_those_of_the_conversation(opened: Open) -> None:
    run = synthetic_run(60)
    sources = tuple(replace(source, number=source.number + 10) for source in run.sources)
    page = opened(html_export(replace(run, sources=sources, text="It is so [12]. Not so [2].")))
    page.get_by_role("button", name="Source 12", exact=True).click()
    expect(page.get_by_label("Passage reader").locator("mark.own")).to_have_text(sources[1].passage.text)
    assert page.locator(".ans .cite:visible").all_text_contents() == ["12"]
    assert page.locator(".srcs .nbox").all_text_contents() == [str(source.number) for source in sources]


@pytest.mark.parametrize("part", ["run", "ranking", "texts", "map", "manifest"])
def test_one_changed_byte_is_refused_and_told(opened: Open, part: str) -> None:
    html = html_export(synthetic_run(60))
    begin = html.index(f'id="part-{part}">')
    place = next(
        digit.start() for digit in re.finditer(r"[0-8](?=[0-9])", html) if digit.start() > begin + 60
    )
    page = opened(f"{html[:place]}{int(html[place]) + 1}{html[place + 1 :]}")
    expect(page.get_by_role("alert")).to_contain_text("This file was changed after it was written.")
    assert page.locator(".ans, .list, .knobs").count() == 0
    assert findings(page, "changed") == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<main>", "<main><p>More.</p>"),
        ("</title>", ".</title>"),
        ('id="part-run">', 'id="part-run" class="x">'),
        ("</main>", "</main><p>Signed by Ada.</p>"),
        ("<head>", "<head><script>globalThis.added = true</script>"),
        ("<head>", '<head><script id="part-x">globalThis.added = true</script>'),
        ("<!doctype html>", "<!doctype html><script>globalThis.added = true</script>"),
        ("<!doctype html>", "<!doctype html><!-- more -->"),
        ('<html lang="en">', '<html lang="en" class="x">'),
        ("</body></html>", "</body></html><p>Signed by Ada.</p>"),
        ("</body></html>", "</body></html><!-- more -->"),
    ],
)
def test_what_stands_around_the_parts_is_compared_too(opened: Open, before: str, after: str) -> None:
    page = opened(html_export(synthetic_run(60)).replace(before, after, 1))
    expect(page.get_by_role("alert")).to_contain_text("What does not match its digest: “page”.")


def test_seal_tells_what_the_comparison_proves(opened: Open) -> None:
    page = opened(html_export(synthetic_run(60)), viewport={"width": 390, "height": 844})
    seal = page.locator(".seal")
    expect(seal.locator("summary")).to_have_text(re.compile("^Matches its manifest of [^,]*$"))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    seal.locator("summary").click()
    expect(seal).to_contain_text("It cannot vouch for itself")
    expect(seal).not_to_contain_text("sign")
    assert findings(page, "seal") == ()


def test_page_claims_nothing_that_earlier_scripts_can_undo(opened: Open) -> None:
    html = html_export(synthetic_run(60))
    hidden = "<head><script>globalThis.ran = true; document.currentScript.remove()</script>"
    forged = html.replace("<head>", hidden, 1)
    page = opened(forged)
    assert page.evaluate("globalThis.ran")
    assert not re.search("unchanged|signed by", page.locator("body").inner_text(), re.IGNORECASE)
    assert not re.search("unchanged|signed by", page.locator(".pfoot").last.inner_text(), re.IGNORECASE)
    with pytest.raises(BadInput, match="changed after it was written: file"):
        check_file(forged.encode())


def test_changed_script_does_not_run_and_says_why(opened: Open) -> None:
    page = opened(html_export(synthetic_run(60)).replace('"use strict";', '"use strict"; alert(1);', 1))
    expect(page.get_by_role("main")).to_contain_text("the browser refuses it")
    assert page.locator(".ans").count() == 0


HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>alert(1)//-->",
    "\"'><img src=x onerror=alert(1)>",
    "\\u003cimg src=x onerror=alert(1)>",
    "]]></style><svg onload=alert(1)>",
    "line\u2028end\u2029&lt;b&gt; ${alert(1)} `",
)


def test_texts_of_pages_questions_and_answers_stay_texts(opened: Open) -> None:
    run = synthetic_run(60)
    attack = " ".join(HOSTILE)
    key = run.sources[0].passage.place.page
    hostile_page = replace(
        run.pages[key], title=attack, article=replace(run.pages[key].article, text=attack * 20)
    )
    text = f"{attack} [1] [x](javascript:alert(1)) ![x](https://a.example/x.png)"
    run = replace(run, question=attack, text=text, pages={**run.pages, key: hostile_page})
    page = opened(html_export(run))
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE[0])
    page.get_by_role("button", name="Source 1", exact=True).click()
    expect(page.get_by_label("Passage reader")).to_contain_text("onerror=alert(1)")
    assert page.locator("img, iframe, object, [onerror], [onload], a[href^='javascript']").count() == 0
    assert page.locator("script").count() == html_export(run).count("</script>")


TURN = Turn(conversation="run-0", follows="run-0", number=2, written="And now?", answer_from=AnswerFrom.BOTH)


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        (until(e.RunStarted), "No answer: the run ended before one was written."),
        (until(e.PageRead), "No answer: the run ended before one was written."),
        ((*until(e.PageRead), e.RunFailed("search", "It broke.", "Try again.", 3)), "It broke."),
        ((*until(e.Ranked), e.RunStopped()), "No answer: the run ended before one was written."),
        (EVENTS[:-4], "Delta holds"),
        ((replace(EVENTS[0], turn=TURN), *EVENTS[1:-4]), "asked as “And now?”"),  # type: ignore[type-var]
    ],
    ids=["begun", "read", "failed", "stopped", "answered", "follow-up"],
)
def test_a_run_in_any_state_can_be_looked_at(opened: Open, events: tuple[e.Event, ...], seen: str) -> None:
    page = opened(html_export(folded_run(records(*events))))
    expect(page.get_by_role("main")).to_contain_text(seen)
    assert findings(page, seen) == ()


def test_without_vectors_bm25_alone_ranks(opened: Open) -> None:
    run = synthetic_run(60)
    assert run.index is not None
    index = replace(run.index, vectors=None, question=None)
    ranking = rank(run.question, index, run.knobs.rank, run.pages)
    page = opened(html_export(replace(run, index=index, ranking=ranking)))
    expect(page.get_by_role("button", name="cosine", exact=True)).to_be_disabled()
    expect(page.locator(".knobs")).to_contain_text("BM25 alone ranks")
    assert page.locator("svg.map").count() == 0
