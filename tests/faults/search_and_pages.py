"""What goes wrong with searches and pages."""

from dataclasses import replace

from core.model import SkipReason
from core.run.state import RunStatus
from tests.faults.world import WHOLE, Arrange, FaultCase, World, silent
from tests.services.loopback import Cut, Gate, Reply, html_reply, json_reply
from tests.services.process import closed_port

# --- search -----------------------------------------------------------------------------------------------


def search(*replies: Reply) -> Arrange:
    return lambda world: world.site.searches.extend(replies)


def no_search(world: World) -> None:
    world.search_url = f"http://127.0.0.1:{closed_port()}"


FAILED = RunStatus.FAILED, None
HALF = b'{"results": [{"url": "http://'


def _no_search(name: str, arrange: Arrange, says: str) -> FaultCase:
    return FaultCase(name, arrange, FAILED, says, "search", keeps=lambda run: len(run.queries) == 1)


SEARCH = [
    _no_search("refused", no_search, "did not answer"),
    FaultCase("reset once", search(Reply((b"{", Cut()))), WHOLE, ""),
    _no_search("reset twice", search(*[Reply((b"{", Cut()))] * 2), "did not answer"),
    _no_search("silent", silent(search(Reply((Gate(),)))), "within 0.5 s"),
    _no_search("half-written", search(*[Reply((HALF,), streamed=True, unended=True)] * 2), "did not answer"),
    _no_search("JSON that is cut off", search(Reply((HALF,))), "JSON"),
    _no_search("HTML instead of JSON", search(html_reply()), "JSON"),
    _no_search("nothing at all", search(Reply((b"",))), "JSON"),
    _no_search("a list instead of an object", search(json_reply([1, 2])), "JSON"),
    _no_search("results that are no list", search(json_reply({"results": 1})), "no list"),
    _no_search("null results", search(json_reply({"results": None})), "No search results found"),
    _no_search("no results", search(json_reply({"results": []})), "No search results found"),
    _no_search(
        "rows that are no rows",
        search(json_reply({"results": [1, None, "x", {}]})),
        "No search results found",
    ),
    _no_search(
        "an error object with status 200", search(json_reply({"error": "engine trouble"})), "engine trouble"
    ),
    _no_search("401", search(json_reply({}, status=401)), "SEARXNG_USERNAME"),
    _no_search("402", search(json_reply({}, status=402)), "402"),
    _no_search("403", search(html_reply(status=403)), "search.formats"),
    _no_search("404", search(html_reply(status=404)), "404"),
    _no_search("429", search(json_reply({}, status=429)), "429"),
    _no_search(
        "429 for ten minutes", search(json_reply({}, status=429, headers={"Retry-After": "600"})), "600 s"
    ),
    FaultCase("500 once", search(html_reply(status=500)), WHOLE, ""),
    _no_search("500 twice", search(*[html_reply(status=500)] * 2), "500"),
    _no_search(
        "a redirect elsewhere",
        search(json_reply({}, status=302, headers={"Location": "http://10.0.0.1/"})),
        "redirects",
    ),
    _no_search(
        "addresses that are no web pages",
        search(
            json_reply(
                {"results": [{"url": u, "title": "x"} for u in ("javascript:1", "/a", "file:///a", "", 7)]}
            )
        ),
        "No search results found",
    ),
    FaultCase(
        "429, and then well", search(json_reply({}, status=429, headers={"Retry-After": "1"})), WHOLE, ""
    ),
    FaultCase(
        "addresses that may not be fetched",
        search(
            json_reply(
                {
                    "results": [
                        {"url": "http://10.0.0.1/", "title": "x", "content": "A snippet about kettles."}
                    ]
                }
            )
        ),
        WHOLE,
        "not allowed",
    ),
]

# --- pages ------------------------------------------------------------------------------------------------


def page(*replies: Reply) -> Arrange:
    """The second page, or the second and the third, are these."""
    return lambda world: world.site.pages.update(dict(enumerate(replies, start=2)))


def silent_page(world: World) -> None:
    page(Reply((Gate(),), content_type="text/html"))(world)
    world.knobs = replace(world.knobs, read=replace(world.knobs.read, page_timeout=1))


def no_page(reply: Reply) -> Arrange:
    return lambda world: world.site.pages.update(dict.fromkeys((1, 2, 3), reply))


def _one_page_less(name: str, fault: Reply | Arrange, says: SkipReason) -> FaultCase:
    arrange = page(fault) if isinstance(fault, Reply) else fault
    return FaultCase(
        name, arrange, WHOLE, says, keeps=lambda run: len(run.pages) == 2 and len(run.skips) == 1
    )


PAGES = [
    _one_page_less("reset", Reply((b"<p>", Cut())), SkipReason.NETWORK),
    _one_page_less("silent", silent_page, SkipReason.TIMEOUT),
    _one_page_less(
        "half-written",
        Reply((b"<p>" * 99,), content_type="text/html", streamed=True, unended=True),
        SkipReason.NETWORK,
    ),
    _one_page_less("of another type", Reply((b"GIF89a",), content_type="image/gif"), SkipReason.UNSUPPORTED),
    _one_page_less("404", html_reply(status=404), SkipReason.STATUS),
    _one_page_less("429", html_reply(status=429), SkipReason.STATUS),
    _one_page_less("500", html_reply(status=500), SkipReason.STATUS),
    _one_page_less("empty", html_reply(""), SkipReason.EMPTY),
    _one_page_less("no parser can read it", html_reply("<div>" * 50_000), SkipReason.BROKEN),
    _one_page_less(
        "a damaged PDF", Reply((b"%PDF-1.7 oops",), content_type="application/pdf"), SkipReason.BROKEN
    ),
    FaultCase(
        "every page fails",
        no_page(html_reply(status=503)),
        WHOLE,
        "snippets of the search results are used",
        keeps=lambda run: (
            all(p.snippet_only for p in run.pages.values()) and run.skips.keys() == run.pages.keys()
        ),
    ),
]
