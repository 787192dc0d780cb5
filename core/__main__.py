"""`python -m core`: the command line in a checkout, which does not serve the pages."""

import sys

from core.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["ask"], program="python -m core", harden=True))
