"""Protection of a program's own process against processes of the same user, such as a parser that was taken over."""

from __future__ import annotations

import logging

from core.config.settings import Settings
from core.sandbox.process import hide_memory

log = logging.getLogger(__name__)


def harden() -> None:
    """Hide the memory of this process, and take the keys out of its environment. Later settings still have them.

    Called by programs when they start, not on import: it concerns the whole process.
    """
    try:
        hide_memory()
    except OSError as error:
        log.info("memory is not hidden from other processes of this user: %s", error.strerror)
    Settings.withdraw_keys()
