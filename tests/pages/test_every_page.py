"""Every page in the quick selection: drawn for a stored run, without an exception."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.parts import runtime
from tests.pages.conftest import ROOT, opened
from tests.samples import EVENTS
from tests.seeding import store_events

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
TITLES = {
    "evaluate": "Evaluate",
    "explain": "Explain",
    "handbook": "Handbook",
    "library": "Library",
    "research": "What is overlap?",
    "runs": "History",
    "system": "System",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one run, which no page changes."""
    folder = tmp_path_factory.mktemp("every_page")
    (folder / "data").mkdir()
    store_events(folder, *EVENTS)
    return folder / "data"


@pytest.fixture
def stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The id of the run in the folder that the pages use."""
    monkeypatch.setenv("OPENQUERY_DATA", str(folder))
    runtime.close()
    yield "run-1"
    runtime.close()


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_drawn_for_a_stored_run(stored: str, page: str) -> None:
    app = opened("" if page == "research" else page, run=stored)
    assert not app.exception
    headings = [element.proto.body for element in app.get("html") if "<h1" in element.proto.body]
    assert TITLES[page] in "".join(headings)
