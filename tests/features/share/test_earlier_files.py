"""Exported files of earlier versions open as far as this version knows what is in them."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from core.run.events import RunStarted
from core.run.recorded_run import RecordedRun
from core.storage.bundle import from_bundle, recorded_run
from tests.run.test_importer import DONE
from tests.samples import KEY
from tests.services.command_line import openquery
from tests.storage.test_bundle import BUNDLE, RECORDED, parts_of, same, zipped

FOLDER = Path(__file__).parents[2] / "data" / "earlier_files"


def of_earlier_version() -> RecordedRun:
    """The run of the files, with the knobs that were the defaults then."""
    first, *rest = RECORDED.records
    assert isinstance(first.event, RunStarted)
    knobs = replace(first.event.knobs, rank=replace(first.event.knobs.rank, per_cluster=0))
    started = replace(first, event=replace(first.event, knobs=knobs))
    return RecordedRun.folded([started, *rest], labels=RECORDED.labels)


def earlier(name: str) -> RecordedRun:
    return recorded_run((FOLDER / name).read_bytes())


def test_signed_bundle_opens_as_the_run() -> None:
    assert same(earlier("signed.zip"), of_earlier_version())


def test_signature_that_does_not_fit_is_ignored() -> None:
    file = io.BytesIO(BUNDLE)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("signature.json", b"[" * 100_000)
    assert same(from_bundle(file.getvalue()), RECORDED)


@pytest.mark.slow
def test_command_claims_nothing_about_a_signature(tmp_path: Path) -> None:
    opened = openquery(tmp_path, "open", str(FOLDER / "signed.zip"))
    assert opened.code == 0
    assert "sign" not in (opened.out + opened.err).lower()


def test_description_of_an_earlier_bundle_is_not_read() -> None:
    parts = parts_of((FOLDER / "signed.zip").read_bytes())
    del parts["signature.json"]
    assert same(
        from_bundle(zipped({**parts, "ro-crate-metadata.json": b"[" * 100_000})), of_earlier_version()
    )


def test_bundle_of_offsets_opens_without_texts() -> None:
    recorded = earlier("texts_left_out.offsets.zip")
    assert all(page.lacks_text for page in recorded.run.pages.values())
    assert [page.url for page in recorded.run.pages.values()] == [page.url for page in DONE.pages.values()]
    assert recorded.run.text == DONE.text
    assert recorded.run.index is not None and DONE.index is not None
    places = [passage.place for passage in recorded.run.index.passages]
    assert places == [passage.place for passage in DONE.index.passages]


def test_texts_fetched_in_part_count_as_left_out() -> None:
    run = earlier("texts_fetched_in_part.zip").run
    assert run.pages[KEY].text.endswith("Delta.")
    assert all(page.lacks_text for page in run.pages.values())


def test_texts_fetched_by_an_earlier_version_are_texts() -> None:
    run = earlier("texts_fetched.json").run
    assert not any(page.lacks_text for page in run.pages.values())
    assert [page.text for page in run.pages.values()] == [page.text for page in DONE.pages.values()]
