import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stages.answering.answer_writer import StopSequences


def _read(pieces: list[str], *sequences: str) -> tuple[str, bool]:
    stop = StopSequences(sequences)
    text = "".join(stop.read(piece) for piece in pieces)
    return text + stop.end(), stop.reached


@given(
    st.lists(st.text(alphabet="abc", max_size=4), max_size=8), st.text(alphabet="abc", min_size=1, max_size=3)
)
def test_text_ends_before_the_first_sequence_in_any_pieces(pieces: list[str], sequence: str) -> None:
    whole = "".join(pieces)
    before, separator, _ = whole.partition(sequence)
    assert _read(pieces, sequence) == (before, bool(separator))


def test_the_sequence_that_occurs_first_ends_the_text() -> None:
    assert _read(["one\n", "\ntwo END"], "END", "\n\n") == ("one", True)


@pytest.mark.parametrize("sequences", [(), ("",)])
def test_without_sequences_everything_passes_at_once(sequences: tuple[str, ...]) -> None:
    stop = StopSequences(sequences)
    assert stop.read("all of it") == "all of it"
    assert not stop.reached
