"""`openquery serve`: the HTTP API alone."""

import argparse
import logging

from core.cli.serve import INTERRUPTED, LOOPBACK, Interrupt, check_address
from core.config.settings import Settings

API_PORT = 8000


def serve_api(options: argparse.Namespace) -> int:
    """Run the HTTP API until it is stopped.

    Raises:
        OpenQueryError: when the settings are wrong.
    """
    import uvicorn

    from core.features.api import create_app
    from core.runtime.logs import configure

    configure(Settings.read())
    port = API_PORT if options.port is None else options.port
    host = options.host or LOOPBACK
    check_address(host, port)
    interrupt = Interrupt()
    uvicorn.run(create_app(), host=host, port=port, log_config=None, log_level=logging.INFO)
    return INTERRUPTED if interrupt.came else 0
