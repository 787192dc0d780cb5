"""Data sets, suites and results of strangers: whatever is in them, they are read or refused, soon and in little memory."""

import json
import os
import random
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from core.cli.main import main
from core.errors import BadInput, OpenQueryError
from core.features.evaluate.answers.answers_folder import AnswersFolder
from core.features.evaluate.answers.judged_answers import read_labels
from core.features.evaluate.data_sets import suite
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.results_folder import read_results
from core.reading.office.tables import read_table

MUTATIONS = 10 * hypothesis_settings().max_examples
"""For each layout: 250 every day, 10,000 with `--hypothesis-profile=thorough`."""
RESULTS = (
    '{"data": "ponds", "embedder": "e", "questions": {"1": "Who nests?"}}\n'
    '{"setting": "rank.strategy:bm25", "values": {"1": {"nDCG@10": 1.0}}, "failed": {}, "passages": 1, "seconds": 1}\n'
)
PONDS = DataSet(
    name="ponds",
    questions=(
        Question(id="1", text="Who nests?", judgements={"a": 2}, excerpts=(("a", 0, 5),), answers=("Gulls",)),
    ),
    documents=lambda: iter((CorpusDocument(id="a", text="Gulls nest.\nØ"),)),
)


@contextmanager
def costs_little(megabytes: int = 100, seconds: float = 20) -> Iterator[None]:
    began = time.process_time()
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 1_000_000
    assert time.process_time() - began < seconds


def zipped(path: Path, *empty: str, **members: str) -> Path:
    suite.save(path, PONDS, RESULTS)
    with zipfile.ZipFile(path) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
    texts |= {f"{name}.jsonl": text for name, text in members.items()} | dict.fromkeys(empty, "")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in texts.items():
            file.writestr(name, text)
    return path


def beir(folder: Path, grade: str = "1") -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "Gulls", "text": "Gulls nest."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "Who nests?"}\n')
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n1\ta\t{grade}\n")
    return folder


def squad(folder: Path, start: str = "0") -> Path:
    path = folder / "squad.json"
    path.write_text(
        '{"data": [{"title": "Gulls", "paragraphs": [{"context": "Gulls nest.", "qas": [{"id": "1", "question": "Who?", '
        f'"answers": [{{"text": "Gulls", "answer_start": {start}}}]}}]}}]}}]}}'
    )
    return path


def excerpts(folder: Path, rows: str = "Who?,Gulls nest,a.txt,Gulls\n", text: str = "Gulls\n nest.") -> Path:
    (folder / "a.txt").write_text(text)
    path = folder / "questions.csv"
    path.write_text(f"question,excerpt,source,answer\n{rows}")
    return path


@pytest.mark.parametrize(
    "name",
    ["//a", "/", "../../a", "a/" * 30_000, "\x1b[2J", "questions.jsonl/a"],
    ids=lambda name: ascii(name[:20]),
)
def test_names_in_a_zip_are_never_paths(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "ponds.zip", name)
    with costs_little():
        assert load_data_set(path).questions == PONDS.questions
        assert read_results(path).data == "ponds"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f'{{"setting": [{"[]," * 30_000_000}[]]}}', "over 200 times its size"),
        (f'{{"setting": [{"[]," * 1_500_000}[]]}}', "line 3 has too many values"),
        (f'{{"setting": {"[" * 100_000}', "line 3 is not JSON"),
        ('{"setting": "s", "values": {"1": {"m": "high"}}, "failed": {}}', "line 3 is damaged"),
    ],
    ids=("packed like a bomb", "arrays", "nested", "a word as a figure"),
)
def test_results_that_would_fill_the_memory_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = zipped(tmp_path / "ponds.zip", results=f"{RESULTS}{line}\n")
    with costs_little(), pytest.raises(BadInput, match=message):
        read_results(path)


@pytest.mark.parametrize(
    "grade", ["²", "--5", "9" * 5_000, "1e3", "٣", "-"], ids=lambda grade: ascii(grade[:5])
)
def test_grade_that_is_no_number_is_refused_with_its_line(tmp_path: Path, grade: str) -> None:
    with pytest.raises(BadInput, match=r"test\.tsv, line 2 is no judgement"):
        load_data_set(beir(tmp_path / "set", grade))


@pytest.mark.parametrize(
    "start", ['"abc"', "Infinity", "1e999", "-5", "[]", "null", "9" * 400], ids=lambda start: start[:8]
)
def test_invalid_offset_is_refused_with_its_question(tmp_path: Path, start: str) -> None:
    with pytest.raises(BadInput, match="question 1: the answer 'Gulls' does not begin at"):
        load_data_set(squad(tmp_path, start))


@pytest.mark.thorough
def test_repetitive_excerpt_is_searched_in_linear_time(tmp_path: Path) -> None:
    path = excerpts(tmp_path, f"Who?,{'a ' * 60_000}b,a.txt,\n", "a\n" * 200_000)
    with costs_little(), pytest.raises(BadInput, match=r"line 2: the excerpt .* is in a\.txt 0 times"):
        load_data_set(path)


def test_header_that_is_too_long_is_refused_with_its_line(tmp_path: Path) -> None:
    read_table("kettle,sieve\ncopper,brass\n")  # a document of the same process, which may have longer cells
    for read in (load_data_set, read_labels):
        path = tmp_path / "questions.csv"
        path.write_text(f"question,excerpt,source,{'x' * 1_200_000}\n")
        with pytest.raises(BadInput, match="line 1: field larger than field limit"):
            read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
@pytest.mark.parametrize(
    "name", ["a.txt", "questions.csv", "set.json", "set.zip", "results.jsonl", "sweep.toml"]
)
def test_fifo_is_no_file_and_is_not_awaited(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = excerpts(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    command = {
        "a.txt": ["eval", "run", "--data", str(path)],
        "results.jsonl": ["eval", "compare", str(tmp_path)],
        "sweep.toml": ["eval", "run", "--knobs", str(tmp_path / name)],
    }.get(name, ["eval", "run", "--data", str(tmp_path / name)])
    assert main(command) == BadInput.exit_code
    assert name in capsys.readouterr().err


def test_escapes_in_foreign_names_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    evil = "\x1b]0;owned\x07\x9b2J\u202ex"
    results = json.loads(RESULTS.splitlines()[1])
    lines = [
        {"data": f"ponds{evil}", "embedder": evil, "questions": {"1": f"Who{evil}?"}},
        *({**results, "setting": f"{name}{evil}"} for name in "ab"),
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    path = zipped(
        tmp_path / "ponds.zip",
        results=text,
        documents=json.dumps({"id": "a", "text": "Gulls nest.\nØ"})
        + "\n"
        + json.dumps({"id": evil, "text": ""}),
    )
    assert main(["eval", "compare", str(path)]) == 0
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('[rank]\nstrategy = "bm25"\n')
    assert main(["eval", "run", "--data", str(path), "--knobs", str(sweep)]) == 0
    assert main(["eval", "compare", str(path), "--baseline", evil]) == BadInput.exit_code
    printed = "".join(capsys.readouterr())
    assert "owned" in printed
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(printed)


READERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object]]] = {
    "BEIR": (lambda folder: beir(folder / "set"), load_data_set),
    "SQuAD": (squad, load_data_set),
    "excerpts": (excerpts, load_data_set),
    "suite": (lambda folder: zipped(folder / "ponds.zip"), load_data_set),
    "results in a suite": (lambda folder: zipped(folder / "ponds.zip"), read_results),
    "results": (lambda folder: folder, read_results),
    "answers": (
        lambda folder: folder,
        lambda folder: AnswersFolder(folder, PONDS, setting="defaults", embedder="e", chat="").answers,
    ),
    "labelled claims": (lambda folder: folder / "labels.csv", read_labels),
}
ODD = (
    *(
        b"[",
        b"{",
        b'"',
        b"\\",
        b",",
        b"\n",
        b"\0",
        b"\xff",
        b"\xed\xa0\x80",
        b"1e999",
        b"NaN",
        b"null",
        b"true",
    ),
    *(b"-1", b"9" * 400, "²".encode(), b"\\ud800", b"\xef\xbb\xbf", b"[" * 2_000, b"{}", b'""', b"\r", b"\t"),
)


def mutated(body: bytes, chance: random.Random) -> bytes:
    """The bytes with one to four of them overwritten, cut out, doubled, or followed by something odd."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(body) + 1)
        end = min(len(body), start + chance.choice((0, 1, 2, 8, 40)))
        new = chance.choice((b"", body[start:end] * 2, chance.choice(ODD), chance.randbytes(3)))
        body = body[:start] + new + body[end:]
    return body


@pytest.mark.parametrize("layout", READERS)
@pytest.mark.slow
def test_any_damage_of_any_layout_is_read_or_refused_in_words(tmp_path: Path, layout: str) -> None:
    place, read = READERS[layout]
    (tmp_path / "results.jsonl").write_text(RESULTS)
    (tmp_path / "labels.csv").write_text("claim,source,label\n" + "a,b,entailed\nc,d,contradicted\n" * 20)
    if layout == "answers":
        AnswersFolder(tmp_path, PONDS, setting="defaults", embedder="e", chat="")
    path = place(tmp_path)
    read(path)
    files = {
        file: file.read_bytes() for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()
    }
    if layout == "excerpts":
        files[tmp_path / "a.txt"] = (tmp_path / "a.txt").read_bytes()
    chance = random.Random(layout)
    refused = 0
    for _ in range(MUTATIONS):
        file = chance.choice(list(files))
        file.write_bytes(mutated(files[file], chance))
        try:
            result = read(path)
            for document in result.documents() if isinstance(result, DataSet) else ():
                document.text.encode()
        except OpenQueryError as error:
            assert isinstance(error, BadInput)
            assert error.hint
            error.message.encode()
            refused += 1
        file.write_bytes(files[file])
    assert refused
