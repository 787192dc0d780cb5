import sys

import numpy as np
import pytest

from core.analysis.embedding_map.embedding_map import embedding_map, has_umap, umap_projection
from core.errors import BadInput
from tests.analysis.sample import run_of
from tests.stages.fakes import WordEmbed

MANY = run_of(
    {
        f"https://{n}.example/": f"A {'red boat lies on the river' if n % 2 else 'paper lamp hangs'} {n}."
        for n in range(4)
    }
    | {"https://long.example/": " ".join(f"Word{n} is here and there on the river." for n in range(22))},
    size=100,
)


async def test_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it were not has_umap
    assert not has_umap()
    projected = await embedding_map(MANY, WordEmbed())
    assert projected is not None
    with pytest.raises(BadInput, match=r"requirements-umap\.txt"):
        umap_projection(projected)


@pytest.mark.thorough
async def test_umap_gives_the_same_picture_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling takes longer than interpreting these few points
    projected = await embedding_map(MANY, WordEmbed())
    assert projected is not None
    first, again = umap_projection(projected), umap_projection(projected)
    assert first.projection.points.shape == (len(projected.points), 2)
    np.testing.assert_array_equal(first.projection.points, again.projection.points)
    assert first.points == projected.points


async def test_too_few_points_are_left_to_pca() -> None:
    projected = await embedding_map(run_of(), WordEmbed())
    assert projected is not None
    with pytest.raises(BadInput, match="16 to"):
        umap_projection(projected)
