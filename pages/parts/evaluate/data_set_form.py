"""The data set of a new experiment: its choice and contents.

It can be chosen, uploaded, read from a path or fetched.
"""

from collections.abc import Callable

import streamlit as st
from htpy import Element, Node, b, code, div, p, pre, span

from core.config.permissions import Action
from core.errors import BadInput
from core.features.evaluate.data_sets.available import SUFFIXES
from core.features.evaluate.data_sets.excerpt_csv import SUFFIXES as TEXT_SUFFIXES
from core.features.evaluate.data_sets.lines import BadLine
from core.features.evaluate.data_sets.source import GZIP
from core.features.evaluate.labels.passage_labels import LABELS_NAME
from core.features.evaluate.results import LEAST_HALF
from core.features.evaluate.services.experiments import FETCHED_MEGABYTES, Experiments
from core.features.evaluate.statistics.significance import least_questions
from core.features.evaluate.sweep_cost import DataSetSummary
from core.text.sanitize import plural, pluralize
from pages.parts import markup, runtime, widgets

CHOOSE, UPLOAD, PATH, ADDRESS = "Choose", "Upload", "Path", "Address"
FAULT, LEFT_OUT = "data_set_fault", "data_set_left_out"
"""Session keys of the fault of the latest upload, and of its left-out lines."""
TYPES = [suffix[1:] for suffix in (*SUFFIXES, *TEXT_SUFFIXES, GZIP)]
HELP = (
    "A .jsonl or .parquet with a document or a question a row; a .zip in BEIR's layout (corpus.jsonl, queries.jsonl, and qrels, the relevant "
    "documents of each query) or of openquery eval freeze; a SQuAD file (.json); a .csv with the columns question, excerpt and source, together with its "
    "text files."
)
MOST_RELEVANT = 4
"""Number of relevant documents from which questions are counted together."""
WARNINGS = 3
"""Warnings that are shown."""


def action(data: str) -> Action:
    """Return the action that measuring on this data set requires."""
    return Action.EVALUATE_LABELS if data == LABELS_NAME else Action.EVALUATE_DATA_SETS


def data_sets(experiments: Experiments) -> list[str]:
    """Return the data sets that this visitor may measure on."""
    visitor = runtime.caller()
    return [name for name in experiments.data.loaders(runtime.label_user()) if visitor.may(action(name))]


def choose(experiments: Experiments, offered: list[str]) -> tuple[str, DataSetSummary | None]:
    """Draw the choice of a data set, and its contents or fault.

    Returns the name and the counts, which are None if the data set cannot be used.
    """
    way = CHOOSE
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        markup.show(markup.numbered(1, "Data set"), width="content")
        if runtime.caller().may(Action.EVALUATE_DATA_SETS):
            way = widgets.choice(
                "Where the data set is from",
                (CHOOSE, UPLOAD, PATH, ADDRESS),
                key="data_set_way",
                default=CHOOSE,
                persist_state="session",
            )
    data = _named(experiments, way, offered)
    fault: BadInput | None = st.session_state.get(FAULT) if way in (UPLOAD, ADDRESS) else None
    summary = None
    if data and fault is None:
        try:
            summary = experiments.data.summary(data, runtime.label_user())
        except BadInput as error:
            fault = error
    if fault:
        markup.show(_fault(fault))
        if way == UPLOAD and isinstance(fault, BadLine) and fault.source.suffix == ".jsonl":
            widgets.button(
                "Leave such lines out", "remove", _upload, experiments, True, key="data_set_leave_out"
            )
    elif summary:
        markup.show(_counts(summary), *_notes(data, summary))
    return data, summary


def _named(experiments: Experiments, way: str, offered: list[str]) -> str:
    """Return the data set of the chosen way, or ""."""
    if way == CHOOSE:
        data: str = st.selectbox(
            "Data set",
            offered,
            key="evaluate_data",
            label_visibility="collapsed",
            help=f"The questions about the handbook, the passages that were labelled on the Ask page, and what is in {experiments.data.folder}.",
            persist_state="session",
        )
        return data
    if way == UPLOAD:
        st.file_uploader(
            "Upload a data set",
            type=TYPES,
            accept_multiple_files=True,
            key="data_set_upload",
            label_visibility="collapsed",
            help=HELP,
            on_change=_upload,
            args=(experiments,),
        )
        st.caption(HELP)
    elif way == PATH:
        if folders := runtime.runs().settings.document_folders:
            path = st.text_input(
                "Path on the server",
                key="data_set_path",
                placeholder=f"{folders.partition(',')[0]}/questions.jsonl",
                label_visibility="collapsed",
                persist_state="session",
            )
            return path.strip()
        st.caption(
            "Name folders in OPENQUERY_DOCUMENT_FOLDERS to read data sets from the server's disk, or put them into "
            f"{experiments.data.folder}."
        )
    else:
        st.text_input(
            "Address of a data set",
            key="data_set_address",
            placeholder="https://example.org/questions.jsonl",
            label_visibility="collapsed",
            help=f"A file of at most {FETCHED_MEGABYTES:g} MB at a public address. {HELP}",
        )
        widgets.button("Fetch", "download", _fetch, experiments, key="data_set_fetch")
    return ""


def _upload(experiments: Experiments, leave_out: bool = False) -> None:
    files = {file.name: file for file in st.session_state["data_set_upload"]}
    for file in files.values():
        file.seek(0)
    if files:
        _keep(lambda: experiments.data.add(files, leave_out=leave_out))
    else:
        st.session_state.pop(FAULT, None)


def _fetch(experiments: Experiments) -> None:
    address = st.session_state["data_set_address"]
    _keep(lambda: experiments.fetch(address))


def _keep(added: Callable[[], tuple[str, tuple[int, ...]]]) -> None:
    """Choose the added data set, or keep its fault."""
    st.session_state.pop(FAULT, None)
    with runtime.errors_after_rerun:
        runtime.caller().require(Action.EVALUATE_DATA_SETS)
        try:
            name, left_out = added()
        except BadInput as error:
            st.session_state[FAULT] = error
        else:
            st.session_state.update(
                {"evaluate_data": name, "data_set_way": CHOOSE, LEFT_OUT: (name, left_out)}
            )


def _fault(fault: BadInput) -> Element:
    """Draw why the data set cannot be used. The lines around the faulty line are shown."""
    number_at_fault, near = (fault.number, fault.near) if isinstance(fault, BadLine) else (0, ())
    return div(".oq-fault", role="alert")[
        p[markup.icon("error"), span[b[fault.message], " ", fault.hint]],
        near
        and pre(tabindex="0", aria_label="The lines around it")[
            (
                div(class_={"on": number == number_at_fault})[span[f"{number:,}"], code[text]]
                for number, text in near
            )
        ],
    ]


def _counts(summary: DataSetSummary) -> Element:
    """Draw the counts, and the numbers of relevant documents per question."""
    figures = [
        (summary.documents, plural(summary.documents, "document")),
        (summary.questions, plural(summary.questions, "question")),
        (summary.unanswerable, "without an answer"),
        (sum(count * times for count, times in summary.relevant.items()), "judged relevant"),
    ]
    bars = [summary.relevant.get(count, 0) for count in range(MOST_RELEVANT)]
    bars.append(summary.questions - sum(bars))
    words = ", ".join(f"{_at(place)}: {pluralize(count, 'question')}" for place, count in enumerate(bars))
    return div(".oq-counts")[
        (div[b[f"{figure:,}"], span[label]] for figure, label in figures),
        div(".bars", role="img", aria_label=f"Relevant documents of a question. {words}")[
            span(".head")["relevant documents per question"],
            (
                div(style=f"--share:{count / max(*bars, 1):.3f}")[
                    span[f"{count:,}"], span(".bar"), span[_at(place)]
                ]
                for place, count in enumerate(bars)
            ),
        ],
    ]


def _at(place: int) -> str:
    return f"{place}+" if place == MOST_RELEVANT else str(place)


def _notes(data: str, summary: DataSetSummary) -> list[Node]:
    """Return a line that the data set is valid, then its warnings. The line has the digest."""
    name, left_out = st.session_state.get(LEFT_OUT, ("", ()))
    odd = list(summary.warnings[:WARNINGS])
    if name == data and left_out:
        odd.append(f"Left out, as you asked: {', '.join(f'line {number:,}' for number in left_out)}.")
    digest = [" Digest ", code[summary.digest[:12]], "."]
    least = least_questions()
    is_enough = summary.questions >= least
    counted = pluralize(summary.questions, "question")
    return [
        p(".oq-note.good")[markup.icon("check_circle"), span[b["Fit to measure."], digest]]
        if is_enough
        else p(".oq-note")[
            markup.icon("warning"),
            span[
                b["Too few questions to compare settings:"],
                f" {counted} with an answer. With fewer than {least} no difference can be shown, however large; "
                f"with fewer than {2 * LEAST_HALF} none can be confirmed on a half that is held out.",
                digest,
            ],
        ],
        *(p(".oq-note")[markup.icon("warning"), span[text]] for text in odd),
    ]
