"""What the process says about itself: one line of JSON an event, with run ids, without page text or keys.

A run's line tells how far it came and how long it took. Its question, its pages and its answer are in the
store, where its owner can delete them, and not in logs, which go elsewhere.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
import time
import traceback
from collections import OrderedDict
from typing import Any, TextIO

from pydantic import SecretStr

from core.config.settings import Settings
from core.run import events as e
from core.run.events import Record
from core.run.state import Run

log = logging.getLogger("openquery.runs")

GONE = "[removed]"
LONGEST = 300
"""Characters of an exception's own words: some quote what they failed at, which may be a page."""

_SHORTEST = 6
"""A secret below this length is no secret; removing it would garble every line."""
_MOST_SECRETS = 1_000
_ONE_LINE = re.compile(r"\s+")
# What keys and passwords look like, for those that nobody told us of.
_LOOKS_SECRET = re.compile(
    r"(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}|\b(?:sk|pk|rk|key|ghp|xox[a-z]|jina|gsk|hf)[-_][\w-]{12,}"
    r"|(://)[^/\s@:]*:[^/\s@]+@|((?:api[_-]?key|token|password|secret|authorization)[\"']?\s*[=:]\s*[\"']?(?:(?:bearer|basic)\s+)?)[^\s\"',;&}]{6,}"
)

_secrets: OrderedDict[str, None] = OrderedDict()


def protect(*secrets: SecretStr | str | None) -> None:
    """Keep these out of every log line from now on, as they are and as basic authentication sends them."""
    for secret in secrets:
        plain = secret.get_secret_value() if isinstance(secret, SecretStr) else secret or ""
        for value in (part.strip() for part in plain.split(",")):
            if len(value) >= _SHORTEST:
                _secrets[value] = None
                _secrets.move_to_end(value)
    while len(_secrets) > _MOST_SECRETS:
        _secrets.popitem(last=False)


def protect_settings(settings: Settings) -> None:
    """Protect every secret that the operator set."""
    values = (getattr(settings, name) for name in type(settings).model_fields)
    protect(*(value for value in values if isinstance(value, SecretStr)))
    if settings.searxng_password:
        pair = f"{settings.searxng_username}:{settings.searxng_password.get_secret_value()}"
        protect(base64.b64encode(pair.encode()).decode())


def redacted(text: str) -> str:
    """`text` without anything that is protected or looks like a key."""
    for secret in tuple(_secrets):
        text = text.replace(secret, GONE)
    return _LOOKS_SECRET.sub(lambda found: f"{next(filter(None, found.groups()), '')}{GONE}", text)


class Redact(logging.Filter):
    """Takes secrets out of a record: out of its message, its arguments, its exception and its stack."""

    def filter(self, record: logging.LogRecord) -> bool:
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


class Lines(logging.Formatter):
    """One line of JSON for a record: time, level, who says it, what, and the run it is about."""

    def format(self, record: logging.LogRecord) -> str:
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


def configure(settings: Settings, *, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Write OpenQuery's log lines to `stream` (stderr), and redact what any other handler writes too.

    Calling it again replaces what it did before.
    """
    protect_settings(settings)
    own = logging.StreamHandler(stream or sys.stderr)
    own.setFormatter(Lines())
    own.set_name("openquery")
    own.setLevel(level)
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if handler.get_name() == "openquery"]:
        root.removeHandler(handler)
    root.addHandler(own)
    for handler in root.handlers:
        if not any(isinstance(one, Redact) for one in handler.filters):
            handler.addFilter(Redact())
    for name in ("core", "openquery"):
        logging.getLogger(name).setLevel(level)


def watch(record: Record | None, run: Run) -> None:
    """A listener for `Runs.watches`: a line when a run begins, when something in it breaks, and when it ends."""
    match record.event if record else None:
        case e.RunStarted(knobs=knobs):
            _line(run, "run started", backend=knobs.search.backend.value, queries=knobs.plan.queries)
        case e.RunResumed():
            _line(run, "run goes on")
        case e.QueryFailed(message=message):
            _line(run, "search broke", level=logging.WARNING, why=message)
        case e.BatchFailed(texts=texts, message=message):
            _line(run, "embedding broke", level=logging.WARNING, texts=texts, why=message)
        case e.RunDone() | e.RunStopped():
            _line(run, f"run {run.status.value}", **_figures(run))
        case e.RunFailed(part=part, message=message):
            _line(run, "run failed", level=logging.WARNING, part=part, why=message, **_figures(run))
        case _:
            return


def _figures(run: Run) -> dict[str, Any]:
    usage = run.answer.usage if run.answer else None
    return {
        "seconds": round(run.seconds, 2),
        "hits": len(run.hits),
        "pages": len(run.pages),
        "skipped": len(run.skips),
        "suspect": sum(page.suspect for page in run.pages.values()),
        "passages": len(run.passages),
        "sources": len(run.sources),
        "tokens": usage.prompt_tokens + usage.completion_tokens if usage else 0,
    }


def _line(run: Run, said: str, *, level: int = logging.INFO, **fields: Any) -> None:
    plain = {name: redacted(value) if isinstance(value, str) else value for name, value in fields.items()}
    log.log(level, said, extra={"fields": {"run": run.id, **plain}})


def _traceback(error: BaseException) -> str:
    """Where an exception came from, and those behind it, each with the beginning of its words."""
    parts: list[str] = []
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        frames = "".join(traceback.format_tb(at.__traceback__)).rstrip()
        words = _ONE_LINE.sub(" ", str(at))
        parts.append(f"{frames}\n{type(at).__name__}: {words[:LONGEST]}".strip())
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "\nbecause of\n".join(parts)
