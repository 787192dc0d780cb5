"""Runs that leave without the texts of others, and texts compared with their digests."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.run_changes import run_changes
from core.errors import BadInput
from core.evaluation.labels.passage_labels import place_labels
from core.export.bundle import from_bundle
from core.export.formats import export
from core.export.left_out.digests import compared, text_digests
from core.export.left_out.rewrite import with_articles, without_texts
from core.methods.phases import numbered_sources
from core.model import (
    Answer,
    AnswerFrom,
    AnswerKind,
    ClientRequest,
    ClientTaskKind,
    Exchange,
    InjectionKind,
    InjectionSign,
    PassageState,
    Phase,
    Turn,
)
from core.run import events as e
from core.run.codec import run_to_json
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.stages.rank import rank
from core.stages.ranking.near_duplicates import clusters
from tests.export.test_bundle import LABEL, RECORDED, same, zipped
from tests.run.test_importer import DONE, TOLD
from tests.samples import FIRST, KEY, PAGE, RANKING, SECOND, records

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


@pytest.mark.parametrize("ends", range(1, len(TOLD) + 1, 3))
def test_it_opens_wherever_the_run_was_interrupted_and_leaves_again_as_it_came(ends: int) -> None:
    recorded = RecordedRun.folded(records(*TOLD[:ends]))
    file = export(recorded, ENDING)
    read = from_bundle(file)
    assert same(read, without_texts(recorded))
    assert export(read, ENDING) == file
    assert [record.at for record in read.records] == [record.at for record in recorded.records]


def test_the_run_is_shown_with_what_it_has_and_ranks_nothing() -> None:
    run = from_bundle(export(RECORDED, ENDING)).run
    assert run.index is not None and run.ranking is not None
    assert run.text == DONE.text  # a model's own
    assert [passage.place for passage in run.index.passages] == [FIRST.place, SECOND.place]
    assert np.array_equal(run.ranking.order, RANKING.order)
    assert "texts of 2 of 2 pages are not here" in " ".join(map(str, run.notices))
    assert place_labels([LABEL], run.pages).labels == (LABEL,)
    assert len(set(clusters(run.pages.values()).values())) == 2
    for refused in (
        lambda: rank(run.question, run.index, run.knobs.rank, run.pages),
        lambda: numbered_sources(run),
        lambda: export(RecordedRun(run=run, base=run), ".html"),
        lambda: run_changes(run, DONE),
    ):
        with pytest.raises(BadInput, match="left without the texts") as refusal:
            refused()  # type: ignore[no-untyped-call]
        assert refusal.value.hint
    assert run_from_json(run_to_json(run)).notices == run.notices


def test_an_answer_stays_where_a_model_alone_wrote() -> None:
    assert "Delta" in from_bundle(export(RECORDED, ENDING)).run.text
    broken_off = [event for event in TOLD if not isinstance(event, e.Answered | e.Checked | e.RunDone)]
    without = from_bundle(export(RecordedRun.folded(records(*broken_off)), ENDING)).run
    assert "Delta" not in without.text
    assert "it was left out of the file" in " ".join(map(str, without.notices))


def test_texts_that_come_back_make_the_run_whole() -> None:
    left = without_texts(RECORDED)
    texts = {key: page.text for key, page in DONE.pages.items()}
    whole = with_articles(left, lambda key, article: {**article, "text": texts[key], "digests": None})
    assert whole.run.pages == DONE.pages
    assert whole.run.passages == DONE.passages and whole.run.sources == DONE.sources
    assert Run.from_records((), whole.run).notices  # the figures of its answer are doubted again


def test_digests_of_passages_outside_of_their_page_are_refused() -> None:
    files = parts(RECORDED)
    events = files["events.jsonl"]
    assert b'{"start":0,"end":17,"sha256"' in events
    for start, end in ((-3, 17), (17, 0), (0, 99)):
        lie = events.replace(b'{"start":0,"end":17,"sha256"', b'{"start":%d,"end":%d,"sha256"' % (start, end))
        with pytest.raises(BadInput, match="outside of their page"):
            from_bundle(zipped({**files, "events.jsonl": lie}))


WORD = st.text(alphabet="ab 𝄞é", max_size=12)


@given(WORD, WORD, WORD, WORD, WORD)
def test_each_passage_is_unchanged_moved_or_changed(
    before: str, passage: str, after: str, now_before: str, now_after: str
) -> None:
    text, now = before + passage + after, now_before + passage + now_after
    start, end = len(before), len(before + passage)
    other = text_digests(now, [(0, len(now))]).passages[0]
    digests = text_digests(text, [(start, end), (0, len(text))])
    result, known = compared(digests, len(text), now)
    own, all_of_it = result.passages
    if text == now:
        assert (result.whole, known) == (True, text)
    assert len(known) == len(text)
    assert own.here and known[start:end] == passage
    assert (own.state is PassageState.UNCHANGED) == (now[start:end] == passage)
    assert (all_of_it.state is PassageState.CHANGED) == (text not in now)
    assert own.moved_to is None or now[own.moved_to :].startswith(passage)
    assert (other.fingerprint == digests.passages[1].fingerprint) == (text == now)


def test_a_digest_that_lies_is_a_change_and_never_a_text() -> None:
    digests = text_digests("Alpha beta gamma.", [(0, 5)])
    lying = replace(digests, passages=(replace(digests.passages[0], sha256="0" * 64, fingerprint=-1),))
    result, known = compared(lying, 17, "Alpha beta gamma.")
    assert (result.whole, result.passages[0].state) == (False, PassageState.CHANGED)
    assert "Alpha" not in known
    shorter, known = compared(digests, 40, "Alpha beta gamma.")
    assert (shorter.whole, len(known), known[:5]) == (False, 40, "Alpha")
