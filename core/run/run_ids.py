"""Ids of runs, and read-only links in their place."""

import re
import secrets

from core.errors import NotAllowed

LINK_PREFIX = "link-"
_LINK = re.compile(rf"{LINK_PREFIX}[A-Za-z0-9_-]{{32}}")
"""The form of links, which are longer than any run id."""


def new_run_id() -> str:
    """Return an unguessable id of a run. A command line does not take it for an option."""
    while (run_id := secrets.token_urlsafe(16)).startswith("-"):
        pass
    return run_id


def is_link(run_id: str) -> bool:
    """Return whether this is a read-only link in place of a run id."""
    return _LINK.fullmatch(run_id) is not None


def refuse_link(run_id: str) -> None:
    """Raise NotAllowed if this is a link. A link allows only viewing and tuning."""
    if is_link(run_id):
        raise NotAllowed(
            "This is a read-only link: the run can be looked at and tuned, not changed, labelled, continued or exported.",
            hint="Ask whoever gave it to you, or ask the question yourself.",
        )
