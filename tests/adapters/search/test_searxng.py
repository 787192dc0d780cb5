"""The SearXNG adapter against everything that can come back instead of good results."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from core.adapters.certificates import trusted_certificates
from core.adapters.search.searxng import MAX_PAGES, SearxNG
from core.adapters.search.searxng_reply import InstanceConfig, Instances
from core.config.knobs import SafeSearch, SearchKnobs, TimeRange
from core.errors import BadInput, SearchFailed
from tests.bombs import gzip_file
from tests.services.loopback import Cut, Gate, Loopback, Reply, Request, html_reply, json_reply
from tests.services.process import closed_port


class Instance(Loopback):
    """Gives the scripted replies in turn, and the last one again and again."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.replies: list[Reply] = []

    async def _reply(self, request: Request) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def found(*urls: str, **more: object) -> Reply:
    return json_reply({"results": [{"url": url, "title": url} for url in urls], **more})


@pytest.fixture
def instance() -> Iterator[Instance]:
    with Instance() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, verify=trusted_certificates(httpx)) as client:
        yield client


@pytest.fixture
def adapter(instance: Instance, client: httpx.AsyncClient) -> SearxNG:
    return SearxNG(instance.url, client=client)


async def failure(adapter: SearxNG) -> SearchFailed:
    with pytest.raises(SearchFailed) as caught:
        await adapter("overlap", SearchKnobs())
    return caught.value


# --- what is asked ----------------------------------------------------------------------------------------


async def test_every_knob_reaches_the_instance(instance, adapter):
    instance.replies = [found("http://a.example")]
    knobs = SearchKnobs(
        results=1,
        language="zh-CN",
        time_range=TimeRange.MONTH,
        safe_search=SafeSearch.OFF,
        categories="science,it",
        engines="arxiv",
    )
    await adapter("naïve 検索", knobs)
    assert instance.requests[0].path == "/search"
    assert instance.requests[0].query == {
        "q": "naïve 検索",
        "format": "json",
        "pageno": "1",
        "language": "zh-CN",
        "safesearch": "0",
        "time_range": "month",
        "categories": "science,it",
        "engines": "arxiv",
    }


async def test_pages_stop_when_one_brings_nothing_new(instance, adapter):
    instance.replies = [found("http://a.example"), found("http://www.a.example/?utm_source=again")]
    reply = await adapter("x", SearchKnobs(results=5))
    assert [row.url for row in reply.results] == ["http://a.example"]
    assert len(instance.requests) == 2


async def test_pages_are_bounded(instance, adapter):
    instance.replies = [found(f"http://a.example/{number}") for number in range(20)]
    reply = await adapter("x", SearchKnobs(results=50))
    assert len(reply.results) == len(instance.requests) == MAX_PAGES
    assert [row.rank for row in reply.results] == [1, 2, 3, 4, 5]


async def test_failed_later_page_keeps_earlier_rows(instance, adapter):
    instance.replies = [found("http://a.example"), html_reply(status=500)]
    reply = await adapter("x", SearchKnobs())
    assert len(reply.results) == 1
    assert reply.unresponsive_engines[0][0] == "page 2"
    assert "HTTP 500" in reply.unresponsive_engines[0][1]


async def test_no_more_rows_than_asked_are_given(instance, adapter):
    instance.replies = [found(*(f"http://a.example/{number}" for number in range(30)))]
    assert len((await adapter("x", SearchKnobs(results=3))).results) == 3
    assert len(instance.requests) == 1


async def test_credentials_go_into_a_header_and_into_no_message(instance, client):
    instance.replies = [html_reply(status=401)]
    in_url = instance.url.replace("http://", "http://ann:s3cret@")
    for adapter in (
        SearxNG(in_url, client=client),
        SearxNG(instance.url, username="ann", password=SecretStr("s3cret"), client=client),
    ):
        error = await failure(adapter)
        assert instance.requests[-1].headers["authorization"] == "Basic YW5uOnMzY3JldA=="
        assert "s3cret" not in f"{error} {adapter.identity}"
        assert "SEARXNG_PASSWORD" in error.hint


@pytest.mark.parametrize("spelling", ["{}", "{}/", "{}/search", "  {}/search/?q=x#y "])
async def test_the_address_may_be_written_in_several_ways(instance, client, spelling):
    instance.replies = [found("http://a.example")]
    adapter = SearxNG(spelling.format(instance.url), client=client)
    await adapter("x", SearchKnobs(results=1))
    assert instance.requests[0].path == "/search"
    assert adapter.identity == f"searxng {instance.url}"


@pytest.mark.parametrize("address", ["", "searx", "ftp://a.example", "http://", "http://[::1"])
async def test_an_address_that_is_none_is_refused_at_once(client, address):
    with pytest.raises(BadInput) as caught:
        SearxNG(address, client=client)
    assert "SEARXNG_URL" in caught.value.hint


# --- what comes back --------------------------------------------------------------------------------------


async def test_malformed_rows_are_left_out_and_long_ones_cut(instance, adapter):
    rows = [
        "text",
        None,
        {},
        {"url": None, "title": "none"},
        {"url": "/relative", "title": "relative"},
        {"url": "ftp://a.example/", "title": "ftp"},
        {"url": "javascript:alert(1)", "title": "script"},
        {"url": "http://a.example/" + "x" * 5000, "title": "endless"},
        {"url": "http://[::1", "title": "broken"},
        {"url": " http://a.example/1 ", "title": "One\nline " + "t" * 900_000, "content": "s " * 9000},
        {
            "url": "http://a.example/2",
            "title": None,
            "content": 7,
            "engine": "e",
            "publishedDate": "2024-05-06",
        },
        {"url": None, "parsed_url": ["javascript", "", "alert(1)", "", "", ""]},
        {"parsed_url": ["http", "a.example", 7]},
        {
            "parsed_url": ["http", "a.example", "/3", "", "", ""],
            "engines": ["a", None, "b"],
            "publishedDate": None,
        },
    ]
    instance.replies = [json_reply({"results": rows, "unresponsive_engines": [["x", "timeout"], ["y"], 3]})]
    reply = await adapter("x", SearchKnobs())
    assert [row.url for row in reply.results] == [f"http://a.example/{number}" for number in (1, 2, 3)]
    first, two, three = reply.results
    assert first.title.startswith("One line ttt")
    assert len(first.title) == 300
    assert len(first.snippet) <= 2000
    assert (two.title, two.snippet, two.engines, two.published) == ("", "7", ("e",), "2024-05-06")
    assert (three.engines, three.published) == (("a", "b"), None)
    assert reply.unresponsive_engines == (("x", "timeout"), ("y", ""))


ROW = {"url": "http://a.example/1", "title": 1984}
ROWS = {
    "by number": {"0": ROW, "1": {**ROW, "url": "http://a.example/2"}},
    "by engine": {"brave": [ROW], "bing": [{**ROW, "url": "http://a.example/2"}]},
    "without a scheme": [
        {**ROW, "url": "//a.example/1"},
        {**ROW, "url": "a.example/2"},
        {**ROW, "url": "wd:Q1"},
    ],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
async def test_rows_of_other_shapes_are_read(instance, adapter, rows):
    instance.replies = [json_reply({"results": rows})]
    found = (await adapter("x", SearchKnobs(results=2))).results
    assert [row.url.partition("://")[2] for row in found] == ["a.example/1", "a.example/2"]
    assert {row.title.replace(" ", "") for row in found} == {"1984"}


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        ("publishedDate", 1_710_000_000, "2024-03-09T16:00:00+00:00"),
        ("publishedDate", 1_710_000_000_000, "2024-03-09T16:00:00+00:00"),
        ("publishedDate", "Sat, 09 Mar 2024 16:00:00 GMT", "2024-03-09T16:00:00+00:00"),
        ("publishedDate", "2024-03-09 16:00:00", "2024-03-09 16:00:00"),
        ("pubdate", "2024-03-09", "2024-03-09"),
        ("publishedDate", 7, None),
        ("content", "Tides turn<br/>at ebb.<p>See <a href='/x'>ponds</a></p><img src='/y'>", "Tides turn at ebb. See ponds"),
        ("content", "The <p> and </p> tags, and <br> too", "The <p> and </p> tags, and <br> too"),
    ],
)  # fmt: skip
async def test_fields_are_read_in_each_form(instance, adapter, field, value, read):
    row = {"url": "http://a.example/1", "title": "A", field: value}
    instance.replies = [json_reply({"results": [row]})]
    (result,) = (await adapter("x", SearchKnobs(results=1))).results
    assert (result.snippet if field == "content" else result.published) == read


async def test_json_as_a_text_in_json_is_read(instance, adapter):
    instance.replies = [json_reply(json.dumps({"results": [{"url": "http://a.example/1"}]}))]
    assert len((await adapter("x", SearchKnobs(results=1))).results) == 1


@pytest.mark.parametrize("body", [{"results": None}, {"results": []}, {}])
async def test_no_results_is_an_answer(instance, adapter, body):
    instance.replies = [json_reply(body)]
    assert (await adapter("x", SearchKnobs())).results == ()


@pytest.mark.parametrize(
    ("reply", "message", "hint"),
    [
        (html_reply(), "did not answer in JSON", "search.formats"),
        (html_reply(status=403), "refuses JSON (HTTP 403)", "search.formats"),
        (html_reply(status=404), "no search page", "SEARXNG_URL"),
        (json_reply({"error": "No time"}, status=400), "HTTP 400: No time", "time range"),
        (html_reply(status=429), "limits requests (429)", "later"),
        (html_reply(status=502), "HTTP 502", "log"),
        (json_reply([1]), "did not answer in JSON", "search.formats"),
        (json_reply({"results": "many"}), "no list of results", "up to date"),
        (Reply((b'{"results": [',)), "did not answer in JSON", "search.formats"),
        (Reply((b"",)), "did not answer in JSON", "search.formats"),
        (Reply((b'{"results"', Cut())), "did not answer", "running"),
        (Reply((b" " * 4_000_001,)), "more than 4 MB", "address"),
        (
            Reply((gzip_file(b" ", 50),), headers={"Content-Encoding": "gzip"}),
            "more than 4 MB",
            "address",
        ),
        (Reply((b"junk",), headers={"Content-Encoding": "gzip"}), "cannot be read", "address"),
        (Reply((b"junk",), headers={"Content-Encoding": "br"}), "cannot be read", "address"),
        (html_reply('<form><input name="p" type="password"></form>'), "behind a sign-in page", "proxy"),
        (html_reply("<title>Just a moment...</title>", status=403), "checks for a browser", "proxy"),
        (
            Reply((), status=302, headers={"Location": "https://id.example/oauth2/start?rd=%2F"}),
            "behind a sign-in at https://id.example",
            "proxy",
        ),
        (Reply((), status=302, headers={"Location": "https://a.example/"}), "redirects to", "final"),
    ],
)
async def test_each_fault_has_its_message_and_hint(instance, adapter, reply, message, hint):
    instance.replies = [reply]
    error = await failure(adapter)
    assert message in error.message
    assert instance.url in error.message
    assert hint in error.hint


async def test_a_packed_body_is_unpacked(instance, adapter):
    body = gzip.compress(json.dumps({"results": [{"url": "http://a.example"}]}).encode())
    instance.replies = [Reply((body[:20], body[20:]), headers={"Content-Encoding": "gzip"})]
    assert len((await adapter("x", SearchKnobs(results=1))).results) == 1


async def test_redirects_are_not_followed(instance, adapter):
    with Loopback(lambda request: asyncio.sleep(0, found("http://a.example"))) as elsewhere:
        location = elsewhere.url.replace("http://", "http://ann:s3cret@") + "/search?token=s3cret"
        instance.replies = [Reply((), status=307, headers={"Location": location})]
        error = await failure(adapter)
        assert elsewhere.requests == []
    assert "redirects to http://127.0.0.1." in error.message
    assert "s3cret" not in str(error)


async def test_nobody_at_the_address_says_so(client):
    error = await failure(SearxNG(f"http://127.0.0.1:{closed_port()}", client=client))
    assert "did not answer: could not connect" in error.message
    assert "SEARXNG_URL" in error.hint


async def test_dripping_body_is_cut_by_the_request_time_limit(instance, client):
    gate = Gate()
    instance.replies = [Reply((b'{"results"', gate))]
    error = await failure(SearxNG(instance.url, timeout=0.2, client=client))
    assert "within 0.2 s" in error.message
    await instance.requests[0].hung_up()


async def test_a_connection_that_is_lost_is_tried_once_more(instance, adapter):
    instance.replies = [Reply((b'{"results"', Cut())), found("http://a.example")]
    assert len((await adapter("x", SearchKnobs(results=1))).results) == 1
    instance.replies = [Reply((Cut(),))]
    await failure(adapter)
    assert len(instance.requests) == 4


async def test_the_clients_own_patience_does_not_count(instance):
    instance.replies = [found("http://a.example")]
    async with httpx.AsyncClient(trust_env=False, timeout=1e-6) as hasty:
        reply = await SearxNG(instance.url, timeout=60, client=hasty)("overlap", SearchKnobs(results=1))
    assert [row.url for row in reply.results] == ["http://a.example"]


# --- limits -----------------------------------------------------------------------------------------------


async def with_pauses(instance: Instance, client: httpx.AsyncClient) -> tuple[list[float], SearxNG]:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    return pauses, SearxNG(instance.url, client=client, pause=pause)


def limited(retry_after: str) -> Reply:
    return Reply((b"Too many",), status=429, content_type="text/html", headers={"Retry-After": retry_after})


async def test_a_short_retry_after_is_waited_for_once(instance, client):
    pauses, adapter = await with_pauses(instance, client)
    instance.replies = [limited("3"), found("http://a.example")]
    assert len((await adapter("x", SearchKnobs(results=1))).results) == 1
    assert pauses == [3.0]


async def test_a_date_is_understood_as_well(instance, client):
    pauses, adapter = await with_pauses(instance, client)
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=4), usegmt=True)
    instance.replies = [limited(soon), found("http://a.example")]
    await adapter("x", SearchKnobs(results=1))
    assert len(pauses) == 1
    assert 1 < pauses[0] <= 4


async def test_a_second_limit_in_a_row_is_an_error(instance, client):
    pauses, adapter = await with_pauses(instance, client)
    instance.replies = [limited("1")]
    assert "429" in (await failure(adapter)).message
    assert pauses == [1.0]


@pytest.mark.parametrize(
    ("retry_after", "hint"),
    [("30", "Ask again in 30 s"), ("soon", "Ask again later"), ("", "Ask again later")],
)
async def test_long_or_unreadable_retry_after_is_only_reported(instance, client, retry_after, hint):
    pauses, adapter = await with_pauses(instance, client)
    instance.replies = [limited(retry_after)]
    assert (await failure(adapter)).hint.startswith(hint)
    assert pauses == []


@pytest.mark.parametrize("home", ["/", "{}/"])
async def test_redirect_to_the_start_page_is_a_limiter_too(instance, adapter, home):
    instance.replies = [Reply((), status=302, headers={"Location": home.format(instance.url)})]
    error = await failure(adapter)
    assert "limits requests (302)" in error.message
    assert "pass_ip" in error.hint


# --- health -----------------------------------------------------------------------------------------------


NO_QUERY = json_reply({"error": "No query"}, status=400)
CONFIG = {
    "version": "2025.1",
    "engines": [{"name": "a", "enabled": True}, {"name": "b", "enabled": False}, 3, {"name": None}],
    "categories": ["general", 4],
    "limiter": {"enabled": False},
}


async def test_health_tells_version_and_engines(instance, adapter):
    instance.replies = [json_reply(CONFIG), NO_QUERY]
    assert await adapter.healthy() == f"SearXNG 2025.1 at {instance.url}, JSON enabled, engines: 1"
    assert instance.requests[1].query == {"q": "", "format": "json"}


@pytest.mark.parametrize("config", [html_reply(status=404), html_reply(), json_reply([1]), Reply((Cut(),))])
async def test_health_does_not_need_the_configuration(instance, adapter, config):
    instance.replies = [config, NO_QUERY]
    assert await adapter.healthy() == f"SearXNG at {instance.url}, JSON enabled"


async def test_health_spends_no_search_where_a_limiter_counts_them(instance, adapter):
    instance.replies = [json_reply({**CONFIG, "limiter": {"enabled": True}})]
    assert "with its limiter on" in await adapter.healthy()
    assert [request.path for request in instance.requests] == ["/config"]


@pytest.mark.parametrize("reply", [html_reply(), html_reply(status=403), html_reply(status=400)])
async def test_what_is_no_searxng_with_json_is_not_healthy(instance, adapter, reply):
    instance.replies = [reply]
    with pytest.raises(SearchFailed):
        await adapter.healthy()


# --- engines and categories that are named ----------------------------------------------------------------


class Catalogue(Loopback):
    """An instance that finds one page, and whose `/config` is the given reply."""

    def __init__(self, config: Reply) -> None:
        super().__init__(self._reply)
        self.config = config

    async def _reply(self, request: Request) -> Reply:
        return self.config if request.path == "/config" else found("http://a.example")


ASKED = SearchKnobs(results=1, engines="a,b, nobody", categories="general,science")


async def test_all_adapters_ask_an_instance_once_what_it_has(client):
    configs = Instances()
    with Catalogue(json_reply(CONFIG)) as server:
        adapters = [SearxNG(server.url, client=client, configs=configs) for _ in range(3)]
        replies = await asyncio.gather(*(adapter("x", ASKED) for adapter in adapters))
        assert [reply.unknown_engines for reply in replies] == [("nobody", "science")] * 3
        assert [request.path for request in server.requests].count("/config") == 1


async def test_nothing_is_asked_where_nothing_is_named(client):
    with Catalogue(json_reply(CONFIG)) as server:
        assert (await SearxNG(server.url, client=client)("x", SearchKnobs(results=1))).unknown_engines == ()
        assert [request.path for request in server.requests] == ["/search"]


@pytest.mark.parametrize("config", [html_reply(status=404), json_reply({}), Reply((Cut(),))])
async def test_instance_without_a_config_page_is_no_error(client, config):
    with Catalogue(config) as server:
        reply = await SearxNG(server.url, client=client)("x", ASKED)
    assert (len(reply.results), reply.unknown_engines) == (1, ())


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
FIELDS = st.sampled_from(["engines", "name", "enabled", "categories", "limiter", "version"])
ANY = st.recursive(
    PLAIN, lambda values: st.lists(values, max_size=4) | st.dictionaries(FIELDS, values, max_size=4)
)


@given(ANY)
def test_whatever_an_instance_says_of_itself_can_be_read(value):
    config = InstanceConfig.parse(json.dumps(value).encode())
    if config is None:
        assert not isinstance(value, dict)
    else:
        assert set(config.unknown_engines(ASKED)) <= {"a", "b", "nobody", "general", "science"}


# --- failures that pass, replies that break rules ---------------------------------------------------------


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_failure_of_the_instance_is_tried_once_more(instance, client, status):
    pauses, adapter = await with_pauses(instance, client)
    instance.replies = [html_reply(status=status), found("http://a.example")]
    assert len((await adapter("x", SearchKnobs(results=1))).results) == 1
    assert len(pauses) == 1
    instance.replies = [html_reply(status=status)]
    assert f"HTTP {status}" in (await failure(adapter)).message
    assert len(instance.requests) == 4, "and not again"


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (
            b"\xef\xbb\xbf" + json.dumps({"results": [{"url": "http://a.example", "title": "A"}]}).encode(),
            "A",
        ),
        ('{"results": [{"url": "http://a.example", "title": "Café"}]}'.encode("latin-1"), "Café"),
        (b'{"results": [{"url": "http://a.example", "title": "A", "score": NaN, "n": -Infinity}]}', "A"),
        (b'{"results": [{"url": "http://a.example", "title": "A\\ud83d"}]}', "A"),
        (
            b'{"results": [{"url": "http://b\\ud83d.example"}, {"url": "http://a.example", "title": "A"}]}',
            "A",
        ),
        (b'{"results": [{"url": "http://a.example", "title": "A\tB"}]}', "A B"),
        ('{"results": [{"url": "http://a.example", "title": "Käse'.encode() + b'\xff"}]}', "Käse"),
    ],
    ids=[
        "byte order mark",
        "Latin-1",
        "NaN",
        "half a pair",
        "half a pair in an address",
        "a tab",
        "a wrong byte",
    ],
)
async def test_malformed_reply_loses_only_its_malformed_results(instance, adapter, body, title):
    instance.replies = [Reply((body,))]
    (row,) = (await adapter("x", SearchKnobs(results=1))).results
    assert (row.url, row.title.rstrip("�")) == ("http://a.example", title)
