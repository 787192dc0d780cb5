"""Suites: a data set and the results of one setting in one file."""

import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.cli.main import main
from core.errors import BadInput, StoreFailed
from core.features.evaluate.data_sets import suite
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.labels.passage_labels import label
from core.model import Grade
from core.run import events as e
from core.run.state import Run
from core.storage.label_store import LabelStore
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from tests import samples

BY_WORDS = '[rank]\nstrategy = "bm25"\n'
SMALL = DataSet(
    name="ponds",
    questions=(
        Question(
            id="1",
            text="Who nests?",
            judgements={"a": 2, "b": 0},
            excerpts=(("a", 0, 5),),
            answers=("Gulls",),
        ),
        Question(id="2", text="Who sleeps?"),
    ),
    documents=lambda: iter(
        (CorpusDocument(id="a", text="Gulls nest.\nØ"), CorpusDocument(id="b", text="Foxes hunt."))
    ),
)


@pytest.fixture
def knobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a file of knobs and names it; the command line has a data folder of its own."""
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))

    def write(text: str) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.toml"
        path.write_text(text)
        return str(path)

    return write


def test_a_suite_holds_a_data_set_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ponds.zip"
    suite.save(path, SMALL, "")
    data = load_data_set(path)
    assert data.questions == SMALL.questions
    assert list(data.documents()) == list(SMALL.documents())
    assert data.name == "ponds"


def test_frozen_documents_are_checked_against_their_own_results(
    tmp_path: Path, knobs: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    frozen, report = str(tmp_path / "suite.zip"), tmp_path / "report.xml"
    assert main(["eval", "freeze", "--knobs", knobs(BY_WORDS), "--out", frozen]) == 0
    assert main(["eval", "check", frozen, "--junit", str(report)]) == 0
    assert report.exists()
    assert main(["eval", "check", frozen, "--knobs", knobs(f"[chunk]\nsize = 450\n{BY_WORDS}")]) == 0
    capsys.readouterr()
    crippled = knobs(f"{BY_WORDS}top_k = 1\n")
    assert main(["eval", "check", frozen, "--knobs", crippled, "--metric", "excerpt recall"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 76
    assert printed[-1].endswith("failed")


def test_labelled_passages_are_frozen_from_the_command_line(
    tmp_path: Path, knobs: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = knobs(BY_WORDS)
    assert main(["eval", "run", "--data", "labels", "--knobs", words]) == BadInput.exit_code
    assert "Label passages on the Ask page first" in capsys.readouterr().err
    run = Run()
    store = RunStore(tmp_path / "data" / RUNS)
    for record in samples.records(*samples.EVENTS[:32], e.RunDone()):
        run = run.apply(record)
        store.append(run, record)
    assert run.index is not None
    passage = run.index.passages[0]
    page = run.pages[passage.place.page]
    LabelStore(store).add(run.question, run.id, label(page, passage.place, Grade.RELEVANT))
    store.close()
    frozen = tmp_path / "labels.zip"
    assert main(["eval", "freeze", "--data", "labels", "--knobs", words, "--out", str(frozen)]) == 0
    (question,) = load_data_set(frozen).questions
    assert (question.text, question.judgements) == (run.question, {page.key: Grade.RELEVANT})
    assert main(["eval", "check", str(frozen)]) == 0


def test_file_that_is_no_suite_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "suite.zip"

    def write(**members: str) -> None:
        with zipfile.ZipFile(path, "w") as file:
            for name, text in members.items():
                file.writestr(f"{name}.jsonl", text)

    path.write_bytes(b"PK no zip")
    with pytest.raises(BadInput, match="is no zip file that can be used"):
        load_data_set(path)
    write(questions='{"id": "1", "question": "Who?"}\n')
    with pytest.raises(BadInput, match=r"has no documents\.jsonl"):
        load_data_set(path)
    write(
        documents='{"id": "a", "text": "Gulls."}\n{"id": "b"}\n',
        questions='{"id": "1", "question": "Who?"}\n',
    )
    with pytest.raises(BadInput, match=r"documents\.jsonl, line 2 has no text"):
        load_data_set(path)
    for wrong in (
        '{"question": "Who?", "relevant": [["a", 1]]}',
        '{"question": "Who?", "relevant": 5.5}',
    ):
        write(documents="", questions=f"\n{wrong}\n")
        with pytest.raises(BadInput, match=r"questions\.jsonl, line 2 is no question"):
            load_data_set(path)


DOCUMENTS = '{"id": "a", "text": "Gulls nest here."}\n'
QUESTIONS = (
    '{"id": "1", "question": "Who nests?", "relevant": [{"doc": "a", "grade": 2, "start": 0, "end": 5}]}\n'
)
RESULTS = (
    '{"data": "ponds\\u0001", "embedder": "e", "questions": {"1": "Who \\u001bnests?"}}\n'
    '{"setting": "rank.strategy:bm25", "values": {"1": {"nDCG@10": 1.0}}, "failed": {}, "passages": 1, "seconds": 1}\n'
)


def tampered(folder: Path, **members: str) -> str:
    path = folder / "suite.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in {
            "documents": DOCUMENTS,
            "questions": QUESTIONS,
            "results": RESULTS,
            **members,
        }.items():
            file.writestr(f"{name}.jsonl", text)
    return str(path)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"results": RESULTS.replace("1.0", '"high"')}, "should be a valid number"),
        ({"results": RESULTS.replace("1.0", "NaN")}, "should be a valid number"),
        ({"results": RESULTS.replace('{"1": {"nDCG@10": 1.0}}', "5")}, "should be a valid dictionary"),
        ({"results": RESULTS.replace('{"1": "Who \\u001bnests?"}', "[]")}, "should be a valid dictionary"),
        ({"results": "[" * 100_000 + "\n"}, "results.jsonl, line 1 is not JSON"),
        ({"results": ""}, "is damaged"),
        (
            {"questions": QUESTIONS.replace('"start": 0', '"start": 5')},
            "the excerpt from 5 to 5 is not in the document 'a'",
        ),
        ({"questions": QUESTIONS.replace('"end": 5', '"end": 5000')}, "the excerpt from 0 to 5000 is not in"),
        ({"questions": QUESTIONS.replace('"grade": 2', '"grade": 1e999')}, "is no question"),
        ({"questions": QUESTIONS.replace('"grade": 2', f'"grade": 1{"0" * 400}')}, "a grade is beyond 100"),
    ],
)
def test_tampered_suite_is_refused_with_the_reason(
    members: dict[str, str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    assert main(["eval", "check", tampered(tmp_path, **members)]) == BadInput.exit_code
    assert message in capsys.readouterr().err


def test_names_in_a_suite_reach_no_output_unescaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    report = tmp_path / "report.xml"
    assert main(["eval", "check", tampered(tmp_path), "--junit", str(report)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert ET.parse(report).getroot().get("name") == "ponds: nDCG@10"


@pytest.mark.parametrize("broken", ["documents.jsonl", "results.jsonl"])
def test_a_suite_whose_bytes_are_damaged_is_refused(
    broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "suite.zip"
    suite.save(path, SMALL, RESULTS)
    body = bytearray(path.read_bytes())
    begin = body.find(broken.encode()) + len(broken) + 20
    body[begin : begin + 10] = bytes(10)
    path.write_bytes(body)
    assert main(["eval", "check", str(path)]) == BadInput.exit_code
    assert broken in capsys.readouterr().err


def test_suite_that_would_fill_the_memory_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.zip"
    suite.save(path, SMALL, "")
    monkeypatch.setattr(suite, "SUITE_LIMIT", 10)
    with pytest.raises(BadInput, match="unpacks to more than 1e-05 MB"):
        load_data_set(path)


def test_several_settings_are_not_one_and_suites_are_zips(
    tmp_path: Path, knobs: Callable[[str], str]
) -> None:
    several = knobs('[rank]\nstrategy = ["bm25", "fused"]\n')
    out = str(tmp_path / "suite.zip")
    assert main(["eval", "freeze", "--knobs", several, "--out", out]) == BadInput.exit_code
    assert main(["eval", "freeze", "--out", str(tmp_path / "suite.tar")]) == BadInput.exit_code
    assert not Path(out).exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    assert main(["eval", "check", tampered(tmp_path), "--junit", "/dev/full"]) == StoreFailed.exit_code
    printed = capsys.readouterr().err
    assert "No space left on device" in printed
    assert "Check the space" in printed
