"""Private text reaches no hosted model, whatever is done with it. Servers on loopback count as hosted here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput
from core.features.evaluate.labels.passage_labels import LABELS_NAME
from core.features.evaluate.labels.question_drafts import TEMPLATE
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.services.question_drafting import QuestionDrafting
from core.features.library.ingests import Upload
from core.features.library.services.connections import LibraryConnections
from core.followups import reembed, retune
from core.model import AnswerKind, Severity
from core.model.passages import Grade, Label
from core.run.state import Run, RunStatus
from core.runtime.event_loop import TaskStatus
from core.runtime.health import egress_report
from core.runtime.registry import RunRegistry
from core.text.digest import text_digest
from tests.runtime.waiting import finished, until
from tests.services.loopback import Loopback
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI, streamed
from tests.services.reranker import Judge

pytestmark = pytest.mark.slow

SECRET, OPEN = "zanzibar", "lighthouse"
PRIVATE_TEXT = (
    f"The tide mill contract of {SECRET} ends in 2031, unless the {SECRET} port renews it a year before. "
    f"The rent of the tide mill is nine crowns a month, which the {SECRET} port may raise once. "
    f"Repairs of the tide mill are paid by the {SECRET} miller, and those of its dam by the port."
)
PUBLIC_TEXT = f"A tide mill stands by the {OPEN}. The tide mill grinds grain when the tide is out."
QUESTION = "What is known about the tide mill?"
PATIENCE = 60.0


@dataclass
class World:
    """A registry whose private collection is `contracts`, and the servers that it is connected to."""

    runs: RunRegistry
    chat: FakeOpenAI
    embeddings: FakeOpenAI
    reranker: Loopback

    def add(self, collection: str, text: str, access: Access = NO_ACCESS) -> None:
        async def ingest() -> None:
            name = f"{collection}.txt"
            adding = await self.runs.engine.part(LibraryConnections).library.ingests.add(
                collection, [Upload(name, text.encode())], access=access
            )
            await adding.wait()

        self.runs.call(ingest())

    def ask(self, *collections: str, origin: str = "library", question: str = QUESTION, **more: Any) -> Run:
        return finished(self.runs, self.runs.start(question, knobs(*collections, origin=origin, **more)))

    def was_sent(self, text: str) -> bool:
        servers = (self.chat, self.embeddings, self.reranker)
        return any(text.encode() in request.body for server in servers for request in server.requests)


def knobs(*collections: str, origin: str = "library", **more: Any) -> Knobs:
    search = {"origin": origin, "backend": "demo", "collections": list(collections) or ["contracts"]}
    return Knobs.parse({"search": search, "plan": {"queries": 1}, **more})


@contextmanager
def world(folder: Path, **more: Any) -> Iterator[World]:
    with ExitStack() as stack:
        chat, embeddings = stack.enter_context(FakeOpenAI()), stack.enter_context(FakeOpenAI())
        reranker = stack.enter_context(Judge())
        given: dict[str, Any] = {
            "base_url": chat.base_url,
            "chat_model": MODEL,
            "embedding_base_url": embeddings.base_url,
            "rerank_url": f"{reranker.url}/rerank",
            "private_collections": "contracts",
            "own_hosts": "",
            "workers": 1,
            "cache_megabytes": 0,
        }
        runs = RunRegistry(Settings(data=folder, ollama_url="", **(given | more)))
        stack.callback(runs.close)
        yield World(runs, chat, embeddings, reranker)


def test_hosted_model_gets_only_public_sources_and_a_note(tmp_path: Path) -> None:
    with world(tmp_path) as here:
        here.add("contracts", PRIVATE_TEXT)
        here.add("notes", PUBLIC_TEXT)
        here.chat.chats.append(streamed("It grinds grain [1]."))
        run = here.ask("contracts", "notes")
        assert run.status is RunStatus.DONE
        assert {source.site for source in run.sources} == {"contracts.txt", "notes.txt"}
        assert here.was_sent(OPEN)
        assert not here.was_sent(SECRET)
        (note,) = [note for note in run.notes if "private" in note.message]
        assert note.severity is Severity.WARNING, "the answer may lack what they say"
        private = sum(source.site == "contracts.txt" for source in run.sources)
        assert private == 1
        assert note.message.startswith(
            f"1 of {len(run.sources)} sources is private and was not sent to {MODEL}@"
        )


def test_what_is_private_altogether_is_quoted_and_stays_here(tmp_path: Path) -> None:
    with world(tmp_path) as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts")
        assert run.answer is not None
        assert run.answer.kind is AnswerKind.EXTRACTIVE
        assert "tide mill" in run.text
        assert any("quoted instead" in note.message for note in run.notes)
        assert not here.chat.chat_requests


@pytest.mark.parametrize("own_hosts", ["loopback", "127.0.0.1"])
def test_a_model_of_ones_own_is_given_everything(tmp_path: Path, own_hosts: str) -> None:
    with world(tmp_path, own_hosts=own_hosts, embedding_model=EMBEDDER) as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts", rank={"rerank": True})
        assert run.status is RunStatus.DONE
        for server in (here.chat, here.embeddings, here.reranker):
            assert any(SECRET.encode() in request.body for request in server.requests)
        assert not any("private" in note.message for note in run.notes)


def test_private_text_is_always_embedded_locally(tmp_path: Path) -> None:
    with world(tmp_path, embedding_model=EMBEDDER) as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts", chunk={"size": 120})
        assert run.index is not None
        assert run.index.vectors is not None
        assert run.index.embedder.startswith("minilm")
        (note,) = [note.message for note in run.notes if "is embedded by the local model" in note.message]
        assert "contracts" in note
        assert EMBEDDER in note
        again = here.runs.retuning.start(
            "anna", run.id, knobs(chunk={"size": 100}), Access(embedding_model=EMBEDDER)
        )
        assert again is not None
        until(lambda: not again.live)
        assert again.run.error is None

        async def reembedded() -> None:
            await (
                await here.runs.engine.part(LibraryConnections).library.ingests.reembed("contracts")
            ).wait()

        here.runs.call(reembedded())
        assert not here.was_sent(SECRET)


def test_unnamed_private_collection_is_withheld_when_all_are_searched(tmp_path: Path) -> None:
    with world(tmp_path, embedding_model=EMBEDDER) as here:
        here.add("contracts", PRIVATE_TEXT)
        here.add("notes", PUBLIC_TEXT)
        run = finished(here.runs, here.runs.start(QUESTION, Knobs.parse({"search": {"origin": "library"}})))
        assert any(source.site == "contracts.txt" for source in run.sources)
        assert not here.was_sent(SECRET)
        assert here.was_sent(OPEN), "its collection is embedded by the hosted model"


def test_another_model_for_answer_or_judge_is_withheld_too(tmp_path: Path) -> None:
    with world(tmp_path, base_url="", openai_api_key=None) as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts")
        hosted = Access(base_url=here.chat.base_url, chat_model=MODEL)
        beside = here.runs.side_answers.answer("anna", run, hosted)
        until(lambda: not beside.live)
        assert beside.run.answer is not None
        assert beside.run.answer.kind is AnswerKind.EXTRACTIVE
        with pytest.raises(BadInput, match=r"contracts.*is not sent to"):
            here.runs.call(here.runs.engine.models.judge_client(run, hosted))
        assert not here.was_sent(SECRET)


def test_passages_mixed_with_private_ones_are_not_reranked_remotely(tmp_path: Path) -> None:
    with world(tmp_path, base_url="") as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts", rank={"rerank": True})
        assert run.ranking is not None
        assert run.ranking.rerank is None
        assert any("were not reranked" in note.message and "private" in note.message for note in run.notes)
        assert not here.reranker.requests


def test_refusing_stops_questions_and_ingests_before_anything_is_sent(tmp_path: Path) -> None:
    with world(tmp_path, embedding_model=EMBEDDER, private_mode="refuse") as here:
        with pytest.raises(BadInput, match="contracts"):
            here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts", origin="both")
        assert run.error is not None
        assert "must not reach the model" in run.error.message
        assert not here.embeddings.requests
        assert not here.chat.requests


def test_pages_of_the_web_can_be_private(tmp_path: Path) -> None:
    with world(tmp_path, private_collections="", private_pages=True, embedding_model=EMBEDDER) as here:
        run = here.ask(origin="web", question="How does chunk overlap affect retrieval?")
        assert run.answer is not None
        assert run.answer.kind is AnswerKind.EXTRACTIVE
        sent = b"".join(
            request.body for server in (here.chat, here.embeddings) for request in server.requests
        )
        assert not any(source.passage.text[:40].encode() in sent for source in run.sources)


def test_ports_of_another_run_do_not_embed_private_text(tmp_path: Path) -> None:
    with world(tmp_path, embedding_model=EMBEDDER) as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts")
        web = knobs(origin="web", chunk={"size": 100})

        async def followed(follow_up: Callable[..., Any]) -> Run:
            found: Run = await follow_up(run, web, await here.runs.engine.ports(web))
            return found

        for follow_up in (retune, reembed):
            after = here.runs.call(followed(follow_up))
            assert after.error is not None
            assert "hosted" in after.error.message
        assert not here.was_sent(SECRET)


def test_labelled_private_passages_are_measured_by_the_local_embedder(tmp_path: Path) -> None:
    with world(tmp_path, base_url="", embedding_model=EMBEDDER) as here:
        here.add("contracts", PRIVATE_TEXT)
        run = here.ask("contracts")
        source = run.sources[0]
        page = run.pages[source.place.page]
        label = Label(
            place=source.passage.place,
            digest=text_digest(page.text),
            text=source.passage.text,
            grade=Grade.RELEVANT,
        )
        here.runs.labels.add(QUESTION, run.id, label)
        name = here.runs.service(Experiments).start(LABELS_NAME, {"rank": {"strategy": ["cosine"]}})
        until(lambda: (found := here.runs.service(Experiments).get(name)) is not None and not found.live)
        experiment, results = (
            here.runs.service(Experiments).get(name),
            here.runs.service(Experiments).results(name),
        )
        assert experiment is not None
        assert experiment.status is TaskStatus.DONE, experiment.error
        assert results is not None
        assert results.embedder.startswith("minilm")
        assert not here.was_sent(SECRET)


def test_drafted_questions_of_private_collections_reach_no_hosted_model(
    tmp_path: Path,
) -> None:
    with world(tmp_path, embedding_model=EMBEDDER) as here:
        drafting = here.runs.service(QuestionDrafting)
        here.add("contracts", PRIVATE_TEXT)
        drafting.start("contracts", [], 5).wait(PATIENCE)
        drafts = drafting.of("contracts").by_passage
        assert {draft.author for draft in drafts.values()} == {TEMPLATE}
        for passage in list(drafts):
            drafting.decide("contracts", passage, True)
        name = here.runs.service(Experiments).start(drafting.save("contracts", "rents"), {})
        until(lambda: (found := here.runs.service(Experiments).get(name)) is not None and not found.live)
        results = here.runs.service(Experiments).results(name)
        assert results is not None
        assert results.embedder.startswith("minilm")
        assert not here.was_sent(SECRET)


def test_the_scope_is_told_in_one_line(tmp_path: Path) -> None:
    with world(tmp_path, embedding_model=EMBEDDER) as here:
        report = here.runs.call(egress_report(here.runs.engine))
        host = f"127.0.0.1:{here.chat.port}"
        assert f"the chat model {MODEL}@{host} (hosted)" in report
        assert f"the embedder {EMBEDDER}@127.0.0.1:{here.embeddings.port} (hosted)" in report
        assert "Text of the collection contracts is withheld from hosted models." in report
    with world(tmp_path / "other", base_url="", rerank_url="", private_collections="") as here:
        assert here.runs.call(egress_report(here.runs.engine)) == "Passages stay on this machine."
