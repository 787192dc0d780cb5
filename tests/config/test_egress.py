"""Where a model is, by its host, and which texts it must not be given."""

from typing import Any

import pytest

from core.config.egress import EVERY_COLLECTION, PAGES, Destination, EgressPolicy, searched_origins
from core.config.knobs import SearchKnobs, SearchScope
from core.config.settings import Settings
from core.errors import BadInput

HOSTED = "api.openai.com"


def policy(**given: Any) -> EgressPolicy:
    return EgressPolicy.from_settings(Settings(**given))


@pytest.mark.parametrize(
    ("host", "own_hosts", "destination"),
    [
        ("", "", Destination.MACHINE),
        ("127.0.0.1:11434", "loopback", Destination.MACHINE),
        ("127.8.9.10", "loopback", Destination.MACHINE),
        ("localhost:8000", "loopback", Destination.MACHINE),
        ("[::1]:8000", "loopback", Destination.MACHINE),
        ("127.0.0.1:4000", "", Destination.HOSTED),
        ("127.0.0.1:11434", "127.0.0.1:11434", Destination.OWN),
        ("127.0.0.1:4000", "127.0.0.1:11434", Destination.HOSTED),
        ("gpu.example:8000", "loopback, GPU.example", Destination.OWN),
        ("not-gpu.example:8000", "loopback, gpu.example", Destination.HOSTED),
        ("10.0.0.5:8000", "loopback", Destination.HOSTED),
        ("localhost.example", "loopback", Destination.HOSTED),
        (HOSTED, "loopback", Destination.HOSTED),
    ],
)
def test_host_is_hosted_unless_named_as_own(host: str, own_hosts: str, destination: Destination) -> None:
    assert policy(own_hosts=own_hosts).destination(host) is destination


@pytest.mark.parametrize(
    ("given", "withheld"),
    [
        ({}, set()),
        ({"private_collections": "contracts, session"}, {"contracts", "session"}),
        ({"private_collections": "*"}, {"contracts", "session", "notes"}),
        ({"private_pages": True}, {PAGES}),
        ({"private_collections": "*", "private_pages": True}, {"contracts", "session", "notes", PAGES}),
    ],
)
def test_private_texts_are_withheld_from_hosted_models_alone(
    given: dict[str, Any], withheld: set[str]
) -> None:
    origins = ("contracts", "session", "notes", PAGES)
    assert policy(**given).withheld(HOSTED, origins) == withheld
    assert not policy(**given).withheld("localhost:11434", origins)
    assert bool(policy(**given).withheld(HOSTED, [EVERY_COLLECTION])) == bool(withheld - {PAGES})


def test_refusing_policy_names_the_text_and_the_host() -> None:
    refusing = policy(private_collections="contracts", private_mode="refuse")
    assert refusing.withheld(HOSTED, ("notes",)) == frozenset()
    with pytest.raises(BadInput, match=r"contracts.*api\.openai\.com"):
        refusing.withheld(HOSTED, ("notes", "contracts"))


def test_impossible_collection_name_is_refused() -> None:
    with pytest.raises(BadInput, match="OPENQUERY_PRIVATE_COLLECTIONS"):
        Settings.read(private_collections="contracts/2026")


@pytest.mark.parametrize(
    ("origin", "collections", "expected"),
    [
        (SearchScope.WEB, ("a",), {PAGES}),
        (SearchScope.LIBRARY, ("a", "session"), {"a", "session"}),
        (SearchScope.LIBRARY, (), {EVERY_COLLECTION}),
        (SearchScope.BOTH, ("a",), {PAGES, "a"}),
    ],
)
def test_search_scope_follows_its_backend(
    origin: SearchScope, collections: tuple[str, ...], expected: set[str]
) -> None:
    assert searched_origins(SearchKnobs(origin=origin, collections=collections)) == expected
