"""Runs read back from a file that anybody may have written."""

import json
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput
from core.model import Article, Page
from core.run import events as e
from core.run.codec import run_to_json
from core.run.fold import folded_run
from core.run.importer import LIMIT, run_from_json
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from tests.samples import SLOW, records, until
from tests.seeding import until_ended

# The samples fold a second place into a passage; give it a page to stand on.
TWIN = Page(key=SLOW, url=SLOW, title="Slow", article=Article(text="0  Delta.…", extractor="fast"))
TOLD = (*until(e.PageRead), e.PageRead(TWIN), *until(e.RunDone)[len(until(e.PageRead)) :])
DONE = folded_run(records(*TOLD))


def document(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(run_to_json(DONE, vectors=True))
    return {**fields, **changes}


def read(fields: Any) -> Run:
    return run_from_json(json.dumps(fields).encode())


@pytest.mark.parametrize("vectors", [False, True])
def test_run_comes_back_from_its_file_unchanged(vectors: bool) -> None:
    written = run_to_json(DONE, vectors=vectors)
    again = run_from_json(written)
    assert run_to_json(again, vectors=vectors) == written
    assert (again.pages, again.replies, again.sources) == (DONE.pages, DONE.replies, DONE.sources)
    assert again.timeline == DONE.timeline
    assert again.notices == DONE.notices != ()


@pytest.mark.parametrize("kind", [e.RunStarted, e.SearchAnswered, e.PageRead, e.TokensWritten, e.Answered])
def test_unfinished_run_comes_back_as_interrupted(kind: type[e.Event]) -> None:
    run = Run()
    for record in records(*TOLD):
        run = run.apply(record)
        if isinstance(record.event, kind):
            break
    assert run.live
    assert run_from_json(run_to_json(run)).status is RunStatus.INTERRUPTED


def _deep(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        *steps, last = path.split(".")
        inner: Any = fields
        for step in steps:
            inner = inner[int(step) if step.isdigit() else step]
        inner[int(last) if last.isdigit() else last] = value

    return change


WRONG = {
    "no id": ("id", "../../etc"),
    "no question": ("question", " "),
    "long question": ("question", "x" * 1001),
    "no time": ("started", "yesterday"),
    "time without zone": ("started", "2026-01-02T03:04:05"),
    "negative time": ("seconds", -1),
    "number as text": ("seconds", "1"),
    "unknown status": ("status", "excellent"),
    "unknown field": ("colour", "red"),
    "knob out of bounds": ("knobs.rank.top_k", 1000),
    "unknown knob": ("knobs.rank.colour", 1),
    "script for an address": ("sources.0.url", "javascript:alert(1)"),
    "file for an address": ("pages.0.url", "file:///etc/passwd"),
    "data for an address": ("hits.0.url", "data:text/html,x"),
    "result without an address": ("replies.0.reply.results.0.url", ""),
    "page twice": ("pages", [json.loads(run_to_json(DONE))["pages"][0]] * 2),
    "passage of no page": ("index.passages.0.place.page", "https://nowhere.example/"),
    "passage with other words": ("index.passages.0.text", "Alpha beta gammA."),
    "passage beyond its page": ("passages.0.place.end", 10_000),
    "too few vectors": ("index.vectors.shape", [1, 2]),
    "vectors of objects": ("index.vectors.dtype", "O"),
    "vectors of text": ("index.vectors", "many"),
    "vectors in no base": ("index.vectors.base64", "%%%"),
    "vectors without the question's": ("index.question", None),
    "vectors that are no numbers": (
        "index.question",
        {"dtype": "float32", "shape": [2], "base64": "AADAfwAAwH8="},
    ),
    "vectors whose squares overflow": (
        "index.question",
        {"dtype": "float32", "shape": [2], "base64": "5rFhf+axYX8="},  # 3e38
    ),
    "a start in the year 1": ("started", "0001-01-01T00:00:00+00:00"),
    "a start in the year 9999": ("started", "9999-12-31T23:59:59+00:00"),
    "rank of a row that is not there": (
        "ranking.order",
        {"dtype": "int64", "shape": [1], "base64": "CQAAAAAAAAA="},
    ),
    "context of a row that is not there": ("ranking.context", [7]),
    "scores of other length": ("ranking.cosine", {"dtype": "float32", "shape": [1], "base64": "AAAAAA=="}),
    "sources numbered anew": ("sources.0.number", 2),
    "citation beyond the answer": ("check.citations.0.end", 10_000),
    "citation of no source": ("check.cited", [9]),
    "pages before the text": ("pages.0.article.page_starts", [9, 3]),
    "tables that overlap": ("pages.0.article.structures", [[0, 9, "table"], [3, 10, "code"]]),
    "end before the beginning": ("timeline.phases.plan", {"start": 2, "end": 1}),
    "form of the future": ("version", 99),
    "form that was never released": ("version", 3),
    "form without a version": ("version", None),
    "another format": ("format", "recipe"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "value"), WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_refused_with_what_to_do(path: str, value: Any) -> None:
    fields = document()
    _deep(path, value)(fields)
    with pytest.raises(BadInput) as refused:
        read(fields)
    assert refused.value.hint
    assert "javascript" not in refused.value.message


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"null", b"\xff\xfe", b'{"question": "?"}', b"[" * 100_000, b'{"a": NaN}', b"PK\x03\x04"],
)  # fmt: skip
def test_file_that_is_no_run_is_refused_with_advice(data: bytes) -> None:
    with pytest.raises(BadInput) as refused:
        run_from_json(data)
    assert refused.value.hint


def test_run_of_many_empty_values_is_refused_before_parsing() -> None:
    body = b'{"question": "q", "timeline": [' + b"[]," * 10_000_000 + b"[]]}"
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="more than 4,000,000 values"):
            run_from_json(body)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_above_the_limit_is_not_even_parsed() -> None:
    with pytest.raises(BadInput, match="limit"):
        run_from_json(b" " * (LIMIT + 1))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, key))


PATHS = list(_paths(document()))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20) | st.sampled_from(["float32", "O", "javascript:1", "http://a.example/", "AAAA"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(PATHS), ANYTHING), min_size=1, max_size=3), st.booleans())
def test_any_change_of_a_file_gives_a_run_or_refusal(changes: list[tuple[Any, Any]], remove: bool) -> None:
    fields = document()
    for path, value in changes:
        try:
            inner: Any = fields
            for step in path[:-1]:
                inner = inner[step]
            if remove:
                del inner[path[-1]]
            else:
                inner[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed the place
    try:
        run = read(fields)
    except BadInput as error:
        assert error.hint
        assert len(error.message) < 600
    else:
        assert not run.live
        assert run_from_json(run_to_json(run, vectors=True)).id == run.id


@given(st.binary(max_size=60), st.integers(0, 5000), st.integers(0, 40))
def test_any_damage_of_a_file_gives_a_run_or_refusal(noise: bytes, at: int, lost: int) -> None:
    whole = run_to_json(DONE, vectors=True)
    try:
        run_from_json(whole[:at] + noise + whole[at + lost :])
    except BadInput as error:
        assert error.hint


@pytest.mark.slow
def test_real_run_moves_to_another_machine_and_goes_on(warm_folder: Path) -> None:
    here = RunRegistry(Settings(data=warm_folder, ollama_url="", workers=1))
    (run,) = until_ended(here, [here.start("What does BM25 reward?", DEMO)])
    here.close()
    there = RunRegistry(Settings(data=warm_folder / "there", ollama_url="", workers=1))
    number = there.import_run(run_to_json(run), user="anna")
    assert number != run.id, "nobody chooses the id of a run"
    assert [line.id for line in there.history(user="anna")] == [number]
    taken = there.get(number)
    assert taken is not None
    assert run_to_json(replace(taken, id=run.id)) == run_to_json(run)
    answered = threading.Event()
    there.observers = (lambda record, _run: None if record else answered.set(),)
    there.answer_again(number)
    assert answered.wait(60)
    again = there.get(number)
    assert again is not None
    assert len(again.earlier_answers) == 1
    there.close()
    later = RunRegistry(Settings(data=warm_folder / "there", ollama_url="", workers=1))
    kept = later.get(number)
    assert kept is not None
    assert run_to_json(kept) == run_to_json(again)
    later.delete(number)
    assert later.history() == ()
    later.close()


DEMO = Knobs.parse({"search": {"backend": "demo", "results": 3}, "plan": {"queries": 1}})
