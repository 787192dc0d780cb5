"""A run in a notebook: tables, displays, and operations on a finished run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core import followups
from core.analysis.answers.attribution import Attribution, attribution
from core.analysis.extractor_comparison import absence_from_article
from core.analysis.rankings.context_membership import context_sources, ranked_at_hand
from core.analysis.retrieval.trace import Trace, absence_from_answer
from core.analysis.run_changes import RunChanges, run_changes
from core.config.knob_changes import knob_values, with_values
from core.config.knobs import Knobs
from core.config.schema import Parameter, parameters
from core.errors import BadInput, OpenQueryError
from core.features.evaluate.labels.graded_ranking import GradedRanking, graded
from core.features.evaluate.labels.passage_labels import label, place_labels
from core.features.notebook import plots, process, run_display
from core.features.notebook.display import Display, empty
from core.features.share.formats import ending_of, export
from core.features.share.tables import hit_columns, page_columns, passage_columns
from core.model import Grade, Label, Ranking, Source
from core.reading.absence import Absence
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
"""The groups of knobs for ranking an ended run again."""
GRADES = {"relevant": Grade.RELEVANT, "partly": Grade.PARTLY, "not relevant": Grade.NOT_RELEVANT}


class NotebookRun:
    """A finished run with rich displays. `run` is its data, which never changes.

    Labels are shared with its retuned runs.
    """

    def __init__(
        self,
        recorded: RecordedRun,
        *,
        store: Callable[[Label], object] = lambda label: None,
        labels: dict[tuple[str, int, int], Label] | None = None,
        run: Run | None = None,
    ) -> None:
        """`store` is called with each new label. `run` is a retuned state of the recorded run."""
        self.recorded = recorded
        self.run = run or recorded.run
        self._store = store
        self._labels = {_range(given): given for given in recorded.labels} if labels is None else labels

    def __getattr__(self, name: str) -> Any:
        """Return another attribute of the run.

        For example `id`, `question`, `text`, `knobs`, `status`, `notices` or `usage`.
        """
        if name.startswith("_") or name == "run":
            raise AttributeError(name)
        return getattr(self.run, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.run)})

    # --- tables -------------------------------------------------------------------------------------------

    @property
    def passages(self) -> DataFrame:
        """The ranked passages with their scores, best first, with the columns of the `.csv` export.

        `source` is the number in the context.
        """
        return _frame(passage_columns(self.run)).astype({"source": "Int64"})

    @property
    def hits(self) -> DataFrame:
        """The search hits in their merged order with outcomes, like in the `.hits.parquet` export."""
        return _frame(hit_columns(self.run))

    @property
    def pages(self) -> DataFrame:
        """The pages that were read."""
        return _frame(page_columns(self.run))

    # --- displays -----------------------------------------------------------------------------------------

    @property
    def answer(self) -> Display[str]:
        """The answer with its citations and sources."""
        return run_display.answer_display(self.run)

    @property
    def sources(self) -> tuple[Display[Source], ...]:
        """The numbered sources of the answer. A later ranking does not change them."""
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
        """The losses after each step from search results to citations, with reasons."""
        return plots.attrition_plot(self.run)

    @property
    def scores(self) -> Display[ScoreCurve | None]:
        """Cosine and BM25 by rank, with the cut-off."""
        return plots.score_plot(self.run)

    @property
    def map(self) -> Display[Projection | None]:
        """Question and passages, projected to two dimensions."""
        return plots.map_plot(self.run)

    @property
    def attribution(self) -> Display[Attribution]:
        """The similarity of the answer's sentences to its sources.

        Measured by vectors, or by words without an embedder.
        """
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
        """Rank the run under other settings: `run.retune(top_k=3, strategy="bm25")`.

        Nothing is fetched or answered. Passages are chunked and embedded again only if a setting of passages differs.

        Raises:
            BadInput: when a setting is unknown, out of bounds, or applies to the next run only.
        """
        knobs = with_values(self.run.knobs, values, TUNED)
        run = ranked_at_hand(self.run, knobs) or self._with_ports(
            knobs, lambda ports: followups.retune(self.run, knobs, ports)
        )
        return NotebookRun(self.recorded, store=self._store, labels=self._labels, run=run)

    def controls(self) -> KnobControls:
        """Return sliders that rank the run again.

        They need ipywidgets, the extra `notebook`.

        Raises:
            BadInput: when ipywidgets is not installed, or there is no ranking.
        """
        return KnobControls(self)

    def compare(self, other: NotebookRun) -> Display[RunChanges]:
        """Compare `other` with this run: context and ranks, and for another run pages and answer."""
        return run_display.comparison_display(run_changes(self.run, other.run))

    def why_not(self, text: str) -> Display[Trace]:
        """Trace how far a sentence or an address came towards the answer, and why no farther."""
        return run_display.trace_display(absence_from_answer(self.run, text))

    def why_not_extracted(self, page: str, text: str) -> Absence:
        """Return why a text is missing in the article of a page. Nothing is fetched.

        `page` is the address of the page.

        Raises:
            BadInput: when the run has no such page, or it is not cached.
            Unreadable: when no reader finds the reason.
        """
        knobs, reader = self.run.knobs, process.registry().engine.workers.absence
        reason = partial(absence_from_article, self.run, self._page(page), text, knobs.read.extractor)
        absence = self._with_ports(knobs, lambda ports: reason(ports=ports, find_absence=reader))
        if absence is None:
            raise BadInput("This page is not cached.", hint="Ask the question again, and look soon after it.")
        return absence

    def keep(self, page: str, text: str) -> NotebookRun:
        """Keep the block of a page with this text in its article, and rank again.

        The result is a new run.

        Raises:
            BadInput: when the page is unknown or not cached, or the text is in the article or cannot be kept in it.
            Unreadable: when no reader finds why the text is missing.
        """
        if not (absence := self.why_not_extracted(page, text)).can_be_kept:
            raise BadInput(absence.sentence)
        key, knobs, records = self._page(page), self.run.knobs, list(self.recorded.records)
        kept = *self.run.kept_texts(key), text
        read = partial(followups.read_as, self.run, key, knobs.read.extractor, kept=kept)
        self._with_ports(knobs, lambda ports: read(ports, lambda record, _: records.append(record)))
        folded = RecordedRun.folded(records, self.recorded.base)
        return NotebookRun(folded, store=self._store, labels=self._labels)

    def label(self, rank: int, grade: str | int) -> Display[GradedRanking]:
        """Label the passage at a rank, from 1, and show the metrics.

        Grades are `relevant`, `partly` and `not relevant` (2, 1, 0).

        Raises:
            BadInput: when no passage has this rank, or for an unknown grade.
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
        """Return nDCG, MRR, recall and precision of this ranking, by the labels so far.

        Raises:
            BadInput: when there is no ranking.
        """
        index, ranking = self._ranked()
        placed = place_labels(self._labels.values(), self.run.pages)
        context = [source.place for source in context_sources(self.run)]
        return run_display.metrics_display(graded(index, ranking, placed, context))

    def export(self, file: str | Path) -> Path:
        """Write the run as a file with its labels.

        The suffix chooses the format, such as `.zip`, `.html` or `.md`.

        A retuned run is written in its original state.

        Raises:
            BadInput: for an unknown format, or a run without that kind of data.
            OSError: when the file cannot be written.
        """
        path = Path(file)
        recorded = replace(self.recorded, labels=tuple(self._labels.values()))
        atomic_write(path, export(recorded, ending_of(path.name)))
        return path

    def _with_ports(self, knobs: Knobs, work: Callable[[Ports], Coroutine[Any, Any, T]]) -> T:
        """Wait for embedding and ranking with the models of the environment's settings. Nothing is written."""
        runs = process.registry()

        async def bound() -> T:
            return await work(await runs.engine.ports(knobs, run=self.run, writes=False))

        return runs.call(bound())

    def _page(self, address: str) -> str:
        """Return the key of the hit with this address. Raises `BadInput` for an unknown address."""
        if key := next((hit.key for hit in self.run.hits if address in {hit.key, hit.url}), ""):
            return key
        raise BadInput("No page of this run has this address.", hint="run.hits and run.pages list them.")

    def _ranked(self) -> Any:
        """Return the index and the ranking. Raises `BadInput` without a ranking."""
        if self.run.index is None or self.run.ranking is None:
            raise BadInput("This run has no ranked passages.", hint="Ask the question again.")
        return self.run.index, self.run.ranking


class KnobControls:
    """A control for each ranking knob, above the ranking and its changes.

    `run` is the run under the present settings. The original run does not change.
    """

    def __init__(self, original: NotebookRun) -> None:
        """Raises BadInput: when ipywidgets is not installed, or the run has no ranking."""
        try:
            import ipywidgets
        except ImportError as error:
            raise BadInput("Sliders need the package ipywidgets.", hint="pip install ipywidgets") from error
        original.metrics()  # which refuses a run without a ranking
        self.original = self.run = original
        values = knob_values(original.knobs)
        self.controls: Mapping[str, Any] = {
            knob.name: _slider(ipywidgets, knob, values[knob.path])
            for knob in parameters()
            if knob.group == "rank" and (knob.enum or knob.minimum is not None)
        }
        self._output = ipywidgets.HTML()
        for control in self.controls.values():
            control.observe(self._changed, names="value")
        layout = ipywidgets.Layout(grid_template_columns="repeat(auto-fit, minmax(420px, 1fr))")
        grid = ipywidgets.GridBox([*self.controls.values()], layout=layout)
        self.widget = ipywidgets.VBox([grid, self._output])
        self._show()

    @property
    def html(self) -> str:
        """The HTML below the controls."""
        return str(self._output.value)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.widget._repr_mimebundle_(include=include, exclude=exclude)

    def _changed(self, _change: object) -> None:
        values = {name: control.value for name, control in self.controls.items()}
        try:
            self.run = self.original.retune(**values)
        except OpenQueryError as error:
            self._output.value = empty(None, str(error))._repr_html_()
        else:
            self._show()

    def _show(self) -> None:
        compared = self.original.compare(self.run)
        self._output.value = compared._repr_html_() + self.run.ranking._repr_html_()


MOST_OPTIONS = 60
"""The most numbers of a slider that shows their labels."""


def _slider(widgets: Any, knob: Parameter, value: Any) -> Any:
    """Return a control with the bounds and the description of its knob."""
    shared = {"value": value, "description": knob.title_with_unit, "tooltip": knob.description}
    shared |= {"style": {"description_width": "240px"}, "layout": {"width": "96%"}}
    if knob.enum:
        return widgets.Dropdown(
            options=[(knob.value_text(value), value) for value in knob.enum], **shared | {"value": str(value)}
        )
    low, high = int(knob.minimum or 0), int(knob.maximum or 0)
    if knob.type == "integer" and knob.control.labels and high - low <= MOST_OPTIONS:
        numbers = [(knob.value_text(number), number) for number in range(low, high + 1)]
        return widgets.SelectionSlider(options=numbers, **shared | {"description": knob.title})
    if knob.type == "integer":
        return widgets.IntSlider(min=low, max=high, **shared)
    return widgets.FloatSlider(min=knob.minimum, max=knob.maximum, step=0.01, **shared)


def _frame(columns: Mapping[str, Sequence[Any]]) -> DataFrame:
    from pandas import DataFrame

    return DataFrame(columns)


def _range(given: Label) -> tuple[str, int, int]:
    return given.place.page, given.place.start, given.place.end
