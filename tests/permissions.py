"""Which permission each button of the pages and each endpoint of the HTTP API needs, and the table of the document."""

import ast
from collections.abc import Iterator
from pathlib import Path

from core.config.permissions import Action, Role, right

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "security" / "permissions.md"
HEAD = "| on a shared server | visitor | signed-in person | token | operator | buttons | endpoints |\n|---|---|---|---|---|---|---|\n"
_WIDGETS = {
    "button",
    "close_button",
    "undo_button",
    "delete_button",
    "deleted_offer",
    "download_button",
    "form_submit_button",
    "file_uploader",
}

ON_SCREEN = [
    "swap",
    "reader_source_close",
    "copy_*",
    "reset_*",
    "back_*",
    "reset",
    "label_skip",
    "verdict_open",
    "close_ingest",
    "back_to_all",
    "open_document",
    "previous_page",
    "next_page",
    "*_close",
    "label_next",
    "label_all",
    "exclude_*",
    "stop_retuning",
    "reset_stopped",
    "as_it_was",
    "strip_toggle",
    "why_lost",
    "evaluate_use",
    "evaluate_add_questions",
    "evaluate_*_question",
    "evaluate_unfilter_*",
    "evaluate_clear_filters",
    "evaluate_unpick",
    "evaluate_export_*",
    "trace",
    "plan_add",
    "plan_arrow_*_*",
    "sign_in_*",
    "my_words",
    "open_history",
    "cancel_follow_up",
    "open_turn_*",
    "replay_start",
    "replay_again",
    "replay_continue",
    "replay_pause",
    "replay_end",
]
"""Buttons that change what their visitor sees, or the settings of their next question, and nothing that is kept."""

BUTTONS: dict[Action, list[str]] = {
    action: names.split()
    for action, names in {
        Action.ASK: "go example_* ask_with_* ask_words_* evaluate_explain evaluate_compare answer_without answer_both stop_both ask_judge "
        "extraction_fetch_again import_* history_ask_again follow_up_go follow_up_ask next_question_* write_questions",
        Action.OPEN_RUN: "what_is_new_export export_* attribution_csv",
        Action.CHANGE_RUN: "stop fetch_late answer_again answer_now quote_instead quote_sources search_more extraction_switch extraction_keep extraction_leave_out_* history_delete_confirmed "
        "plan_approve run_go_on",
        Action.SHARE_RUN: "link_make link_take_back_*",
        Action.KEEP_LABELS: "grade_* label_undo labels_export labels_import preset_apply_* preset_delete_* preset_save_* preset_rename_* preset_undo_*",
        Action.EVALUATE_LABELS: "evaluate_start",
        Action.EVALUATE_DATA_SETS: "drafts_start drafts_save draft_approve draft_drop draft_undo evaluate_start data_set_upload data_set_leave_out data_set_fetch answers_start *_labels answers_judge_again answers_claims answers_stop answers_continue answers_delete answers_undo",
        Action.CHANGE_EXPERIMENT: "evaluate_stop evaluate_continue evaluate_delete evaluate_undo evaluate_describe",
        Action.READ_LIBRARY: "download_document download_book",
        Action.CHANGE_LIBRARY: "make_collection drop_collection uploads add_files add_run add_addresses add_folder go_on "
        "stop_ingest reembed delete_document",
        Action.SET_PRICES: "prices_save prices_reset",
        Action.CLEAR_CACHE: "clear_cache",
        Action.SEE_STATE: "probe",
    }.items()
}
"""By the keys of buttons and uploads, `*` standing for what differs between those of one kind."""
ENDPOINTS: dict[Action, tuple[str, ...]] = {
    Action.ASK: ("POST /qa", "POST /query", "POST /research", "POST /search", "POST /{method}/query", "POST /v1/chat/completions", "POST /v1/responses"),
    Action.OPEN_RUN: ("GET /runs/{id}", "GET /runs/{id}/export", "GET /v1/responses/{id}", "GET /v1/responses/{id}/input_items",),
    Action.LIST_RUNS: ("GET /runs",),
    Action.SHARE_RUN: ("GET /runs/{id}/links", "POST /runs/{id}/links", "DELETE /runs/{id}/links/{link}"),
    Action.CHANGE_RUN: ("POST /runs/{id}/plan", "POST /runs/{id}/stop", "POST /runs/{id}/resume", "POST /runs/{id}/quote", "DELETE /runs/{id}", "DELETE /v1/responses/{id}", "POST /v1/responses/{id}/cancel"),
    Action.READ_LIBRARY: (
        "GET /collections", "GET /collections/{name}", "POST /collections/{name}/search",
        "GET /collections/{name}/documents", "GET /collections/{name}/documents/{document}",
        "GET /collections/{name}/documents/{digest}/file", "GET /ingests", "GET /ingests/{id}",
        "GET /ingests/{id}/events", "POST /v1/embeddings",
    ),
    Action.CHANGE_LIBRARY: (
        "PUT /collections/{name}", "DELETE /collections/{name}", "POST /collections/{name}/reembed",
        "PUT /collections/{name}/files/{file}", "POST /collections/{name}/documents",
        "DELETE /collections/{name}/documents/{document}", "POST /ingests/{id}/stop", "POST /ingests/resume",
    ),
    Action.NAME_SERVERS: ("POST /connect",),
    Action.USE_SESSION: (
        "POST /connect", "DELETE /connect", "GET /session", "DELETE /session", "GET /session/files",
        "PUT /session/files/{name}", "DELETE /session/files/{name}", "PUT /config",
    ),
    Action.SET_DEFAULTS: ("PUT /config",),
    Action.SEE_STATE: ("GET /health", "GET /metrics", "GET /config", "GET /v1/models", "GET /v1/models/{name}"),
}  # fmt: skip


def widgets() -> Iterator[tuple[str, str]]:
    """Where each button and upload of the pages stands, and its key as in `BUTTONS`; empty without one."""
    for path in (ROOT / "pages").rglob("*.py"):
        if path.name == "widgets.py":  # where every button is drawn, whatever its key
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(), attr=name)) if name in _WIDGETS:
                    key = next((one.value for one in node.keywords if one.arg == "key"), ast.Constant(""))
                    yield f"{path.name}:{node.lineno}", _pattern(key)


def _pattern(key: ast.expr) -> str:
    parts = key.values if isinstance(key, ast.JoinedStr) else [key]
    return "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in parts)


def table() -> str:
    rows = []
    for action in Action:
        rights = " | ".join(right(role, action) for role in Role)
        buttons = ", ".join(f"`{key}`" for key in BUTTONS.get(action, ()))
        endpoints = ", ".join(f"`{path}`" for path in ENDPOINTS.get(action, ()))
        rows.append(f"| {action} | {rights} | {buttons} | {endpoints} |\n")
    return HEAD + "".join(rows)


def write() -> None:
    text = DOCUMENT.read_text("utf-8")
    DOCUMENT.write_text(text.partition(HEAD)[0] + table(), "utf-8")
