"""Streamlit's options, which every message reads, are read without a lock that all sessions share."""

import threading
from types import TracebackType

import pytest
from streamlit import config

from pages.parts.serving.streamlit_patches import read_options_without_lock


class CountedLock:
    """A lock that counts how often it is taken."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.taken = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self.taken += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> CountedLock:
    counted = CountedLock()
    monkeypatch.setattr(config, "_config_lock", counted)
    monkeypatch.setattr(config, "get_option", config.get_option)  # and back
    return counted


def test_options_are_read_without_the_lock(lock: CountedLock) -> None:
    expected = config.get_option("global.minCachedMessageSize")
    assert lock.taken, "Streamlit takes no lock: the patch can go"
    read_options_without_lock()
    lock.taken = 0
    assert config.get_option("global.minCachedMessageSize") == expected
    assert not lock.taken


def test_unknown_option_is_an_error_still(lock: CountedLock) -> None:
    read_options_without_lock()
    with pytest.raises(RuntimeError, match="not defined"):
        config.get_option("global.unheardOf")
