"""Patches of Streamlit's private parts, each with its reason and test.

The test fails when its patch is no longer needed. All patches are for the version that `requirements.txt`
names. No public function does the same.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from itertools import chain
from math import inf
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

import streamlit.logger
from streamlit import config, get_option
from streamlit.cursor import Cursor, SparseList
from streamlit.delta_generator import DeltaGenerator
from streamlit.delta_generator_singletons import context_dg_stack, get_default_dg_stack_value
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import FragmentStorage, MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequest,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx
from streamlit.runtime.state.safe_session_state import SafeSessionState

from core.runtime.logs import write_through_root
from pages.parts.serving.script_turns import ScriptTurns

# --- where a drawing of the whole page begins (decision 0037) -----------------------------------------------
# Upstream: github.com/streamlit/streamlit/pull/8798 sets the containers back after `st.rerun` only.
# Test: tests/pages/test_page_root.py


def draw_from_the_root() -> None:
    """Draw into the page itself, not into the last fragment's container."""
    context_dg_stack.set(get_default_dg_stack_value())


# --- log lines ----------------------------------------------------------------------------------------------
# Upstream: no setting turns off the handler of each logger. `logger.messageFormat` cannot write JSON.
# Test: tests/runtime/test_logs.py


def log_through_root() -> None:
    """Write the server's log lines through the root's handlers. One stream then has one format.

    They have Streamlit's level, because uvicorn has set another by now.
    """
    streamlit.logger.setup_formatter = write_through_root
    streamlit.logger.update_formatter()
    streamlit.logger.set_log_level(get_option("logger.level"))


# --- the folder named pages ---------------------------------------------------------------------------------
# Upstream: github.com/streamlit/streamlit/pull/10276 keeps the flag for apps without `st.navigation`.
# Test: tests/browser/test_serving.py, the deep link


def ignore_pages_folder() -> None:
    """Serve `app.py` for every page from the first request on.

    Until it has run once, Streamlit takes the scripts of a folder named `pages` for pages: a deep link to a
    server that has just started would be drawn without `app.py`.
    """
    PagesManager.uses_pages_directory = False


# --- reports of a script thread that has ended (decision 0038) ----------------------------------------------
# Upstream: no issue is known. github.com/streamlit/streamlit/pull/4557 added the replacement of an ended
# thread.
# Test: tests/pages/test_script_thread_order.py

_create_scriptrunner = AppSession._create_scriptrunner


def keep_reports() -> None:
    """Make Streamlit take an ended thread's reports before it starts another.

    Streamlit takes reports of the latest thread alone. A request for a fragment replaces a thread that has
    ended while its last reports still wait in the event loop: they would be dropped, and a drawn page would
    never be sent.
    """
    AppSession._create_scriptrunner = _create_after_reports  # type: ignore[method-assign, assignment]


def _create_after_reports(session: AppSession, request: RerunData) -> None:
    if session._scriptrunner is None:
        _create_scriptrunner(session, request)
    else:
        session._event_loop.call_soon(_request_again, session, request)


def _request_again(session: AppSession, request: RerunData) -> None:
    """Send a request to the session's thread, or start a thread.

    The session has no thread after its last report was taken.
    """
    gone = request.fragment_id and not session.has_fragment(request.fragment_id)
    if gone or session._state == AppSessionState.SHUTDOWN_REQUESTED:
        return
    runner = session._scriptrunner
    if runner is None or not runner.request_rerun(request):
        _create_after_reports(session, request)


# --- a fragment that is drawn again by another ----------------------------------------------------------------
# Upstream: `st.rerun` takes the key of a fragment in callbacks alone. Test: tests/pages/test_nested_fragments.py


def rerun_fragment(key: str) -> None:
    """Draw a fragment again after the current fragment. A drawing of the whole page has both."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None or not context.fragment_ids_this_run:
        return
    context.script_requests.request_rerun(
        RerunData(
            query_string=context.query_string,
            page_script_hash=context.page_script_hash,
            fragment_id_queue=context.fragment_storage.resolve_target(key),
            is_fragment_scoped_rerun=True,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )


# --- how many scripts are run at once (decision 0079) ---------------------------------------------------------
# Upstream: each session has a thread, and nothing limits how many of them run. Test: tests/pages/test_script_turns.py

_take_request = ScriptRequests.on_scriptrunner_ready
_turns = ScriptTurns()
_held = threading.local()
"""The turn of a script's thread."""


def run_scripts_in_turns() -> None:
    """Let one script run at a time, in the order of their requests."""
    ScriptRequests.on_scriptrunner_ready = _take_in_turn  # type: ignore[method-assign, assignment]


def _take_in_turn(requests: ScriptRequests) -> ScriptRequest:
    """Take a session's request when its turn has come. Requests that come meanwhile are one with it."""
    _turns.end(getattr(_held, "turn", None))
    _held.turn = _turns.begin() if requests._state is ScriptRequestType.RERUN else None
    request = _take_request(requests)
    if request.type is not ScriptRequestType.RERUN:
        _turns.end(_held.turn)
    return request


# --- callbacks that another request interrupts ------------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_callbacks.py

_call_callbacks = SafeSessionState.on_script_will_rerun


def finish_callbacks() -> None:
    """Run the callbacks of a request to their end, also if the next request waits.

    Streamlit ends a callback at its first look at the session's state, and takes the changed values for seen: a number
    that is typed right before a click would be lost.
    """
    SafeSessionState.on_script_will_rerun = _finish_callbacks  # type: ignore[method-assign, assignment]


def _finish_callbacks(state: SafeSessionState, *arguments: Any, **more: Any) -> None:
    interrupt = state._yield_callback
    object.__setattr__(
        state, "_yield_callback", lambda: None
    )  # its own __setattr__ sets the session's values
    try:
        _call_callbacks(state, *arguments, **more)
    finally:
        object.__setattr__(state, "_yield_callback", interrupt)


# --- fragments that are drawn with another (decision 0079) ----------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_followers.py

_order_fragments = MemoryFragmentStorage.order_fragment_ids
_followers: WeakKeyDictionary[FragmentStorage, Callable[[str], Iterable[str]]] = WeakKeyDictionary()
"""By session: returns the keys of the fragments that follow a fragment, by its key."""


def draw_followers() -> None:
    """Draw the followers of a requested fragment in the same run of the script.

    `st.rerun` in a callback ends that run, and begins another for the fragments that it names.
    """
    MemoryFragmentStorage.order_fragment_ids = _order_with_followers  # type: ignore[method-assign, assignment]


def set_followers(followers: Callable[[str], Iterable[str]]) -> None:
    """Set which fragments are drawn with a requested one, by their keys. The session's next page replaces them."""
    if context := get_script_run_ctx():
        _followers[context.fragment_storage] = followers


def is_drawn_now(keys: Iterable[str]) -> bool:
    """Whether this run of the script draws all fragments of these keys after its callbacks."""
    context = get_script_run_ctx()
    if context is None:
        return False
    drawn = set(context.fragment_ids_this_run or ())
    return drawn.issuperset(context.fragment_storage.resolve_target(list(keys)))


def script_run() -> object:
    """Return an object that each run of the script has for itself, or None outside of one."""
    context = get_script_run_ctx()
    return context and context.parallel_coordinator


def _order_with_followers(storage: MemoryFragmentStorage, fragment_ids: list[str]) -> list[str]:
    followers = _followers.get(storage)
    if followers and len(fragment_ids) == 1 and (key := storage._target_key_by_id.get(fragment_ids[0])):
        following = (storage._ids_by_target_key.get(name, ()) for name in followers(key))
        fragment_ids = list(dict.fromkeys(chain(fragment_ids, *following)))
    return _order_fragments(storage, fragment_ids)


# --- messages that wait when a fragment begins (decision 0025) ----------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_waiting_messages.py

_clear_queue = ForwardMsgQueue.clear


def keep_waiting_messages() -> None:
    """Send all queued messages when a fragment begins.

    Streamlit drops the messages that the last drawing of the page sent of that fragment, and keeps the
    message that this drawing has ended. The browser then removes the fragment as no longer drawn, the
    following elements move up, and the next element has no container: "'setIn' cannot be called on an
    ElementNode", and nothing more is drawn.
    """
    ForwardMsgQueue.clear = _clear_for_page_alone  # type: ignore[method-assign, assignment]


def _clear_for_page_alone(
    queue: ForwardMsgQueue,
    retain_lifecycle_msgs: bool = False,
    fragment_ids_this_run: list[str] | None = None,
) -> None:
    if fragment_ids_this_run is None:
        _clear_queue(queue, retain_lifecycle_msgs)
    else:
        queue._delta_index_map = {}  # the fragment's messages follow all queued messages


# --- the request of a timer (decision 0085) -----------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_timer_requests.py


def keep_values_from_timers() -> None:
    """Draw a fragment for its timer with the session's widget values.

    The browser sends the values of all its widgets with every request. A timer's values may be older than a
    callback's changes: the session would take them for changes by a person and set the values back.
    """
    app_session.RerunData = _without_timer_values  # type: ignore[attr-defined, assignment]


def _without_timer_values(**fields: Any) -> RerunData:
    if fields.get("is_auto_rerun"):
        fields["widget_states"] = None
    return RerunData(**fields)


# --- the value of one widget ----------------------------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_widget_values.py

_copied_state = SafeSessionState.filtered_state


def look_up_widget_values() -> None:
    """Let sliders and text fields look up their value without copies.

    Streamlit copies the state of all widgets for each. A page with n widgets makes n copies of n values: half
    of the time in which Research is drawn.
    """
    SafeSessionState.filtered_state = property(_StateByKey)  # type: ignore[method-assign, assignment]


class _StateByKey(Mapping[str, Any]):
    """`SafeSessionState.filtered_state` with lookup by key. It is copied only if read as a whole."""

    def __init__(self, session: SafeSessionState) -> None:
        self._session = session

    def __getitem__(self, key: str) -> Any:
        with self._session._lock:
            return self._session._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_copied_state.__get__(self._session))

    def __len__(self) -> int:
        return len(_copied_state.__get__(self._session))


# --- the theme in a message -----------------------------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_theme_messages.py

_read_theme = app_session._populate_theme_msg


def keep_theme() -> None:
    """Copy the theme into the first message of a drawing.

    Streamlit reads some 200 settings for each, also of a fragment.
    """
    app_session._populate_theme_msg = _copy_theme


def _copy_theme(msg: CustomThemeConfig, section: str = "theme") -> None:
    msg.MergeFrom(_theme(section))


@cache
def _theme(section: str) -> CustomThemeConfig:
    message = CustomThemeConfig()
    _read_theme(message, section)
    return message


# --- the lock of the options ----------------------------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_option_lock.py

_read_locked = config.get_option


def read_options_without_lock() -> None:
    """Read Streamlit's options without its lock.

    Every message of every session reads an option. A thread that waits for the lock gives up the interpreter, so
    with many sessions that draw, and a run that computes, each message waits for a turn.
    """
    config.get_option = _read_option


def _read_option(key: str) -> Any:
    """Return an option. While an edited config.toml is parsed, it may be the default."""
    option = (config._config_options or {}).get(key)
    return option.value if option else _read_locked(key)


# --- copies of nested containers ------------------------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_nested_fragments.py


def copy_containers_once() -> None:
    """Copy each container around a fragment only once, and its cursor without a search for what to copy.

    Streamlit copies the containers around each of them again: n² / 2 copies for a fragment in n containers,
    whenever it is drawn. The general copy of their cursors was a tenth of a move of a slider.
    """
    DeltaGenerator.__deepcopy__ = _copy_container  # type: ignore[method-assign, assignment]
    Cursor.__deepcopy__ = _copy_cursor  # type: ignore[attr-defined]


def _copy_cursor(cursor: Cursor, memo: dict[int, Any]) -> Cursor:
    copied = memo[id(cursor)] = object.__new__(type(cursor))
    copied.__dict__.update(cursor.__dict__)  # numbers, and tuples of numbers
    if len(cursor._transient_elements):
        copied._transient_elements = deepcopy(cursor._transient_elements, memo)
    else:  # nearly always: the general copy of an empty list takes longer than all the rest
        copied._transient_elements = SparseList()
    return copied


def _copy_container(container: DeltaGenerator, memo: dict[int, Any]) -> DeltaGenerator:
    copied: DeltaGenerator = object.__new__(DeltaGenerator)
    memo[id(container)] = copied
    copied.__dict__.update(container.__dict__)  # the rest cannot be changed
    copied._provided_cursor = _copied(container._cursor, memo)
    copied._parent = _copied(container._parent, memo)
    return copied


def _copied(original: Any, memo: dict[int, Any]) -> Any:
    """Return the copy of a cursor or container, made once. `deepcopy` would take longer to find what to call."""
    if original is None:
        return None
    return memo.get(id(original)) or original.__deepcopy__(memo)


# --- downloads ------------------------------------------------------------------------------------------------
# Upstream: no issue is known. Test: tests/pages/test_kept_downloads.py


def keep_downloads(seconds: float = 20) -> None:
    """Keep downloads for some seconds after their buttons were drawn anew.

    Whenever a script of any session ends, Streamlit removes the functions that make files, also before the browser has
    the new button, and files at the second time. A click then came to nothing while a fragment was drawn by its timer,
    or while other people used the server.
    """
    remove = MediaFileManager.remove_orphaned_files
    removed_at: WeakKeyDictionary[MediaFileManager, float] = WeakKeyDictionary()
    orphaned_before: WeakKeyDictionary[MediaFileManager, set[str]] = WeakKeyDictionary()
    turn = threading.Lock()

    def remove_now_and_then(files: MediaFileManager) -> None:
        with turn:
            if monotonic() - removed_at.get(files, -inf) < seconds:
                return
            removed_at[files] = monotonic()
            remove(files)

    def remove_if_still_orphaned(files: MediaFileManager) -> None:
        places = files._files_by_session_and_coord.values()
        orphaned = files._deferred_callables.keys() - set(chain.from_iterable(map(dict.values, places)))
        removed = orphaned & orphaned_before.get(files, set())
        for file_id in removed:
            files._drop_deferred_id(file_id)
        orphaned_before[files] = orphaned - removed

    MediaFileManager.remove_orphaned_files = remove_now_and_then  # type: ignore[method-assign, assignment]
    MediaFileManager._remove_orphaned_deferred_callables = remove_if_still_orphaned  # type: ignore[method-assign, assignment]
