import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from bench.ranking import STRATEGIES, load, ndcg

CORPUS = """{"_id": "a", "title": "Boats", "text": "A red boat lies on the river."}
{"_id": "b", "text": "Paper lamps hang over the table."}
{"_id": "c", "text": "Clouds drift in the evening."}
"""
QUERIES = """{"_id": "1", "text": "Where is the red boat?"}
{"_id": "2", "text": "Which lamps are of paper?"}
{"_id": "3", "text": "Nobody judged this."}
"""
LABELS = "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n2\tmissing\t1\n3\tc\t0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS.encode()))
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(LABELS)
    return tmp_path


def test_labelled_set_is_read_with_its_relevant_documents(folder: Path) -> None:
    labelled = load(folder, "test", most=10)
    assert labelled.documents["a"] == "Boats\nA red boat lies on the river."
    assert set(labelled.queries) == {"1", "2"}
    assert labelled.relevance == {"1": {"a": 1.0}, "2": {"b": 2.0}}
    assert len(load(folder, "test", most=1).queries) == 1


def test_figure_falls_with_the_rank_of_relevant_documents() -> None:
    assert ndcg(["a", "b"], {"a": 1}) == 1
    assert ndcg(["b", "a"], {"a": 1}) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg(["b"], {"a": 1}) == 0
    assert ndcg(["b", "a"], {"a": 1, "b": 2}) == 1


def test_every_strategy_gets_a_line_of_the_table(folder: Path) -> None:
    command = [sys.executable, "-m", "bench.ranking", "--data", str(folder)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=100, check=True
    )
    assert "3 documents, 2 queries" in done.stdout
    for name in STRATEGIES:
        assert f"| {name} | 1.000 |" in done.stdout
