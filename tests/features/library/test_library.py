"""Documents are added once, found, shown and deleted; what cannot be added says why."""

import asyncio
import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from core.config.knobs import ChunkKnobs
from core.errors import BadInput, LibraryFailed
from core.features.library.ingests import (
    Address,
    Folder,
    IngestLimits,
    IngestState,
    RunPages,
    TaskState,
    Upload,
)
from core.model import Collection, LibraryPassage
from core.run import events as e
from core.run.fold import folded_run
from tests.features.library.conftest import OpenLibrary
from tests.features.library.sample_library import (
    Counting,
    SampleLibrary,
    names_below,
    outcomes,
    stored_files,
    words,
)
from tests.reading.office_files import docx, epub, packed
from tests.reading.test_pdf import pdf
from tests.samples import EVENTS, PAGE, records
from tests.services.collections import InMemory

pytestmark = pytest.mark.asyncio(loop_scope="package")

PROGRAM = b"MZ\x90\x00\x03" + bytes(200)
MILLS = pdf(["Windmills turn in the wind."], ["Water wheels turn in rivers."])


def their_passages(*numbers: int) -> list[LibraryPassage]:
    """Passages that another tool added, each on the page of its number."""
    return [
        LibraryPassage(
            id=f"{n:08}-0000-4000-8000-000000000000", content=f"Words of {n}.", source="theirs.pdf", page=n
        )
        for n in numbers
    ]


async def test_documents_of_all_kinds_have_page_section_and_title(books: SampleLibrary) -> None:
    finished = await books.add(
        Upload("mills.pdf", MILLS),
        Upload("bread.docx", docx("Bread is baked in ovens.")),
        Upload("forces.epub", epub({"Wind": "<p>Wind moves air.</p>"}, title="Forces")),
        Upload("rows.csv", b"Mill,Built\nZaan,1700\n"),
        Upload("notes.md", b"# Notes\n\nSome notes."),
    )
    assert finished.state is IngestState.DONE
    assert set(outcomes(finished).values()) == {"done"}
    passages = {
        passage.content: passage for passage, _ in books.database.collections["books"].points.values()
    }
    wheels = passages["Water wheels turn in rivers."]
    assert (wheels.source, wheels.page, wheels.title) == ("mills.pdf", 2, "mills.pdf")
    assert (passages["Wind moves air."].section, passages["Wind moves air."].title) == ("Wind", "Forces")
    assert "Mill: Zaan; Built: 1700" in passages
    assert {task.name: task.pages for task in finished.tasks}["mills.pdf"] == 2
    documents = {document.source: document for document in await books.documents("books")}
    assert documents["mills.pdf"].stored
    assert (documents["mills.pdf"].pages, documents["mills.pdf"].passages) == (2, 2)
    (about,) = (await books.collections()).values()
    assert (about.passages, about.embedder) == (6, "counting")


async def test_unread_parts_are_told_in_report_and_document(books: SampleLibrary) -> None:
    finished = await books.add(Upload("bread.docx", docx("Bread.", more={"word/media/oven.png": "x"})))
    assert outcomes(finished) == {"bread.docx": "done: 1 picture was not read"}
    (document,) = await books.documents("books")
    assert document.left_out == "1 picture was not read"


async def test_same_bytes_are_embedded_once_under_any_name(books: SampleLibrary) -> None:
    books.embed.gate.clear()  # one of the two is at the embedder until the other has been looked at
    adding = await books.ingests.add("books", [Upload("a.pdf", MILLS), Upload("same.pdf", MILLS)])
    while not adding.progress.ended:
        await asyncio.sleep(0)
    books.embed.gate.set()
    first = await adding.wait()
    assert sorted(outcomes(first).values()) == ["done", "skipped: the same file as another one being added"]
    calls = list(books.embed.embedded)
    again = await books.add(Upload("a.pdf", MILLS), Upload("b.pdf", MILLS))
    names = {outcomes(again)["a.pdf"], outcomes(again)["b.pdf"]}
    assert names <= {
        "skipped: already there",
        "skipped: already there as “a.pdf”",
        "skipped: already there as “same.pdf”",
    }
    assert books.embed.embedded == calls
    assert len(await books.documents("books")) == 1
    elsewhere = await books.add(Upload("a.pdf", MILLS), name="other")
    assert outcomes(elsewhere) == {"a.pdf": "done"}


async def test_bad_document_has_its_reason_and_others_are_added(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    books = open_library(limits=IngestLimits(file=2_000))
    inner = {
        "in/good.txt": "Good words.",
        "in/setup.txt": PROGRAM,
        "../out.txt": "Words that want out.",
        "/root.txt": "Words with a root.",
        "C:\\x.txt": "Words with a drive.",
        "more.zip": packed({"a.txt": "x"}),
        "large.txt": "x" * 3_000,
        "__MACOSX/._good.txt": "noise",
        ".DS_Store": "noise",
    }
    finished = await books.add(
        Upload("scan.pdf", pdf([], [])),
        Upload("broken.pdf", b"%PDF-1.4 and nothing"),
        Upload("picture.txt", b"\x89PNG\r\n\x1a\n"),
        Upload("report.pdf", PROGRAM),
        Upload("large.txt", b"x" * 2_001),
        Upload("empty.txt", b""),
        Upload("good.txt", b"Words."),
        Upload("pack.zip", packed(inner)),
    )
    assert finished.state is IngestState.DONE
    reasons = outcomes(finished)
    assert "scan" in reasons["scan.pdf"]
    assert "damaged" in reasons["broken.pdf"]
    assert "PNG" in reasons["picture.txt"]
    assert "a program" in reasons["report.pdf"]
    assert "a program" in reasons["pack.zip/in/setup.txt"]
    assert "larger than 0 MB (OPENQUERY_FILE_MB)" in reasons["large.txt"]
    assert "empty" in reasons["empty.txt"]
    assert reasons["good.txt"] == reasons["pack.zip/in/good.txt"] == "done"
    for name in ("../out.txt", "/root.txt", "C:\\x.txt"):
        assert "leads out of the zip" in reasons[f"pack.zip/{name}"]
    assert "zip inside a zip" in reasons["pack.zip/more.zip"]
    assert "more than 0.002 MB" in reasons["pack.zip/large.txt"]
    assert not [name for name in reasons if "MACOSX" in name or "DS_Store" in name]
    assert {document.source for document in await books.documents("books")} == {
        "good.txt",
        "pack.zip/in/good.txt",
    }
    assert not {"out.txt", "root.txt", "x.txt", "C:\\x.txt"} & names_below(tmp_path.parent)


@pytest.mark.parametrize(
    ("limits", "count", "hint"),
    [
        (IngestLimits(), 10_000, "OPENQUERY_INGEST_FILES"),
        (IngestLimits(files=3), 4, "OPENQUERY_INGEST_FILES"),
        (IngestLimits(total=30), 3, "OPENQUERY_LIBRARY_MB"),
    ],
)
async def test_documents_beyond_the_limits_are_refused_before_storing(
    tmp_path: Path, open_library: OpenLibrary, limits: IngestLimits, count: int, hint: str
) -> None:
    database = InMemory()
    books = open_library(database=database, limits=limits)
    files = {f"{n}.txt": f"number {n}, in words" for n in range(count)}
    for items in (
        [Upload(name, text.encode()) for name, text in files.items()],
        [Upload("a.zip", packed(files))],
    ):
        if hint.endswith("FILES") or len(items) > 1:
            with pytest.raises(BadInput) as caught:
                await books.ingests.add("books", items)
            assert hint in caught.value.hint
    assert database.collections == {}
    assert not (tmp_path / "documents").exists()


async def test_zip_that_unpacks_too_far_fails_alone(
    open_library: OpenLibrary,
) -> None:
    books = open_library(limits=IngestLimits(total=100_000))
    finished = await books.add(Upload("a.zip", packed({str(n): f"{n} " * 9_000 for n in range(10, 30)})))
    assert "unpacks to more than" in outcomes(finished)["a.zip"]
    assert "OPENQUERY" not in outcomes(finished)["a.zip"]


@pytest.mark.parametrize("items", [[], [Address("ftp://a.example/x")], [Address("not an address")]])
async def test_nothing_or_nonsense_is_refused(open_library: OpenLibrary, items: list[Address]) -> None:
    with pytest.raises(BadInput):
        await open_library().ingests.add("books", items)


async def test_only_allowed_folders_are_read_without_following_links(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    (tmp_path / "papers" / "deep").mkdir(parents=True)
    (tmp_path / "papers" / "a.txt").write_text("Words of a.")
    (tmp_path / "papers" / "deep" / "b.md").write_text("# B\n\nWords of b.")
    (tmp_path / "papers" / ".hidden").write_text("Hidden words.")
    (tmp_path / "secret.txt").write_text("Secret words.")
    (tmp_path / "papers" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "papers" / "deep" / "out").symlink_to(tmp_path)
    books = open_library(tmp_path / "data", limits=IngestLimits(folders=(tmp_path / "papers",)))
    for path in (
        tmp_path,
        tmp_path / "secret.txt",
        tmp_path / "papers" / "..",
        Path("/etc"),
        tmp_path / "papers" / "link.txt",
    ):
        with pytest.raises(BadInput, match="may not be added"):
            await books.ingests.add("books", [Folder(path)])
    finished = await books.add(Folder(tmp_path / "papers"))
    assert outcomes(finished) == {"papers/a.txt": "done", "papers/deep/b.md": "done"}
    with pytest.raises(BadInput, match="does not exist"):
        await books.ingests.add("books", [Folder(tmp_path / "papers" / "none")])


async def test_unreadable_file_of_a_folder_is_reported_beside_the_rest(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.txt").write_text("Words of a.")
    (papers / os.fsdecode(b"caf\xe9.txt")).write_text("Words with a name in Latin 1.")
    deep = "in a folder with a long name " * 7
    folder = os.open(papers, os.O_RDONLY)
    for _ in range(20):  # 4,060 characters, which is a longer path than the system opens
        os.mkdir(deep, dir_fd=folder)
        above, folder = folder, os.open(deep, os.O_RDONLY, dir_fd=folder)
        os.close(above)
    os.close(folder)
    books = open_library(tmp_path / "data", limits=IngestLimits(folders=(papers,)))
    finished = await books.add(Folder(papers))
    reasons = outcomes(finished)
    assert reasons.pop("papers/a.txt") == "done"
    assert "its name is not UTF-8" in reasons.pop("papers/caf.txt")
    ((name, reason),) = reasons.items()
    assert "in a folder with a long name" in name
    assert "cannot be read: File name too long" in reason


async def test_fonts_pictures_and_scripts_of_a_saved_site_are_no_failures(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "a.txt").write_text("Words of a.")
    (site / "text.woff2").write_bytes(b"wOF2" + bytes(range(32)) * 20)
    (site / "menu.js").write_text("let a=1;" * 500)
    (site / "table.xyz").write_bytes(bytes(range(32)) * 20)
    books = open_library(tmp_path / "data", limits=IngestLimits(folders=(site,)))
    states = {name: text.partition(":")[0] for name, text in outcomes(await books.add(Folder(site))).items()}
    companions = {"site/text.woff2", "site/menu.js"}
    assert {name for name, state in states.items() if state == "skipped"} == companions
    assert (states["site/a.txt"], states["site/table.xyz"]) == ("done", "failed")
    assert outcomes(await books.add(Folder(site / "menu.js")))["menu.js"].startswith("failed")


async def test_a_runs_pages_are_added_as_they_were_read(books: SampleLibrary) -> None:
    snippet = replace(PAGE, key="k", snippet_only=True)
    run = folded_run(records(*EVENTS, e.PageRead(snippet)))
    finished = await books.add(RunPages(run))
    assert outcomes(finished) == {PAGE.url: "done"}
    (document,) = await books.documents("books")
    assert (document.source, document.url, document.title) == (PAGE.url, PAGE.url, "One")
    file = await books.file(document.key)
    assert (file.name, file.media_type, file.body.decode()) == ("One.txt", "text/plain", PAGE.text)


async def test_passages_come_in_their_order_page_after_page(books: SampleLibrary) -> None:
    finished = await books.add(Upload("a.txt", words(60, "thing").encode()))
    (document,) = await books.documents("books")
    assert document.passages == finished.passages > 8
    passages_read: list[LibraryPassage] = []
    after = ""
    while True:
        passages, after = await books.passages("books", document.key, after, limit=5)
        passages_read += passages
        if not after:
            break
    assert [passage.position for passage in passages_read] == list(range(document.passages))


async def test_page_far_into_a_book_is_read_alone(books: SampleLibrary) -> None:
    pages = [
        [f"Page {number} of the ledger names ferry {number} and its keeper."] for number in range(1, 451)
    ]
    await books.add(Upload("ledger.pdf", pdf(*pages)))
    (document,) = await books.documents("books")
    assert document == await books.document("books", document.key)
    (passage,) = await books.passages_on_page("books", document.key, 440)
    assert (passage.page, passage.content) == (440, pages[439][0])
    around = await books.passages_around("books", passage, reach=2)
    assert [other.page for other in around] == [438, 439, 440, 441, 442]
    assert await books.passage("books", passage.id) == passage
    assert await books.passages_on_page("books", document.key, 451) == ()
    assert await books.document("books", "0" * 64) is None


async def test_passage_without_a_known_order_stands_alone(books: SampleLibrary) -> None:
    await books.create("books")
    theirs = their_passages(1, 2)
    await books.put(*theirs)
    assert await books.passages_around("books", theirs[0], reach=3) == (theirs[0],)
    assert await books.passages_on_page("books", "source:theirs.pdf", 2) == (theirs[1],)
    assert await books.passages_on_page("books", "source:other.pdf", 2) == ()


async def test_file_is_deleted_with_its_last_collection(tmp_path: Path, books: SampleLibrary) -> None:
    for name in ("one", "two"):
        await (await books.ingests.add(name, [Upload("a.pdf", MILLS)])).wait()
    (document,) = await books.documents("one")
    await books.delete("one", document.key)
    assert await books.documents("one") == ()
    assert (await books.file(document.key)).body == MILLS
    await books.drop("two")
    with pytest.raises(BadInput, match="no such file"):
        await books.file(document.key)
    assert stored_files(tmp_path) == set()
    assert outcomes(await books.add(Upload("a.pdf", MILLS), name="one")) == {"a.pdf": "done"}


async def test_thousand_documents_of_other_tools_are_listed(books: SampleLibrary) -> None:
    await books.add(Upload("a.pdf", MILLS))
    theirs = their_passages(*range(1_000, 2_001))
    await books.put(*(replace(passage, source=f"{passage.page}.pdf") for passage in theirs))
    documents = await books.documents("books")
    assert (documents[0].source, len(documents)) == ("a.pdf", 1 + 1_000)


async def test_only_pdf_pages_are_drawn(books: SampleLibrary) -> None:
    await books.add(Upload("a.pdf", MILLS), Upload("b.txt", b"Words."))
    keys = {document.source: document.key for document in await books.documents("books")}
    assert Image.open(io.BytesIO(await books.page_image(keys["a.pdf"], 2))).width == 1_000
    with pytest.raises(BadInput, match="2 pages"):
        await books.page_image(keys["a.pdf"], 3)
    with pytest.raises(BadInput, match="Only pages of PDFs"):
        await books.page_image(keys["b.txt"], 1)
    for nonsense in ("../library.sqlite", "0" * 64, ""):
        with pytest.raises(BadInput, match="no such file"):
            await books.page_image(nonsense, 1)


async def test_collection_of_another_model_is_refused_and_can_be_re_embedded(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    database = InMemory()
    narrow = open_library(database=database)
    await narrow.add(Upload("a.pdf", MILLS))
    theirs = their_passages(0, 1, 2)
    await narrow.put(*theirs)
    await narrow.aclose()

    embed = Counting("wide", width=16)
    wide = open_library(database=database, embed=embed)
    for attempt in (
        wide.search("books", "mills"),
        wide.ingests.add("books", [Upload("b.txt", b"Words.")]),
        wide.create("books"),
    ):
        with pytest.raises(LibraryFailed, match=r"width|numbers"):
            await attempt
    finished = await (await wide.ingests.reembed("books", knobs=ChunkKnobs(size=1_000))).wait()
    assert finished.state is IngestState.DONE
    about = await database.about("books")
    assert (about.width, about.passages) == (16, 5)
    points = {passage.id: passage for passage, _ in database.collections["books"].points.values()}
    for passage in theirs:
        assert points[passage.id] == replace(passage, embedder="wide")
    assert [passage.content for passage in (await wide.passages("books", "source:theirs.pdf"))[0]] == [
        passage.content for passage in theirs
    ]
    documents = {document.source: document for document in await wide.documents("books")}
    assert documents["a.pdf"].embedder == "wide"
    assert not documents["theirs.pdf"].stored
    (best, *_) = await wide.search("books", "Windmills turn in the wind.")
    assert best.passage.page == 1
    await wide.delete("books", documents["theirs.pdf"].key)
    assert (await database.about("books")).passages == 2
    assert stored_files(tmp_path) == {documents["a.pdf"].key}, "what was written down meanwhile is gone"


async def test_another_model_of_the_same_width_is_refused_too(open_library: OpenLibrary) -> None:
    database = InMemory()
    first = open_library(database=database)
    await first.add(Upload("a.pdf", MILLS))
    other = open_library(database=database, embed=Counting("other"))
    with pytest.raises(LibraryFailed, match="was embedded by counting"):
        await other.search("books", "mills")
    with pytest.raises(LibraryFailed, match="was embedded by counting"):
        await other.ingests.add("books", [Upload("b.txt", b"Words.")])


async def test_stopped_ingest_keeps_complete_documents_and_removes_partial_ones(
    tmp_path: Path, books: SampleLibrary
) -> None:
    await books.add(Upload("whole.txt", b"Whole words."))
    books.embed.gate.clear()
    books.embed.called.clear()
    items = [Upload(f"{n}.txt", words(40, f"thing {n}").encode()) for n in range(10)]
    ingest = await books.ingests.add("books", items)
    await books.embed.called.wait()
    assert books.ingests.running("books") == (ingest,)
    document = next(task.document for task in ingest.progress.tasks if task.state is TaskState.EMBEDDING)
    with pytest.raises(BadInput, match="being added"):
        await books.delete("books", document)
    await asyncio.to_thread(ingest.cancel)
    finished = await ingest.wait()
    assert finished.state is IngestState.STOPPED
    assert set(outcomes(finished).values()) == {"skipped: stopped"}
    assert books.ingests.running() == ()
    assert [document.source for document in await books.documents("books")] == ["whole.txt"]
    assert (await books.database.about("books")).passages == 1
    assert len(stored_files(tmp_path)) == 1
    assert await books.ingests.unfinished() == ()


async def test_ingest_whose_database_fails_can_be_resumed(books: SampleLibrary) -> None:
    items = [Upload(f"{n}.txt", f"Words of number {n}.".encode()) for n in range(8)]
    await books.create("books")
    ingest = await books.ingests.add("books", items)
    books.database.down = True
    interrupted = await ingest.wait()
    assert interrupted.state is IngestState.INTERRUPTED
    assert "Start it." in interrupted.message
    assert interrupted.counts == {TaskState.WAITING: 8}
    (unfinished,) = await books.ingests.unfinished()
    assert unfinished.message == interrupted.message
    books.database.down = False
    (resumed,) = await books.ingests.resume()
    finished = await resumed.wait()
    assert finished.counts == {TaskState.DONE: 8}
    assert await books.ingests.unfinished() == ()
    assert (await books.database.about("books")).passages == 8


class Partly(InMemory):
    """`locked` cannot be opened, and `gone` goes away while one looks."""

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        if name == "locked":
            raise LibraryFailed("Another process has it open.")
        if name == "gone":
            await self.drop(name)
        return await super().about(name, wait=wait)


async def test_collection_that_cannot_be_opened_is_listed_with_the_reason(
    open_library: OpenLibrary,
) -> None:
    database = Partly()
    books = open_library(database=database)
    await database.create("gone", 8)
    assert await books.collections() == {}
    for name in ("books", "gone", "locked"):
        await database.create(name, 8)
    listed = await books.collections()
    assert list(listed) == ["books", "locked"]
    assert isinstance(listed["books"], Collection)
    assert "Another process" in str(listed["locked"])


class Odd(InMemory):
    """Some words break it, in a way that nobody has foreseen, once half of them are in."""

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        await super().put(name, passages, vectors)
        if any("odd number 20" in passage.content for passage in passages):
            raise RuntimeError("nobody has foreseen this")


async def test_an_odd_document_fails_and_the_others_are_added(open_library: OpenLibrary) -> None:
    database = Odd()
    books = open_library(database=database)
    odd = packed({"ä.txt": "Words.", "b.txt": "Words of b."}).replace("ä".encode(), b"\xff\xff", 1)
    items = [
        Upload("odd.txt", words(40, "odd").encode()),
        Upload("odd.zip", odd),
        Upload("good.txt", b"Words of good."),
    ]
    finished = await books.add(*items)
    assert finished.state is IngestState.DONE
    assert outcomes(finished) == {
        "odd.txt": "failed: Something inside OpenQuery went wrong. The server's log has the details.",
        "odd.zip": "done: a zip of 2 files",
        "odd.zip/ä.txt": "failed: could not be parsed: ä.txt in it is damaged",
        "odd.zip/b.txt": "done",
        "good.txt": "done",
    }
    assert {passage.source for passage, _ in database.collections["books"].points.values()} == {
        "odd.zip/b.txt",
        "good.txt",
    }


async def test_equal_names_in_several_zips_are_all_added(open_library: OpenLibrary) -> None:
    embed = Counting()
    books = open_library(embed=embed)
    long = "/in a folder with a long name" * 12
    many = {name: f"Words of {name[:2]}." for name in (f"30{long}", *map(str, range(10, 30)), f"31{long}")}
    first, second = packed(many), packed({"10": "Words of another ten."})
    embed.gate.clear()  # the second zip has its turn once the first has been unpacked
    others = [Upload(f"{n}.txt", f"Words of {n}.".encode()) for n in range(3)]
    adding = await books.ingests.add("books", [Upload("a.zip", first), *others, Upload("a.zip", second)])
    while not adding.progress.ended:
        await asyncio.sleep(0)
    embed.gate.set()
    finished = await adding.wait()
    assert finished.counts == {TaskState.DONE: 2 + 3 + 22 + 1}
    assert len(await books.documents("books")) == 3 + 22 + 1


async def test_ingests_of_a_closed_process_are_resumed_by_the_next(open_library: OpenLibrary) -> None:
    database, embed = InMemory(), Counting()
    first = open_library(database=database, embed=embed)
    embed.gate.clear()
    ingest = await first.ingests.add(
        "books", [Upload("a.txt", b"Words of a."), Upload("b.txt", b"Words of b.")]
    )
    await embed.called.wait()
    second = open_library(database=database)
    assert await second.ingests.unfinished() == (), "somebody lives who works on it"
    assert await second.ingests.resume() == ()
    await first.aclose()
    assert ingest.progress.state is IngestState.INTERRUPTED
    (unfinished,) = await second.ingests.unfinished()
    assert {task.name for task in unfinished.tasks} == {"a.txt", "b.txt"}
    (resumed,) = await second.ingests.resume()
    assert set(outcomes(await resumed.wait()).values()) == {"done"}
