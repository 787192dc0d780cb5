"""Who comes in. Signing in itself is driven in a browser: tests/browser/test_sign_in.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.pages.conftest import opened

pytestmark = pytest.mark.slow


@pytest.fixture
def closed(registry: RunRegistry, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server whose operator asks people to sign in, and has not said where."""
    monkeypatch.setenv("OPENQUERY_SIGN_IN", "required")
    runtime.close()
    yield
    runtime.close()


@pytest.mark.usefixtures("closed")
def test_server_requiring_sign_in_shows_nothing_until_configured() -> None:
    app = opened()
    assert not app.exception
    (told,) = app.error
    assert "sign-in.md" in told.value
    assert not app.text_input
    assert (Path(__file__).parents[2] / "docs" / "security" / "sign-in.md").exists()


def test_without_the_setting_everybody_comes_in(registry: RunRegistry) -> None:
    app = opened()
    assert not app.exception
    assert app.text_input(key="question")
