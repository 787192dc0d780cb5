"""Protect this process against other processes of the same user, such as a compromised parser."""

import logging

from core.config.settings import Settings
from core.sandbox import Confinement
from core.sandbox.process import hide_memory, memory_is_hidden

log = logging.getLogger(__name__)


def harden() -> None:
    """Hide this process's memory, and remove keys from its environment. Later settings still have the keys.

    Programs and server lifespans call this when they start. It does not run on import, because it changes the whole
    process.
    """
    try:
        hide_memory()
    except OSError as error:
        log.info("memory is not hidden from other processes of this user: %s", error.strerror)
    Settings.withdraw_keys()


def protection() -> Confinement:
    """Return the protections of `harden` that are in force. `missing` lists the others with reasons."""
    hidden, withdrawn = "memory hidden from other processes of its user", "no keys in its environment"
    in_force, missing = [], []
    try:
        if memory_is_hidden():
            in_force.append(hidden)
        else:
            missing.append(f"{hidden}: it was not hidden when this process started")
    except OSError as error:
        missing.append(f"{hidden}: {error.strerror}")
    if exposed := Settings.exposed_keys():
        missing.append(f"{withdrawn}: {', '.join(exposed)}")
    else:
        in_force.append(withdrawn)
    return Confinement(tuple(in_force), tuple(missing))
