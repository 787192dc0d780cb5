"""Numbers and embedders as they are shown."""

import pytest

from core.adapters.models.local_embedder import MiniLM
from core.text.display import BUILT_IN, decimal, embedder_name, embedder_names, passage_label


def test_built_in_model_has_one_name_everywhere() -> None:
    assert embedder_name(MiniLM().identity) == embedder_name("local") == BUILT_IN == "MiniLM-L6-v2 (built in)"


def test_model_of_a_server_is_named_with_its_host() -> None:
    assert embedder_name("bge-m3@models.example:8080/512") == "bge-m3 (models.example:8080/512)"
    assert embedder_name("nomic/embed@v2@host") == "nomic/embed@v2 (host)"
    assert [embedder_name(name) for name in ("", "counting")] == ["", "counting"]


def test_two_versions_of_one_model_are_told_apart() -> None:
    assert embedder_names("minilm-l6-v2-256:1", "minilm-l6-v2-256:2") == (
        f"{BUILT_IN}, version minilm-l6-v2-256:1",
        f"{BUILT_IN}, version minilm-l6-v2-256:2",
    )
    assert embedder_names("bge-m3@host", "minilm-l6-v2-256:2") == ("bge-m3 (host)", BUILT_IN)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(-0.001, 2, "0.00"), (-0.0, 3, "0.000"), (-0.006, 2, "-0.01"), (0.25, 3, "0.250"), (12.0, 0, "12")],
)
def test_what_rounds_to_zero_has_no_sign(value: float, digits: int, expected: str) -> None:
    assert decimal(value, digits) == expected


def test_label_of_a_passage_has_no_heading_marks() -> None:
    assert (
        passage_label("## Chunk Overlap\n\nChunk overlap repeats text.", 80)
        == "Chunk Overlap Chunk overlap repeats text."
    )
    assert passage_label("C# and #hashtags stay.", 80) == "C# and #hashtags stay."
