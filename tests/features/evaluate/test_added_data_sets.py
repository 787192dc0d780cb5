"""Data sets that are uploaded, read from a path or fetched: checked at once, kept whole or not at all."""

import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from core.errors import BadInput
from core.features.evaluate.data_sets.available import AvailableDataSets
from core.features.evaluate.data_sets.corpus import document_pages
from core.features.evaluate.data_sets.data_set import CorpusDocument
from core.features.evaluate.data_sets.lines import BadLine
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.results_folder import ResultsFolder
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore


@contextmanager
def available(folder: Path, *allowed: Path) -> Iterator[AvailableDataSets]:
    store = RunStore(folder / "runs.sqlite")
    try:
        yield AvailableDataSets(folder / "data_sets", store, LabelStore(store), map(str, allowed))
    finally:
        store.close()


def document(name: str, text: str = "Gulls nest.") -> str:
    return json.dumps({"id": name, "text": text})


def question(number: int, end: int = 5) -> str:
    relevant = [{"doc": "a", "start": 0, "end": end}]
    return json.dumps({"question": f"Who nests at {number}?", "relevant": relevant, "answers": ["Gulls"]})


def uploaded(*lines: str) -> dict[str, BytesIO]:
    return {"../support 2026.jsonl": BytesIO("\n".join(lines).encode())}


def test_file_of_lines_gets_a_safe_unique_name(tmp_path: Path) -> None:
    with available(tmp_path) as data_sets:
        names = [data_sets.add(uploaded(document("a"), question(1)))[0] for _ in range(2)]
        assert names == ["support-2026.jsonl", "support-2026-2.jsonl"]
        summary = data_sets.summary(names[0])
        assert (summary.documents, summary.questions, summary.relevant) == (1, 1, {1: 1})
        (loaded,) = data_sets.loaders()[names[0]]().questions
        assert (loaded.excerpts, loaded.answers, loaded.line) == ((("a", 0, 5),), ("Gulls",), 2)


def test_wrong_line_is_named_and_left_out_only_when_asked(
    tmp_path: Path,
) -> None:
    lines = [document("a"), *(question(number) for number in range(2, 6001))]
    lines[4811] = question(4812, end=0)
    with available(tmp_path) as data_sets:
        with pytest.raises(BadLine, match=r"jsonl, line 4,812: the excerpt from 0 to 0 is not in") as caught:
            data_sets.add(uploaded(*lines))
        assert "Write offsets from 0 to 11" in caught.value.hint
        assert [number for number, _ in caught.value.near] == [4811, 4812, 4813]
        assert "nests at 4812" in caught.value.near[1][1]
        assert list(data_sets.loaders()) == ["handbook"], "nothing is kept"
        assert list(data_sets.folder.iterdir()) == []
        lines[99] = "no JSON"
        name, left_out = data_sets.add(uploaded(*lines), leave_out=True)
        assert left_out == (100, 4812)
        assert data_sets.summary(name).questions == 5997
        with pytest.raises(BadLine):
            data_sets.add(uploaded(document("a"), *["wrong"] * 30, question(2)), leave_out=True)


def test_separate_files_and_a_zipped_folder_are_data_sets(tmp_path: Path) -> None:
    table, packed = b"question,excerpt,source\nWho?,Gulls nest,a.txt\n", BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("set/corpus.jsonl", json.dumps({"_id": "a", "text": "Gulls nest."}))
        file.writestr("set/queries.jsonl", json.dumps({"_id": "1", "text": "Who nests?"}))
        file.writestr("set/qrels/test.tsv", "1\ta\t1\n")
        file.writestr("__MACOSX/set/._corpus.jsonl", "x")
    with available(tmp_path) as data_sets:
        name, _ = data_sets.add({"q.csv": BytesIO(table), "a.txt": BytesIO(b"Gulls nest.")})
        assert (name, data_sets.summary(name).relevant) == ("q", {1: 1})
        packed.seek(0)
        name, _ = data_sets.add({"set.zip": packed})
        assert (name, data_sets.summary(name).relevant) == ("set.zip", {1: 1})
        for wrong in ({"q.csv": BytesIO(table)}, {"a.txt": BytesIO(b"x")}, {"b.zip": BytesIO(b"PK no zip")}):
            with pytest.raises(BadInput):
                data_sets.add(wrong)


def test_path_is_read_where_allowed_without_following_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "set.jsonl").write_text(f"{document('a')}\n{question(1)}\n")
    (inside / "link.jsonl").symlink_to(outside / "set.jsonl")
    (inside / "q.csv").write_text("question,excerpt,source\nWho?,,\n")
    (inside / "secret.txt").symlink_to(outside / "set.jsonl")
    with available(tmp_path, inside) as data_sets:
        assert data_sets.summary(str(inside / "set.jsonl")).questions == 1
        for path in (
            outside / "set.jsonl",
            inside / "link.jsonl",
            inside / ".." / "out" / "set.jsonl",
            inside / "q.csv",
        ):
            with pytest.raises(BadInput, match="may not be read"):
                data_sets.summary(str(path))
    with available(tmp_path) as data_sets, pytest.raises(BadInput, match="may not be read"):
        data_sets.summary(str(inside / "set.jsonl"))


def test_documents_that_change_during_measurement_are_noticed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(f"{document('a')}\n{question(1)}\n")
    data = load_data_set(path)
    ResultsFolder(tmp_path / "results", data, "embedder")
    path.write_text(f"{document('a', 'Gulls rest.')}\n{question(1)}\n")
    with pytest.raises(BadInput, match="have changed since they were checked"):
        document_pages(data)
    with pytest.raises(BadInput, match="has changed since the first of its questions"):
        ResultsFolder(tmp_path / "results", load_data_set(path), "embedder")
    document_pages(load_data_set(path))


def test_documents_are_checked_in_the_memory_of_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        file.write(question(1) + "\n" + document("a") + "\n")
        for number in range(25_000):
            file.write(f'{{"id": "d{number}", "text": "{"Gulls nest on cliffs. " * 20}"}}\n')
    tracemalloc.start()
    try:
        data = load_data_set(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data.contents().documents == 25_001
    assert path.stat().st_size > 10_000_000
    assert peak < 5_000_000
    assert replace(data).contents() is data.contents()
    assert isinstance(next(data.documents()), CorpusDocument)
