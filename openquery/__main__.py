"""The console script `openquery`, and `python -m openquery`."""

import sys

from core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
