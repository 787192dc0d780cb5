"""What waits to be sent to the browser when a fragment begins."""

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages.parts.serving.streamlit_patches import keep_waiting_messages


def message(path: list[int], fragment: str, *, block: bool) -> ForwardMsg:
    sent = ForwardMsg()
    sent.metadata.delta_path.extend(path)
    sent.delta.fragment_id = fragment
    if block:
        sent.delta.add_block.vertical.SetInParent()
    else:
        sent.delta.new_element.text.body = "text"
    return sent


def drawn_page() -> ForwardMsgQueue:
    """Return the queue of a page that was drawn with a fragment in a fragment, and of which nothing was sent."""
    queue = ForwardMsgQueue()
    queue.enqueue(message([0, 1], "", block=True))
    queue.enqueue(message([0, 1, 0], "results", block=True))
    queue.enqueue(message([0, 1, 0, 0], "table", block=True))
    queue.enqueue(message([0, 1, 0, 0, 0], "table", block=False))
    queue.enqueue(message([0, 2], "answer", block=False))
    ended = ForwardMsg()
    ended.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    queue.enqueue(ended)
    return queue


def sent(queue: ForwardMsgQueue) -> list[list[int]]:
    return [list(one.metadata.delta_path) for one in queue.flush()]


@pytest.mark.parametrize("fragments", [["results"], ["table"], ["answer", "results"]])
@pytest.mark.parametrize("patched", [True, False], ids=["kept", "as Streamlit does it"])
def test_a_page_is_sent_whole_before_its_fragments(
    monkeypatch: pytest.MonkeyPatch, patched: bool, fragments: list[str]
) -> None:
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)  # and back
    if patched:
        keep_waiting_messages()
    queue, whole = drawn_page(), sent(drawn_page())
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=fragments)
    queue.enqueue(message([0, 1, 0], "results", block=True))
    if patched:
        assert sent(queue) == [*whole, [0, 1, 0]]
    else:
        assert sent(queue) != [*whole, [0, 1, 0]], "Streamlit keeps it by itself: the patch can go"


def test_an_interrupted_page_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)  # and back
    keep_waiting_messages()
    queue = drawn_page()
    queue.clear(retain_lifecycle_msgs=True)
    (left,) = queue.flush()
    assert left.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
