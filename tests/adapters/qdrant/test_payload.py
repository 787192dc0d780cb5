from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.qdrant.payload import FILTERS, from_payload, to_payload
from core.adapters.qdrant.points import filter_of, point_id
from core.errors import BadInput
from core.model import LibraryPassage
from core.model.library import checked_name, passage_id

FULL = LibraryPassage(
    id=passage_id("d", 3, "m"),
    content="words",
    source="mills.pdf",
    section="2 Stones",
    url="https://mills.example/",
    title="Mills",
    page=7,
    created_at="2026-01-02",
    document="d",
    position=3,
    embedder="m",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_a_passage_is_written_in_the_shape_that_other_tools_use() -> None:
    payload = to_payload(FULL)
    assert payload["content"] == "words"
    assert set(payload) == {"content", "metadata"}
    assert payload["metadata"]["page"] == 7
    assert set(payload["metadata"]) == set(FILTERS)
    assert to_payload(LibraryPassage(id=FULL.id, content="")) == {"content": "", "metadata": {"position": 0}}


passages = st.builds(
    LibraryPassage,
    id=st.uuids().map(str),
    content=st.text(),
    source=st.text(),
    section=st.text(),
    url=st.text(),
    title=st.text(),
    page=st.none() | st.integers(0, 9_999_999),
    created_at=st.text(),
    document=st.text(),
    position=st.integers(0, 9_999_999),
    embedder=st.text(),
)


@given(passages)
def test_every_passage_comes_back_from_its_payload(passage: LibraryPassage) -> None:
    assert from_payload(passage.id, to_payload(passage)) == passage


@given(JSON, JSON, st.dictionaries(st.sampled_from(FILTERS), JSON))
def test_whatever_another_tool_wrote_is_read(content: Any, strange: Any, metadata: dict[str, Any]) -> None:
    for payload in ({"content": content, "metadata": metadata}, {"metadata": strange}, {"content": content}):
        read = from_payload("1", payload)
        assert read.content == (content if isinstance(content, str) and "content" in payload else "")
        assert all(
            isinstance(getattr(read, name), str) for name in FILTERS if name not in ("page", "position")
        )
        assert read.page is None or 0 <= read.page < 10_000_000
        assert 0 <= read.position < 10_000_000


@pytest.mark.parametrize(
    ("page", "read"),
    [
        (3, 3),
        ("3", 3),
        (" 3 ", 3),
        (3.0, 3),
        ("iii", None),
        (-1, None),
        (True, None),
        (1e400, None),
        ([3], None),
    ],
)
def test_a_page_is_a_number_however_it_was_written(page: Any, read: int | None) -> None:
    assert from_payload("1", {"content": "x", "metadata": {"page": page}}).page == read


@pytest.mark.parametrize("name", ["book_content", "a", "9", "A.b-c_d", "x" * 100, " padded "])
def test_a_usual_name_is_taken_without_the_blanks_around_it(name: str) -> None:
    assert checked_name(name) == name.strip()


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", ".hidden", "-x", "_x", "a/b", "a\\b", "a b", "a\0", "a\nb", "ä", "x" * 101]
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BadInput) as failed:
        checked_name(name)
    assert failed.value.hint


def test_the_same_passage_of_the_same_document_by_the_same_model_has_the_same_id() -> None:
    assert passage_id("d", 3, "m") == FULL.id == str(uuid.UUID(FULL.id))
    assert (
        len({passage_id(*one) for one in (("d", 3, "m"), ("d", 3, "n"), ("d", 4, "m"), ("e", 3, "m"))}) == 4
    )


@pytest.mark.parametrize("text", ["0", "7", str(2**64 - 1), FULL.id])
def test_an_id_is_found_again_by_its_text(text: str) -> None:
    assert str(point_id(text)) == text


@pytest.mark.parametrize("text", ["", "007", "-1", "1.0", str(2**64), "٣", "x" * 36, FULL.id[:-1]])
def test_what_no_point_can_have_is_no_id(text: str) -> None:
    assert point_id(text) is None


def test_a_filter_that_is_plain_asks_for_one_thing_a_field() -> None:
    told = filter_of({"source": "7", "page": 3, "document": ""}, plain=True)
    assert told is not None
    assert [len(one["should"]) for one in told["must"]] == [1, 1, 1]
    assert told["must"][1]["should"][0]["range"] == {"gte": 3, "lte": 3}
    assert filter_of({}) is None
    for wrong in ({"page": "three"}, {"page": True}, {"author": "x"}, {"metadata.source": "x"}):
        with pytest.raises(BadInput, match="cannot be filtered"):
            filter_of(wrong)
