import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stages.embedding.vector_buffer import VectorBuffer
from tests.services.openai_server import vector

WIDTH = 16


def added(gathered: VectorBuffer, texts: list[str]) -> None:
    gathered.add(texts, np.array([vector(text, WIDTH) for text in texts], dtype=np.float32))


@given(st.lists(st.lists(st.text(max_size=2), min_size=1, unique=True), min_size=1), st.randoms())
def test_gathered_vectors_come_in_any_order_asked(batches: list[list[str]], chance: object) -> None:
    gathered = VectorBuffer()
    for batch in batches:
        added(gathered, batch)
    texts = sorted({text for batch in batches for text in batch})
    chance.shuffle(texts)  # type: ignore[attr-defined]
    wanted = texts[: 1 + len(texts) // 2]
    np.testing.assert_array_equal(gathered.of(wanted), [vector(text, WIDTH) for text in wanted])
    matrix = gathered.take_matrix(wanted)
    np.testing.assert_array_equal(matrix, [vector(text, WIDTH) for text in wanted])
    assert matrix.flags.c_contiguous and matrix.flags.owndata and not matrix.flags.writeable
    assert len(gathered) == 0


def test_text_keeps_its_first_vector_and_thousands_fit() -> None:
    gathered = VectorBuffer()
    texts = [f"text {n}" for n in range(3000)]
    for at in range(0, 3000, 7):
        added(gathered, texts[at : at + 10])
    gathered.add(texts[:2], np.zeros((2, WIDTH), dtype=np.float32))
    assert len(gathered) == 3000 and texts[2999] in gathered
    np.testing.assert_array_equal(
        gathered.take_matrix(texts[::-1]), [vector(text, WIDTH) for text in texts[::-1]]
    )


def test_vectors_of_another_width_are_refused() -> None:
    gathered = VectorBuffer()
    added(gathered, ["a"])
    with pytest.raises(ValueError, match="shape"):
        gathered.add(["b"], np.ones((1, 8), dtype=np.float32))
    assert "b" not in gathered
    np.testing.assert_array_equal(gathered.take_matrix(["a"]), [vector("a", WIDTH)])
