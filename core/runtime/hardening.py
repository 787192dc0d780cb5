"""Protection of a program's own process against processes of the same user, such as a parser that was taken over."""

import logging

from core.config.settings import Settings
from core.sandbox import Confinement
from core.sandbox.process import hide_memory, memory_is_hidden

log = logging.getLogger(__name__)


def harden() -> None:
    """Hide the memory of this process, and take the keys out of its environment. Later settings still have them.

    Called by programs and by the lifespans of our servers when they start, not on import: it concerns the whole
    process.
    """
    try:
        hide_memory()
    except OSError as error:
        log.info("memory is not hidden from other processes of this user: %s", error.strerror)
    Settings.withdraw_keys()


def protection() -> Confinement:
    """What of `harden` is in force for this process; `missing` is what is not, with the reason."""
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
