"""The notice of what a document has and was not read as text."""

from collections import Counter

from core.text.sanitize import pluralize


def unread_notice(counts: Counter[str], *more: str) -> str:
    """Return the notice of unread parts, by their names in the singular, or "". `more` are further notices."""
    parts = [_counted(count, *name.partition(" with ")) for name, count in counts.items() if count > 0]
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
    unread = f"{listed} {'was' if sum(counts.values()) == 1 else 'were'} not read" if parts else ""
    return "; ".join(filter(None, (unread, *more)))


def _counted(count: int, noun: str, *attribute: str) -> str:
    return "".join((pluralize(count, noun), *attribute))
