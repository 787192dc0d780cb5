"""Structured logs: JSON lines with run ids, without secrets and page text.

A run's line has its counts and durations. Its question, pages and answer are only in the store, where their owner can
delete them.
"""

import base64
import json
import logging
import re
import sys
import time
import traceback
from typing import Any, TextIO

from cachetools import LRUCache
from pydantic import SecretStr

from core.config.settings import Settings
from core.run import events as e
from core.run.events import Record
from core.run.state import Run

log = logging.getLogger("openquery.runs")
SERVERS = ("streamlit", "uvicorn")
"""Loggers of the servers, which otherwise write plain lines."""

REMOVED = "[removed]"
MESSAGE_LIMIT = 300
"""The most characters of an exception's message, since some messages quote their input, which may be a page."""

_SHORTEST_SECRET = 6
"""Shorter values are not removed, because they would garble every line."""
_SECRETS = 1_000
_ONE_LINE = re.compile(r"\s+")
# The usual forms of keys and passwords, for secrets that `redact` does not know.
_LOOKS_SECRET = re.compile(
    r"(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}|\b(?:sk|pk|rk|key|ghp|xox[a-z]|jina|gsk|hf)[-_][\w-]{12,}"
    r"|(://)[^/\s@:]*:[^/\s@]+@|((?:api[_-]?key|token|password|secret|authorization)[\"']?\s*[=:]\s*[\"']?(?:(?:bearer|basic)\s+)?)[^\s\"',;&}]{6,}"
)

_secrets: LRUCache[str, None] = LRUCache(_SECRETS)


def redact(*secrets: SecretStr | str | None) -> None:
    """Remove these secrets from all later log lines. Each may be a comma-separated list."""
    for secret in secrets:
        plain = secret.get_secret_value() if isinstance(secret, SecretStr) else secret or ""
        for value in (part.strip() for part in plain.split(",")):
            if len(value) >= _SHORTEST_SECRET:
                _secrets[value] = None


def redact_settings(settings: Settings) -> None:
    """Remove the operator's secrets from all later log lines."""
    values = (getattr(settings, name) for name in type(settings).model_fields)
    redact(*(value for value in values if isinstance(value, SecretStr)))
    if settings.searxng_password:
        pair = f"{settings.searxng_username}:{settings.searxng_password.get_secret_value()}"
        redact(base64.b64encode(pair.encode()).decode())


def redacted(text: str) -> str:
    """Return `text` without known secrets and likely keys. Known secrets were passed to `redact`."""
    for secret in tuple(_secrets):
        text = text.replace(secret, REMOVED)
    return _LOOKS_SECRET.sub(lambda match: f"{next(filter(None, match.groups()), '')}{REMOVED}", text)


class Redact(logging.Filter):
    """Removes secrets from message, arguments, exception and stack of a record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove secrets from a record. Every record is kept."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = str(record.msg)
        record.msg, record.args = redacted(message), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = redacted(_traceback(record.exc_info[1]))
            record.exc_info = None
        if record.stack_info:
            record.stack_info = redacted(record.stack_info)
        return True


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON: timestamp, level, logger, message, run and counts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        fields: dict[str, object] = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= getattr(record, "fields", {})
        if record.exc_text:
            fields["error"] = record.exc_text
        return json.dumps(fields, ensure_ascii=False, default=str)


def configure(
    settings: Settings | None = None, *, level: int = logging.INFO, stream: TextIO | None = None
) -> None:
    """Write log lines as JSON to `stream` (stderr), and redact all handlers.

    Lines of the servers and warnings are included. A second call replaces the first.
    """
    if settings is not None:
        redact_settings(settings)
    own = logging.StreamHandler(stream or sys.stderr)
    own.setFormatter(JsonLines())
    own.set_name("openquery")
    own.setLevel(level)
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if handler.get_name() == "openquery"]:
        root.removeHandler(handler)
    root.addHandler(own)
    for handler in root.handlers:
        if not any(isinstance(log_filter, Redact) for log_filter in handler.filters):
            handler.addFilter(Redact())
    for name in ("core", "openquery"):  # servers keep their levels
        logging.getLogger(name).setLevel(level)
    for name, logger in list(root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and name.partition(".")[0] in SERVERS:
            write_through_root(logger)
    logging.captureWarnings(True)


def write_through_root(logger: logging.Logger) -> None:
    """Replace a logger's terminal output with the root's."""
    for handler in logger.handlers[:]:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            logger.removeHandler(handler)
    logger.propagate = True


def observe(record: Record | None, run: Run) -> None:
    """Log start, failures and end of a run. An observer for `RunRegistry.observers`."""
    match record.event if record else None:
        case e.RunStarted(knobs=knobs):
            _line(run, "run started", backend=knobs.search.backend.value, queries=knobs.plan.queries)
        case e.RunResumed():
            _line(run, "run resumed")
        case e.QueryFailed(message=message):
            _line(run, "search failed", level=logging.WARNING, reason=message)
        case e.BatchFailed(texts=texts, message=message):
            _line(run, "embedding failed", level=logging.WARNING, texts=texts, reason=message)
        case e.ModelRetry(phase=phase, retry=retry):
            _line(
                run,
                "model request waits",
                level=logging.WARNING,
                phase=phase.value,
                server=retry.server,
                reason=retry.reason,
                wait_seconds=round(retry.seconds, 1),
            )
        case e.RunDone() | e.RunStopped():
            _line(run, f"run {run.status.value}", **_counts(run))
        case e.RunFailed(part=part, message=message):
            _line(run, "run failed", level=logging.WARNING, part=part, reason=message, **_counts(run))
        case _:
            return


def _counts(run: Run) -> dict[str, Any]:
    usage = run.usage
    return {
        "seconds": round(run.seconds, 2),
        "hits": len(run.hits),
        "pages": len(run.pages),
        "skipped": len(run.skips),
        "suspect": sum(page.has_strong_sign for page in run.pages.values()),
        "passages": len(run.passages),
        "sources": len(run.sources),
        "tokens": usage.total_tokens if usage else 0,
    }


def _line(run: Run, message: str, *, level: int = logging.INFO, **fields: Any) -> None:
    plain = {name: redacted(value) if isinstance(value, str) else value for name, value in fields.items()}
    log.log(level, message, extra={"fields": {"run": run.id, **plain}})


def _traceback(error: BaseException) -> str:
    """Return the traceback of an exception and its causes. Messages are shortened."""
    parts: list[str] = []
    seen_errors: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen_errors:
        seen_errors.add(id(current))
        frames = "".join(traceback.format_tb(current.__traceback__)).rstrip()
        message = _ONE_LINE.sub(" ", str(current))
        parts.append(f"{frames}\n{type(current).__name__}: {message[:MESSAGE_LIMIT]}".strip())
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\ncaused by\n".join(parts)
