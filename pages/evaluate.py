"""The Evaluate page: settings measured on questions with known answers. Every figure has its uncertainty."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import streamlit as st

from core.config.permissions import Action, Caller
from core.errors import BadInput, OpenQueryError
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.results import Results
from core.features.evaluate.results_folder import joined
from core.features.evaluate.services.experiments import NAME_LIMIT, NOTE_LIMIT, Experiments
from core.runtime.event_loop import TaskStatus
from core.text.display import embedder_name
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import address, browser, markup, runtime, widgets
from pages.parts.evaluate import (
    compared_settings,
    data_set_form,
    experiment_results,
    label_comparison,
    question_drafts,
    question_list,
    sweep_form,
)
from pages.parts.evaluate.answers import answer_reader, answers_form, answers_view
from pages.parts.evaluate.experiments_table import experiments_table, progress
from pages.parts.problems import errors_inline, missing, problem, refusal


@dataclass(kw_only=True)
class EvaluatePage:
    """What the page was opened with."""

    experiments: Experiments
    visitor: Caller
    visible: dict[str, Experiment]
    """The experiments that the visitor may see, newest first, by id."""
    opened: Experiment | None = None
    """The experiment of the view Results."""
    answers: answers_view.Evaluations | None = None
    """The evaluations of the view Answers."""

    @classmethod
    def of_visitor(cls) -> "EvaluatePage":
        """Return the page of the current visitor.

        Raises:
            OpenQueryError: when the experiments cannot be read.
        """
        experiments, visitor = runtime.runs().service(Experiments), runtime.caller()
        visible = {
            experiment.id: experiment
            for experiment in experiments.all()
            if not experiment.user or visitor.may(Action.CHANGE_EXPERIMENT, experiment.user)
        }
        return cls(experiments=experiments, visitor=visitor, visible=visible)


def actions(experiments: Experiments, experiment: Experiment) -> None:
    """Draw the buttons and menus of the experiment."""
    describe(experiments, experiment)
    if experiment.live:
        widgets.button("Stop", "stop", experiments.stop, experiment.id, key="evaluate_stop")
        return
    if experiment.status is not TaskStatus.DONE:
        widgets.button("Continue", "play_arrow", experiments.resume, experiment.id, key="evaluate_continue")
    widgets.delete_button(
        experiments,
        experiment.id,
        experiment.name,
        key="evaluate_delete",
        deleted="evaluate_deleted",
        parameter="experiment",
    )


def new_view(page: EvaluatePage) -> None:
    """Draw the form of a new experiment and the experiment table."""
    if not page.visitor.may(Action.EVALUATE_DATA_SETS):
        st.info(sweep_form.LABELS_ALONE, icon=":material/info:")
    if offered := data_set_form.data_sets(page.experiments):
        sweep_form.form(page.experiments, offered)
    experiments_list(page)


def experiments_list(page: EvaluatePage, opened: str = "") -> None:
    """Draw the table of the experiments. `opened` is the id of the one shown above it."""
    widgets.deleted_offer(
        page.experiments, sweep_form.open_experiment, key="evaluate_undo", deleted="evaluate_deleted"
    )
    if not page.visible:
        markup.show_empty("There are no experiments yet.", "science")
        return
    note = f"{len(page.visible):,}" + (
        "; tick several to compare" if opened and len(page.visible) > 1 else ""
    )
    markup.show(markup.section_heading("Experiments", note))
    with st.container(key="experiments"):
        together = [other.id for other in others_together(page)] if opened else []
        markup.show(experiments_table(page.experiments, tuple(page.visible.values()), opened, together))


def chosen_experiment(visible: Mapping[str, Experiment]) -> Experiment | None:
    """Return the experiment of the address, or else the newest."""
    name = st.query_params.get("experiment", "")
    if name and name not in visible:
        missing("experiment", name, "Choose one of the others below." if visible else "There are none yet.")
    return visible.get(name or next(iter(visible), ""))


def results_view(page: EvaluatePage) -> None:
    """Draw the opened experiment, and the table of all."""
    opened = page.opened
    if opened is None:
        experiments_list(page)
        return
    if opened.note:
        st.caption(markdown_label(opened.note, 500))
    drawn = opened
    fragment = "evaluate_results"

    @st.fragment(key=fragment)
    def results_so_far() -> None:
        """Draw the current results. The table of experiments shows their count, so redraw that too."""
        nonlocal drawn
        drawn = page.experiments.get(drawn.id) or drawn
        page.visible[drawn.id] = drawn
        _draw_results(page, drawn)

    with st.container(key="evaluate_run"):
        with st.container(key="evaluate_progress_line"):
            progress(page.experiments, opened, lambda: drawn.done, fragment)
        if opened.live:
            browser.keep_row("evaluate_settings")
            results_so_far()
        else:
            _draw_results(page, opened)


def _draw_results(page: EvaluatePage, experiment: Experiment) -> None:
    try:
        results = page.experiments.results(experiment.id)
    except BadInput as error:
        problem(error)
        return
    if results and results.results:
        experiment_results.show(experiment, with_others(page, experiment, results))
    elif experiment.live:
        experiment_results.show_first(experiment)
    experiments_list(page, experiment.id)


def others_together(page: EvaluatePage) -> list[Experiment]:
    """Return the experiments of the address that are opened together with the chosen experiment."""
    return [
        page.visible[name]
        for name in st.query_params.get_all("with")
        if name in page.visible and page.visible[name] != page.opened
    ]


def with_others(page: EvaluatePage, experiment: Experiment, results: Results) -> Results:
    """Return the results joined with other opened experiments.

    An experiment with other questions is refused with a message.
    """
    names, parts = [experiment.name], [results]
    for other in others_together(page):
        with errors_inline:
            if (more := page.experiments.results(other.id)) and more.results:
                joined((experiment.name, other.name), (results, more))  # refuses other questions
                names.append(other.name)
                parts.append(more)
    return joined(tuple(names), tuple(parts)) if len(parts) > 1 else results


def facts_of(experiments: Experiments, experiment: Experiment) -> str:
    """Return the experiment's data set, questions, embedder and start in a line."""
    results = None
    with suppress(BadInput):  # the view below reports the fault
        results = experiments.results(experiment.id)
    measured = (
        [pluralize(len(results.questions), "question"), embedder_name(results.embedder)] if results else []
    )
    return " · ".join([experiment.data, *measured, browser.local_time(experiment.started)])


def describe(experiments: Experiments, experiment: Experiment) -> None:
    """Draw a menu to name and annotate the experiment."""
    menu = st.popover("Name", icon=":material/edit:", type="tertiary", key="evaluate_name", on_change="rerun")
    if not menu.open:
        return
    with menu, st.form("evaluate_description", border=False):
        name = st.text_input("Name", experiment.given_name, placeholder=experiment.name, max_chars=NAME_LIMIT)
        note = st.text_area("Note", experiment.note, max_chars=NOTE_LIMIT)
        if st.form_submit_button("Save", key="evaluate_describe", icon=":material/check:"):
            with errors_inline:
                experiments.describe(experiment.id, name, note)
                st.rerun()


def labels_part(visitor: Caller) -> ModuleType:
    """Return the module that draws the Labels view. Drafts need the right to measure on data sets."""
    drafts = st.query_params.get("part") == "drafts" and visitor.may(Action.EVALUATE_DATA_SETS)
    return question_drafts if drafts else label_comparison


def labels_view(page: EvaluatePage) -> None:
    """Draw the choice of a part, and the part."""
    if page.visitor.may(Action.EVALUATE_DATA_SETS):
        titles = {
            "label": ":material/label: Label passages",
            "drafts": ":material/edit_note: Draft questions",
        }
        address.choice("part", titles, "labels_part", "label")
        keep = partial(address.keep_choice, "part", "labels_part")
        widgets.choice(
            "Part", list(titles), key="labels_part", format_func=titles.__getitem__, on_change=keep
        )
    labels_part(page.visitor).section()


def answers_view_of(page: EvaluatePage) -> None:
    """Draw the evaluations of answers."""
    if page.answers is not None:
        answers_view.section(page.answers)


LEAD = "Settings measured on questions with known answers: which is better, by how much, and how certain that is."
VIEWS: Mapping[str, tuple[str, Callable[[EvaluatePage], None]]] = {
    "new": (":material/add: New", new_view),
    "results": (":material/leaderboard: Results", results_view),
    "answers": (":material/quiz: Answers", answers_view_of),
    "labels": (":material/label: Labels", labels_view),
}


def head(page: EvaluatePage) -> str:
    """Draw the title and the choice of the view, and return the chosen view."""
    view = address.view_choice(
        {name: title for name, (title, _) in VIEWS.items()},
        "results" if page.visible or "experiment" in st.query_params else "new",
        "evaluate_view",
    )
    if view == "results":
        page.opened = chosen_experiment(page.visible)
    if view == "answers":
        page.answers = answers_view.evaluations()
        answers_view.head(page.answers)
    elif view == "labels":
        part = labels_part(page.visitor)
        markup.show(markup.title(part.TITLE, part.LEAD))
    elif page.opened is None:
        markup.show(markup.title("Evaluate", LEAD))
    else:
        markup.show(markup.title(page.opened.name, facts_of(page.experiments, page.opened)))
        if page.visitor.may(Action.CHANGE_EXPERIMENT, page.opened.user):
            actions(page.experiments, page.opened)
    return view


def draw() -> None:
    """Draw the page for the current visitor."""
    address.keep_history(None, opens=True)
    try:
        page = EvaluatePage.of_visitor()
    except OpenQueryError as error:
        problem(error)
        st.stop()
    refusal()
    with st.container(horizontal=True, gap="medium", key="evaluate_head"):
        view = head(page)
    VIEWS[view][1](page)
    browser.chart_clicks(
        {
            "experiment": sweep_form.open_experiment,
            "setting": experiment_results.pick,
            "question": question_list.pick,
            "answer": answer_reader.pick,
            "evaluation": answers_form.open_evaluation,
            "with": partial(address.toggle, "with"),
            "compared": partial(address.toggle, compared_settings.PICKED),
        }
    )


draw()
