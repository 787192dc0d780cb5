"""Relevance judgements as other tools write them."""

from pathlib import Path

import pytest

from core.errors import BadInput
from core.features.evaluate.data_sets.judgements import read_judgements
from core.features.evaluate.data_sets.source import Source


def read(folder: Path, text: str | bytes) -> dict[str, dict[str, int]]:
    path = folder / "test.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_judgements(Source(path)).grades


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\tgull\t2\nq2\theron\t0\n",
        "q1\tgull\t2\nq2\theron\t0\n",
        "q1 0 gull 2\nq2 0 heron 0\n",
        "q1  Q0\tgull 2\r\nq2 Q0 heron   0\r\n",
        "q1,gull,2.0\nq2,heron,0.0\n",
        'query_id,doc_id,relevance\n"q1","gull",2\n"q2","heron",0\n',
        "q1;gull;2\nq2;heron;0\n",
        "q1|0|gull|2\nq2|0|heron|0\n",
        "\ufeffq1\t0\tgull\t2\nq2\t0\theron\t0\n",
        "query_id\tdoc_id\trelevance\titeration\nq1\tgull\t2\t0\nq2\theron\t0\t0\n",
        "Score,QID,DocNo\n2,q1,gull\n0,q2,heron\n",
        "these are our judgements\nq1 gull 2\nq2 heron 0\n",
        "q1 4.5 gull 2.00e+00\nq2 4.5 heron 0.\n",
        "Query ID\tDocument ID\tGrade\nq1\tgull\t2\nq2\theron\t0\n",
        "# q1 and q2, judged in May\nq1 0 gull 2\n#q3 is left out\nq2 0 heron 0\n",
        "topic\titer\tdoc\tgrade\nq1\t0\tgull\t2\nq2\t0\theron\t0\n",
        "q1 0 gull 2 ann\nq2 0 heron 0 ole\n",
        "q1\tgull\t2\t1\t0.73\nq2\theron\t0\t0\t0.12\n",
        "q1,0,gull,2,2024-05-06\nq2,0,heron,0,2024-05-07\n",
        '{"query-id": "q1", "corpus-id": "gull", "score": 2}\n{"score": 0.0, "query-id": "q2", "corpus-id": "heron"}\n',
        '{"q1": {"gull": 2},\n "q2": {"heron": 0}}',
        "q1 0 gull 2\rq2 0 heron 0\r\x1a",
    ],
)
def test_judgements_are_read_in_each_form(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {"q1": {"gull": 2}, "q2": {"heron": 0}}


@pytest.mark.parametrize(
    "text",
    [
        "query_id\tdoc_id\trelevant\nq1\tgull\tTrue\nq1\theron\tFalse\n",
        "q1,gull,true\nq1,heron,false\n",
        '{"qid": "q1", "docno": "gull", "is_relevant": true}\n{"qid": "q1", "docno": "heron", "is_relevant": false}\n',
    ],
)
def test_truths_are_grades(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {"q1": {"gull": 1, "heron": 0}}


@pytest.mark.parametrize(
    "text", ['{"q1": {"gull": "good"}}', '{"q1": {"gull": 2}, "q2": 7}', '{"q1": {"gull": 2}']
)
def test_json_without_grades_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="line 1 is no"):
        read(tmp_path, text)


def test_encodings_of_spreadsheets_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, "q1\tMöwe\t1\n".encode("utf-16")) == {"q1": {"Möwe": 1}}
    table = "q1\tMöwen über dem grünen Teich\t1\nq2\tDie Krähe auf der Höhe\t0\n"
    assert read(tmp_path, table.encode("cp1252")) == read(tmp_path, table)


def test_blanks_and_commas_stay_in_ids_that_tabs_divide(tmp_path: Path) -> None:
    text = "q 1\tgull, grey.txt\t1\nq 2\t0 heron 3\t0\n"
    assert read(tmp_path, text) == {"q 1": {"gull, grey.txt": 1}, "q 2": {"0 heron 3": 0}}
    assert read(tmp_path, "q1 0 gull,grey 1\n") == {"q1": {"gull,grey": 1}}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q2\theron\tgood", "is no judgement"),
        ("q2\theron\t0.5", "is no judgement"),
        ("q2 grey heron 1", "the second is no iteration"),
        ("q2\t\t1", "lacks an id"),
        ("q2\theron\t1\t0", "the second is no iteration"),
    ],
)
def test_line_that_is_divided_otherwise_is_named(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(BadInput, match=rf"line 2 .*{problem}"):
        read(tmp_path, f"q1\tgull\t1\n{line}\n")


@pytest.mark.parametrize("text", ["07\t7\n07\t007\n", "query-id,corpus-id\n07,7\n07,007\n", "07 7\n07 007\n"])
def test_documents_of_pairs_are_relevant(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {"07": {"7": 1, "007": 1}}


def test_line_of_two_columns_among_others_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 2 .*is no judgement"):
        read(tmp_path, "q1\tgull\t0\nq2\theron\n")


def test_first_line_with_a_broken_grade_is_no_head(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"line 1 .*is no judgement"):
        read(tmp_path, "q1\tgull\t0.5\nq2\tgull\t1\n")


def test_document_that_is_judged_again_is_told(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("q1\tgull\t2\nq1\tgull\t2\nq1\theron\t1\nq1\tgull\t0\n", "utf-8")
    judgements = read_judgements(Source(path))
    assert judgements.grades == {"q1": {"gull": 0, "heron": 1}}
    (warning,) = judgements.warnings
    assert "1 document again with another grade" in warning and "line 4: q1 and gull" in warning


def test_ids_that_a_spreadsheet_rounded_are_told(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("q1\t1.23457E+17\t2\n", "utf-8")
    (warning,) = read_judgements(Source(path)).warnings
    assert "1.23457E+17" in warning and "as text" in warning
