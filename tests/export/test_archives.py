"""The forms of archives: WARC, and RO-Crate metadata."""

import gzip
import io
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import BadInput
from core.export.archives.warc import warc
from core.export.formats import export
from core.export.left_out.rewrite import without_texts
from core.run.recorded_run import RecordedRun
from tests.export.test_bundle import RECORDED
from tests.export.test_formats import HOSTILE, with_page
from tests.run.test_importer import DONE
from tests.samples import KEY

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
