"""A read-only link: what whoever has it reads, what is refused, and what is left when it is taken back."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest
from pydantic import SecretStr

from core.analysis.context_usage import without_history
from core.config.knobs import AnswerKnobs, Knobs
from core.errors import NotAllowed
from core.features.evaluate.labels.passage_labels import label
from core.model import Exchange, Grade
from core.run.codec import run_to_json
from core.runtime.registry import RunRegistry
from core.stages.answering.answer_prompt import prompt
from tests.features.api.conftest import PATIENCE, QUESTION, Api, Serve
from tests.seeding import until_ended

ANNA, BERTA = ({"Authorization": f"Bearer of-{name}"} for name in ("anna", "berta"))
DEMO = Knobs.parse({"search": {"backend": "demo"}})


def _conversation(api: Api) -> tuple[str, str]:
    """The ids of two questions of Anna's, of which the second follows the first."""
    asked = {"question": QUESTION, "knobs": {"search": {"backend": "demo"}}}
    first: str = api.post("/research", json=asked, headers=ANNA).raise_for_status().json()["id"]
    runs = api.runs
    draft = runs.conversations.draft(first, "and what does it cost?").result(PATIENCE)
    second = runs.start(draft.question, DEMO, turn=draft.turn, user=runs.store.user(first))
    until_ended(runs, [second])
    runs.store.flush()
    return first, second


def _refused(act: Callable[[], object]) -> None:
    with pytest.raises(NotAllowed, match="read-only link"):
        act()


@pytest.mark.slow
def test_link_shows_one_tunable_run_until_revoked(serve: Serve) -> None:
    api = serve(shared=True, api_tokens=SecretStr("of-anna,of-berta"))
    runs: RunRegistry = api.runs
    first, second = _conversation(api)
    original = runs.get(second)
    assert original is not None and original.turn is not None and original.index is not None
    made = api.post(f"/runs/{second}/links", headers=ANNA).raise_for_status().json()
    link = made["link"]

    shown = api.get(f"/runs/{link}", headers=BERTA).raise_for_status()
    assert shown.json()["answer"] == original.text and shown.json()["id"] == link
    linked = runs.get(link)
    assert linked is not None and linked is runs.get(link)
    for text in (
        shown.text,
        run_to_json(linked).decode(),
        api.get(f"/runs/{link}?form=agent", headers=BERTA).text,
    ):
        assert first not in text and second not in text
    assert linked.turn is not None and linked.turn.history == () and original.turn.follows == first
    assert runs.history(10, conversation=linked.conversation) == ()
    with closing(sqlite3.connect(runs.store.path)) as db:
        assert not any(link in statement for statement in db.iterdump())

    job = runs.retuning.start(
        "session", link, replace(linked.knobs, rank=replace(linked.knobs.rank, top_k=2))
    )
    assert job is not None
    job.wait(PATIENCE)
    assert job.run.id == link and job.run.ranking is not None and len(job.run.ranking.context) == 2
    assert runs.get(second) is original

    for path in ("?form=full", "?form=conversation", "?form=conversation_markdown", "/export", "/links"):
        assert api.get(f"/runs/{link}{path}", headers=BERTA).status_code == 403, path
    for caller in (ANNA, BERTA):
        assert api.delete(f"/runs/{link}", headers=caller).status_code == 403
        assert api.post(f"/runs/{link}/links", headers=caller).status_code == 403
    page = next(iter(linked.pages.values()))
    passage = linked.index.passages[0] if linked.index else None
    assert passage is not None
    grade = label(linked.pages[passage.place.page], passage.place, Grade.RELEVANT)
    _refused(lambda: runs.answer_again(link))
    _refused(lambda: runs.read_more(link, [page.key]))
    _refused(lambda: runs.labels.add(linked.question, link, grade))
    _refused(lambda: runs.conversations.draft(link, "and then?"))
    _refused(lambda: runs.recorded(link))
    assert runs.get(second) is original

    assert api.delete(f"/runs/{second}/links/{made['id']}", headers=ANNA).status_code == 204
    gone = api.get(f"/runs/{link}", headers=BERTA)
    assert gone.status_code == 404 and "taken it back" in gone.json()["hint"]
    assert runs.retuning.start("session", link, linked.knobs) is None

    other = api.post(f"/runs/{second}/links", headers=ANNA).json()["link"]
    assert runs.get(other) is not None
    runs.delete(second)
    assert runs.get(other) is None


def test_a_prompt_loses_the_conversation_and_keeps_its_sources() -> None:
    history = (Exchange(question="Something private?", answer="A secret."),)
    messages = prompt("And this?", (), AnswerKnobs(), "c0de", history)
    assert "private" in str(messages) and "secret" in str(messages)
    left = str(without_history(messages))
    assert "private" not in left and "secret" not in left and "And this?" in left
