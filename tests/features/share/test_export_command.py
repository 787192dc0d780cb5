"""`openquery export` and `openquery open`, as a person calls them."""

from pathlib import Path

import pytest

from core.features.share.formats import export
from core.storage.bundle import from_bundle
from tests.services.command_line import openquery
from tests.storage.test_bundle import BUNDLE, RECORDED, same

pytestmark = pytest.mark.slow


def test_bundle_is_opened_and_exported_again_from_history(tmp_path: Path) -> None:
    file, out = tmp_path / "run.zip", tmp_path / "again.zip"
    file.write_bytes(BUNDLE)
    opened = openquery(tmp_path / "data", "open", str(file))
    assert opened.code == 0
    address, run_id = opened.out.strip().split("?run=")
    assert address == "http://127.0.0.1:8501/"
    assert openquery(tmp_path / "data", "export", run_id, "--out", str(out)).code == 0
    assert same(from_bundle(out.read_bytes()), RECORDED.with_id(run_id))
    assert openquery(tmp_path / "data", "export", str(out), "--out", str(tmp_path / "run.csl.json")).code == 0
    assert b"a.example" in (tmp_path / "run.csl.json").read_bytes()


def test_news_since_a_run_without_texts_is_refused_early(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.offsets.zip"
    file.write_bytes(export(RECORDED, ".offsets.zip"))
    done = openquery(tmp_path / "data", "ask", "--since", str(file))
    assert (done.code, done.out) == (2, "")
    assert "left out of the file" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("open", "nowhere.zip"), "There is no file nowhere.zip."),
        (("export", "nowhere", "--out", "run.zip"), "There is no run nowhere in the history"),
        (("export", "nowhere", "--out", "run.exe"), "has to end in .zip, "),
    ],
)
def test_missing_or_impossible_exports_are_told_in_words(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = openquery(tmp_path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
