"""Which database the settings lead to, and what the health check says of it."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from core.config.settings import Settings
from core.errors import BadInput
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine import Engine
from core.runtime.engine_parts import ProbeState
from core.runtime.health import Probe, probes
from tests.services.qdrant import FakeQdrant


async def probe(engine: Engine) -> Probe:
    return next(report for report in await probes(engine) if report.part == "Qdrant")


async def test_library_without_a_url_is_in_the_data_folder(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="", workers=1)) as engine:
        report = await probe(engine)
        assert (report.state, "library" in report.detail) == (ProbeState.OFF, True)
        assert "QDRANT_URL" in report.hint
        assert not (tmp_path / "library").exists()
        await engine.part(LibraryConnections).database.create("book_content", 4)
        report = await probe(engine)
        assert (report.state, report.hint) == (ProbeState.WORKS, "")
        assert report.detail == f"built in, 1 collection, {tmp_path / 'library'}"
        assert engine.part(LibraryConnections).database is engine.part(LibraryConnections).database
    async with Engine(Settings(data=tmp_path, ollama_url="", workers=1)) as engine:
        assert await engine.part(LibraryConnections).database.names() == ("book_content",)


async def test_with_a_url_it_is_on_that_server(tmp_path: Path) -> None:
    with FakeQdrant("a-key") as qdrant:
        settings = Settings(
            data=tmp_path, ollama_url="", workers=1, qdrant_url=qdrant.url, qdrant_api_key=SecretStr("a-key")
        )
        async with Engine(settings) as engine:
            await engine.part(LibraryConnections).database.create("book_content", 4)
            assert (
                await engine.part(LibraryConnections).database.nearest(
                    "book_content", np.ones(4, dtype=np.float32), 3
                )
                == ()
            )
            report = await probe(engine)
            assert (report.state, report.detail) == (ProbeState.WORKS, f"1 collection at {qdrant.url}")
            qdrant.key = "changed"
            report = await probe(engine)
            assert report.state is ProbeState.BROKEN
            assert "refused the key" in report.detail
    assert qdrant.engine.collection_exists("book_content")
    assert not (tmp_path / "library").exists()


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://user:secret-word@x", "http://x:99999"])
def test_invalid_address_is_refused_at_the_start(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="QDRANT_URL") as failed:
        Settings.read(data=tmp_path, qdrant_url=url)
    assert "secret-word" not in str(failed.value)
