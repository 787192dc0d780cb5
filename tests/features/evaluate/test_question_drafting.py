"""Test questions drafted in the background: by the connected model, kept when it fails, and made a data set."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput, ChatFailed
from core.features.evaluate.labels.question_drafts import TEMPLATE
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.services.question_drafting import QuestionDrafting
from core.runtime.registry import RunRegistry
from tests.runtime.waiting import finished
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

DEMO = Knobs.parse({"search": {"backend": "demo", "results": 3}, "plan": {"queries": 1}})


@pytest.fixture
def runs(warm_folder: Path, fake_openai: FakeOpenAI) -> Iterator[RunRegistry]:
    settings = Settings(
        data=warm_folder, ollama_url="", base_url=fake_openai.base_url, chat_model="fake-chat", workers=1
    )
    runs = RunRegistry(settings)
    yield runs
    runs.close()


def test_approved_drafts_of_stored_runs_become_a_data_set(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    drafting = runs.service(QuestionDrafting)
    with pytest.raises(BadInput, match="no further passage"):
        drafting.start("", [], 3).wait(60)
    fake_openai.chats.append(streamed("Overlap helps [1]."))
    run = finished(runs, runs.start("How does chunk overlap affect retrieval?", DEMO))
    fake_openai.chats += [streamed("Why would neighbours share text?"), streamed("- - -")]
    drafting.start("", [run.id], 2).wait(60)
    drafts = drafting.of("")
    assert len(drafts.by_passage) == 2
    assert {draft.author == TEMPLATE for draft in drafts.by_passage.values()} == {True, False}
    (written,) = (draft for draft in drafts.by_passage.values() if draft.author != TEMPLATE)
    assert written.question == "Why would neighbours share text?"
    with pytest.raises(BadInput, match="No question is approved"):
        drafting.save("", "mine")

    fake_openai.chats += [failure(401)] * 3
    with pytest.raises(ChatFailed):
        drafting.start("", [run.id], 3).wait(60)
    assert drafts.by_passage[written.passage.id] == written, "what is there stays when the model fails"

    assert len(drafts.all) == 2
    fake_openai.chats += [failure(401), streamed("Why?"), streamed("When?")]
    with pytest.raises(ChatFailed):
        drafting.start("", [run.id], 3).wait(60)
    assert len(drafts.all) == 4, "one call that fails does not end the others"

    drafting.edit("", written.passage.id, "What is overlap for?")
    drafting.decide("", written.passage.id, True)
    assert drafts.approved == 1
    name = drafting.save("", "mine")
    assert name == "mine.zip"
    summary = runs.service(Experiments).data.summary(name)
    assert (summary.questions, summary.unanswerable) == (1, 0)

    runs.delete(run.id)
    with pytest.raises(BadInput, match="no further passage"):
        drafting.start("", [run.id], 1).wait(60)
    assert drafts.all == [], "drafts go with the passages that they were made from"
    drafting.decide("", written.passage.id, None)
