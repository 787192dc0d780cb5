"""`python -m core`: the command line in a checkout. A question alone is asked, as by `openquery ask`."""

from __future__ import annotations

import sys

from core.cli.main import main
from core.runtime.hardening import harden

COMMANDS = ("ask", "check", "eval", "ingest", "serve", "--version")

if __name__ == "__main__":
    harden()
    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in COMMANDS:
        arguments = ["ask", *arguments]
    sys.exit(main(arguments, program="python -m core"))
