"""What a token may do at the HTTP API of a shared server, cell by cell of docs/security/permissions.md."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.permissions import Action, Right, Role, right
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve, serving, settings
from tests.permissions import ENDPOINTS
from tests.services.health import once_started

pytestmark = pytest.mark.slow

ANNA, BERTA = ({"Authorization": f"Bearer of-{name}"} for name in ("anna", "berta"))
ASKED = {"question": QUESTION, "knobs": {"search": {"backend": "demo"}}}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("shared")
    shutil.copy(demo_cache, folder / "cache.sqlite")
    tokens = SecretStr("of-anna,of-berta")
    with serving(settings(folder, shared=True, api_tokens=tokens, query_seconds=0)) as api:
        yield api


@pytest.fixture(scope="module")
def annas(shared: Api) -> str:
    """A run of one token."""
    run_id: str = shared.post("/research", json=ASKED, headers=ANNA).raise_for_status().json()["id"]
    shared.runs.store.flush()
    return run_id


def listed(api: Api, token: dict[str, str]) -> set[str]:
    return {run["id"] for run in api.get("/runs", headers=token).raise_for_status().json()["runs"]}


def test_a_token_lists_its_own_runs(shared: Api, annas: str) -> None:
    assert right(Role.TOKEN, Action.LIST_RUNS) is Right.OWN
    assert annas in listed(shared, ANNA)
    assert annas not in listed(shared, BERTA)


def test_a_token_deletes_its_own_runs(shared: Api, annas: str) -> None:
    assert right(Role.TOKEN, Action.CHANGE_RUN) is Right.OWN
    reply = shared.delete(f"/runs/{annas}", headers=BERTA)
    assert reply.status_code == 403
    assert "is not yours" in reply.json()["detail"]
    run_id = shared.post("/research", json=ASKED, headers=ANNA).json()["id"]
    assert shared.delete(f"/runs/{run_id}", headers=ANNA).status_code == 204
    assert shared.get(f"/runs/{run_id}", headers=ANNA).status_code == 404
    assert shared.get(f"/runs/{annas}", headers=ANNA).status_code == 200


def test_a_token_shares_its_own_runs_by_links(shared: Api, annas: str) -> None:
    assert right(Role.TOKEN, Action.SHARE_RUN) is Right.OWN
    links = f"/runs/{annas}/links"
    made = shared.post(links, headers=ANNA).raise_for_status().json()
    for method, path in (("POST", links), ("GET", links), ("DELETE", f"{links}/{made['id']}")):
        assert shared.client.request(method, path, headers=BERTA).status_code == 403
    assert shared.get(links, headers=ANNA).json() == {"links": [{"id": made["id"], "made": made["made"]}]}
    assert shared.delete(f"{links}/{made['id']}", headers=ANNA).status_code == 204
    assert shared.delete(f"{links}/{made['id']}", headers=ANNA).status_code == 404


def test_the_address_of_a_run_shares_it(shared: Api, annas: str) -> None:
    assert right(Role.TOKEN, Action.OPEN_RUN) is Right.ALL
    for form in ("short", "full", "agent"):
        assert shared.get(f"/runs/{annas}?form={form}", headers=BERTA).status_code == 200


@pytest.mark.parametrize(
    ("action", "endpoint"),
    [
        (action, endpoint)
        for action in (Action.ASK, Action.SEE_STATE)
        for endpoint in ENDPOINTS[action]
    ],
    ids=str,
)  # fmt: skip
def test_what_every_token_may_is_not_refused(shared: Api, action: Action, endpoint: str) -> None:
    assert right(Role.TOKEN, action) is Right.ALL
    method, _, path = endpoint.partition(" ")
    path = path.replace("{method}", "qa").replace("{name}", "openquery")
    body = {} if method == "POST" else None
    reply = once_started(lambda: shared.client.request(method, path, json=body, headers=ANNA))
    assert reply.status_code == (
        422 if method == "POST" and "/v1/" not in path else 400 if method == "POST" else 200
    )


def test_no_token_sets_shared_values_or_names_servers(shared: Api) -> None:
    for action in (Action.SET_DEFAULTS, Action.NAME_SERVERS):
        assert right(Role.TOKEN, action) is Right.NONE
    reply = shared.put("/config", json={"value": DEMO}, headers=ANNA)
    assert (reply.status_code, "Ask the operator." in reply.json()["hint"]) == (403, True)
    connected = shared.post("/connect", json={"base_url": "http://127.0.0.1:9/v1"}, headers=ANNA)
    assert connected.status_code == 422
    assert "operator" in connected.json()["detail"]


def test_sessions_and_their_files_are_whose_that_opened_them(shared: Api) -> None:
    assert right(Role.TOKEN, Action.USE_SESSION) is Right.OWN
    session = {"X-OpenQuery-Session": shared.post("/connect", json={}, headers=ANNA).json()["session"]}
    requests = (
        ("GET", "/session", None), ("PUT", "/config", {"value": DEMO}), ("GET", "/session/files", None),
        ("PUT", "/session/files/a.txt", {}), ("DELETE", "/session/files/a.txt", None),
        ("DELETE", "/session", None),
    )  # fmt: skip
    for method, path, body in (*requests, ("DELETE", "/connect", None)):
        reply = shared.client.request(method, path, json=body, headers={**BERTA, **session})
        assert reply.status_code == 403
    for method, path, body in requests:
        reply = shared.client.request(method, path, json=body, headers={**ANNA, **session})
        assert reply.is_success, (path, reply.text)


@pytest.mark.parametrize(
    ("action", "endpoint"),
    [
        (action, endpoint)
        for action in (Action.READ_LIBRARY, Action.CHANGE_LIBRARY)
        for endpoint in ENDPOINTS[action]
    ],
    ids=str,
)  # fmt: skip
def test_token_reads_the_library_without_changing_it(shared: Api, action: Action, endpoint: str) -> None:
    method, _, path = endpoint.partition(" ")
    names = {"name": "mills", "document": "pond", "digest": 64 * "0", "file": "pond.md", "id": "absent"}
    body = {"query": "pond", "input": "pond"} if method == "POST" and action is Action.READ_LIBRARY else None
    if path.endswith("/search"):
        body = {"query": "pond"}
    if path.endswith("/documents") and method == "POST":
        body = {"addresses": ["https://mills.example/"]}
    reply = shared.client.request(method, path.format_map(names), json=body, headers=ANNA)
    if action is Action.CHANGE_LIBRARY:
        assert right(Role.TOKEN, action) is Right.NONE
        assert reply.status_code == 403
    else:
        assert right(Role.TOKEN, action) is Right.ALL
        assert reply.status_code in {200, 404}


def test_every_endpoint_is_tried_here() -> None:
    tried = {
        Action.READ_LIBRARY,
        Action.CHANGE_LIBRARY,
        Action.ASK,
        Action.SEE_STATE,
        Action.OPEN_RUN,
        Action.LIST_RUNS,
        Action.CHANGE_RUN,
        Action.SHARE_RUN,
        Action.NAME_SERVERS,
    }
    assert set(ENDPOINTS) == tried | {Action.SET_DEFAULTS, Action.USE_SESSION}


def test_every_token_is_operator_of_an_unshared_server(serve: Serve) -> None:
    api = serve(api_tokens=SecretStr("of-anna,of-berta"))
    run_id = api.post("/research", json=ASKED, headers=ANNA).json()["id"]
    assert run_id in listed(api, BERTA)
    assert api.delete(f"/runs/{run_id}", headers=BERTA).status_code == 204
    assert api.put("/config", json={"value": DEMO}, headers=BERTA).status_code == 200
