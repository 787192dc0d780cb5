"""The Export menu: a run in any file format, or several as a ZIP."""

import io
import zipfile
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core.errors import BadInput, OpenQueryError
from core.features.share.answer_export import export_name
from core.features.share.conversation_export import conversation_document
from core.features.share.formats import FORMATS, export, formats_of
from core.run.state import Run
from core.text.sanitize import one_line
from pages.parts import runtime, widgets
from pages.parts.conversation.turns import turns_of
from pages.parts.problems import problem
from pages.parts.sharing import link_list, replay_bar

MAX_EXPORTED = 50
"""Most runs in one ZIP file, which is built in memory."""


FIRST = {
    ".html": ("Interactive page", "one file, works offline, with its knobs", "web"),
    ".md": ("Markdown", "the answer and its numbered sources", "article"),
}
"""The formats that most people want: title, use and symbol. The others are below them, in an expander."""


def export_menu(run_ids: Sequence[str], *, of_page: bool = False, suffix: str = "") -> None:
    """Draw the menu of formats.

    The menu `of_page` has its replay and links too. A closed menu is not sent. `suffix` ends the keys of a
    second menu on a page.
    """
    too_many = len(run_ids) > MAX_EXPORTED
    menu = st.popover(
        "Export",
        icon=":material/download:",
        type="tertiary",
        key=f"export{suffix}",
        on_change="rerun",
        disabled=too_many,
        help=f"At most {MAX_EXPORTED} runs can be exported at once." if too_many else None,
    )
    if too_many or not menu.open:
        return
    with menu:
        try:
            run = runtime.runs().get(run_ids[0])
        except OpenQueryError as error:
            problem(error)
            return
        if run is None:
            return
        forms = formats_of(run) if len(run_ids) == 1 else FORMATS
        with st.container(gap="small", key=f"export_first{suffix}"):
            for ending, (title, use, symbol) in FIRST.items():
                _file(
                    run_ids,
                    run,
                    ending,
                    f"**{title}** :gray[{use}]",
                    suffix=suffix,
                    symbol=f":material/{symbol}:",
                )
        if of_page:
            link_list.link_list(run.id)
            widgets.button(
                "Replay as it happened",
                "replay",
                replay_bar.start,
                run.id,
                key="replay_start",
                type="tertiary",
            )
        with (
            st.expander("More formats", key=f"export_more{suffix}", type="compact"),
            st.container(gap=None, key=f"export_files{suffix}"),
        ):
            for ending, form in forms.items():
                if ending not in FIRST:
                    _file(run_ids, run, ending, form.title, suffix=suffix)
            _conversation(run, suffix)


def _file(
    run_ids: Sequence[str], run: Run, ending: str, title: str, *, suffix: str, symbol: str | None = None
) -> None:
    name = export_name(run.question, ending)
    if len(run_ids) > 1:
        name = f"openquery-runs{ending.removesuffix('.zip')}.zip"
    _button(title, partial(exported, run_ids, ending), name, f"{ending}{suffix}", symbol)


def _button(title: str, data: Callable[[], bytes], name: str, ending: str, symbol: str | None = None) -> None:
    """Draw the button of a file. `ending` tells its key from those of the other files."""
    st.download_button(
        title,
        data=data,
        file_name=name,
        on_click="ignore",
        key=f"export_{ending[1:].replace('.', '_')}",
        icon=symbol,
        type="secondary" if symbol else "tertiary",
        width="stretch" if symbol else "content",
    )


def _conversation(run: Run, suffix: str) -> None:
    """Draw a button that exports the whole conversation as one file. A single turn has no button."""
    turns = [turn.id for turn in turns_of(run)]
    if len(turns) > 1:
        name = export_name(run.question, ".conversation.md")
        _button(
            "Conversation as Markdown", partial(_conversation_file, turns), name, f".conversation.md{suffix}"
        )


def _conversation_file(run_ids: Sequence[str]) -> bytes:
    """Return the conversation of the turns that still exist, or b""."""
    turns = [run for run in map(runtime.runs().get, run_ids) if run is not None]
    return conversation_document(turns).encode() if turns else b""


def exported(run_ids: Sequence[str], ending: str) -> bytes:
    """Return one run as a file, or several as a ZIP.

    `ending` is the ending of each file. Runs that were deleted meanwhile are left out. A ZIP also leaves out
    runs without data of this kind, and names them in a text file.
    """
    registry, prices = runtime.runs(), runtime.prices()
    recorded = filter(None, (registry.recorded(run_id, runtime.label_user()) for run_id in run_ids))
    if len(run_ids) == 1:
        return next((export(run, ending, prices) for run in recorded), b"")
    left_out = []
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, run in enumerate(recorded, 1):
            question = run.run.question
            try:
                file = export(run, ending, prices)
                archive.writestr(f"{number:02}-{export_name(question, ending)}", file)
            except BadInput as error:
                left_out.append(f"{number:02} {one_line(question, 200)}: {error.message}\n")
        if left_out:
            archive.writestr("left-out.txt", "".join(left_out))
    return buffer.getvalue()
