"""A download that a browser has begun comes, though its button is drawn anew."""

from collections.abc import Iterator

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from pages.parts.serving.streamlit_patches import keep_downloads

BUTTON = "0.3.1"


@pytest.fixture(autouse=True)
def patches_undone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("remove_orphaned_files", "_remove_orphaned_deferred_callables"):
        monkeypatch.setattr(MediaFileManager, name, getattr(MediaFileManager, name))
    yield


@pytest.fixture
def storage() -> MemoryMediaFileStorage:
    return MemoryMediaFileStorage("/media")


def drawn(files: MediaFileManager) -> str:
    """The id that a button has in the browser after a script has drawn it."""
    button = files.add_deferred(lambda: b"the file", "text/plain", BUTTON)
    files.remove_orphaned_files()
    return button


def test_click_on_a_button_that_was_just_drawn_anew_makes_the_file(storage: MemoryMediaFileStorage) -> None:
    files = MediaFileManager(storage)
    in_browser = drawn(files)
    drawn(files)
    with pytest.raises(MediaFileStorageError):
        files.execute_deferred(in_browser)  # else the patch can go
    keep_downloads()
    in_browser = drawn(files)
    drawn(files)
    assert files.execute_deferred(in_browser)


def test_file_stays_until_the_browser_has_it(storage: MemoryMediaFileStorage) -> None:
    def fetched_after_other_scripts() -> bytes:
        files = MediaFileManager(storage)
        name = files.execute_deferred(drawn(files)).rpartition("/")[2]
        for _ in range(2):
            files.remove_orphaned_files()
        return storage.get_file(name.partition(".")[0]).content

    with pytest.raises(MediaFileStorageError):
        fetched_after_other_scripts()  # else the patch can go
    keep_downloads()
    assert fetched_after_other_scripts() == b"the file"


def test_files_of_buttons_that_are_gone_are_removed_later(storage: MemoryMediaFileStorage) -> None:
    keep_downloads(seconds=0)
    files = MediaFileManager(storage)
    in_browser = drawn(files)
    files.clear_session_refs()
    files.remove_orphaned_files()
    assert files.execute_deferred(in_browser)
    files.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError):
        files.execute_deferred(in_browser)
