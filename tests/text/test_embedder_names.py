"""An embedder has a name for people; its identity tells versions apart."""

from __future__ import annotations

from core.adapters.models.local_embedder import MiniLM
from core.text.embedder_names import BUILT_IN, embedder_name, embedder_names


def test_the_built_in_model_has_one_name_in_settings_and_by_identity() -> None:
    assert embedder_name(MiniLM().identity) == embedder_name("local") == BUILT_IN == "MiniLM-L6-v2 (built in)"


def test_a_model_of_a_server_is_named_with_its_host() -> None:
    assert embedder_name("bge-m3@models.example:8080/512") == "bge-m3 (models.example:8080/512)"
    assert embedder_name("nomic/embed@v2@host") == "nomic/embed@v2 (host)"
    assert [embedder_name(name) for name in ("", "counting")] == ["", "counting"]


def test_two_versions_of_one_model_are_told_apart() -> None:
    assert embedder_names("minilm-l6-v2-256:1", "minilm-l6-v2-256:2") == (
        f"{BUILT_IN}, version minilm-l6-v2-256:1",
        f"{BUILT_IN}, version minilm-l6-v2-256:2",
    )
    assert embedder_names("bge-m3@host", "minilm-l6-v2-256:2") == ("bge-m3 (host)", BUILT_IN)
