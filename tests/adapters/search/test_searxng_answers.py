"""What SearXNG sends beside its results. A new shape is one more line of `BESIDE`."""

from collections.abc import AsyncIterator

import httpx
import pytest

from core.adapters.search.searxng import SearxNG
from core.config.knobs import SearchKnobs
from core.model import SearchReply
from tests.services.loopback import Loopback, Reply, Request, json_reply

BOX = {
    "infobox": "Tea",
    "id": "https://en.wiki.example/Tea",
    "content": "A drink of leaves.",
    "urls": [
        {"title": "Wiki", "url": "https://en.wiki.example/Tea"},
        {"title": "Official", "url": "https://tea.example/"},
        {"title": "Data", "url": "wd:Q6097"},
    ],
    "attributes": [
        {"label": "Origin", "value": "Yunnan"},
        {"label": "Known since", "value": 760},
        {"label": "Picture", "image": {"src": "a.png"}},
    ],
    "engine": "wikipedia",
    "engines": ["wikipedia", "wikidata"],
}
TEXT = "A drink of leaves. Origin: Yunnan. Known since: 760."
BESIDE = {
    "answers as texts": ({"answers": ["About 95 °C"]}, [], ["About 95 °C"]),
    "answer with an address": (
        {"answers": [{"answer": "About 95 °C", "url": "https://tea.example/hot", "engine": "ddg", "template": "answer/legacy.html"}]},
        [("https://tea.example/hot", "About 95 °C")],
        ["About 95 °C"],
    ),
    "answer without an address": (
        {"answers": [{"answer": "42", "url": None, "engine": "calculator"}]}, [], ["42"],
    ),
    "translations": (
        {"answers": [{"template": "answer/translations.html", "translations": [{"text": "Tee"}, {"text": "Schwarztee"}]}]},
        [],
        ["Tee; Schwarztee"],
    ),
    "infobox": ({"infoboxes": [BOX]}, [("https://en.wiki.example/Tea", TEXT), ("https://tea.example/", TEXT)], []),
    "infobox whose id is no address": (
        {"infoboxes": [{**BOX, "id": "wd:Q6097"}]},
        [("https://en.wiki.example/Tea", TEXT), ("https://tea.example/", TEXT)],
        [],
    ),
    "infobox without an address": (
        {"infoboxes": [{"infobox": "Tea", "content": "A drink.", "urls": []}]}, [], ["Tea: A drink."],
    ),
    "answers by their text": ({"answers": {"95 °C": {"answer": "About <b>95</b> °C &amp; less"}}}, [], ["About 95 °C & less"]),
    "text with an angle": ({"answers": ["The <b> element is bold; &amp; is an ampersand"]}, [], ["The <b> element is bold; &amp; is an ampersand"]),
    "number": ({"answers": [{"answer": 42}]}, [], ["42"]),
    "malformed": (
        {"answers": [None, True, {}, {"answer": []}], "infoboxes": [None, "x", {"urls": {}, "attributes": 3}],
         "corrections": {"a": 1, "b": None}, "suggestions": [None, 2, {}]},
        [],
        [],
    ),
}  # fmt: skip


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield client


async def searched(client: httpx.AsyncClient, beside: object, results: int = 10) -> SearchReply:
    async def reply(request: Request) -> Reply:
        return json_reply(beside)

    with Loopback(reply) as server:
        return await SearxNG(server.url, client=client)("hot tae", SearchKnobs(results=results))


@pytest.mark.parametrize(("beside", "hits", "answers"), BESIDE.values(), ids=BESIDE)
async def test_answer_or_infobox_is_hit_or_shown(client, beside, hits, answers) -> None:
    reply = await searched(client, {"results": [], **beside})
    assert [(result.url, result.snippet) for result in reply.results] == hits
    assert list(reply.answers) == answers


async def test_first_address_of_infobox_comes_before_the_results(client) -> None:
    rows = [{"url": f"https://{name}.example/", "title": name} for name in "abc"]
    reply = await searched(client, {"results": rows, "infoboxes": [BOX]})
    hosts = [result.url.split("/")[2] for result in reply.results]
    assert hosts == ["en.wiki.example", "a.example", "b.example", "c.example", "tea.example"]
    assert [result.rank for result in reply.results] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("corrections", [["hot tea", {"title": "hot tea "}, "HOT TAE"], "hot tea"])
async def test_corrections_and_suggestions_are_other_queries(client, corrections) -> None:
    beside = {"results": [], "corrections": corrections, "suggestions": ["hot tea pot"]}
    reply = await searched(client, beside)
    assert reply.corrections == ("hot tea",)
    assert reply.suggestions == ("hot tea pot",)


UNRESPONSIVE = {
    "pairs": [["brave", "CAPTCHA"], ["bing", "timeout"]],
    "with what was suspended": [["brave", "CAPTCHA", True], ["bing", "timeout", False]],
    "objects": [{"engine": "brave", "error": "CAPTCHA"}, {"engine": "bing", "error": "timeout"}],
    "reasons by name": {"brave": "CAPTCHA", "bing": "timeout"},
}


@pytest.mark.parametrize("engines", UNRESPONSIVE.values(), ids=UNRESPONSIVE)
async def test_unresponsive_engines_are_named_with_their_reasons(client, engines) -> None:
    reply = await searched(client, {"results": [], "unresponsive_engines": engines})
    assert reply.unresponsive_engines == (("brave", "CAPTCHA"), ("bing", "timeout"))
