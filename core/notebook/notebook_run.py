"""A run in a notebook: its tables, its displays, and the operations of a finished run, one line each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core import followups
from core.analysis.answers.attribution import Attribution, attribution
from core.analysis.extractor_comparison import why_not_extracted
from core.analysis.rankings.context_membership import context_sources, ranked
from core.analysis.retrieval.trace import Trace, why_not
from core.analysis.run_changes import RunChanges, run_changes
from core.config.knob_changes import with_values
from core.config.knobs import Knobs
from core.errors import BadInput
from core.evaluation.labels.graded_ranking import GradedRanking, graded
from core.evaluation.labels.passage_labels import label, place_labels
from core.export.formats import ending_of, export
from core.export.tables import hit_columns, page_columns, passage_columns
from core.model import Grade, Label, Ranking, Source
from core.notebook import plots, run_display, session
from core.notebook.display import Display
from core.notebook.knob_controls import KnobControls
from core.reading.why_not import Absence
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.storage.atomic_write import atomic_write

if TYPE_CHECKING:
    from pandas import DataFrame

    from core.analysis.embedding_map.embedding_map import Projection
    from core.analysis.rankings.score_curve import ScoreCurve
    from core.analysis.retrieval.attrition import Attrition
    from core.ports import Ports

T = TypeVar("T")
TUNED = ("chunk", "embed", "rank")
"""The groups of knobs that a run which has ended can be ranked under."""
GRADES = {"relevant": Grade.RELEVANT, "partly": Grade.PARTLY, "not relevant": Grade.NOT_RELEVANT}


class NotebookRun:
    """A finished run with rich displays. `run` is its data; nothing changes it.

    Labels are shared with the runs that it was retuned to.
    """

    def __init__(
        self,
        recorded: RecordedRun,
        *,
        store: Callable[[Label], object] = lambda label: None,
        labels: dict[tuple[str, int, int], Label] | None = None,
        run: Run | None = None,
    ) -> None:
        """`store` is called with each label that is given. `run` is a retuned state of the recorded one."""
        self.recorded = recorded
        self.run = run or recorded.run
        self._store = store
        self._labels = {_range(given): given for given in recorded.labels} if labels is None else labels

    def __getattr__(self, name: str) -> Any:
        """All else that the run has, such as `id`, `question`, `text`, `knobs`, `status`, `notices`, `usage`."""
        if name.startswith("_") or name == "run":
            raise AttributeError(name)
        return getattr(self.run, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.run)})

    # --- tables -------------------------------------------------------------------------------------------

    @property
    def passages(self) -> DataFrame:
        """The ranked passages with their scores, best first, as `.csv` exports have them; `source` is the number in the context."""
        return _frame(passage_columns(self.run)).astype({"source": "Int64"})

    @property
    def hits(self) -> DataFrame:
        """The search hits in their merged order, each with its outcome, as the `.hits.parquet` export has them."""
        return _frame(hit_columns(self.run))

    @property
    def pages(self) -> DataFrame:
        """The pages that were read, as the `.pages.parquet` export has them."""
        return _frame(page_columns(self.run))

    # --- displays -----------------------------------------------------------------------------------------

    @property
    def answer(self) -> Display[str]:
        """The answer with its citations and sources."""
        return run_display.answer_display(self.run)

    @property
    def sources(self) -> tuple[Display[Source], ...]:
        """The numbered sources of the answer, each marked in its page. A later ranking does not change them."""
        return tuple(run_display.source_display(self.run, source) for source in self.run.sources)

    @property
    def ranking(self) -> Display[Ranking | None]:
        """The best passages with their scores."""
        return run_display.ranking_display(self.run)

    @property
    def phases(self) -> Display[Run]:
        """The phases with their counts and times."""
        return run_display.progress_display(self.run)

    @property
    def attrition(self) -> Display[Attrition]:
        """From search results to citations: what was lost after each step, and why."""
        return plots.attrition_plot(self.run)

    @property
    def scores(self) -> Display[ScoreCurve | None]:
        """Cosine and BM25 by rank, with the cut-off of the context."""
        return plots.score_plot(self.run)

    @property
    def map(self) -> Display[Projection | None]:
        """Question and passages, projected to two dimensions."""
        return plots.map_plot(self.run)

    @property
    def attribution(self) -> Display[Attribution]:
        """The sentences of the answer against its sources, by their vectors, or by words where there is no embedder."""
        attributed = self._with_ports(
            self.run.knobs, lambda ports: attribution(self.run, ports.embedder_of(self.run.index))
        )
        return plots.attribution_plot(attributed)

    def __repr__(self) -> str:
        return repr(run_display.run_display(self.run))

    def _repr_html_(self) -> str:
        return run_display.run_display(self.run)._repr_html_()

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        return run_display.run_display(self.run)._repr_mimebundle_(include, exclude)

    # --- operations ---------------------------------------------------------------------------------------

    def retune(self, **values: Any) -> NotebookRun:
        """The run ranked under other settings: `run.retune(top_k=3, strategy="bm25")`. Nothing is fetched or answered.

        Passages are cut and embedded again only where a setting of passages differs.

        Raises:
            BadInput: when a setting is unknown, out of bounds, or applies to the next run only.
        """
        knobs = with_values(self.run.knobs, values, TUNED)
        index = self.run.index
        is_ready = index is not None and not len(index.waiting) and knobs.chunk == self.run.knobs.chunk
        if is_ready and not knobs.rank.rerank:
            run = ranked(replace(self.run, knobs=knobs))
        else:
            run = self._with_ports(knobs, lambda ports: followups.retune(self.run, knobs, ports))
        return NotebookRun(self.recorded, store=self._store, labels=self._labels, run=run)

    def controls(self) -> KnobControls:
        """Sliders that rank the run again as they move. They need ipywidgets, the extra `notebook`.

        Raises:
            BadInput: when ipywidgets is not installed, or there is no ranking.
        """
        return KnobControls(self)

    def compare(self, other: NotebookRun) -> Display[RunChanges]:
        """What `other` has that this run does not: its context and ranks, and of another run its pages and answer."""
        return run_display.comparison_display(run_changes(self.run, other.run))

    def why_not(self, text: str) -> Display[Trace]:
        """How far a sentence or an address came on its way to the answer, and why no farther."""
        return run_display.trace_display(why_not(self.run, text))

    def why_not_extracted(self, page: str, text: str) -> Absence:
        """What kept a text out of the article of the page with this address. Nothing is fetched.

        Raises:
            BadInput: when the run has no such page, or it is not cached.
            Unreadable: when no reader finds it out.
        """
        knobs, reader = self.run.knobs, session.registry().engine.workers.why_not
        reason = partial(why_not_extracted, self.run, self._page(page), text, knobs.read.extractor)
        absence = self._with_ports(knobs, lambda ports: reason(ports=ports, why_not=reader))
        if absence is None:
            raise BadInput("This page is not cached.", hint="Ask the question again, and look soon after it.")
        return absence

    def keep(self, page: str, text: str) -> NotebookRun:
        """The run with the block of a page that has this text in its article, ranked again; this run stays without it.

        Raises:
            BadInput: as `why_not_extracted`, and when the text is in the article or cannot be kept in it.
            Unreadable: as `why_not_extracted`.
        """
        if not (absence := self.why_not_extracted(page, text)).can_be_kept:
            raise BadInput(absence.sentence)
        key, knobs, records = self._page(page), self.run.knobs, list(self.recorded.records)
        kept = *followups.kept_texts(self.run, key), text
        read = partial(followups.read_as, self.run, key, knobs.read.extractor, kept=kept)
        self._with_ports(knobs, lambda ports: read(ports, lambda record, _: records.append(record)))
        folded = RecordedRun.folded(records, self.recorded.base)
        return NotebookRun(folded, store=self._store, labels=self._labels)

    def label(self, rank: int, grade: str | int) -> Display[GradedRanking]:
        """Label the passage at a rank, from 1, as `relevant`, `partly` or `not relevant` (2, 1, 0), and show the metrics.

        Raises:
            BadInput: when no passage has this rank, or there is no such grade.
            StoreFailed: when the label cannot be stored.
        """
        index, ranking = self._ranked()
        if not 1 <= rank <= len(ranking.order):
            raise BadInput(f"No passage has the rank {rank}.", hint=f"Ranks are 1 to {len(ranking.order):,}.")
        if grade not in {*GRADES, *GRADES.values()}:
            raise BadInput(f"There is no grade {str(grade)[:60]}.", hint=f"Grades are {', '.join(GRADES)}.")
        place = index.passages[int(ranking.order[rank - 1])].place
        given = label(
            self.run.pages[place.page], place, GRADES[grade] if isinstance(grade, str) else Grade(grade)
        )
        self._store(given)
        self._labels[_range(given)] = given
        return self.metrics()

    def metrics(self) -> Display[GradedRanking]:
        """nDCG, MRR, recall and precision of this ranking, by the labels given so far.

        Raises:
            BadInput: when there is no ranking.
        """
        index, ranking = self._ranked()
        placed = place_labels(self._labels.values(), self.run.pages)
        context = [source.place for source in context_sources(self.run)]
        return run_display.metrics_display(graded(index, ranking, placed, context))

    def export(self, file: str | Path) -> Path:
        """Write the run as a file of the format that its ending says, such as `.zip`, `.html` or `.md`, with its labels.

        A retuned run is written as it was before.

        Raises:
            BadInput: when there is no such format, or the run has nothing of that kind.
            OSError: when the file cannot be written.
        """
        path = Path(file)
        recorded = replace(self.recorded, labels=tuple(self._labels.values()))
        atomic_write(path, export(recorded, ending_of(path.name)))
        return path

    def _with_ports(self, knobs: Knobs, work: Callable[[Ports], Coroutine[Any, Any, T]]) -> T:
        """Wait for work that embeds and ranks and writes nothing, with the models of the environment's settings."""
        runs = session.registry()

        async def bound() -> T:
            return await work(await runs.engine.ports(knobs, run=self.run, writes=False))

        return runs.call(bound())

    def _page(self, address: str) -> str:
        """The key of the hit with this address. Raises BadInput: when there is none."""
        if key := next((hit.key for hit in self.run.hits if address in {hit.key, hit.url}), ""):
            return key
        raise BadInput("No page of this run has this address.", hint="run.hits and run.pages list them.")

    def _ranked(self) -> Any:
        """The index and the ranking. Raises BadInput: when there is none."""
        if self.run.index is None or self.run.ranking is None:
            raise BadInput("This run has no ranked passages.", hint="Ask the question again.")
        return self.run.index, self.run.ranking


def _frame(columns: Mapping[str, Sequence[Any]]) -> DataFrame:
    from pandas import DataFrame

    return DataFrame(columns)


def _range(given: Label) -> tuple[str, int, int]:
    return given.place.page, given.place.start, given.place.end
