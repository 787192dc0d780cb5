import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.rankings.duplicate_clusters import duplicate_clusters
from core.model import Page, Passage, Place
from core.model.passage_urls import site
from core.run.state import Run
from core.stages.ranking.near_duplicates import clusters, copies
from tests.analysis.sample import page, run_of
from tests.growth import LINEAR, growth

REPORT = (
    "The ferry Alma left the harbour of Bergen on Monday morning with twelve hundred people on board. "
    "Its engine had been repaired over the winter, and the crew tested it twice before the first journey. "
    "The next ferry is expected in spring, when the new quay in the north of the town will be ready."
)
OTHER = (
    "Paper lamps are folded from thin sheets over a frame of bamboo, which takes an hour or two by hand. "
    "A lamp that hangs in the wind burns for fifteen hours, while one behind glass may burn for thirty."
)
SYNDICATED = {
    "https://agency.example/1": REPORT,
    "https://daily.example/ferry": f"From our correspondent.\n\n{REPORT}\n\nRead more about ferries here today.",
    "https://post.example/a": REPORT.replace("twelve hundred", "1,200"),
    "https://lamps.example/": OTHER,
}


def test_syndicated_pages_are_one_text() -> None:
    run = run_of(SYNDICATED, question="Which ferry left Bergen?", per_page=1)
    clusters = duplicate_clusters(run)
    [cluster] = clusters.clusters
    assert {site(key) for key in cluster} == {"agency.example", "daily.example", "post.example"}
    assert site(next(iter(cluster))) == "daily.example", "the longest first"
    assert all(containment >= 0.6 for containment in cluster.values())
    assert (clusters.pages, clusters.independent) == (4, 2)
    assert clusters.summary.startswith("4 pages, 2 independent")
    assert cluster.keys() & {source.passage.place.page for source in run.sources}


def test_the_cap_for_each_text_shows_in_the_sources() -> None:
    question = "Which ferry left Bergen?"
    free = run_of(SYNDICATED, question=question, per_cluster=0)
    capped = run_of(SYNDICATED, question=question, per_cluster=1)
    assert duplicate_clusters(capped).sources < duplicate_clusters(free).sources
    assert duplicate_clusters(capped).independent_sources == duplicate_clusters(capped).sources == 2


@given(st.randoms())
def test_clusters_do_not_depend_on_the_order_of_arrival(draw: random.Random) -> None:
    pages = [page(url, text) for url, text in SYNDICATED.items()]
    expected = clusters(pages)
    draw.shuffle(pages)
    assert clusters(pages) == expected


def test_every_page_has_a_cluster() -> None:
    pages = [
        page("https://a.example/", ""),
        page("https://b.example/", ""),
        page("https://c.example/", "Hm."),
    ]
    numbers = clusters(pages)
    assert set(numbers) == {page.key for page in pages}
    assert duplicate_clusters(Run()).summary == "No near-duplicates among 0 pages."


def test_short_texts_are_one_only_when_they_are_equal() -> None:
    pages = [
        page(f"https://{n}.example/", text)
        for n, text in enumerate(["A red boat.", "A red boat!", "A boat."])
    ]
    assert len(set(clusters(pages).values())) == 2


def test_scripts_without_spaces_are_clustered_too() -> None:
    text = "昨日は東京で雨が降ったが、今日は朝からよく晴れていて、港には多くの船が並んでいる。"
    pages = [page("https://a.example/", text), page("https://b.example/", f"速報。{text}")]
    assert len(set(clusters(pages).values())) == 1


def test_passages_of_other_pages_with_most_of_the_words_are_copies() -> None:
    story = "The ferry to Bergen left the harbour at nine in the morning with forty passengers on board."
    texts = {"a": story, "b": f"{story} It is late.", "c": "A lamp stood on the pier.", "d": story.upper()}
    rows = [
        Passage(text=text, place=Place(page=page, start=0, end=len(text))) for page, text in texts.items()
    ]
    assert copies(rows) == {0: [1, 3], 1: [0, 3], 3: [0, 1]}
    same_page = [replace(passage, place=replace(passage.place, page="a")) for passage in rows]
    assert copies(same_page) == {}, "a page does not repeat itself where passages overlap"


@pytest.mark.slow
def test_the_time_to_cluster_pages_grows_with_their_number() -> None:
    def pages(count: int) -> list[Page]:
        draw = random.Random(count)
        words = [f"word{n}" for n in range(3000)]
        texts = [" ".join(draw.choices(words, k=800)) for _ in range(count // 2)]
        return [page(f"https://{n}.example/", texts[n % len(texts)]) for n in range(count)]

    assert len(set(clusters(pages(300)).values())) == 150
    assert growth(pages, clusters, 50, 500) < LINEAR
