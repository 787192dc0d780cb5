"""A collection that another program filled, embedded and on a server, asked over HTTP as it is."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from core.adapters.models.local_embedder import MiniLM
from core.stages.ranking.calibration import calibration_of
from tests.features.api.conftest import Api, serving, settings
from tests.services.command_line import openquery
from tests.services.qdrant import FakeQdrant

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "data" / "fill_qdrant.py"
NAME = "mill_book"
QUESTION = "How deep is the mill pond at Harrow Bridge?"
ANSWER = "The mill pond at Harrow Bridge is four metres deep at the sluice."
PAGE: dict[str, Any] = {
    "source": "mill-book",
    "section": "2 Water",
    "url": "https://WWW.mills.example/Book/?utm_source=x&b=2&a=1#water",
    "title": "The Mills of the Valley",
    "page": "4",
    "author": "A. Miller",
    "language": "English",
    "tags": ["mills", "water"],
    "created_at": "2025-12-19T10:30:00.123456+02:00",
    "rating": 4.5,
    "reviewed": {"by": "B. Weaver", "twice": True},
}
LONG_ID = "9b2fbf0a-3c19-4f7c-8a55-000000000001"
LONG = " ".join(
    f"The great flood took wheel number {number} with its sluice and stones." for number in range(40)
)
FILE = {"source": "letters of 1871.pdf", "title": "Letters", "page": 2}
POINTS: list[tuple[int | str, str, dict[str, Any]]] = [
    (1, ANSWER, PAGE),
    *((number, f"Mill number {number} of the valley grinds barley.", PAGE) for number in range(2, 31)),
    (31, "A letter asks who repaired the weir after the flood.", FILE),
    (LONG_ID, LONG, FILE),
]


class Embedded(NamedTuple):
    question: NDArray[np.float32]
    points: list[dict[str, Any]]


@pytest.fixture(scope="module")
def embedded() -> Embedded:
    """The points as the other program sends them, with vectors of the model that OpenQuery uses too."""
    model = MiniLM()
    vectors = asyncio.run(model([QUESTION, *(text for _, text, _ in POINTS)])).vectors
    model.close()
    points = [
        {"id": point, "vector": vector.tolist(), "payload": {"content": text, "metadata": metadata}}
        for (point, text, metadata), vector in zip(POINTS, vectors[1:], strict=True)
    ]
    return Embedded(vectors[0], points)


@pytest.fixture(scope="module", params=["embedded", "server"])
def library(
    request: pytest.FixtureRequest, embedded: Embedded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """A service that looks into the collection because its operator has set so, and nothing more."""
    folder = tmp_path_factory.mktemp("existing")
    with ExitStack() as stack:
        more: dict[str, Any] = {"origin": "library", "collections": NAME}
        where = str(folder / "library")
        if request.param == "server":
            more["qdrant_url"] = where = stack.enter_context(FakeQdrant()).url
        subprocess.run(
            [sys.executable, str(SCRIPT), where, NAME],
            input=json.dumps(embedded.points),
            text=True,
            check=True,
            timeout=60,
        )
        yield stack.enter_context(serving(settings(folder, **more)))


def test_qa_gives_each_point_with_qdrant_score_and_payload(library: Api, embedded: Embedded) -> None:
    answer = library.post("/qa", json={"question": QUESTION}).json()
    assert answer["backend"] == "library"
    assert answer["retrieved_chunks_count"] == len(answer["sources"]) == 5
    best = answer["sources"][0]
    assert best["content_snippet"] == ANSWER
    assert best["score"] == pytest.approx(
        float(np.dot(embedded.question, embedded.points[0]["vector"])), abs=1e-3
    )
    assert {name: best["source_metadata"][name] for name in PAGE} == PAGE


def test_top_k_is_honoured_over_points_of_one_page(library: Api) -> None:
    for path, body, field in (
        ("/qa", {"question": QUESTION, "top_k": 20}, "sources"),
        ("/query", {"query": QUESTION, "max_results": 20, "similarity_threshold": 0}, "retrieved_chunks"),
    ):
        assert len(library.post(path, json=body).json()[field]) == 20


def test_chunks_of_the_command_line_are_honoured_too(library: Api) -> None:
    used = library.runs.settings
    variables = {"OPENQUERY_COLLECTIONS": used.collections, "QDRANT_URL": used.qdrant_url}
    command = ("ask", QUESTION, "--chunks", "20", "--origin", "library", "--json")
    result = openquery(used.folder, *command, **variables)
    assert len(json.loads(result.out)["sources"]) == 20


def test_query_gives_point_ids_and_both_scores(library: Api) -> None:
    body = {"query": QUESTION, "max_results": 20, "similarity_threshold": 0.2}
    answer = library.post("/query", json=body).json()
    chunks = answer["retrieved_chunks"]
    assert chunks[0]["id"] == "1"
    assert chunks[0]["content"] == ANSWER
    assert chunks[0]["source_url"] == PAGE["url"]
    assert {name: chunks[0]["metadata"][name] for name in PAGE} == PAGE
    local = calibration_of(MiniLM().identity)
    for chunk in chunks:
        assert chunk["similarity_score"] >= 0.2
        assert chunk["similarity_score"] == pytest.approx(local.similarity(chunk["cosine"]))


def test_sources_are_the_addresses_of_documents_each_once(library: Api) -> None:
    body = {"query": QUESTION, "max_results": 20, "similarity_threshold": 0}
    assert library.post("/query", json=body).json()["sources"] == [PAGE["url"]]
    body = {
        "query": "Who repaired the weir after the great flood?",
        "similarity_threshold": 0,
        "max_results": 2,
    }
    answer = library.post("/query", json=body).json()
    (address,) = answer["sources"]
    assert address.endswith("source=letters%20of%201871.pdf")
    assert {chunk["source_url"] for chunk in answer["retrieved_chunks"]} == {address}
    assert {chunk["metadata"]["title"] for chunk in answer["retrieved_chunks"]} == {"Letters"}


def test_point_longer_than_the_model_reads_keeps_its_id(library: Api) -> None:
    body = {"query": "Which wheels did the great flood take?", "max_results": 5, "similarity_threshold": 0}
    chunks = library.post("/query", json=body).json()["retrieved_chunks"]
    pieces = [chunk["content"] for chunk in chunks if chunk["id"] == LONG_ID]
    assert len(pieces) > 1
    assert all(len(piece) <= 500 and piece in LONG for piece in pieces)


def test_request_may_look_elsewhere_and_empty_configuration_does_not(library: Api) -> None:
    body = {"question": QUESTION, "collections": ["nowhere"]}
    assert library.post("/qa", json=body).status_code >= 500
    config = library.put("/config", json={"value": {"rank.top_k": 3}}).json()["value"]
    assert (config["search.origin"], config["search.collections"]) == ("library", [NAME])
    body = {"question": QUESTION, "origin": "web"}
    library.put("/config", json={"value": {"search.backend": "demo"}})
    assert library.post("/qa", json=body).json()["backend"] == "demo"
