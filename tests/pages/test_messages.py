"""What Streamlit sends to the browser, under the configuration of the product."""

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import create_reference_msg, populate_hash_if_needed
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue


def element(fragment: str, position: int, size: int = 10) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.html.body = "x" * size
    message.delta.fragment_id = fragment
    message.metadata.delta_path.extend([0, position])
    populate_hash_if_needed(message)
    return message


def test_a_large_element_is_never_sent_as_a_reference() -> None:
    assert not element("table", 0, size=5_000_000).metadata.cacheable


def test_starting_fragment_drops_queued_elements_but_no_references() -> None:
    """Why decision 0025 has no references. If this fails, Streamlit has been mended, and the decision can go."""
    queue = ForwardMsgQueue()
    for position in range(3):
        queue.enqueue(element("table", position))
    queue.enqueue(create_reference_msg(element("table", 3)))
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["table"])
    assert [list(message.metadata.delta_path) for message in queue.flush()] == [[0, 3]]
