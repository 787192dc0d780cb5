"""Test questions drafted in the background. All tabs share the drafts of a source until the process ends."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from core.config.access import NO_ACCESS, Access
from core.errors import BadInput, ChatFailed
from core.features.evaluate.data_sets import suite
from core.features.evaluate.labels.question_drafts import (
    Draft,
    Material,
    checked_draft,
    chosen_passages,
    collection_material,
    draft_question,
    drafts_data_set,
    run_material,
)
from core.features.evaluate.services.experiments import Experiments
from core.features.library.services.connections import LibraryConnections
from core.model import LibraryPassage, Passage
from core.model.passage_urls import collection_at_url
from core.run.conversation import GetRun
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop, Task
from core.runtime.quotas import Quotas
from core.stages.streams import map_concurrently, stream

MOST_PASSAGES = 20_000
"""The most passages of a collection to draft questions from and to rank."""
FAILURES = 3
"""The failed model calls after which drafting stops."""
_SCROLL, _AT_ONCE = 1_000, 4


@dataclass(slots=True)
class Drafts:
    """The drafts of one source."""

    material: Material = field(default_factory=lambda: ({}, ()))
    by_passage: dict[str, Draft] = field(default_factory=dict)
    """Drafts by passage id, in order of arrival."""
    task: Task | None = None

    @property
    def approved(self) -> int:
        """The number of drafts that a person has approved."""
        return sum(draft.approved is True for draft in self.all)

    @property
    def all(self) -> list[Draft]:
        """The current drafts, in order of arrival."""
        return list(self.by_passage.values())


class QuestionDrafting:
    """Drafts by their source: a collection's name, or empty for stored runs. Any thread may call."""

    def __init__(
        self, loop: BackgroundLoop, engine: Engine, quotas: Quotas, get: GetRun, experiments: Experiments
    ) -> None:
        self._loop, self._engine, self._quotas, self._get = loop, engine, quotas, get
        self._data = experiments.data
        self._drafts: dict[str, Drafts] = {}

    def of(self, source: str) -> Drafts:
        """Return the drafts of a source. They grow while questions are being drafted."""
        return self._drafts.setdefault(source, Drafts())

    def start(self, source: str, run_ids: Sequence[str], count: int, access: Access = NO_ACCESS) -> Task:
        """Draft `count` more questions, adding each when it is written.

        Raises LimitReached when the quota subject has no tokens left.

        The task fails with BadInput if the source has no material or the egress policy refuses, LibraryFailed, and
        ChatFailed if the model failed for a passage, at the end or after `FAILURES` failures. If `source` is empty, the
        runs are the source.
        """
        drafts = self.of(source)

        async def work(_task: Task) -> None:
            material = await self._material(source, run_ids)
            present = set(material[1])  # a run may have been deleted meanwhile
            drafts.by_passage = {
                name: draft for name, draft in drafts.by_passage.items() if draft.passage in present
            }
            drafts.material = material
            chosen = chosen_passages(drafts.material[1], count, drafts.by_passage)
            if not chosen:
                raise BadInput(
                    "There is no further passage to draft a question from.", hint="Choose another source."
                )
            models = self._engine.models
            chat = models.chat_client(await models.servers.chat_server(access))
            origins = {collection_at_url(passage.place.page) for passage in chosen}
            withheld = self._engine.egress.withheld(chat.host, origins) if chat else frozenset()

            failures: list[ChatFailed] = []

            async def draft(passage: Passage) -> Draft | None:
                model = None if collection_at_url(passage.place.page) in withheld else chat
                try:
                    return await draft_question(passage, drafts.material, model, spending.charge)
                except ChatFailed as error:
                    failures.append(error)
                    if len(failures) == FAILURES:
                        raise
                    return None

            with self._quotas.work(access.quota_subject) as spending:
                async for drafted in map_concurrently(stream(chosen), draft, at_once=_AT_ONCE):
                    drafts.by_passage[drafted.passage.id] = drafted
                    self._quotas.require_budget(access.quota_subject)
            if failures:
                raise failures[0]

        if drafts.task is None or not drafts.task.live:
            self._quotas.require_budget(access.quota_subject)
            drafts.task = self._loop.start(work)
        return drafts.task

    def decide(self, source: str, passage: str, approved: bool | None) -> None:
        """Approve the draft of a passage, reject it, or undo that (None). Does nothing without a draft."""
        drafts = self.of(source).by_passage
        if passage in drafts:
            drafts[passage] = replace(drafts[passage], approved=approved)

    def edit(self, source: str, passage: str, question: str) -> None:
        """Reword the draft of a passage, and check it again."""
        drafts = self.of(source)
        earlier = drafts.by_passage[passage]
        drafts.by_passage[passage] = checked_draft(earlier.passage, question, earlier.author, drafts.material)

    def save(self, source: str, name: str) -> str:
        """Save the approved questions as a data set, and return its name.

        Raises:
            BadInput: when no question is approved.
            OSError: when the data set cannot be written.
        """
        drafts = self.of(source)
        if not drafts.approved:
            raise BadInput("No question is approved yet.", hint="Approve some, then make the data set.")
        data = drafts_data_set(name, drafts.all, drafts.material)
        with TemporaryDirectory() as folder:
            path = Path(folder, "drafts.zip")
            suite.save(path, data, "")
            with path.open("rb") as file:
                return self._data.add({f"{name}{suite.SUITE}": file})[0]

    async def _material(self, source: str, run_ids: Sequence[str]) -> Material:
        if source:
            return await asyncio.to_thread(collection_material, source, await self._stored(source))
        return await asyncio.to_thread(
            run_material, (run for run_id in run_ids if (run := self._get(run_id)))
        )

    async def _stored(self, collection: str) -> list[LibraryPassage]:
        stored: list[LibraryPassage] = []
        after = ""
        while True:
            passages, after = await self._engine.part(LibraryConnections).database.scroll(
                collection, _SCROLL, after
            )
            stored += passages
            if not after or len(stored) >= MOST_PASSAGES:
                return stored[:MOST_PASSAGES]
