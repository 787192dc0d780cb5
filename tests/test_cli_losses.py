"""What the command line tells of an answer that is not whole: each loss once, and what may be done instead."""

import asyncio
import re
from pathlib import Path

import pytest

from core.config.settings import Settings
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine import Engine
from tests.services.command_line import openquery
from tests.services.openai_server import FakeOpenAI, failure, streamed
from tests.test_cli import DEMO, QUESTION, SearchServer

pytestmark = pytest.mark.slow

NOWHERE = "http://127.0.0.1:9"


@pytest.mark.parametrize("verbose", [(), ("--verbose",)])
def test_failed_search_is_printed_once_with_other_backends(tmp_path: Path, verbose: tuple[str, ...]) -> None:
    result = openquery(tmp_path, "ask", QUESTION, "--search", "searxng", "--searxng-url", NOWHERE, *verbose)
    assert result.code == 3
    assert result.err.count("did not answer") == 1
    assert "could not connect" in result.err
    assert "Another search backend may find something: --search ddgs or --search demo." in result.err


def test_failed_web_and_missing_collection_are_warnings(tmp_path: Path) -> None:
    mills = tmp_path / "mills.md"
    mills.write_text("# Tide mills\n\nTide mills store the flood in a pond behind a gate and grind at ebb.")
    assert openquery(tmp_path, "ingest", "mills", str(mills)).code == 0
    arguments = ("ask", "How do tide mills store the flood?", "--origin")
    with_web = openquery(tmp_path, *arguments, "both", SEARXNG_URL=NOWHERE)
    assert with_web.code == 0, with_web.err
    assert f"web (SearXNG at {NOWHERE} did not answer: could not connect" in with_web.err
    library = openquery(tmp_path, *arguments, "library", OPENQUERY_COLLECTIONS="mills,nowhere")
    assert library.code == 0, library.err
    assert re.search(r"^Warning: Not searched: nowhere \(There is no collection", library.err, re.M)


def test_empty_collection_is_told_without_widening_the_time_range(tmp_path: Path) -> None:
    async def create() -> None:
        async with Engine(Settings(data=tmp_path)) as engine:
            await engine.part(LibraryConnections).database.create("hollow", 384)

    asyncio.run(create())
    result = openquery(tmp_path, "ask", QUESTION, "--origin", "library", "--search-collections", "hollow")
    assert result.code == 3
    assert "There are no passages in the collection hollow. Add documents to it" in result.err
    assert "time range" not in result.err


def test_losses_precede_the_answer_and_phases_tell_their_times(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    model = {
        "OPENAI_API_KEY": "sk-canary",
        "OPENQUERY_BASE_URL": fake_openai.base_url,
        "OPENQUERY_CHAT_MODEL": "fake-chat",
    }
    fake_openai.chats.append(failure(429, retry_after="1"))
    fake_openai.chats.extend(
        [streamed("chunk overlap\nchunk size"), streamed("There are 4711 overlaps [1].")]
    )
    with SearchServer(2, failing="chunk size") as server:
        server.snippet = "Chunk overlap keeps facts whole."
        result = openquery(tmp_path, "ask", QUESTION, "-q", "2", "-v", SEARXNG_URL=server.url, **model)
    assert result.code == 0, result.err
    assert result.err.count("Search failed for query 'chunk size'") == 1
    assert "Warning: 4711 is not in the sources it cites" in result.err
    assert re.search(
        r"phases   Queries \d\.\d s \+ 1\.\d s waiting · Search \d\.\d s \(partial\)", result.err
    )
    assert "0 of 2 pages read" in result.err


def test_a_count_agrees_with_its_noun(warm_folder: Path) -> None:
    result = openquery(warm_folder, "ask", QUESTION, *DEMO, "-q", "1", "-r", "1", "-v")
    assert re.search(r"search   1 hit from demo", result.err)
    assert "1 of 1 page read" in result.err
    assert not re.search(r"\b1 (hits|pages|passages|queries|runs)\b", result.err)
