"""Article extraction on labelled pages: text, title, author and date, against single extractors (decision 0040).

    python -m bench.extraction --data FOLDER

The folder has up to four sets, each with `items.jsonl.gz` and `pages.zip`, in which an item's `member` is its page:

- `extraction_articles` with `text`: F1 of 4-word shingles, averaged over pages.
- `extraction_segments` with `with` and `without`, strings that an article must and must not have: F1 of all of them
  together. `meta` may have `title`, `author` and `date`.
- `extraction_readability` with `expected_html`: F1 of 4-word shingles against its text. `meta` may have `title`,
  `byline` and `publishedTime`.
- `extraction_types` with `text`, `with`, `without` and `page_type`: F1 of words, averaged over the pages of a kind and
  over all, and the shares of strings that are rightly present and rightly absent, averaged over pages.

A page that is refused has no text. The name of a column, which an article has in every row of a table so that the row
can be understood alone, counts once, as the labels have it. Half of the pages, by a checksum of their ids, are for
development (`--half develop`), the other half is reported. The weights that ship have learned from all of them: pages
that the weights have not seen are read with `--weights`, the file that `bench.block_training --half develop` writes.
CPU is the median over `--repeats` of a reading of all pages. A reader that takes more than `--limit` seconds of CPU
for a page has no text of it: it counts as refused, and is told as unfinished.
"""

import argparse
import gzip
import hashlib
import json
import logging
import re
import signal
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any
from zlib import crc32

import lxml.html
from lxml import etree

from core.model import Article, Document, Extractor, StructureKind, Unreadable
from core.reading import extract
from core.reading.html import block_choice
from core.text.decoding import decode

SETS = ("extraction_articles", "extraction_segments", "extraction_readability", "extraction_types")
SHINGLE = 4
SILENT = (
    "script", "style", "head", "noscript", "template", "textarea", "select", "button", "svg", "iframe", "object",
    "video", "audio", "canvas", "caption",
)  # fmt: skip
INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "label", "mark", "math", "picture", "q", "rp", "rt", "ruby", "s", "samp", "small",
    "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
"""Elements that do not part the words before them from those after them."""


@dataclass(frozen=True, slots=True)
class LabelledPage:
    id: str
    body: bytes
    url: str
    text: str = ""
    """The article; empty where only segments are known."""
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    """What is known of `title`, `author` and `date`."""
    kind: str = ""
    """What kind of page it is; known in one set."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an extractor made of a page; `refused` says why it is no article."""

    text: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    seconds: float = 0.0


Read = Callable[[LabelledPage], Reading]
UNFINISHED = "not finished in time"


class OutOfTimeError(BaseException):
    """A page takes too long. No `Exception`, which readers catch."""


def labelled_pages(folder: Path, half: str) -> list[LabelledPage]:
    """The pages of a set that are in this half: "develop", "held-back" or "both"."""
    with gzip.open(folder / "items.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    with zipfile.ZipFile(folder / "pages.zip") as pages:
        return [
            labelled_page(item, pages.read(item["member"]))
            for item in items
            if half in ("both", "held-back" if held_back(item["id"]) else "develop")
        ]


def held_back(name: str) -> bool:
    return crc32(name.encode()) % 2 == 1


def labelled_page(item: dict[str, Any], body: bytes) -> LabelledPage:
    meta = item.get("meta") or {}
    if item.get("page_type"):
        meta = {name: item[name] for name in ("title", "author", "date")}
    facts = {
        "title": meta.get("title"),
        "author": meta.get("author") or meta.get("byline"),
        "date": (meta.get("date") or meta.get("publishedTime") or "")[:10],
    }
    expected = item.get("expected_html")
    return LabelledPage(
        id=item["id"],
        body=body,
        url=item.get("url") or "https://pages.example/",
        text=spoken_text(expected) if expected else item.get("text", ""),
        present=tuple(map(one_spaced, item.get("with", ()))),
        absent=tuple(map(one_spaced, item.get("without", ()))),
        facts={
            name: " ".join(value) if isinstance(value, list) else value
            for name, value in facts.items()
            if value
        },
        kind=item.get("page_type", ""),
    )


def spoken_text(html: str) -> str:
    """The text of labelled HTML. It has no part of the extractors in it, so that gold stays when they change."""
    root = lxml.html.fromstring(html)
    etree.strip_elements(root, *SILENT, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    for element in root.iter():
        if element.tag not in INLINE:
            element.text, element.tail = f"\n{element.text or ''}", f"\n{element.tail or ''}"
    return str(root.text_content())


def by_openquery(extractor: Extractor) -> Read:
    def read(page: LabelledPage) -> Reading:
        document = Document(url=page.url, status=200, media_type="text/html", charset=None, body=page.body)
        began = time.thread_time()
        try:
            article = extract(document, extractor)
        except Unreadable as error:
            return Reading(refused=str(error.reason), seconds=time.thread_time() - began)
        return Reading(names_once(article), facts_of(article), seconds=time.thread_time() - began)

    return read


def names_once(article: Article) -> str:
    """The text of an article in which each table names its columns in a line of their own."""
    pieces, done = [], 0
    for start, end, kind in article.structures:
        if kind is StructureKind.TABLE:
            cells = [
                [cell.partition(": ") for cell in row.split("; ")]
                for row in article.text[start:end].split("\n")
            ]
            names = dict.fromkeys(name for row in cells for name, mark, _ in row if mark)
            rows = (" ".join(value if mark else name for name, mark, value in row) for row in cells)
            pieces += [article.text[done:start], " ".join(names), "\n", "\n".join(rows)]
            done = end
    return "".join([*pieces, article.text[done:]])


def facts_of(article: Article) -> dict[str, str]:
    return {"title": article.title, "author": article.author, "date": article.date}


def by_trafilatura(**options: Any) -> Read:
    import trafilatura

    def read(page: LabelledPage) -> Reading:
        html = decode(page.body)
        began = time.thread_time()
        found = trafilatura.bare_extraction(
            html, url=page.url, include_comments=False, with_metadata=True, **options
        )
        seconds = time.thread_time() - began
        if found is None:
            return Reading(refused="empty", seconds=seconds)
        facts = {"title": found.title or "", "author": found.author or "", "date": found.date or ""}
        return Reading(found.text or "", facts, seconds=seconds)

    return read


def by_readability(page: LabelledPage) -> Reading:
    try:
        from readability import Document as Readable
    except ImportError as error:
        raise SystemExit("readability-lxml is missing. Run: pip install readability-lxml") from error

    html = decode(page.body).replace("\x00", "")
    began = time.thread_time()
    try:
        text = spoken_text(Readable(html.encode(), url=page.url).summary())
    except Exception as error:
        return Reading(refused=type(error).__name__, seconds=time.thread_time() - began)
    return Reading(text, seconds=time.thread_time() - began)


def by_resiliparse(page: LabelledPage) -> Reading:
    from resiliparse.extract.html2text import extract_plain_text

    html = decode(page.body)
    began = time.thread_time()
    text = extract_plain_text(html, main_content=True, alt_texts=False)
    return Reading(text, seconds=time.thread_time() - began)


def by_htmldate(page: LabelledPage) -> Reading:
    from htmldate import find_date

    html = decode(page.body)
    began = time.thread_time()
    date = find_date(html, url=page.url, extensive_search=True, original_date=True) or ""
    return Reading(facts={"date": date}, seconds=time.thread_time() - began)


READERS: dict[str, Read] = {
    "OpenQuery, accurate": by_openquery(Extractor.ACCURATE),
    "OpenQuery, fast": by_openquery(Extractor.FAST),
    "trafilatura": by_trafilatura(),
    "trafilatura, precision": by_trafilatura(favor_precision=True),
    "trafilatura, recall": by_trafilatura(favor_recall=True),
    "readability-lxml": by_readability,
    "resiliparse": by_resiliparse,
    "htmldate, extensive": by_htmldate,
}


def limited(read: Read, seconds: float) -> Read:
    """The reader with so much CPU for a page. A call of C is not cut short, only what Python does after it."""

    def stop(*_: object) -> None:
        raise OutOfTimeError

    def read_in_time(page: LabelledPage) -> Reading:
        before = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            return read(page)
        except OutOfTimeError:
            return Reading(refused=UNFINISHED, seconds=seconds)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    return read_in_time


def one_spaced(text: str) -> str:
    return " ".join(text.split())


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    if len(words) < SHINGLE:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[at:] for at in range(SHINGLE)), strict=False))


def f1(right: float, found: float, wanted: float) -> float:
    return 2 * right / (found + wanted) if found + wanted else 1.0


def shingle_f1(text: str, wanted: str) -> float:
    ours, theirs = shingles(text), shingles(wanted)
    return f1((ours & theirs).total(), ours.total(), theirs.total())


def word_f1(text: str, wanted: str) -> float:
    ours, theirs = (Counter(re.findall(r"\w+", words.lower())) for words in (text, wanted))
    return f1((ours & theirs).total(), ours.total(), theirs.total())


def segment_counts(text: str, page: LabelledPage) -> tuple[int, int, int]:
    """Segments that are right in the text, found in it, and wanted in it."""
    text = one_spaced(text)
    right = sum(part in text for part in page.present)
    wrong = sum(part in text for part in page.absent)
    return right, right + wrong, len(page.present)


def text_score(pages: Sequence[LabelledPage], readings: Sequence[Reading]) -> float:
    """F1 of the set: mean over pages for whole texts, over all segments together for segments."""
    if pages[0].text:
        score = word_f1 if pages[0].kind else shingle_f1
        return mean(score(reading.text, page.text) for page, reading in zip(pages, readings, strict=True))
    counts = [segment_counts(reading.text, page) for page, reading in zip(pages, readings, strict=True)]
    return f1(*map(sum, zip(*counts, strict=True)))


def kind_scores(pages: Sequence[LabelledPage], readings: Sequence[Reading]) -> list[str]:
    """F1 of each kind of page, then the shares of strings rightly present and rightly absent."""
    pairs = list(zip(pages, readings, strict=True))
    by_kind = [[pair for pair in pairs if pair[0].kind == kind] for kind in kinds(pages)]
    present, absent = [], []
    for page, reading in pairs:
        text = one_spaced(reading.text)
        present += [mean(part in text for part in page.present)] if page.present else []
        absent += [mean(part not in text for part in page.absent)] if page.absent else []
    scores = [text_score(*map(list, zip(*group, strict=True))) for group in by_kind]
    return [f"{score:.3f}" for score in (*scores, mean(present), mean(absent))]


def kinds(pages: Sequence[LabelledPage]) -> list[str]:
    return sorted({page.kind for page in pages} - {""})


def same_fact(name: str, found: str, wanted: str) -> bool:
    if name == "date":
        return found == wanted
    return set(re.findall(r"\w+", found.casefold())) == set(re.findall(r"\w+", wanted.casefold()))


def fact_score(name: str, pages: Sequence[LabelledPage], readings: Sequence[Reading]) -> str:
    """How many of the known facts are right."""
    known = [(page, reading) for page, reading in zip(pages, readings, strict=True) if name in page.facts]
    right = sum(same_fact(name, reading.facts.get(name, ""), page.facts[name]) for page, reading in known)
    return f"{right}/{len(known)}" if known else "-"


def rows(pages: Sequence[LabelledPage], readers: dict[str, Read], repeats: int) -> Iterator[list[str]]:
    for name, read in readers.items():
        runs = [[read(page) for page in pages] for _ in range(repeats)]
        readings = runs[0]
        seconds = median(sum(reading.seconds for reading in run) for run in runs)
        yield [
            name,
            f"{text_score(pages, readings):.4f}" if any(reading.text for reading in readings) else "-",
            str(sum(bool(reading.refused) for reading in readings)),
            str(sum(reading.refused == UNFINISHED for reading in readings)),
            *(fact_score(fact, pages, readings) for fact in ("title", "author", "date")),
            f"{1000 * seconds / len(pages):.1f}",
            f"{1000 * quantiles((reading.seconds for reading in readings), n=100)[-1]:.0f}",
            *(kind_scores(pages, readings) if kinds(pages) else ()),
        ]


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *body)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--half", choices=("develop", "held-back", "both"), default="held-back")
    parser.add_argument("--weights", type=Path, help="weights of blocks in place of those that ship")
    parser.add_argument("--only", default="", help="readers whose name contains one of these, by commas")
    parser.add_argument(
        "--repeats", type=int, default=1, help="readings of all pages, of which CPU is the median"
    )
    parser.add_argument("--limit", type=float, default=60, help="seconds of CPU that a reader has for a page")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if arguments.weights:
        block_choice.WEIGHTS = arguments.weights
        block_choice.DIGEST = hashlib.sha256(arguments.weights.read_bytes()).hexdigest()
    readers = {
        name: limited(read, arguments.limit)
        for name, read in READERS.items()
        if any(part in name for part in arguments.only.split(","))
    }
    for name in SETS:
        if not (arguments.data / name).is_dir():
            continue
        pages = labelled_pages(arguments.data / name, arguments.half)
        print(f"\n{name}, {arguments.half}: {len(pages)} pages")
        head: tuple[str, ...] = ("reader", "F1", "refused", "unfinished", "title", "author", "date")
        head += ("CPU ms/page", "p99")
        head += (*kinds(pages), "present", "absent") if kinds(pages) else ()
        print(table(head, list(rows(pages, readers, arguments.repeats))))


if __name__ == "__main__":
    main()
