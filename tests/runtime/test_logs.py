"""Log lines tell of runs, and tell no secrets."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from core.config.settings import Settings
from core.run import events as e
from core.run.state import Run
from core.runtime.logs import MESSAGE_LIMIT, REMOVED, configure, observe, redact, redacted, write_through_root
from tests.samples import EVENTS, records

KEY = "kettle-key-0123456789"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure(Settings(searxng_username="anna", searxng_password=SecretStr("copper-lid-77")), stream=stream)
    yield stream
    configure(Settings(), stream=io.StringIO())


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_run_is_logged_by_id_and_figures_without_its_words(written: io.StringIO) -> None:
    run = Run()
    for record in (*records(*EVENTS), *records(e.RunDone())):
        run = run.apply(record)
        observe(record, run)
    observe(None, run)
    said = [(line["message"], line["run"]) for line in lines(written)]
    assert said[0] == ("run started", "run-1")
    assert ("search failed", "run-1") in said
    assert ("run done", "run-1") in said
    done = next(line for line in lines(written) if line["message"] == "run done")
    assert (done["pages"], done["sources"], done["tokens"]) == (1, 1, 13)
    for words in ("What is overlap?", "Alpha beta", "Delta holds", "a.example"):
        assert words not in written.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        f"asked with {KEY}",
        "Authorization: Bearer abcdefghijkl",
        "authorization: basic YW5uYTpjb3BwZXI=",
        "sk-or-v1-0123456789abcdef refused",
        "GET https://anna:secretlid@kettles.example/search",
        '{"api_key": "abcdefgh1234"}',
        "password=copper-lid-77&x=1",
        "password is copper-lid-77",
        base64.b64encode(b"anna:copper-lid-77").decode(),
    ],
)
def test_secrets_are_removed_from_messages_arguments_and_exceptions(text: str, written: io.StringIO) -> None:
    redact(KEY)
    log = logging.getLogger("core.test")
    log.warning("trouble: %s", text)
    log.warning(text)
    try:
        int(text)
    except ValueError:
        log.exception("it broke")
    for secret in (
        KEY,
        "abcdefghijkl",
        "YW5uYT",
        "0123456789abcdef",
        "secretlid",
        "abcdefgh1234",
        "copper-lid-77",
    ):
        assert secret not in written.getvalue()
    assert written.getvalue().count(REMOVED) >= 3
    assert "ValueError" in written.getvalue()
    assert len(lines(written)) == 3


def test_other_handlers_are_redacted_as_well() -> None:
    stream, root = io.StringIO(), logging.getLogger()
    other = logging.StreamHandler(stream)
    root.addHandler(other)
    try:
        configure(Settings(openai_api_key=SecretStr(KEY)), stream=io.StringIO())
        logging.getLogger("somebody.else").error("with %s", KEY)
    finally:
        root.removeHandler(other)
    assert KEY not in stream.getvalue()
    assert REMOVED in stream.getvalue()


def test_an_exception_that_quotes_a_page_is_cut(written: io.StringIO) -> None:
    try:
        json.loads("{}", object_hook=lambda _: getattr(Run(), "Kettles boil. " * 500))
    except AttributeError:
        logging.getLogger("core.test").exception("it broke")
    assert written.getvalue().count("Kettles boil.") < MESSAGE_LIMIT / 10


def test_honest_words_stay() -> None:
    text = "3 tokens, a basic idea, https://kettles.example/a:b@c, token: 5, the key to success"
    assert redacted(text) == text


def test_record_with_unfitting_arguments_is_written(written: io.StringIO) -> None:
    logging.getLogger("core.test").warning("%d kettles", "many")
    assert lines(written)[0]["message"] == "%d kettles"


def test_lines_of_servers_and_warnings_are_json(written: io.StringIO) -> None:
    uvicorn, streamlit = logging.getLogger("uvicorn"), logging.getLogger("streamlit.made_later")
    uvicorn.addHandler(logging.StreamHandler(plain := io.StringIO()))
    uvicorn.propagate = False
    uvicorn.setLevel(logging.INFO)
    configure(stream=written)
    streamlit.addHandler(logging.StreamHandler(plain))
    write_through_root(streamlit)
    uvicorn.info("Started server process [%d]", 7)
    streamlit.warning("A widget was given a default value.")
    logging.getLogger("py.warnings").warning("DeprecationWarning: old")
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [(line["logger"], line["level"]) for line in lines] == [
        ("uvicorn", "info"),
        ("streamlit.made_later", "warning"),
        ("py.warnings", "warning"),
    ]
    assert plain.getvalue() == ""
