"""Libraries with reading processes that all tests of the package share."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest_asyncio

from core.adapters.web.extraction_pool import ExtractionPool
from tests.features.library.sample_library import SampleLibrary

OpenLibrary = Callable[..., SampleLibrary]
"""Opens a library in a folder of the test, with the parts that are given, until the test ends."""


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def workers() -> AsyncIterator[ExtractionPool]:
    async with ExtractionPool(1) as pool:
        yield pool


@pytest_asyncio.fixture(loop_scope="package")
async def open_library(tmp_path: Path, workers: ExtractionPool) -> AsyncIterator[OpenLibrary]:
    async with AsyncExitStack() as stack:

        def opened(folder: Path = tmp_path, **parts: Any) -> SampleLibrary:
            library = SampleLibrary(folder, workers, **parts)
            stack.push_async_callback(library.aclose)
            return library

        yield opened


@pytest_asyncio.fixture(loop_scope="package")
async def books(open_library: OpenLibrary) -> SampleLibrary:
    return open_library()
