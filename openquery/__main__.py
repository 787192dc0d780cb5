"""The console script `openquery`, and `python -m openquery`."""

import os
import signal
import sys

INTERRUPTED = 130
"""The exit code after Ctrl-C, as a shell reports it."""


def main() -> int:
    """Run the command of the process's arguments and return its exit code."""
    # Nothing has begun yet that would have to be ended.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from core.cli import main as command_line

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return command_line.main(harden=True)
    except KeyboardInterrupt:  # before the command line has begun
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
