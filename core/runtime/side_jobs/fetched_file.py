"""A file at an address that somebody typed, fetched under the rules of pages."""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from core.config.knobs import ReadKnobs
from core.errors import BadInput
from core.model import Unreadable
from core.runtime.engine import Engine

MEGABYTES = 50.0
"""The largest file."""
_SECONDS = 60.0


async def fetched_file(engine: Engine, address: str) -> tuple[str, bytes]:
    """The name and the bytes of a file of any kind at a public address.

    Raises:
        BadInput: when it cannot be fetched or is too large.
    """
    limits = ReadKnobs(page_timeout=_SECONDS, max_megabytes=MEGABYTES)
    try:
        document = await engine.web.fetch_any_type(address.strip(), limits)
    except Unreadable as why:
        raise BadInput(
            f"{address[:200]} cannot be fetched: {why.detail or why.reason}.",
            hint=f"Name a file of at most {MEGABYTES:g} MB at a public address, or upload it.",
        ) from why
    return PurePosixPath(unquote(urlsplit(document.url).path)).name, document.body
