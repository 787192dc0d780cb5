"""What waits to be sent when a fragment begins, of a fragment that stands inside it, and the containers around it."""

from copy import deepcopy

import pytest
from streamlit.cursor import RunningCursor
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages.parts.serving.streamlit_patches import copy_containers_once, drop_nested_messages


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


@pytest.mark.parametrize("patched", [True, False], ids=["once", "as Streamlit does it"])
def test_a_container_is_copied_once_with_the_containers_around_it(
    monkeypatch: pytest.MonkeyPatch, patched: bool
) -> None:
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", DeltaGenerator.__deepcopy__)  # and back
    if patched:
        copy_containers_once()
    parent = None
    containers: list[DeltaGenerator] = []
    for depth in range(6):
        cursor = RunningCursor(root_container=0, parent_path=(0,) * depth)
        parent = DeltaGenerator(root_container=0, cursor=cursor, parent=parent, block_type="flex_container")
        containers.append(parent)
    copied = deepcopy(tuple(containers))
    for container, original in zip(copied, containers, strict=True):
        assert container is not original
        assert container._cursor is not original._cursor
        assert container._get_delta_path_str() == original._get_delta_path_str()
        assert container._block_type == original._block_type
    parents = [container._parent for container in copied[1:]]
    if patched:
        assert all(parent is around for parent, around in zip(parents, copied, strict=False))
    else:
        assert parents[0] is not copied[0], "Streamlit copies each of them once: the patch can go"
