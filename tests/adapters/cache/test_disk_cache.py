import asyncio
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.errors import EmbedFailed
from tests.services.openai_server import vector
from tests.stages.fakes import FakeEmbed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "cache.sqlite"


def on_disk(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def test_what_was_put_is_there_after_a_restart(path: Path) -> None:
    first = DiskCache(path, 10)
    first.put_many("pages", {"a": b"one", "b": b""})
    first.put_many("vectors", {"a": b"other"})
    first.close()
    second = DiskCache(path, 10)
    assert second.get_many("pages", ["a", "b", "c"]) == {"a": b"one", "b": b""}
    assert second.get_many("vectors", ["a"]) == {"a": b"other"}
    assert second.size() == {"pages": (2, 3), "vectors": (1, 5)}
    assert second.problem == ""


def test_a_new_value_replaces_the_old_one(path: Path) -> None:
    cache = DiskCache(path, 10)
    cache.put_many("s", {"a": b"old"})
    cache.put_many("s", {"a": b"newer"})
    assert cache.get_many("s", ["a"]) == {"a": b"newer"}
    assert cache.size() == {"s": (1, 5)}


def test_clearing_one_space_or_all_frees_the_disk(path: Path) -> None:
    cache = DiskCache(path, 10)
    cache.put_many("a", {f"{n}": bytes(10_000) for n in range(300)})
    cache.put_many("b", {"x": b"1"})
    full = on_disk(path)
    cache.clear("a")
    assert cache.size() == {"b": (1, 1)}
    cache.clear()
    assert cache.size() == {}
    assert on_disk(path) < full / 10


def test_limit_holds_by_dropping_the_least_recently_used(path: Path) -> None:
    cache = DiskCache(path, 1)
    for n in range(60):
        cache.put_many("s", {f"{n:02d}": bytes(30_000)})
        assert sum(size for _, size in cache.size().values()) <= 1_050_000
    keys = sorted(cache.get_many("s", [f"{n:02d}" for n in range(60)]))
    assert len(keys) >= 20
    assert keys == [f"{n:02d}" for n in range(60 - len(keys), 60)]


def test_an_entry_that_was_read_lately_outlives_older_ones(path: Path) -> None:
    cache = DiskCache(path, 1)
    cache.put_many("s", {f"old {n}": bytes(50_000) for n in range(10)})
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entries SET used = used - 10000")
    cache.get_many("s", ["old 0"])
    cache.put_many("s", {f"new {n}": bytes(50_000) for n in range(13)})
    values = cache.get_many("s", [f"old {n}" for n in range(10)])
    assert "old 0" in values
    assert len(values) < 10


def test_value_larger_than_the_cache_is_not_kept(path: Path) -> None:
    cache = DiskCache(path, 1)
    cache.put_many("s", {"small": b"1", "huge": bytes(900_000)})
    assert list(cache.get_many("s", ["small", "huge"])) == ["small"]


def test_limit_of_zero_keeps_nothing_and_makes_no_file(path: Path) -> None:
    cache = DiskCache(path, 0)
    cache.put_many("s", {"a": b"1"})
    assert cache.get_many("s", ["a"]) == {}
    assert cache.size() == {}
    assert not path.parent.exists()


def test_an_entry_whose_checksum_does_not_match_is_dropped(path: Path) -> None:
    cache = DiskCache(path, 10)
    cache.put_many("s", {"good": b"good", "bad": b"right"})
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entries SET value = ? WHERE key = 'bad'", (b"wrong",))
    assert cache.get_many("s", ["good", "bad"]) == {"good": b"good"}
    assert cache.size() == {"s": (1, 4)}


@pytest.mark.parametrize("offset", [0, 4096])
def test_a_damaged_file_is_replaced_by_a_new_one(
    path: Path, offset: int, caplog: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(path, 10)
    cache.put_many("s", {f"{n}": bytes(3000) for n in range(100)})
    cache.close()
    damaged = bytearray(path.read_bytes())
    damaged[offset:] = b"\xff" * (len(damaged) - offset)
    path.write_bytes(damaged)
    cache.get_many("s", ["1"])
    cache.put_many("s", {"a": b"1"})
    assert cache.get_many("s", ["a"]) == {"a": b"1"}
    assert cache.problem == ""
    assert "damaged" in caplog.text


def test_a_cache_of_an_older_version_begins_anew(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entries (something TEXT)")
    cache = DiskCache(path, 10)
    cache.put_many("s", {"a": b"1"})
    assert cache.get_many("s", ["a"]) == {"a": b"1"}


def test_unwritable_disk_is_a_message_and_no_exception(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = DiskCache(tmp_path / "file" / "cache.sqlite", 10)
    cache.put_many("s", {"a": b"1"})
    assert cache.get_many("s", ["a"]) == {}
    assert cache.size() == {}
    assert "cannot be used" in cache.problem and str(cache.path) in cache.problem
    cache.clear()


def test_a_full_disk_leaves_what_is_there_readable(path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.cache.disk_cache import DiskCache
cache = DiskCache(Path(sys.argv[1]), 10)
cache.put_many("s", {"a": b"1"})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file of this process may grow further
cache.put_many("s", {"b": bytes(1_000_000)})
print(cache.problem)
assert cache.get_many("s", ["a", "b"]) == {"a": b"1"}, cache.problem
assert cache.problem == ""
"""
    process = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert "cannot be used" in process.stdout


def test_its_folder_is_for_its_owner_alone(path: Path) -> None:
    DiskCache(path, 10).put_many("s", {"a": b"1"})
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_threads_and_processes_share_it(path: Path) -> None:
    script = """
import sys
from pathlib import Path
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.cache.disk_cache import DiskCache
cache = DiskCache(Path(sys.argv[1]), 10)
for n in range(40):
    cache.put_many("s", {f"{sys.argv[2]} {n}": sys.argv[2].encode() * 50})
    assert not cache.problem, cache.problem
"""
    others = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("x", "y")]
    cache = DiskCache(path, 10)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: cache.put_many("s", {f"here {n}": b"z"}), range(80)))
    assert [other.wait(30) for other in others] == [0, 0]
    names = [f"{name} {n}" for name in ("x", "y") for n in range(40)] + [f"here {n}" for n in range(80)]
    assert len(cache.get_many("s", names)) == 160


# --- vectors ----------------------------------------------------------------------------------------------


class Embedder(FakeEmbed):
    def __init__(self, identity: str = "test", width: int = 8) -> None:
        self.identity = identity
        self.width = width
        self.texts: list[str] = []
        self.broken = False

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.broken:
            raise EmbedFailed("No vectors today.")
        self.texts.extend(texts)
        return np.array([vector(text, self.width) for text in texts], dtype=np.float32)


async def test_only_texts_never_seen_before_reach_the_embedder(path: Path) -> None:
    embedder = Embedder()
    cached = CachedEmbed(embedder, WriteBehindCache(DiskCache(path, 10)))
    first, reused, _ = await cached(["a", "b", "a"])
    assert (embedder.texts, reused) == (["a", "b"], 0)
    second, reused, _ = await cached(["c", "b", "a"])
    assert (embedder.texts, reused) == (["a", "b", "c"], 2)
    np.testing.assert_array_equal(first, [vector(text, 8) for text in "aba"])
    np.testing.assert_array_equal(second, [vector(text, 8) for text in "cba"])
    assert second.flags.c_contiguous and second.flags.writeable


async def test_vectors_survive_a_restart_and_belong_to_their_model(path: Path) -> None:
    cache = WriteBehindCache(DiskCache(path, 10))
    await CachedEmbed(Embedder(), cache)(["a", "b"])
    await cache.flush()
    same, other = Embedder(), Embedder("another model")
    vectors, reused, _ = await CachedEmbed(same, WriteBehindCache(DiskCache(path, 10)))(["a", "b"])
    assert (same.texts, reused) == ([], 2)
    np.testing.assert_array_equal(vectors, [vector(text, 8) for text in "ab"])
    assert (await CachedEmbed(other, WriteBehindCache(DiskCache(path, 10)))(["a"]))[1] == 0


async def test_failures_are_not_remembered(path: Path) -> None:
    embedder = Embedder()
    cached = CachedEmbed(embedder, WriteBehindCache(DiskCache(path, 10)))
    embedder.broken = True
    with pytest.raises(EmbedFailed):
        await cached(["a"])
    embedder.broken = False
    assert (await cached(["a"]))[1] == 0
    assert embedder.texts == ["a"]


async def test_changed_vector_width_embeds_all_texts_again(path: Path) -> None:
    embedder = Embedder()
    cached = CachedEmbed(embedder, WriteBehindCache(DiskCache(path, 10)))
    await cached(["a", "b"])
    embedder.width = 12
    vectors, reused, _ = await cached(["a", "c"])
    assert vectors.shape == (2, 12)
    assert reused == 0
    np.testing.assert_array_equal((await cached(["a"])).vectors, [vector("a", 12)])


async def test_unusable_cache_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = WriteBehindCache(DiskCache(tmp_path / "file" / "cache.sqlite", 10))
    cached = CachedEmbed(Embedder(), cache)
    assert (await cached(["a"])).vectors.shape == (1, 8)
    assert (await cached(["a"]))[1] == 1  # from memory
    await cache.flush()


async def test_latest_vectors_are_in_memory_up_to_a_limit(tmp_path: Path) -> None:
    embedder = Embedder()
    cached = CachedEmbed(
        embedder, WriteBehindCache(DiskCache(tmp_path, 0)), memory_bytes=3 * 8 * 4
    )  # 3 vectors
    matrix = np.array([vector(text, 8) for text in "ab"], dtype=np.float32)
    cached.remember(["a", "b"], list(matrix))
    matrix[:] = 0  # the cache has copies
    vectors, reused, _ = await cached(["b", "a"])
    np.testing.assert_array_equal(vectors, [vector(text, 8) for text in "ba"])
    assert reused == 2
    await cached(["c", "d"])
    embedder.texts.clear()
    assert (await cached(["c", "d"]))[1] == 2
    assert (await cached(["a", "b"]))[1] == 1
    assert embedder.texts == ["b"]


async def test_a_text_remembered_again_takes_no_more_memory(tmp_path: Path) -> None:
    cached = CachedEmbed(Embedder(), WriteBehindCache(DiskCache(tmp_path, 0)), memory_bytes=4 * 8 * 4)
    for _ in range(10):
        cached.remember(["a", "b"], [np.array(vector(text, 8), np.float32) for text in "ab"])
    assert (await cached(["a", "b"]))[1] == 2


async def test_many_calls_at_once_agree(path: Path) -> None:
    cached = CachedEmbed(Embedder(), WriteBehindCache(DiskCache(path, 10)))
    texts = [f"text {n}" for n in range(50)]
    for vectors, *_ in await asyncio.gather(*(cached(texts) for _ in range(10))):
        np.testing.assert_array_equal(vectors, [vector(text, 8) for text in texts])
