"""The forms of archives: WARC, and RO-Crate metadata."""

import gzip
import io
import json
import zipfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from core.errors import BadInput
from core.export.archives.ro_crate import CRATE
from core.export.archives.warc import warc
from core.export.bundle import from_bundle
from core.export.formats import export
from core.export.left_out.rewrite import without_texts
from core.run.recorded_run import RecordedRun
from tests.export.test_bundle import BUNDLE, RECORDED, parts_of, same, zipped
from tests.export.test_formats import HOSTILE, with_page
from tests.run.test_importer import DONE
from tests.samples import KEY, SLOW

warcio = pytest.importorskip("warcio")


def read(data: bytes) -> list[tuple[str, str, dict[str, str], bytes]]:
    """Type, address, headers and content of each record, as warcio reads them; each digest was compared."""
    from warcio.archiveiterator import ArchiveIterator

    records = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests="raise"):
        content = record.content_stream().read()
        headers = dict(record.rec_headers.headers)
        records.append((record.rec_type, headers.get("WARC-Target-URI", ""), headers, content))
    return records


def test_each_page_is_a_conversion_with_its_text_and_how_it_came_about() -> None:
    records = read(export(RECORDED, ".warc.gz"))
    assert [kind for kind, *_ in records] == ["warcinfo", *("conversion", "metadata") * 2]
    _, url, headers, content = records[1]
    assert (url, content.decode()) == ("https://a.example/one", DONE.pages[KEY].text)
    assert headers["Content-Type"] == "text/plain;charset=utf-8"
    assert headers["WARC-Date"] == "2026-01-02T03:04:06Z"  # when its last byte came
    assert records[2][2]["WARC-Refers-To"] == headers["WARC-Record-ID"]
    assert b"extractor: trafilatura" in records[2][3] and b"http-status: 200" in records[2][3]
    assert export(RECORDED, ".warc.gz") == export(RECORDED, ".warc.gz")


def test_warcio_check_passes_whatever_the_pages_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from warcio.cli import main

    recorded = with_page(
        title=f"{HOSTILE}\r\n\r\nWARC/1.1", author="é\ud800", text=f"{HOSTILE}\r\n\r\nWARC/1.1\r\n"
    )
    page = replace(recorded.run.pages[KEY], url="https://a.example/ü b\r\nX: y?q=„1“")
    run = replace(recorded.run, pages={**recorded.run.pages, KEY: page})
    file = tmp_path / "run.warc.gz"
    file.write_bytes(export(RecordedRun(run=run, base=run), ".warc.gz"))
    with pytest.raises(SystemExit) as ended:
        main(["check", str(file)])
    assert ended.value.code == 0, capsys.readouterr().out
    records = read(file.read_bytes())
    assert len(records) == 5 and all("X" not in headers for _, _, headers, _ in records)
    assert records[1][1] == "https://a.example/%C3%BC%20b%0D%0AX:%20y?q=%E2%80%9E1%E2%80%9C"


def test_only_texts_that_are_here_are_in_it() -> None:
    with pytest.raises(BadInput, match="no texts of pages"):
        warc(without_texts(RECORDED).run)
    assert b"WARC/1.1" in gzip.decompress(warc(DONE))


def crate(recorded: RecordedRun, folder: Path, ending: str = ".zip") -> Any:
    """The data set of an exported bundle, as the library of the standard reads it."""
    from rocrate.rocrate import ROCrate

    file = folder / "run.zip"
    file.write_bytes(export(recorded, ending))
    return ROCrate(str(file))


def metadata(recorded: RecordedRun) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(export(recorded, ".zip"))) as archive:
        document = json.loads(archive.read(CRATE))
    assert document["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(entities) == len(document["@graph"]), "each entity stands once"
    return entities


def test_a_bundle_describes_itself_and_its_files(tmp_path: Path) -> None:
    read_back = crate(RECORDED, tmp_path)
    assert read_back.name == DONE.question
    files = {entity.id: entity for entity in read_back.data_entities}
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert files.keys() == {*archive.namelist()} - {CRATE}
    assert files["pages/0001.txt"]["isBasedOn"].id == "https://a.example/one"
    assert {page.id for page in read_back.root_dataset["citation"]} == {"https://a.example/one", SLOW}


@pytest.mark.parametrize("question", ["What is overlap?", HOSTILE, "\ud800 \u202e"])
def test_the_description_has_what_the_standard_demands(question: str) -> None:
    run = replace(DONE, question=question)
    entities = metadata(RecordedRun(run=run, base=run))
    descriptor, root = entities[CRATE], entities["./"]
    assert descriptor["@type"] == "CreativeWork" and descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert root["@type"] == "Dataset" and {"name", "description", "license"} <= root.keys()
    assert datetime.fromisoformat(root["datePublished"]).year == 2026
    for entity in entities.values():
        assert all(entity.get(name) for name in ("@type", "name")) or entity is descriptor
        references = [value for value in entity.values() if isinstance(value, dict | list)]
        for reference in (
            inner for value in references for inner in (value if isinstance(value, list) else [value])
        ):
            assert reference["@id"] in entities or reference["@id"].startswith("https://w3id.org/")


def test_a_description_that_says_anything_else_is_not_read() -> None:
    parts = parts_of(BUNDLE)
    assert same(from_bundle(zipped({**parts, CRATE: b"[" * 100_000})), RECORDED)
