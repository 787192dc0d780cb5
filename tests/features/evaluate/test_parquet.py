"""Data sets as Parquet files: rows of other tools, and the folders of a hub."""

import gzip
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from core.errors import BadInput
from core.features.evaluate.data_sets.available import AvailableDataSets
from core.features.evaluate.data_sets.load import load_data_set
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore

CORPUS = {"_id": ["d1", "d2"], "title": ["Gulls", None], "text": ["Gulls nest on cliffs.", "Owls hunt."]}
QUERIES = {"_id": ["q1"], "text": ["Who nests on cliffs?"]}
QRELS = {"query-id": ["q1"], "corpus-id": ["d1"], "score": [1.0]}
ROWS = {"user_input": ["Who nests?"], "reference_contexts": [["Gulls nest."]], "reference": ["Gulls"]}


def written(path: Path, columns: dict[str, list[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def hub(folder: Path, qrels: str = "default/test-00000-of-00001") -> Path:
    written(folder / "corpus" / "train-00000-of-00001.parquet", CORPUS)
    written(folder / "queries" / "queries-00000-of-00001.parquet", QUERIES)
    written(folder / f"{qrels}.parquet", QRELS)
    return folder


@pytest.mark.parametrize("qrels", ["default/test-00000-of-00001", "qrels/test", "qrels"])
@pytest.mark.parametrize("packed", [False, True])
def test_folders_of_a_hub_are_a_data_set_of_beir(tmp_path: Path, qrels: str, packed: bool) -> None:
    path = hub(tmp_path / "set", qrels)
    if packed:
        with zipfile.ZipFile(tmp_path / "set.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in path.rglob("*.parquet"):
                archive.write(file, file.relative_to(tmp_path))
        path = tmp_path / "set.zip"
    data = load_data_set(path)
    (question,) = data.questions
    assert (question.text, question.judgements) == ("Who nests on cliffs?", {"d1": 1})
    assert [document.text for document in data.documents()] == [
        "Gulls\n\nGulls nest on cliffs.",
        "Owls hunt.",
    ]


@pytest.mark.parametrize(
    "columns",
    [
        ROWS,
        {"question": [b"Who nests?"], "contexts": [["Gulls nest."]], "answer": [b"Gulls"]},
        {
            "question": ["Who nests?"],
            "context": ["Gulls nest."],
            "answers": [{"text": ["Gulls"], "answer_start": [0]}],
        },
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_rows_bring_their_contexts(tmp_path: Path, columns: dict[str, list[object]], packed: bool) -> None:
    path = written(tmp_path / "rows.parquet", columns)
    if packed:
        path = tmp_path / "rows.parquet.gz"
        path.write_bytes(gzip.compress((tmp_path / "rows.parquet").read_bytes()))
    data = load_data_set(path)
    assert data.name == "rows"
    (question,), (document,) = data.questions, data.documents()
    assert (question.text, question.answers, document.text) == ("Who nests?", ("Gulls",), "Gulls nest.")
    assert question.judgements == {document.id: 1}


def test_a_row_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = written(
        tmp_path / "rows.parquet", {"question": ["Who?", None], "contexts": [["Gulls."], ["Owls."]]}
    )
    with pytest.raises(BadInput, match=r"rows\.parquet, line 2 has no question"):
        load_data_set(path)


@pytest.mark.parametrize("kept", [0, 4, 500, -1])
def test_a_damaged_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path / "rows.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BadInput, match="no Parquet file that can be read"):
        load_data_set(path)


def test_a_small_file_of_many_bytes_is_refused(tmp_path: Path) -> None:
    """Some hundred kilobytes of Parquet make two gigabytes of lines."""
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000), pa.array(["words " * 200]))
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"question": repeated, "context": repeated}), path)
    assert path.stat().st_size < 500_000
    with pytest.raises(BadInput, match="unpacks to more than"):
        load_data_set(path)


def test_a_corpus_in_parts_is_refused_with_a_way_to_join_it(tmp_path: Path) -> None:
    folder = hub(tmp_path / "set")
    whole = folder / "corpus" / "train-00000-of-00001.parquet"
    for part in range(2):
        shutil.copy(whole, whole.with_name(f"train-0000{part}-of-00002.parquet"))
    whole.unlink()
    with pytest.raises(BadInput, match=r"no corpus\.jsonl\. Its Parquet file is in parts.*pandas\.concat"):
        load_data_set(folder)


def test_an_upload_is_stored_as_it_is(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    available = AvailableDataSets(tmp_path / "sets", store, LabelStore(store))
    content = written(tmp_path / "rows.parquet", ROWS).read_bytes()
    name, left_out = available.add({"rows.parquet": BytesIO(content)})
    assert (name, left_out) == ("rows.parquet", ())
    assert (tmp_path / "sets" / name).read_bytes() == content
    assert available.summary(name).questions == 1
    store.close()
