"""Runs as documents, tables and bibliographies, whatever stands in their pages."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.rankings.ranked_passages import ranked_passages
from core.errors import BadInput
from core.features.share.formats import FORMATS, ending_of, export
from core.model.passage_urls import passage_url
from core.run.codec import run_to_json
from core.run.fold import folded_run
from core.run.recorded_run import RecordedRun
from tests.features.share.large_run import large_run
from tests.run.test_importer import DONE
from tests.samples import KEY, SLOW
from tests.storage.test_bundle import RECORDED

HOSTILE = (
    '50% of {A} & "B"\\end{x}} $\\input{/etc/passwd}$ #_~^ <script>alert(1)</script>\r\nER  - \nTY  - JOUR'
)


def with_page(**article: str) -> RecordedRun:
    """The sample run, its cited page with other metadata."""
    page = DONE.pages[KEY]
    title = article.pop("title", page.title)
    changed = replace(page, title=title, article=replace(page.article, **article))
    sources = tuple(replace(source, title=title) for source in DONE.sources)
    run = replace(DONE, pages={**DONE.pages, KEY: changed}, sources=sources)
    return RecordedRun(run=run, base=run)


PLAIN_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "a", "ul", "ol", "li"),
    *(
        "blockquote",
        "pre",
        "code",
        "em",
        "strong",
        "hr",
        "br",
        "s",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    ),
}


def html_tags(page: str) -> set[str]:
    """The names of all elements, and of attributes that run or load something."""
    names: set[str] = set()
    parser = HTMLParser()
    active = re.compile(r"on\w+|src|srcset|style|action")

    def start(tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names.update([tag, *(name for name, _ in attributes if active.fullmatch(name))])

    parser.handle_starttag = parser.handle_startendtag = start  # type: ignore[method-assign]
    parser.feed(page)
    return names


def ris_records(text: str) -> list[list[tuple[str, str]]]:
    """RIS as a reference manager reads it: two letters or digits, two blanks, a hyphen and a blank begin a field."""
    read: list[list[tuple[str, str]]] = []
    for line in text.split("\r\n")[:-1]:
        field = re.fullmatch(r"([A-Z][A-Z0-9])  - (.*)", line)
        assert field, line
        if field[1] == "TY":
            read.append([])
        read[-1].append((field[1], field[2]))
    return read


def bibtex_fields(entry: str) -> dict[str, str]:
    """The fields of one entry, by counting braces as BibTeX does, which knows no escape of one."""
    fields, position = {}, entry.index(",") + 1
    while match := re.compile(r"\s*(\w+) = \{").match(entry, position):
        start = position = match.end()
        depth = 1
        while depth:
            depth += {"{": 1, "}": -1}.get(entry[position], 0)
            position += 1
        fields[match[1]] = entry[start : position - 1]
        position += 1
    assert entry[position:].strip() == "}"
    return fields


def test_each_format_writes_the_sample_run() -> None:
    assert export(RECORDED, ".json") == run_to_json(RECORDED.run)
    for ending, form in FORMATS.items():
        assert export(RECORDED, ending), form.title
        assert ending_of(f"run{ending.upper()}") == ending


@pytest.mark.parametrize("name", ["run", "run.pdf", "zip", "run.zip.part"])
def test_name_without_a_known_ending_is_refused_with_the_endings(name: str) -> None:
    with pytest.raises(BadInput) as refused:
        ending_of(name)
    assert ".csl.json" in refused.value.hint


@pytest.mark.parametrize(
    "ending", [".csv", ".parquet", ".hits.parquet", ".pages.parquet", ".bib", ".ris", ".csl.json"]
)
def test_run_that_has_nothing_of_a_kind_says_so(ending: str) -> None:
    empty = folded_run(RECORDED.records[:5])
    with pytest.raises(BadInput) as refused:
        export(RecordedRun(run=empty), ending)
    assert refused.value.hint


def test_references_have_authors_dates_and_the_day_of_access() -> None:
    recorded = with_page(
        author="Ada Lovelace; Société X", date="2024-05", site="A journal", title="On  engines"
    )
    item = json.loads(export(recorded, ".csl.json"))
    assert item == [
        {
            "id": "a-journal-1",
            "type": "webpage",
            "title": "On engines",
            "author": [{"literal": "Ada Lovelace"}, {"literal": "Société X"}],
            "container-title": "A journal",
            "URL": "https://a.example/one",
            "issued": {"date-parts": [[2024, 5]]},
            "accessed": {"date-parts": [[2026, 1, 2]]},
            "language": "en",
            "note": "Source [1]",
        }
    ]
    (record,) = ris_records(export(recorded, ".ris").decode())
    assert record == [
        *(("TY", "ELEC"), ("TI", "On engines"), ("AU", "Ada Lovelace"), ("AU", "Société X")),
        *(("T2", "A journal"), ("PY", "2024"), ("DA", "2024/05"), ("UR", "https://a.example/one")),
        *(("Y2", "2026/01/02"), ("LA", "en"), ("N1", "Source [1]"), ("ER", "")),
    ]
    entry = export(recorded, ".bib").decode()
    assert entry.startswith("@online{a-journal-1,\n")
    assert bibtex_fields(entry) == {
        "title": "{On engines}",
        "author": "{Ada Lovelace} and {Société X}",
        "organization": "A journal",
        "date": "2024-05",
        "url": "https://a.example/one",
        "urldate": "2026-01-02",
        "langid": "en",
        "note": "Source [1]",
    }


@given(st.text() | st.just(HOSTILE) | st.text(alphabet='\\{}%$&#~^_"@,=\r\n\u2028 -ETYR'))
def test_no_title_leaves_its_field(title: str) -> None:
    recorded = with_page(title=title, author=title, site=title)
    (record,) = ris_records(export(recorded, ".ris").decode())
    assert [tag for tag, _ in record].count("TY") == 1
    fields = bibtex_fields(export(recorded, ".bib").decode())
    assert fields["url"] == "https://a.example/one"
    assert not re.search(r"(?<!\\)(?:\\\\)*[$&#%_]", fields["title"])
    assert len(json.loads(export(recorded, ".csl.json"))) == 1
    assert html_tags(export(recorded, ".answer.html").decode()) <= PLAIN_TAGS


def test_citations_of_the_page_lead_to_its_sources() -> None:
    page = export(RECORDED, ".answer.html").decode()
    assert '<a href="#source-1">' in page
    assert '<h3 id="source-1">Source 1</h3>' in page


def test_table_has_every_passage_with_scores_and_no_formula() -> None:
    recorded = with_page(title="=HYPERLINK(1)")
    rows = list(csv.DictReader(io.StringIO(export(recorded, ".csv").decode("utf-8-sig"))))
    assert [(row["rank"], row["source"], row["text"]) for row in rows] == [
        ("1", "1", "Delta."),
        ("2", "", "Alpha beta gamma."),
    ]
    assert {row["title"] for row in rows} == {"'=HYPERLINK(1)"}
    assert rows[0]["cosine"] and "rerank" not in rows[0]
    assert {row["document"] for row in rows} == {""}


def test_file_of_a_collection_is_named_beside_a_title_that_others_have() -> None:
    run, url = with_page(site="talks/mills.html").run, passage_url("talks", "1")
    pages = {**run.pages, KEY: replace(run.pages[KEY], url=url)}
    sources = tuple(replace(source, url=url, site="talks/mills.html") for source in run.sources)
    changed = replace(run, pages=pages, sources=sources)
    recorded = RecordedRun(run=changed, base=changed)
    rows = csv.DictReader(io.StringIO(export(recorded, ".csv").decode("utf-8-sig")))
    assert {row["document"] for row in rows if row["source"]} == {"talks/mills.html"}
    assert ", talks/mills.html in the collection talks\n" in export(recorded, ".md").decode()


@pytest.mark.slow
def test_parquet_has_the_same_table_with_vectors() -> None:
    from pyarrow import parquet

    recorded = RecordedRun.folded(large_run(500))
    run = recorded.run
    table = parquet.read_table(io.BytesIO(export(recorded, ".parquet")))
    assert table.column("text").to_pylist() == [row.text for row in ranked_passages(run)]
    assert run.index is not None and run.index.vectors is not None and run.ranking is not None
    assert np.array_equal(np.array(table.column("vector").to_pylist()), run.index.vectors[run.ranking.order])
    assert table.column("source").to_pylist()[:4] == [1, 2, 3, None]


@pytest.mark.slow
def test_hits_and_pages_are_tables_as_in_a_notebook() -> None:
    from pyarrow import parquet

    hits = parquet.read_table(io.BytesIO(export(RECORDED, ".hits.parquet"))).to_pylist()
    assert [hit["url"] for hit in hits] == [hit.url for hit in DONE.hits]
    assert [hit["queries"] for hit in hits] == [["overlap of passages"]] * 3
    assert next(hit["reason"] for hit in hits if "dead" in hit["url"]) == "HTTP error: 404"
    pages = parquet.read_table(io.BytesIO(export(RECORDED, ".pages.parquet"))).to_pylist()
    assert [(page["text"], page["passages"]) for page in pages] == [
        (DONE.pages[KEY].text, 2),
        (DONE.pages[SLOW].text, 0),
    ]


def test_libraries_of_one_format_are_not_loaded_for_others() -> None:
    code = "import sys, core.features.share.formats; print('pyarrow' in sys.modules, 'pandas' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["False", "False"]
