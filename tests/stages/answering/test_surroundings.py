"""The text around a passage that a source has."""

from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import RankKnobs, Strategy
from core.model import Article, Index, Page, Passage, Place
from core.stages.answering.answer_prompt import SOURCE_TOKENS
from core.stages.answering.surroundings import from_its_sentence, surrounded
from core.stages.rank import rank, sources
from core.text.sanitize import CHARACTERS_A_TOKEN

TEXT = (
    "The kiln was built in 1764. It stands above the harbour. Coal came by sea. "
    "The bricks were fired for nine days. They were sold in Leith. The kiln closed in 1911."
)
FIRED = "The bricks were fired for nine days."
MOST = SOURCE_TOKENS * CHARACTERS_A_TOKEN - 1


def at(text: str, part: str) -> Place:
    start = text.index(part)
    return Place(page="a", start=start, end=start + len(part))


def texts_of(places: tuple[Place, ...], text: str = TEXT) -> list[str]:
    return [text[one.start : one.end] for one in places]


def test_without_surroundings_the_passage_is_all() -> None:
    assert texts_of(surrounded([at(TEXT, FIRED)], {}, 0)) == [FIRED]


def test_whole_sentences_are_added_on_both_sides() -> None:
    found = surrounded([at(TEXT, FIRED)], {"a": TEXT}, 30)
    assert texts_of(found) == [f"Coal came by sea. {FIRED} They were sold in Leith."]


def test_page_that_is_near_throughout_is_given_whole() -> None:
    assert texts_of(surrounded([at(TEXT, FIRED)], {"a": TEXT}, 1000)) == [TEXT]


def test_sentence_longer_than_the_reach_is_cut_between_words() -> None:
    text = f"{'mortar ' * 60}{FIRED} {'mortar ' * 60}"
    (found,) = texts_of(surrounded([at(text, FIRED)], {"a": text}, 50), text)
    before, after = found.split(FIRED)
    assert 0 < len(before) <= 51 and 0 < len(after) <= 51
    assert {*before.split(), *after.split()} == {"mortar"}


def test_text_between_two_passages_goes_to_the_first_only() -> None:
    best, other = at(TEXT, "Coal came by sea."), at(TEXT, "They were sold in Leith.")
    found = surrounded([best, other], {"a": TEXT}, 1000)
    assert texts_of(found) == [
        TEXT[: TEXT.index(" They were sold")],
        "They were sold in Leith. The kiln closed in 1911.",
    ]


def test_source_begins_with_its_whole_sentence() -> None:
    page = Page(key="a", url="", title="", article=Article(text=TEXT, extractor=""))
    places = [at(TEXT, "above the harbour. Coal came by sea."), at(TEXT, "They were sold in Leith.")]
    index = Index(
        passages=tuple(Passage(text=TEXT[p.start : p.end], place=p) for p in places),
        vectors=None,
        question=None,
        embedder="x",
    )
    knobs = RankKnobs(strategy=Strategy.BM25)
    ranking = rank("Was coal sold above the harbour in Leith?", index, knobs, {"a": page})
    found = sources(ranking, index, {"a": page}, knobs)
    assert {TEXT[one.place.start : one.place.end] for one in found} == {
        "It stands above the harbour. Coal came by sea.",
        "They were sold in Leith.",
    }
    long = f"{'mortar ' * 100}{FIRED}"
    assert from_its_sentence(at(long, FIRED), long) == at(long, FIRED), "its sentence begins too far away"


def test_other_pages_texts_do_not_matter() -> None:
    elsewhere = Place(page="b", start=0, end=10)
    found = surrounded([at(TEXT, FIRED), elsewhere], {"a": TEXT, "b": "Ten letter"}, 1000)
    assert (found[0].start, found[0].end, found[1]) == (0, len(TEXT), elsewhere)


def test_source_is_never_longer_than_the_prompt_allows() -> None:
    text = "One brick lies on another. " * 1000
    place = Place(page="a", start=9000, end=9000 + MOST - 100)
    (found,) = surrounded([place], {"a": text}, 1500)
    assert found.start <= place.start and place.end <= found.end
    assert MOST - 100 < found.end - found.start <= MOST


@given(
    text=st.text(alphabet="ab. \n。中", min_size=1, max_size=400),
    cuts=st.lists(st.tuples(st.integers(0, 399), st.integers(1, 60)), min_size=1, max_size=5),
    reach=st.integers(1, 300),
)
def test_sources_hold_their_passages_and_share_no_added_text(
    text: str, cuts: list[tuple[int, int]], reach: int
) -> None:
    spans = [(min(start, len(text) - 1), size) for start, size in cuts]
    places = [Place(page="a", start=start, end=min(start + size, len(text))) for start, size in spans]
    found = surrounded(places, {"a": text}, reach)
    taken: set[int] = set()
    passages = [set(range(one.start, one.end)) for one in places]
    for place, wide in zip(places, found, strict=True):
        assert 0 <= wide.start <= place.start < place.end <= wide.end <= len(text)
        assert place.start - wide.start <= reach + 1 and wide.end - place.end <= reach + 1
        added = set(range(wide.start, wide.end)) - set(range(place.start, place.end))
        assert not added & taken
        assert not any(added & passage for passage in passages)
        taken |= added


def test_source_reads_the_surroundings_and_keeps_its_passage() -> None:
    place = at(TEXT, FIRED)
    page = Page(
        key="a", url="https://kiln.example/", title="Kiln", article=Article(text=TEXT, extractor="test")
    )
    passage = Passage(text=FIRED, place=place)
    index = Index(passages=(passage,), vectors=None, question=None, embedder="")
    knobs = RankKnobs(strategy=Strategy.BM25, surroundings=30)
    (source,) = sources(rank("How long were bricks fired?", index, knobs), index, {"a": page}, knobs)
    assert source.passage == passage
    assert source.text == f"Coal came by sea. {FIRED} They were sold in Leith."
    assert TEXT[source.place.start : source.place.end] == source.text
