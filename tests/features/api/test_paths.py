"""Paths that do not exist, end with a slash or have another method, and bodies in other forms."""

import pytest

from tests.features.api.conftest import Api


@pytest.mark.parametrize("path", ["/v1/models/", "/runs/", "/openapi.json/"])
def test_a_slash_at_the_end_changes_nothing(api: Api, path: str) -> None:
    reply, without = api.get(path), api.get(path.rstrip("/"))
    assert reply.status_code == without.status_code == 200
    assert reply.json() == without.json()


def test_a_missing_path_says_where_the_paths_are(api: Api) -> None:
    problem = api.post("/chat/completions", json={}).json()
    assert problem["status"] == 404
    assert "/chat/completions" in problem["detail"]
    assert "openapi.json" in problem["hint"]
    assert "ends with /v1" in problem["hint"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/qa", "POST"), ("OPTIONS", "/runs", "GET, HEAD"), ("POST", "/runs/x", "DELETE, GET, HEAD")],
)
def test_another_method_is_told_which_there_are(api: Api, method: str, path: str, allowed: str) -> None:
    reply = api.client.request(method, path)
    assert (reply.status_code, reply.headers["Allow"]) == (405, allowed)
    assert reply.json()["hint"] == f"It has {allowed}."


def test_a_byte_order_mark_before_a_body_is_skipped(api: Api) -> None:
    body = b'\xef\xbb\xbf{"query": "What is BM25?", "similarity_threshold": 1.0}'
    api.post("/query", content=body, headers={"Content-Type": "application/json"}).raise_for_status()


def test_a_compressed_body_is_refused_by_its_coding(api: Api) -> None:
    reply = api.post("/qa", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert reply.status_code == 415
    assert "Content-Encoding: gzip" in reply.json()["detail"]


def test_a_blank_question_is_told_in_words(api: Api) -> None:
    (fault,) = api.post("/qa", json={"question": " "}).json()["errors"]
    assert fault == {"field": "question", "message": "There is no text in it."}
