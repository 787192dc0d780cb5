import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.features.library.qdrant.payload import FILTERS, from_payload, to_payload
from core.features.library.qdrant.points import filter_of, point_id
from core.model import LibraryPassage
from core.model.library import checked_name, passage_id

FULL = LibraryPassage(
    id=passage_id("d", 3, "m"),
    content="words",
    source="mills.pdf",
    section="2 Stones",
    url="https://mills.example/",
    title="Mills",
    author="A. Miller",
    language="en",
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


def test_passage_is_written_in_the_shape_other_tools_use() -> None:
    payload = to_payload(FULL)
    assert payload["content"] == "words"
    assert set(payload) == {"content", "metadata"}
    assert payload["metadata"]["page"] == 7
    assert set(payload["metadata"]) == {*FILTERS, "author", "language"}
    assert to_payload(LibraryPassage(id=FULL.id, content="")) == {"content": "", "metadata": {"position": 0}}


passages = st.builds(
    LibraryPassage,
    id=st.uuids().map(str),
    content=st.text(),
    source=st.text(),
    section=st.text(),
    url=st.text(),
    title=st.text(),
    author=st.text(),
    language=st.text(),
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
        assert from_payload("1", to_payload(read)) == read
        assert all(
            isinstance(getattr(read, name), str) for name in FILTERS if name not in ("page", "position")
        )
        assert read.page is None or 0 <= read.page < 10_000_000
        assert 0 <= read.position < 10_000_000


LANGCHAIN = {
    "page_content": "Millstones are dressed twice a year.",
    "metadata": {
        "source": "https://mills.example/?b=1&a=2#top",
        "page": 6,
        "page_label": "7",
        "tags": ["stone"],
    },
}
LLAMAINDEX = {
    "_node_content": '{"id_": "n1", "text": "Millstones are dressed twice a year.", "relationships": {}}',
    "_node_type": "TextNode",
    "document_id": "d1",
    "file_name": "mills.pdf",
    "page_label": "7",
    "creation_date": "2026-01-02",
}
FLAT = {
    "text": "Millstones are dressed twice a year.",
    "source_url": "https://mills.example/stones",
    "title": "Mills",
    "page": "7",
    "created_at": "2025-12-19T10:30:00",
    "rating": 4.5,
}
BOTH = {
    "content": "Millstones are dressed twice a year.",
    "lang": "en",
    "metadata": {"url": "https://mills.example/stones", "author": "A. Miller", "page": 7},
}


@pytest.mark.parametrize(
    ("payload", "read", "metadata"),
    [
        (LANGCHAIN, {"source": "https://mills.example/?b=1&a=2#top"}, LANGCHAIN["metadata"]),
        (
            LLAMAINDEX,
            {"source": "mills.pdf", "created_at": "2026-01-02"},
            {name: value for name, value in LLAMAINDEX.items() if name != "_node_content"},
        ),
        (
            FLAT,
            {"url": "https://mills.example/stones", "title": "Mills", "created_at": "2025-12-19T10:30:00"},
            {name: value for name, value in FLAT.items() if name != "text"},
        ),
        (
            BOTH,
            {"url": "https://mills.example/stones", "author": "A. Miller", "language": "en"},
            {"lang": "en", **BOTH["metadata"]},
        ),
    ],
    ids=["LangChain", "LlamaIndex", "flat", "beside the text and nested"],
)
def test_text_and_metadata_are_found_wherever_tools_put_them(
    payload: dict[str, Any], read: dict[str, Any], metadata: dict[str, Any]
) -> None:
    passage = from_payload("7", payload)
    assert passage == LibraryPassage(id="7", content="Millstones are dressed twice a year.", page=7, **read)
    assert passage.metadata == metadata
    assert to_payload(passage) == {"content": passage.content, "metadata": metadata}, "nothing is rewritten"
    embedded = to_payload(replace(passage, embedder="m"))["metadata"]
    assert embedded == {**metadata, "embedder": "m"}


@pytest.mark.parametrize("node", ["", "no JSON", "[]", "{}", '{"text": 5}', "[" * 100_000])
def test_a_node_that_cannot_be_read_has_no_text(node: str) -> None:
    assert from_payload("1", {"_node_content": node, "title": "A"}) == LibraryPassage(
        id="1", content="", title="A"
    )


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
def test_usual_name_is_taken_without_surrounding_blanks(name: str) -> None:
    assert checked_name(name) == name.strip()


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", ".hidden", "-x", "_x", "a/b", "a\\b", "a b", "a\0", "a\nb", "ä", "x" * 101]
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BadInput) as failed:
        checked_name(name)
    assert failed.value.hint


def test_same_passage_and_model_have_the_same_id() -> None:
    assert passage_id("d", 3, "m") == FULL.id == str(uuid.UUID(FULL.id))
    assert (
        len({passage_id(*parts) for parts in (("d", 3, "m"), ("d", 3, "n"), ("d", 4, "m"), ("e", 3, "m"))})
        == 4
    )


@pytest.mark.parametrize("text", ["0", "7", str(2**64 - 1), FULL.id])
def test_an_id_is_found_again_by_its_text(text: str) -> None:
    assert str(point_id(text)) == text


@pytest.mark.parametrize("text", ["", "007", "-1", "1.0", str(2**64), "٣", "x" * 36, FULL.id[:-1]])
def test_what_no_point_can_have_is_no_id(text: str) -> None:
    assert point_id(text) is None


def test_plain_filter_asks_for_one_value_a_field() -> None:
    condition = filter_of({"source": "7", "page": 3, "document": ""}, plain=True)
    assert condition is not None
    assert [len(clause["should"]) for clause in condition["must"]] == [1, 1, 1]
    assert condition["must"][1]["should"][0]["range"] == {"gte": 3, "lte": 3}
    assert filter_of({}) is None
    for wrong in ({"page": "three"}, {"page": True}, {"author": "x"}, {"metadata.source": "x"}):
        with pytest.raises(BadInput, match="cannot be filtered"):
            filter_of(wrong)
