"""A worker process: reads jobs from stdin and writes outcomes to stdout, one frame each, until stdin ends.

Frames have no head, and a pickle as their body. A job is a function and its arguments. An outcome is a flag for
success, and the result or exception. Both ends are OpenQuery's own code and values. Documents of strangers are parsed
in other processes, which never send pickles (docs/decisions/0004).
"""

import os
import pickle
import signal
import sys
import traceback
from typing import Any

from core.adapters.workers.shared_files import StoredValue, read_value
from core.sandbox.frames import read_frame, reply_stream, write_frame


def main(niceness: int) -> None:
    """Serve jobs until stdin ends. `niceness` is added to the parent's."""
    requests, replies = sys.stdin.buffer, reply_stream()
    # Ctrl-C reaches the whole group, but the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(niceness)
    while (frame := read_frame(requests)) is not None:
        write_frame(replies, b"", _outcome(frame[1]))


def _outcome(request: bytes) -> bytes:
    try:
        job, arguments = pickle.loads(request)  # noqa: S301 - from our parent process
        return pickle.dumps((True, job(*map(_resolve, arguments))), protocol=5)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return pickle.dumps((False, error), protocol=5)


def _resolve(argument: Any) -> Any:
    return read_value(argument.folder) if isinstance(argument, StoredValue) else argument


if __name__ == "__main__":
    main(int(sys.argv[1]))
