"""Data sets of every layout, the one that is shipped, and what is refused with file and line."""

import csv
import gzip
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from core.config.settings import HANDBOOK
from core.errors import BadInput
from core.features.evaluate.data_sets.load import load_data_set


def beir(folder: Path, *, corpus: list[str], queries: list[str], qrels: list[str]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels/test.tsv", qrels)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder


def line(name: str, text: str, **more: str) -> str:
    return json.dumps({"_id": name, "text": text, **more})


def test_beir_gives_titled_documents_and_judged_questions(tmp_path: Path) -> None:
    data = load_data_set(
        beir(
            tmp_path / "set",
            corpus=[line("a", "Water rises.", title="Tides"), line("b", "Sand sinks.")],
            queries=[line("1", "What rises?"), line("2", "Another split's?")],
            qrels=["query-id\tcorpus-id\tscore", "1\ta\t2", "1\tb\t0"],
        )
    )
    assert [(document.id, document.text) for document in data.documents()] == [
        ("a", "Tides\n\nWater rises."),
        ("b", "Sand sinks."),
    ]
    (question,) = data.questions
    assert (question.text, question.judgements, question.answerable) == (
        "What rises?",
        {"a": 2, "b": 0},
        True,
    )
    assert list(data.documents()) == list(data.documents()), "they can be read again"


PONDS = {
    "corpus.jsonl": '{"_id": "a", "text": "Gulls nest."}\n',
    "queries.jsonl": '{"_id": "1", "text": "Who?"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n",
}


@pytest.mark.parametrize(
    "files",
    [
        {**PONDS, "corpus.jsonl": '{"id": "a", "contents": "Gulls nest."}\n', "queries.jsonl": '{"qid": 1, "query": "Who?"}\n'},
        {"collection.tsv": "a\tGulls nest.\n", "queries.tsv": "1\tWho?\n", "qrels.txt": "1 0 a 1\n"},
        {"corpus.tsv": "docid\ttext\na\tGulls nest.\n", "topics.tsv": "qid\tquery\n1\tWho?\n", "qrels.tsv": "1\ta\t1\n"},
        {f"{name}.gz": text for name, text in PONDS.items()},
        {"q.csv.gz": "question,excerpt,source\nWho?,Gulls nest,a\n", "a.txt.gz": "Gulls nest."},
        {"q.jsonl.gz": '{"id": "a", "text": "Gulls nest."}\n{"question": "Who?", "relevant": ["a"]}\n'},
        {"q.jsonl": '{"id": "a", "text": "Gulls nest."}\n{"question": "Who?", "relevant": {"a": 1}, "answers": null}\n'},
    ],
    ids=["other fields", "MS MARCO", "heads", "packed", "packed table", "packed lines", "grades by document"],
)  # fmt: skip
def test_files_of_other_tools_are_read_as_they_are(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    data = load_data_set(tmp_path)
    (document,), (question,) = data.documents(), data.questions
    assert (document.text, question.text) == ("Gulls nest.", "Who?")
    assert question.judgements == {document.id: 1}


def test_packed_files_in_a_zip_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as file:
        for name, text in PONDS.items():
            file.writestr(f"{name}.gz", gzip.compress(text.encode()))
    data = load_data_set(tmp_path / "set.zip")
    assert [document.text for document in data.documents()] == ["Gulls nest."]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (gzip.compress(b'{"question": "Who?"}\n')[:-9], "no gzip file"),
        (b"plain", "no gzip file"),
        (gzip.compress(b" " * 3_000_000), "unpacks to more than 1,000,000 bytes"),
    ],
)
def test_packed_file_that_cannot_be_used_is_refused(tmp_path: Path, body: bytes, problem: str) -> None:
    (tmp_path / "q.jsonl.gz").write_bytes(body)
    with pytest.raises(BadInput, match=problem):
        load_data_set(tmp_path / "q.jsonl.gz")


@pytest.mark.parametrize(("answers", "read"), [('"Gulls"', ("Gulls",)), ("[7]", ("7",)), ("null", ())])
def test_answers_of_a_line_are_a_list_or_one(tmp_path: Path, answers: str, read: tuple[str, ...]) -> None:
    (tmp_path / "q.jsonl").write_text(f'{{"question": "Who?", "answers": {answers}}}\n')
    assert load_data_set(tmp_path / "q.jsonl").questions[0].answers == read


def test_a_run_in_place_of_judgements_is_told(tmp_path: Path) -> None:
    folder = beir(
        tmp_path / "set",
        corpus=[line("a", "Water.")],
        queries=[line("1", "What?")],
        qrels=["1 Q0 a 1 12.5 bm25", "1 Q0 b 2 11.5 bm25"],
    )
    with pytest.raises(BadInput, match="is a run"):
        load_data_set(folder)


@pytest.mark.parametrize("name", ["qrels/validation.tsv", "qrels.txt", "qrels.test.tsv"])
def test_only_file_of_judgements_is_read_under_any_name(tmp_path: Path, name: str) -> None:
    folder = beir(
        tmp_path / "set", corpus=[line("a", "Water.")], queries=[line("1", "What?")], qrels=["1 0 a 1"]
    )
    (folder / "qrels/test.tsv").rename(folder / name)
    (question,) = load_data_set(folder).questions
    assert question.judgements == {"a": 1}


def test_several_files_of_judgements_are_named(tmp_path: Path) -> None:
    folder = beir(
        tmp_path / "set", corpus=[line("a", "Water.")], queries=[line("1", "What?")], qrels=["1 0 a 1"]
    )
    (folder / "qrels/test.tsv").rename(folder / "qrels/ann.tsv")
    (folder / "qrels/ben.tsv").write_text("1 0 a 0\n")
    with pytest.raises(BadInput, match=r"2 files of judgements: qrels/ann\.tsv, qrels/ben\.tsv"):
        load_data_set(folder)


def test_odd_judgements_are_told_and_kept(tmp_path: Path) -> None:
    data = load_data_set(
        beir(
            tmp_path / "set",
            corpus=[line("a", "Water."), line("b", " ")],
            queries=[line("1", "What?")],
            qrels=["1 0 a 1", "1 0 gone 1", "lost 0 a 1"],
        )
    )
    assert data.warnings == (
        "1 judged question is not in queries.jsonl.",
        "1 judged document (gone) is not among the documents.",
        "1 document (b) is without text.",
    )


def test_squad_gives_excerpts_and_unanswerable_questions(tmp_path: Path) -> None:
    paragraph = {
        "context": "The gate is iron. It opens at six.",
        "qas": [
            {"id": "1", "question": "When?", "answers": [{"text": "at six", "answer_start": 27}]},
            {"id": "2", "question": "Who?", "is_impossible": True, "answers": []},
        ],
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"data": [{"title": "Gate", "paragraphs": [paragraph]}]}))
    data = load_data_set(path)
    (document,) = data.documents()
    first, second = data.questions
    ((name, start, end),) = first.excerpts
    assert (name, document.text[start:end], first.answers) == (document.id, "at six", ("at six",))
    assert not second.answerable


@pytest.mark.parametrize(
    "table",
    [
        "Question;EXCERPT; Source \r\nWer brütet?;Möwen brüten.;teich.txt\r\n".encode("cp1252"),
        "sep=;\r\nquestion;excerpt;source\r\nWer brütet?;Möwen brüten.;teich.txt\r\n".encode("utf-8-sig"),
        "question\texcerpt\tsource\r\nWer brütet?\tMöwen brüten.\tteich.txt\r\n".encode("utf-16"),
        "question|excerpt|source\nWer brütet?|Möwen brüten.|teich.txt\n".encode(),
    ],
    ids=["cp1252", "sep", "UTF-16", "bars"],
)
def test_table_of_a_spreadsheet_is_read(tmp_path: Path, table: bytes) -> None:
    (tmp_path / "teich.txt").write_bytes("Am Teich. Möwen brüten.".encode("cp1252"))
    (tmp_path / "fragen.csv").write_bytes(table)
    (question,) = load_data_set(tmp_path / "fragen.csv").questions
    assert (question.text, question.excerpts) == ("Wer brütet?", (("teich.txt", 10, 23),))


def test_excerpts_of_a_csv_are_found_across_lines(tmp_path: Path) -> None:
    (tmp_path / "tides.txt").write_text("The moon\npulls the water. The sun pulls less.")
    (tmp_path / "sand.md").write_text("# Sand\n\nIt sinks.")
    path = tmp_path / "questions.csv"
    path.write_text(
        "question,excerpt,source\nWhat pulls?,The moon pulls,tides.txt\n"
        "What pulls?,The sun pulls,tides.txt\nWho asks?,,\n"
    )
    data = load_data_set(path)
    first, second = data.questions
    texts = {document.id: document.text for document in data.documents()}
    assert [texts[name][start:end].split() for name, start, end in first.excerpts] == [
        ["The", "moon", "pulls"],
        ["The", "sun", "pulls"],
    ]
    assert first.judgements == {"tides.txt": 1}
    assert not second.answerable
    assert set(texts) == {"sand.md", "tides.txt"}


def test_document_that_a_line_judges_again_is_told(tmp_path: Path) -> None:
    path = tmp_path / "birds.jsonl"
    path.write_text(
        '{"id": "gull", "text": "Gulls nest on cliffs."}\n'
        '{"question": "Who nests?", "relevant": [{"doc": "gull", "grade": 2}, {"doc": "gull", "grade": 0}]}\n'
    )
    data = load_data_set(path)
    assert data.questions[0].judgements == {"gull": 0}
    assert "line 2: gull" in data.warnings[0]


def test_handbook_has_answerable_questions_for_every_article_and_others() -> None:
    data = load_data_set(HANDBOOK / "questions.csv")
    assert data.warnings == ()
    answerable = [question for question in data.questions if question.answerable]
    assert len(answerable) >= 60
    assert len(data.questions) - len(answerable) == 10
    articles = {document.id for document in data.documents()}
    assert {name for question in answerable for name in question.judgements} == articles
    texts = {document.id: document.text for document in data.documents()}
    rows = list(csv.DictReader((HANDBOOK / "questions.csv").open(encoding="utf-8")))
    marked = [texts[name][start:end] for question in answerable for name, start, end in question.excerpts]
    assert marked == [row["excerpt"] for row in rows if row["excerpt"]]


GOOD = {
    "corpus": [line("a", "Water.")],
    "queries": [line("1", "What?")],
    "qrels": ["query-id\tcorpus-id\tscore", "1\ta\t1"],
}


@pytest.mark.parametrize(
    ("part", "lines", "message"),
    [
        ("corpus", [line("a", "Water."), '{"_id": "b"'], "corpus.jsonl, line 2 is not JSON"),
        ("corpus", [line("a", "Water."), "[]"], "corpus.jsonl, line 2 is no JSON object"),
        ("corpus", ['{"_id": "a"}'], "corpus.jsonl, line 1 has no text"),
        (
            "corpus",
            ['{"_id": 123456789012345678901, "text": "a"}'],
            "corpus.jsonl, line 1 has a _id of too many digits",
        ),
        ("corpus", [line("a", "Water."), line("a", "Sand.")], "the document id 'a' is there twice"),
        ("queries", [line("1", "What?"), line("1", "Who?")], "'1'|question id"),
        ("qrels", ["query-id\tcorpus-id\tscore", "1\ta"], "test.tsv, line 2 is no judgement"),
        ("qrels", ["other\ta\t1"], "has no questions"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(
    tmp_path: Path, part: str, lines: list[str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        load_data_set(beir(tmp_path / "set", **{**GOOD, part: lines}))


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set", **GOOD)
    (folder / "corpus.jsonl").write_bytes(line("a", "Water.").encode() + b'\n{"_id": "b", "text": "\xff"}\n')
    with pytest.raises(BadInput, match=r"corpus.jsonl, line 2 is not UTF-8"):
        load_data_set(folder)


def test_endless_line_is_refused_before_it_is_read(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set", **GOOD)
    with (folder / "corpus.jsonl").open("wb") as file:
        file.truncate(2_000_000_000)  # a hole: it takes no room
    tracemalloc.start()
    with pytest.raises(BadInput, match=r"corpus.jsonl, line 1 is longer than 32,000,000 bytes"):
        load_data_set(folder)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 150_000_000


def test_documents_are_streamed(tmp_path: Path) -> None:
    """20 MB of documents are read with less than 2 MB in memory."""
    texts = [line(f"d{number}", "words " * 350) for number in range(10_000)]
    data = load_data_set(beir(tmp_path / "set", **{**GOOD, "corpus": [line("a", "Water."), *texts]}))
    del texts
    tracemalloc.start()
    assert sum(1 for _ in data.documents()) == 10_001
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_000_000


def test_an_unknown_layout_is_told_which_there_are(tmp_path: Path) -> None:
    (tmp_path / "set.bin").touch()
    with pytest.raises(BadInput, match=r"BEIR's layout .* SQuAD .* \.csv"):
        load_data_set(tmp_path / "set.bin")
    for name, way in (("set.xlsx", "as CSV"), ("set.yaml", r"\.csv")):
        (tmp_path / name).touch()
        with pytest.raises(BadInput, match=way):
            load_data_set(tmp_path / name)
    with pytest.raises(BadInput, match="is not there"):
        load_data_set(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("q.csv", "id,user_input,Reference Context,file_name\n1,What runs?,Water runs.,a.txt\n"),
        ("q.tsv", "Frage\tTextstelle\tQuelle\nWhat runs?\tWater runs.\tA.TXT\n"),
        ("q.csv", "# by us, in May\nQuery;Passage;Document\n# first\nWhat runs?;Water runs.;./texts/a\n"),
    ],
)
def test_columns_and_files_are_known_by_usual_names(tmp_path: Path, name: str, rows: str) -> None:
    (tmp_path / "a.txt").write_text("Water runs.")
    (tmp_path / name).write_text(rows)
    (question,) = load_data_set(tmp_path / name).questions
    assert (question.text, question.excerpts) == ("What runs?", (("a.txt", 0, 11),))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("question,source\nWhat?,a.txt\n", "has no column excerpt"),
        ("question,excerpt,source\nWhat?,Water,b.txt\n", "line 2: the source 'b.txt' is not there"),
        ("question,excerpt,source\nWhat?,Fire,a.txt\n", "line 2: the excerpt 'Fire' is in a.txt 0 times"),
        ("question,excerpt,source\nWhat?,Water,../a.txt\n", "the source '../a.txt' is not there"),
        ("question,excerpt,source\n,Water,a.txt\n", "line 2 has no question"),
    ],
)
def test_unusable_row_is_refused_with_its_line(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "a.txt").write_text("Water runs.")
    (tmp_path / "q.csv").write_text(rows)
    with pytest.raises(BadInput, match=message):
        load_data_set(tmp_path / "q.csv")
