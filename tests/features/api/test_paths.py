"""Paths that do not exist, that end with a slash, or have another method."""

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
