"""Read-only links to runs, a table of the run store. It has digests of links, not the links."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from core.errors import BadInput
from core.run.run_ids import LINK_PREFIX
from core.storage.run_store import RunStore

LINK_LIMIT = 100
"""The most links of one run."""
_RANDOM_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLink:
    """A link that is not revoked."""

    id: str
    """The name of the link for the owner of the run. It opens nothing."""
    made: str
    """The time of creation in ISO 8601."""


class RunLinks:
    """The links in a run store.

    Every method may be called from any thread, and raises StoreFailed when the store cannot be used. Each look-up reads
    the file, so a revoked link is invalid in every process.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def make(self, run_id: str) -> tuple[str, RunLink]:
        """Create a link to a stored run. Returns the link, which is not stored, and its entry in the owner's list.

        Raises:
            BadInput: when the run is not stored, or has too many links.
        """
        link = LINK_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        digest, created = _digest(link), datetime.now(UTC).isoformat(timespec="seconds")
        self._store.flush()
        with self._store.transaction("The link was not made") as db:
            if not db.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone():
                raise BadInput("This run is not stored, so no link can lead to it.", hint="Ask again.")
            (count,) = db.execute("SELECT count(*) FROM run_links WHERE run = ?", (run_id,)).fetchone()
            if count >= LINK_LIMIT:
                raise BadInput(f"This run has {LINK_LIMIT} links already.", hint="Take some of them back.")
            db.execute("INSERT INTO run_links VALUES (?, ?, ?)", (digest, run_id, created))
        return link, RunLink(id=digest[:16], made=created)

    def of(self, run_id: str) -> tuple[RunLink, ...]:
        """Return the links to a run, oldest first."""
        with self._store.transaction("The links cannot be read") as db:
            rows = db.execute(
                "SELECT substr(digest, 1, 16), made FROM run_links WHERE run = ? ORDER BY made", (run_id,)
            ).fetchall()
        return tuple(RunLink(id=link_id, made=created) for link_id, created in rows)

    def run_of(self, link: str) -> str:
        """Return the id of the link's run, or "". It is "" for an unknown or revoked link."""
        with self._store.transaction("The link cannot be read") as db:
            row = db.execute("SELECT run FROM run_links WHERE digest = ?", (_digest(link),)).fetchone()
        return str(row[0]) if row else ""

    def take_back(self, run_id: str, link_id: str) -> bool:
        """Revoke the run's link with this `RunLink.id`. Returns False if it does not exist."""
        with self._store.transaction("The link was not taken back") as db:
            return bool(
                db.execute(
                    "DELETE FROM run_links WHERE run = ? AND substr(digest, 1, 16) = ?", (run_id, link_id)
                ).rowcount
            )


def _digest(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()
