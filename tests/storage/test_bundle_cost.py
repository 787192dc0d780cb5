"""What it costs to read a bundle that anybody may have written: memory and CPU time by its size."""

import base64
import io
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput
from core.features.share.formats import export, formats_of
from core.storage.bundle import EVENTS, Effort, from_bundle
from tests.storage.test_bundle import BUNDLE, parts_of, zipped

PARTS = parts_of(BUNDLE)
LINES: list[dict[str, Any]] = [orjson.loads(line) for line in PARTS[EVENTS].splitlines()]
FREE_SECONDS, SECONDS_PER_MB = 1.5, 2.0
FREE_BYTES, MEMORY = 20_000_000, 3
ROOT = Path(__file__).parents[2]
MUTATIONS = settings(max_examples=10_000 if settings().max_examples >= 1000 else settings().max_examples)


def first(name: str) -> dict[str, Any]:
    return next(orjson.loads(orjson.dumps(line["event"])) for line in LINES if line["event"]["event"] == name)


def bundle(lines: list[dict[str, Any]]) -> bytes:
    return zipped({**PARTS, EVENTS: b"".join(orjson.dumps(line) + b"\n" for line in lines)})


def unpacked(data: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def array(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    text = base64.b64encode(values.tobytes()).decode()
    return {"dtype": str(values.dtype), "shape": list(values.shape), "base64": text}


def wide_index() -> Iterator[dict[str, Any]]:
    event = first("Indexed")
    event["index"]["passages"] = event["index"]["passages"][:1] * 120
    event["index"]["question"] = array(np.ones(1_000_000, np.float32))
    event["index"]["vectors"] = array(np.zeros((0, 1_000_000), np.float32))
    yield event | {"rows": array(np.zeros(0, np.int64))}


def searches() -> Iterator[dict[str, Any]]:
    answered = first("SearchAnswered")
    for number in range(1200):
        query = answered["query"] | {"text": f"query {number}"}
        yield {"event": "QueryPlanned", "query": query}
        results = [row | {"url": f"https://{number}.example/"} for row in answered["reply"]["results"]]
        yield answered | {"query": query, "reply": answered["reply"] | {"results": results}}


def models() -> Iterator[dict[str, Any]]:
    used = first("ModelUsed")
    for number in range(8000):
        yield used | {"usage": used["usage"] | {"model": f"model {number}"}}


def cosines() -> Iterator[dict[str, Any]]:
    passages = [str(number) for number in range(300_000)]
    yield {"event": "Embedded", "batch": 1, "passages": passages, "cosine": [0.0] * 300_000, "reused": 0}


def fetches() -> Iterator[dict[str, Any]]:
    return ({"event": "FetchStarted", "key": f"https://a/{n}", "url": "https://a/"} for n in range(12_000))


def steps() -> Iterator[dict[str, Any]]:
    yield from [{"event": "ModelDecided", "text": "", "calls": [], "tokens": 1}] * 4000
    yield from (
        {"event": "StepStarted", "number": n, "tool": "find", "arguments": ""} for n in range(1, 4000)
    )


ATTACKS: list[Callable[[], Iterator[dict[str, Any]]]] = [
    wide_index,
    searches,
    models,
    cosines,
    fetches,
    steps,
]


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.thorough
def test_a_bundle_costs_at_most_what_it_weighs(attack: Callable[[], Iterator[dict[str, Any]]]) -> None:
    data = bundle([*LINES, *({"at": 99.0, "event": event} for event in attack())])
    assert_affordable(data)


MEMORY_OF_READING = """
import resource, sys
from pathlib import Path
from core.errors import BadInput
from core.storage.bundle import from_bundle

from_bundle(Path(sys.argv[1]).read_bytes())
data = Path(sys.argv[2]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    from_bundle(data)
except BadInput:
    pass
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.slow
@pytest.mark.parametrize("attack", [wide_index, cosines])
@pytest.mark.thorough
def test_a_bundle_takes_memory_by_its_size(
    attack: Callable[[], Iterator[dict[str, Any]]], tmp_path: Path
) -> None:
    data = bundle([*LINES, *({"at": 99.0, "event": event} for event in attack())])
    (tmp_path / "small.zip").write_bytes(BUNDLE)
    (tmp_path / "large.zip").write_bytes(data)
    command = [sys.executable, "-c", MEMORY_OF_READING, tmp_path / "small.zip", tmp_path / "large.zip"]
    taken = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True).stdout
    assert int(taken) <= FREE_BYTES + MEMORY * unpacked(data)


def read(data: bytes) -> None:
    try:
        from_bundle(data)
    except BadInput as refused:
        assert refused.hint


def assert_affordable(data: bytes) -> None:
    start = time.thread_time()
    read(data)
    assert time.thread_time() - start <= FREE_SECONDS + SECONDS_PER_MB * unpacked(data) / 1e6


@MUTATIONS
@given(st.data())
@pytest.mark.thorough
def test_a_mutated_bundle_costs_at_most_what_it_weighs(data: st.DataObject) -> None:
    lines = orjson.loads(orjson.dumps(LINES))
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, lines)
    assert_affordable(bundle(lines))


def mutate(data: st.DataObject, lines: list[dict[str, Any]]) -> None:
    """Repeat an event, or change a value in one."""
    place = data.draw(st.integers(0, len(lines) - 1))
    if data.draw(st.booleans()):
        lines[place:place] = lines[place : place + data.draw(st.integers(1, 5))] * data.draw(
            st.integers(1, 50)
        )
        return
    at: Any = lines[place]["event"]
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.integers(0, 9)) == 0:
            break
        at = at[key]
    match at[key]:
        case bool():
            at[key] = not at[key]
        case int() | float():
            at[key] = data.draw(st.sampled_from([0, -1, 1, 2**31, 2**63, 1e308, -1e308, 3e38, 0.5]))
        case str():
            at[key] = data.draw(
                st.sampled_from(["", "0001-01-01T00:00:00+23:59", "x" * 10_000, "\u202e", "NaN"])
            )
        case list():
            at[key] = at[key] * data.draw(st.integers(0, 1000))
        case _:
            at[key] = data.draw(st.sampled_from([None, {}, [], 0, ""]))


def test_work_beyond_the_size_of_a_bundle_is_refused() -> None:
    seconds = iter([0.0, 2.4, 2.6])
    effort = Effort(1_000_000, clock=lambda: next(seconds))
    effort.check()
    with pytest.raises(BadInput, match="more work"):
        effort.check()


@MUTATIONS
@given(st.data())
def test_accepted_mutated_run_has_every_export(data: st.DataObject) -> None:
    lines = orjson.loads(orjson.dumps(LINES))
    mutate(data, lines)
    try:
        recorded = from_bundle(bundle(lines))
    except BadInput:
        return
    for ending in formats_of(recorded.run):
        assert export(recorded, ending)
