"""What waits to be sent when a fragment begins, of a fragment that stands inside it."""

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages.parts.serving.streamlit_patches import drop_nested_messages


def message(path: list[int], fragment: str, *, block: bool) -> ForwardMsg:
    sent = ForwardMsg()
    sent.metadata.delta_path.extend(path)
    sent.delta.fragment_id = fragment
    if block:
        sent.delta.add_block.vertical.SetInParent()
    else:
        sent.delta.new_element.text.body = "text"
    return sent


def waiting() -> ForwardMsgQueue:
    queue = ForwardMsgQueue()
    queue.enqueue(message([0, 1], "", block=True))
    queue.enqueue(message([0, 1, 0], "results", block=True))
    queue.enqueue(message([0, 1, 0, 0], "table", block=False))
    queue.enqueue(message([0, 1, 0, 1], "table", block=True))
    queue.enqueue(message([0, 1, 0, 1, 0], "table", block=False))
    queue.enqueue(message([0, 2], "answer", block=False))
    return queue


def paths(queue: ForwardMsgQueue) -> list[list[int]]:
    return [list(sent.metadata.delta_path) for sent in queue.flush()]


@pytest.mark.parametrize("patched", [True, False], ids=["without its container", "as Streamlit does it"])
def test_a_nested_fragment_is_not_sent_without_the_container_that_was_dropped(
    monkeypatch: pytest.MonkeyPatch, patched: bool
) -> None:
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)  # and back
    if patched:
        drop_nested_messages()
    queue = waiting()
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["results"])
    if patched:
        assert paths(queue) == [[0, 1], [0, 2]]
    else:
        assert [0, 1, 0, 0] in paths(queue), "Streamlit drops them by itself: the patch can go"
    queue = waiting()
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["table"])
    assert paths(queue) == [[0, 1], [0, 1, 0], [0, 2]]
