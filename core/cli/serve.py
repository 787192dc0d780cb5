"""`openquery` and `openquery serve`: the servers of the pages and of the HTTP API."""

import runpy
import sys

from core.config.settings import ROOT, Settings

API_PORT = 8000


def serve_pages(host: str | None, port: int | None) -> int:
    """Run Streamlit with `server.py` until it is stopped. Its other options are read from `.streamlit/config.toml`.

    Streamlit is run as a program, as `python -m streamlit` does, because the core does not import it.
    """
    values = {"--server.address": host, "--server.port": port}
    options = [f"{name}={value}" for name, value in values.items() if value is not None]
    # `server.py` prints the address in place of Streamlit's welcome, which asks a server for the public one.
    sys.argv = ["streamlit", "run", str(ROOT / "server.py"), "--logger.hideWelcomeMessage=true", *options]
    runpy.run_module("streamlit", run_name="__main__")
    return 0


def serve_api(host: str | None, port: int | None) -> int:
    """Run the HTTP API until it is stopped.

    Raises:
        OpenQueryError: when the settings are wrong.
    """
    import uvicorn

    from core.api import create_app
    from core.runtime.logs import configure

    configure(Settings.read())
    uvicorn.run(create_app(), host=host or "127.0.0.1", port=API_PORT if port is None else port)
    return 0
