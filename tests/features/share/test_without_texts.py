"""Runs that leave without the texts of their pages."""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.analysis.answers.attribution import attribution
from core.analysis.run_changes import run_changes
from core.config.knobs import ChunkKnobs, Knobs, RankKnobs
from core.config.settings import Settings
from core.errors import BadInput
from core.features.evaluate.labels.passage_labels import place_labels
from core.features.share.formats import export
from core.features.share.without_texts import without_texts
from core.methods.phases import numbered_sources
from core.model import (
    FILLING,
    TEXT_LEFT_OUT,
    Answer,
    AnswerFrom,
    AnswerKind,
    ClientRequest,
    ClientTaskKind,
    Embeddings,
    Exchange,
    InjectionKind,
    InjectionSign,
    Phase,
    Turn,
)
from core.run import events as e
from core.run.codec import run_to_json
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun
from core.runtime.registry import RunRegistry
from core.stages.rank import rank
from core.stages.ranking.near_duplicates import clusters
from core.storage.bundle import from_bundle
from tests.run.test_importer import DONE, TOLD
from tests.samples import FIRST, KEY, PAGE, RANKING, SECOND, records
from tests.storage.test_bundle import LABEL, RECORDED, same

ENDING = ".offsets.zip"
QUOTED = Answer(kind=AnswerKind.EXTRACTIVE, text="Delta. [1]")
TURN = Turn(
    conversation="c", follows="c", number=2, written="And?", answer_from=AnswerFrom.BOTH,
    history=(Exchange(question="What?", answer="Delta."),),
)  # fmt: skip
CLIENT = ClientRequest(
    message="Delta. And what is it?", history=TURN.history, reply="Delta.", task=ClientTaskKind.TITLE
)
SIGN = InjectionSign(kind=InjectionKind.ROLE, start=0, end=5, quote="Alpha")
WORDS = ("Alpha", "Delta", "First.", "Third.")
"""What others wrote in the sample run."""


def parts(recorded: RecordedRun) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(export(recorded, ENDING))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def quoting() -> RecordedRun:
    """The sample run with words of a page wherever a run may have them."""
    article = replace(
        PAGE.article,
        hidden="Alpha",
        injection_signs=(SIGN,),
        sections=((0, "Alpha"),),
        metadata={"x": "Alpha"},
    )
    changed: list[e.Event] = []
    for event in TOLD:
        match event:
            case e.RunStarted():
                changed.append(replace(event, turn=TURN, client=CLIENT))
            case e.PageRead(page) if page.key == KEY:
                changed.append(e.PageRead(replace(page, article=article)))
            case e.SourcesChosen(sources):
                around = replace(sources[0], before=PAGE.text[:19])
                changed.append(e.SourcesChosen((around,)))
            case e.TokensWritten():
                changed.append(e.TokensWritten("Delta. "))
            case e.Answered():
                changed.append(e.Answered(QUOTED))
            case e.Checked(check):
                sentence = replace(check.sentences[0], text="Delta.", end=6)
                changed.append(e.Checked(replace(check, citations=(), sentences=(sentence,))))
            case _:
                changed.append(event)
    return RecordedRun.folded(records(*changed), labels=[LABEL])


def test_reasoning_of_a_model_stays_behind() -> None:
    asked, thought = e.ModelAsked(Phase.ANSWER, "m@h"), e.ModelThought(Phase.ANSWER, "Alpha, then Delta.")
    recorded = RecordedRun.folded(records(*TOLD[:-1], asked, thought, TOLD[-1]))
    left = without_texts(recorded)
    assert recorded.run.reasoning == "Alpha, then Delta."
    assert left.run.reasoning == ""
    assert b"Alpha, then" not in b"".join(parts(left).values())


@pytest.mark.parametrize("as_document", [False, True], ids=["events", "document"])
def test_nothing_that_others_wrote_is_in_the_file(as_document: bool) -> None:
    recorded = quoting()
    if as_document:
        recorded = RecordedRun(run=recorded.run, base=recorded.run, labels=recorded.labels)
    assert all(word.encode() in run_to_json(recorded.run) for word in WORDS)
    files = parts(recorded)
    assert not any(word.encode() in content for word in WORDS for content in files.values())
    assert not any(name.startswith("vectors/") for name in files)
    assert b"https://a.example/one" in b"".join(files.values())
    assert not any(
        re.search(rb'"sha256":"[0-9a-f]{64}"', files[name])
        for name in ("events.jsonl", "run.json")
        if name in files
    )


@pytest.mark.parametrize("ends", range(1, len(TOLD) + 1, 3))
def test_run_without_texts_opens_and_exports_unchanged(ends: int) -> None:
    recorded = RecordedRun.folded(records(*TOLD[:ends]))
    file = export(recorded, ENDING)
    read = from_bundle(file)
    assert same(read, without_texts(recorded))
    assert export(read, ENDING) == file
    assert [record.at for record in read.records] == [record.at for record in recorded.records]


def test_run_without_texts_is_shown_and_ranks_nothing() -> None:
    run = from_bundle(export(RECORDED, ENDING)).run
    assert run.index is not None and run.ranking is not None
    assert run.text == DONE.text  # a model's own
    assert [passage.place for passage in run.index.passages] == [FIRST.place, SECOND.place]
    assert np.array_equal(run.ranking.order, RANKING.order)
    assert "texts of 2 of 2 pages were left out of the file" in " ".join(map(str, run.notices))
    assert place_labels([LABEL], run.pages).labels == (LABEL,)
    assert len(set(clusters(run.pages.values()).values())) == 2
    for refused in (
        lambda: rank(run.question, run.index, run.knobs.rank, run.pages),
        lambda: numbered_sources(run),
        lambda: export(RecordedRun(run=run, base=run), ".html"),
        lambda: run_changes(run, DONE),
    ):
        with pytest.raises(BadInput, match="left out of the file") as refusal:
            refused()  # type: ignore[no-untyped-call]
        assert refusal.value.hint
    assert run_from_json(run_to_json(run)).notices == run.notices


def test_an_answer_stays_where_a_model_alone_wrote() -> None:
    assert "Delta" in from_bundle(export(RECORDED, ENDING)).run.text
    broken_off = [event for event in TOLD if not isinstance(event, e.Answered | e.Checked | e.RunDone)]
    without = from_bundle(export(RecordedRun.folded(records(*broken_off)), ENDING)).run
    assert "Delta" not in without.text
    assert "it was left out of the file" in " ".join(map(str, without.notices))


@pytest.mark.parametrize("ending", [".md", ".answer.html", ".csv"])
def test_documents_say_that_texts_were_left_out(ending: str) -> None:
    left = from_bundle(export(quoting(), ENDING))
    document = export(left, ending).decode()
    assert TEXT_LEFT_OUT in document
    assert FILLING not in document


@pytest.mark.parametrize(
    "knobs",
    [Knobs(rank=RankKnobs(top_k=1)), Knobs(chunk=ChunkKnobs(size=300))],
    ids=["another context", "other passages"],
)
def test_no_ranking_is_made_without_texts(tmp_path: Path, knobs: Knobs) -> None:
    runs = RunRegistry(Settings(data=tmp_path, ollama_url="", workers=1))
    run_id = runs.import_run(export(RECORDED, ENDING))
    job = runs.retuning.start("session", run_id, knobs)
    assert job is not None
    job.wait(60)
    error = job.run.error
    runs.close()
    assert error is not None and "left out of the file" in error.message and error.hint


async def test_attribution_needs_the_texts_of_sources() -> None:
    run = from_bundle(export(RECORDED, ENDING)).run

    async def embed(texts: list[str]) -> Embeddings:
        raise AssertionError("nothing is embedded")

    with pytest.raises(BadInput, match="left out of the file"):
        await attribution(run, embed)  # type: ignore[arg-type]
