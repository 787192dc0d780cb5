"""Servers for tests. Each starts only when a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services.openai_server import FakeOpenAI


@pytest.fixture
def fake_openai() -> Iterator[FakeOpenAI]:
    """A scriptable OpenAI-compatible server; tests/services/openai_server.py tells how to use it."""
    with FakeOpenAI() as server:
        yield server
