"""The console script `openquery`, and `python -m openquery`."""

import sys

from core.cli import main as command_line
from core.runtime.hardening import harden


def main() -> int:
    """Run the command of the process's arguments and return its exit code."""
    harden()
    return command_line.main()


if __name__ == "__main__":
    sys.exit(main())
