"""A Qdrant server that is absent, slow, strange or unwilling: an error in words, never with the key."""

import asyncio
import shutil
import ssl
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from core.errors import BadInput, LibraryFailed
from core.features.library.qdrant.server_collections import ServerCollections
from core.model import LibraryPassage
from core.model.library import passage_id
from tests.services.loopback import Cut, Gate, Reply, html_reply, json_reply
from tests.services.qdrant import FakeQdrant

KEY = "the-key-of-the-shelf"
NAME = "book_content"
WIDTH = 4
VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)
PASSAGE = LibraryPassage(id=passage_id("d", 0, "m"), content="words", source="a.txt", document="d")


@pytest.fixture
def qdrant() -> Iterator[FakeQdrant]:
    with FakeQdrant(KEY) as server:
        yield server


async def failure(shelf: ServerCollections) -> LibraryFailed:
    """What each method says when the server does not do its part: the same of all."""
    failures: list[LibraryFailed] = []
    for ask in (
        shelf.names,
        lambda: shelf.about(NAME),
        lambda: shelf.create(NAME, WIDTH),
        lambda: shelf.put(NAME, [PASSAGE], VECTOR[None]),
        lambda: shelf.nearest(NAME, VECTOR, 3, {"source": "a.txt"}),
        lambda: shelf.get(NAME, [PASSAGE.id]),
        lambda: shelf.scroll(NAME, 3),
        lambda: shelf.documents(NAME),
        lambda: shelf.remove(NAME, {"source": "a.txt"}),
        lambda: shelf.drop(NAME),
    ):
        with pytest.raises(LibraryFailed) as failed:
            await ask()
        failures.append(failed.value)
    await shelf.aclose()
    assert len({str(failure) for failure in failures}) == 1, failures
    assert failures[0].hint
    assert KEY not in str(failures[0])
    return failures[0]


FAULTS = [
    (json_reply({"status": {"error": f"Forbidden for {KEY}"}}, status=403), "does not allow this (HTTP 403)"),
    (json_reply({"status": {"error": "Service internal error: disk"}}, status=500), "internal error: disk"),
    (html_reply(status=502), "failed (HTTP 502)"),
    (html_reply(), "no Qdrant"),
    (json_reply({"result": None, "status": "ok"}), "no Qdrant"),
    (json_reply({"result": {"unexpected": [True]}, "status": "ok"}), "no Qdrant"),
    (json_reply(["nothing"]), "no Qdrant"),
    (Reply((b"",)), "no Qdrant"),
    (json_reply({"status": {"error": "slow down"}}, status=429), "takes no more requests"),
    (json_reply({}, status=429, headers={"Retry-After": "30"}), "takes no more requests"),
    (Reply((b"",), status=429, headers={"Retry-After": "Sun, 22 Nov 2026 00:00:00 GMT"}), "takes no more"),
    (html_reply(status=429), "takes no more requests"),
    (html_reply(status=404), "has no such page"),
    (json_reply({}, status=413), "does not take that much"),
    (Reply((), status=307, headers={"Location": "https://elsewhere.example/"}), "sends requests elsewhere"),
    (Reply((b'{"resu', Cut())), "Nothing answers as Qdrant"),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
async def test_every_fault_is_reported_in_words(qdrant: FakeQdrant, fault: Reply, message: str) -> None:
    qdrant.faults.extend([fault] * 200)
    failed = await failure(ServerCollections(qdrant.url, SecretStr(KEY)))
    assert message in failed.message
    assert qdrant.url in failed.message


async def test_wrong_and_missing_keys_are_told_apart(qdrant: FakeQdrant) -> None:
    wrong = await failure(ServerCollections(qdrant.url, SecretStr("another-key")))
    assert "refused the key" in wrong.message
    assert "QDRANT_API_KEY" in wrong.hint
    missing = await failure(ServerCollections(qdrant.url))
    assert "asks for a key" in missing.message


async def test_nobody_at_the_address(qdrant: FakeQdrant) -> None:
    with FakeQdrant() as stopped:
        url = stopped.url
    failed = await failure(ServerCollections(url))
    assert "Nothing answers" in failed.message
    failed = await failure(ServerCollections("http://no-such-host.invalid:6333"))
    assert "Nothing answers" in failed.message


async def test_a_server_that_keeps_silent_is_given_up_on(qdrant: FakeQdrant) -> None:
    qdrant.faults.extend([Reply((b"{", Gate()))] * 50)
    failed = await failure(ServerCollections(qdrant.url, SecretStr(KEY), timeout=0.1))
    assert "did not answer within 0.1 s" in failed.message


async def test_a_connection_that_broke_once_is_tried_again(qdrant: FakeQdrant) -> None:
    shelf = ServerCollections(qdrant.url, SecretStr(KEY))
    qdrant.faults.append(Reply((Cut(),)))
    await shelf.create(NAME, WIDTH)
    assert await shelf.names() == (NAME,)
    await shelf.aclose()


async def test_key_goes_with_every_request_and_nothing_else_leaks(qdrant: FakeQdrant) -> None:
    shelf = ServerCollections(qdrant.url, SecretStr(KEY))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of an insecure connection, of versions that differ
        await shelf.create(NAME, WIDTH)
        await shelf.put(NAME, [PASSAGE], VECTOR[None])
        await shelf.nearest(NAME, VECTOR, 3)
    assert {request.headers["api-key"] for request in qdrant.requests} == {KEY}
    assert all(request.path.startswith(f"/collections/{NAME}") for request in qdrant.requests)
    assert KEY not in shelf.identity + repr(shelf)
    assert not shelf.exposed
    assert ServerCollections("http://qdrant.example", SecretStr(KEY)).exposed
    assert not ServerCollections("https://qdrant.example", SecretStr(KEY)).exposed
    await shelf.aclose()


async def test_what_is_counted_and_narrowed_by_gets_an_index(qdrant: FakeQdrant) -> None:
    shelf = ServerCollections(qdrant.url, SecretStr(KEY))
    await shelf.create(NAME, WIDTH)
    assert qdrant.indexed[NAME] == {
        "metadata.source": "keyword",
        "metadata.document": "keyword",
        "metadata.page": "integer",
    }
    await shelf.aclose()


async def test_collection_recreated_in_another_shape_is_noticed(qdrant: FakeQdrant) -> None:
    shelf, other = (ServerCollections(qdrant.url, SecretStr(KEY)) for _ in range(2))
    await shelf.create(NAME, WIDTH)
    await shelf.put(NAME, [PASSAGE], VECTOR[None])
    await other.drop(NAME)
    await other.create(NAME, 2)
    for _ in range(2):
        with pytest.raises(LibraryFailed) as failed:
            await shelf.nearest(NAME, VECTOR, 3)
    assert "has 2 dimensions, the embedder's vectors have 4" in failed.value.message
    await asyncio.gather(shelf.aclose(), other.aclose())


async def test_names_that_cannot_be_addressed_are_left_out(qdrant: FakeQdrant) -> None:
    from qdrant_client import models

    params = models.VectorParams(size=WIDTH, distance=models.Distance.COSINE)
    for name in ("with blanks", "plain", ".hidden"):
        qdrant.engine.create_collection(name, vectors_config=params)
    shelf = ServerCollections(qdrant.url, SecretStr(KEY))
    assert await shelf.names() == ("plain",)
    await shelf.aclose()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("http://127.0.0.1:7000", "http://127.0.0.1:7000"),
        ("https://cluster.example", "https://cluster.example:6333"),
        (" localhost ", "http://localhost:6333"),
        ("localhost:7000/", "http://localhost:7000"),
        ("https://example.org:443/qdrant/", "https://example.org:443/qdrant"),
        ("http://[::1]", "http://[::1]:6333"),
    ],
)
def test_an_address_is_understood_as_people_write_it(typed: str, meant: str) -> None:
    assert ServerCollections(typed).identity == f"qdrant {meant}"


@pytest.mark.parametrize(
    "typed",
    ["ftp://x", "http://", "http://x:99999", "https://user:secret-word@x", "http://x/?api-key=secret-word"],
)
def test_invalid_address_or_one_with_a_secret_is_refused(typed: str) -> None:
    with pytest.raises(BadInput) as failed:
        ServerCollections(typed)
    assert failed.value.hint
    assert "secret-word" not in str(failed.value)
    with pytest.raises(BadInput, match="QDRANT_API_KEY"):
        ServerCollections("http://x", SecretStr("two\nlines"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")
async def test_a_certificate_is_checked(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    names = ("-addext", "subjectAltName=IP:127.0.0.1")
    command_line = [*command.split(), "-keyout", str(key), "-out", str(cert), *names]
    await asyncio.to_thread(subprocess.run, command_line, check=True, capture_output=True)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(cert, key)
    bodies: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append(await reader.readuntil(b"\r\n\r\n"))
        body = b'{"result": {"collections": [{"name": "safe"}]}, "status": "ok", "time": 0}'
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=ours)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    strict = ServerCollections(url, SecretStr(KEY))
    with pytest.raises(LibraryFailed, match="certificate") as failed:
        await strict.names()
    assert "SSL_CERT_FILE" in failed.value.hint
    assert bodies == []
    trusting = ServerCollections(url, SecretStr(KEY), trust=ssl.create_default_context(cafile=str(cert)))
    assert await trusting.names() == ("safe",)
    assert f"api-key: {KEY}".encode() in bodies[0]
    await asyncio.gather(strict.aclose(), trusting.aclose())
    server.close()
