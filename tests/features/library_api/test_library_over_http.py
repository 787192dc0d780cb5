"""The library over HTTP: a program fills a collection, searches it, asks it, and deletes it."""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from tests.features.api.conftest import PATIENCE, Api, serving, settings
from tests.patience import Patience
from tests.services.loopback import Loopback, Reply, Request

MILLS = b"# The mill pond\n\nThe mill pond at Harrow Bridge is four metres deep at the sluice.\n"
WHEEL = b"# The wheel\n\nThe wheel of the upper mill was carved from oak in 1871.\n"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(settings(tmp_path_factory.mktemp("library_api"), file_megabytes=0.2)) as api:
        yield api


def ended(api: Api, ingest: dict[str, Any]) -> dict[str, Any]:
    """The ingest once it has ended."""
    patience = Patience(PATIENCE)
    while ingest["state"] == "live":
        assert patience.lasts(str(ingest)), f"the ingest never ended: {ingest}"
        time.sleep(0.02)
        ingest = api.get(f"/ingests/{ingest['id']}").raise_for_status().json()
    return ingest


def put(api: Api, collection: str, name: str, body: bytes) -> dict[str, Any]:
    """The ended ingest of a file."""
    reply = api.put(f"/collections/{collection}/files/{name}", content=body)
    assert reply.status_code == 202, reply.text
    return ended(api, reply.json())


def test_a_collection_is_filled_searched_asked_and_deleted(api: Api) -> None:
    made = api.put("/collections/mills").raise_for_status().json()
    assert (made["name"], made["passages"], made["distance"]) == ("mills", 0, "cosine")
    first = put(api, "mills", "pond.md", MILLS)
    assert (first["state"], first["documents"]) == ("done", {"done": 1})
    put(api, "mills", "wheel.md", WHEEL)
    (collection,) = api.get("/collections").json()["collections"]
    assert collection["passages"] == 2
    listed = api.get("/collections/mills/documents").json()
    assert listed["total"] == 2
    assert {document["source"] for document in listed["documents"]} == {"pond.md", "wheel.md"}
    assert (
        len(api.get("/collections/mills/documents", params={"limit": 1, "offset": 1}).json()["documents"])
        == 1
    )
    digest = hashlib.sha256(MILLS).hexdigest()
    assert api.get(f"/collections/mills/documents/{digest}").json()["source"] == "pond.md"
    file = api.get(f"/collections/mills/documents/{digest}/file")
    assert (file.content, file.headers["content-type"]) == (MILLS, "application/octet-stream")
    assert file.headers["content-disposition"].startswith("attachment")

    found = api.post("/collections/mills/search", json={"query": "How deep is the pond?", "limit": 2}).json()
    assert found["passages"][0]["document"] == digest
    assert found["passages"][0]["score"] > found["passages"][1]["score"]
    where = {"query": "How deep is the pond?", "where": {"source": "wheel.md"}}
    assert {p["source"] for p in api.post("/collections/mills/search", json=where).json()["passages"]} == {
        "wheel.md"
    }
    question = {
        "question": "How deep is the mill pond at Harrow Bridge?",
        "knobs": {"search": {"origin": "library"}},
    }
    run = api.post("/research", json=question).json()
    assert "four metres" in json.dumps(run)

    assert api.delete(f"/collections/mills/documents/{digest}").status_code == 204
    assert api.get(f"/collections/mills/documents/{digest}").status_code == 404
    assert api.delete("/collections/mills").status_code == 204
    assert api.get("/collections/mills").status_code == 404
    assert api.get("/collections").json() == {"collections": []}


def test_document_is_added_once_however_often_sent(api: Api) -> None:
    replies: list[httpx.Response] = []

    def send() -> None:
        replies.append(
            httpx.put(f"{api.url}/collections/twice/files/pond.md", content=MILLS, timeout=PATIENCE)
        )

    senders = [threading.Thread(target=send) for _ in range(2)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(PATIENCE)
    states = sorted(next(iter(ended(api, reply.json())["documents"])) for reply in replies)
    assert states == ["done", "skipped"]
    again = put(api, "twice", "pond_2.md", MILLS)
    assert again["documents"] == {"skipped": 1}
    assert again["tasks"][0]["reason"]
    assert api.get("/collections/twice").json()["passages"] == 1


def test_pages_are_added_by_address_except_internal_addresses(tmp_path: Path) -> None:
    async def page(_request: Request) -> Reply:
        return Reply(
            body=b"<html><body><article><p>" + 20 * b"The pond is deep. " + b"</p></article></body></html>"
        )

    with Loopback(page) as web, serving(settings(tmp_path)) as api:
        reply = api.post("/collections/web/documents", json={"addresses": [f"{web.url}/pond"]})
        ingest = ended(api, reply.json())
        assert ingest["documents"] == {"failed": 1}, "loopback is inside the operator's network"
        assert "not allowed" in ingest["tasks"][0]["reason"]
        assert api.post("/collections/web/documents", json={}).status_code == 422
        assert (
            api.post("/collections/web/documents", json={"addresses": ["file:///etc/passwd"]}).status_code
            == 422
        )


def test_an_ingest_is_followed_by_events_and_stopped(api: Api) -> None:
    ingest = api.put("/collections/followed/files/pond.md", content=MILLS).json()
    with api.client.stream("GET", f"/ingests/{ingest['id']}/events") as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: ")]
    assert events[-1]["state"] == "done"
    assert all(event["id"] == ingest["id"] for event in events)
    assert api.post(f"/ingests/{ingest['id']}/stop").json()["state"] == "done"
    assert api.get("/ingests", params={"collection": "followed"}).json()["ingests"][0]["id"] == ingest["id"]
    assert api.post("/ingests/resume").json() == {"ingests": []}


def test_faults_are_refused_in_words(api: Api) -> None:
    assert api.get("/collections/absent/documents").status_code == 404
    assert api.post("/collections/absent/search", json={"query": "pond"}).status_code == 404
    assert api.put("/collections/-wrong").status_code == 422
    assert api.get("/ingests/absent").status_code == 404
    large = api.put("/collections/large/files/large.md", content=300_000 * b"x")
    assert large.status_code == 413
    assert api.get("/collections/large").status_code == 404
    broken = put(api, "broken", "broken.pdf", b"%PDF-1.7 nothing")
    assert broken["documents"] == {"failed": 1}
    assert broken["tasks"][0]["reason"]


def test_an_upload_that_stops_half_way_leaves_nothing(api: Api) -> None:
    def half() -> Iterator[bytes]:
        yield MILLS
        raise OSError("the line is cut")

    with pytest.raises(OSError, match="cut"):
        httpx.put(f"{api.url}/collections/half/files/pond.md", content=half())
    assert api.get("/collections/half").status_code == 404


def test_reply_that_the_client_has_is_not_resent(api: Api) -> None:
    put(api, "kept", "pond.md", MILLS)
    digest = hashlib.sha256(MILLS).hexdigest()
    for path in ("/collections", "/collections/kept", f"/collections/kept/documents/{digest}/file"):
        first = api.get(path)
        tag = first.headers["etag"]
        again = api.get(path, headers={"If-None-Match": f'"other", {tag.removeprefix("W/")}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert api.client.head(path).headers["etag"] == tag


def test_the_openai_client_gets_vectors_of_the_embedder(api: Api) -> None:
    client = openai.OpenAI(base_url=f"{api.url}/v1", api_key="none")
    reply = client.embeddings.create(model="openquery", input=["the mill pond", "an oak wheel"])
    vectors = np.array([item.embedding for item in reply.data])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    (alone,) = api.post("/v1/embeddings", json={"input": "the mill pond"}).json()["data"]
    assert np.allclose(alone["embedding"], vectors[0], atol=1e-6)
    put(api, "embedded", "pond.md", MILLS)
    assert api.get("/collections/embedded").json()["embedder"] == reply.model
    assert api.get("/collections/embedded").json()["dimensions"] == vectors.shape[1]
    with pytest.raises(openai.NotFoundError, match="embedder in use"):
        client.embeddings.create(model="text-embedding-3-small", input="pond")
    for wrong in ({"input": []}, {"input": [1, 2]}, {"input": "pond", "dimensions": 3}):
        assert api.post("/v1/embeddings", json=wrong).status_code == 400
    with pytest.raises(openai.BadRequestError, match="Tokens as numbers are not read"):
        client.embeddings.create(model="openquery", input=[[1, 2], [3]])
