"""The demo library as a web of its own."""

from pathlib import Path

import pytest

from core.adapters.web.demo_pages import DEMO_HOST, DemoWeb, RoutedWeb, demo_url
from core.config.knobs import ReadKnobs
from core.config.settings import HANDBOOK
from core.model import Document, Extractor, SkipReason, Unreadable
from core.reading import extract

KNOBS = ReadKnobs()
ARTICLE = """# Tea & Time

Tea gets bitter when it is left in the water for longer than a few minutes, and sweet when it is not.

## Why

The bitter compounds dissolve more slowly than those that give tea its taste and colour. Catechins and caffeine leave
the leaf first, and make tea lively. Tannins follow, the sooner the hotter the water is and the smaller the pieces of the
leaf are. Whoever likes it strong therefore takes more leaves, and does not wait longer.

Green tea is the most delicate. Its leaves were never fermented, so that hardly anything hides what is bitter in them, and
water that boils draws it out at once. Let the water cool for a few minutes, and pour it away from the leaves in time.

| Tea | Minutes |
|-----|---------|
| Green | 2 |

<script>alert(1)</script>

See also: [Water](water.md), [Cups](https://example.org/cups)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tea.md").write_text(ARTICLE, "utf-8")
    return tmp_path


async def test_article_becomes_a_page_that_reads_the_same(folder: Path) -> None:
    document = await DemoWeb(folder)(demo_url("tea"), KNOBS)
    assert (document.url, document.status) == (f"https://{DEMO_HOST}/tea", 200)
    article = extract(document)
    assert article.title == "Tea & Time"
    assert article.site == "OpenQuery Handbook"
    assert article.author == "The OpenQuery authors"
    assert article.language == "en"
    assert article.date
    assert "dissolve more slowly" in article.text
    assert "Tea: Green; Minutes: 2" in article.text
    assert "See also" not in article.text


async def test_links_between_articles_are_links_between_pages(folder: Path) -> None:
    html = (await DemoWeb(folder)(demo_url("tea"), KNOBS)).body.decode()
    assert f'href="{demo_url("water")}"' in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


@pytest.mark.parametrize(
    "path", ["/nothing", "/", "/../pyproject", "/tea.md", "/TEA", "/tea/more", "/%2e%2e/tea"]
)
async def test_other_addresses_are_not_found(folder: Path, path: str) -> None:
    with pytest.raises(Unreadable) as caught:
        await DemoWeb(folder)(f"https://{DEMO_HOST}{path}", KNOBS)
    assert caught.value.reason is SkipReason.STATUS


@pytest.mark.parametrize("extractor", Extractor)
async def test_every_article_of_the_handbook_can_be_read(extractor: Extractor) -> None:
    web = DemoWeb(HANDBOOK)
    sources = sorted(HANDBOOK.glob("*.md"))
    assert len(sources) >= 20
    for source in sources:
        article = extract(await web(demo_url(source.stem), KNOBS), extractor)
        assert article.title == source.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        assert len(article.text) > 0.6 * len(source.read_text("utf-8"))


class Recorder:
    """A web that remembers what it was asked for."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        self.urls.append(url)
        return Document(url=url, status=200, media_type="text/plain", charset=None, body=b"words")

    async def cached_page(self, url: str) -> Document | None:
        return None


async def test_demo_addresses_use_the_demo_and_others_the_web() -> None:
    demo, web = Recorder(), Recorder()
    routed = RoutedWeb(demo, web)
    for url in (demo_url("tea"), demo_url("tea").upper(), f"http://{DEMO_HOST}?q"):
        await routed(url, KNOBS)
    others = [
        f"https://{DEMO_HOST}.evil.com/tea",
        f"https://evil.com/{DEMO_HOST}",
        f"https://{DEMO_HOST}@evil.com/",
    ]
    for url in others:
        await routed(url, KNOBS)
    assert len(demo.urls) == 3
    assert web.urls == others
