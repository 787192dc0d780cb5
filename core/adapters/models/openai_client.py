"""A connection to an OpenAI-compatible server that sends what is meant to be sent, and errors in words."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.errors import ChatFailed
from core.text.sanitize import one_line

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI, OpenAIError

_SENT = frozenset(
    ("host", "authorization", "content-type", "content-length", "transfer-encoding", "accept", "connection")
)
"""Request headers. The SDK's own (platform, organisation and headers from the environment) are left out."""


def plain_key(api_key: SecretStr | None) -> str:
    return api_key.get_secret_value().strip() if api_key else ""


def host_of(base_url: str) -> str:
    """Host and port of an address, without any credentials in it."""
    host = re.match(r"[a-z]+://(?:[^/?#]*@)?([^/?#]+)", base_url.strip(), re.IGNORECASE)
    return host.group(1).lower() if host else one_line(base_url.rpartition("@")[2], 60)


def connected(base_url: str, api_key: SecretStr | None, timeout: float) -> AsyncOpenAI:
    """A client that follows no redirects, uses no proxies of the environment and retries nothing by itself.

    `timeout` is the longest wait in seconds for a sign of life. Importing the package takes about a
    second, so call this off the event loop.

    Raises:
        ChatFailed: when the address or the key cannot be one.
    """
    import httpx2
    import openai

    key = plain_key(api_key)
    if not (key.isascii() and key.isprintable()):
        raise ChatFailed(
            "The key holds characters that no key has.", hint="Copy it again, without line breaks or blanks."
        )

    async def only_ours(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name not in _SENT]:
            del request.headers[name]
        request.headers["user-agent"] = "OpenQuery"
        request.headers["accept-encoding"] = "identity"  # so that what is counted is what arrived
        request.headers.pop("authorization", None)
        if key:
            request.headers["authorization"] = f"Bearer {key}"

    try:
        _ = urlsplit(base_url).port  # raises ValueError for a port that cannot be one
        return openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                timeout=httpx2.Timeout(timeout, connect=min(timeout, 10.0)),
                follow_redirects=False,
                trust_env=False,
                event_hooks={"request": [only_ours]},
            ),
        )
    except (httpx2.InvalidURL, ValueError) as error:
        raise ChatFailed(
            f"{one_line(base_url, 100)} is not an address.",
            hint="Set the base URL to something like https://openrouter.ai/api/v1.",
        ) from error


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """The seconds that `Retry-After` asks for, given as a number or as a date; None without a usable one."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def provider_text(body: Any, key: str) -> str:
    """What a provider says went wrong, on one line and without the key; empty when it says nothing."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        said = inner.get("message") if isinstance(inner, dict) else inner
        raw = inner.get("metadata") if isinstance(inner, dict) else None
        if isinstance(raw, dict) and isinstance(raw.get("raw"), str):  # OpenRouter: the upstream's own words
            said = f"{said}: {raw['raw']}"
        said = said if isinstance(said, str) else body.get("detail") or body.get("message") or ""
    else:
        said = body if isinstance(body, str) and "<" not in body[:200] else ""
    said = said if isinstance(said, str) else ""
    return one_line(said.replace(key, "[key]") if key else said, 300).rstrip(".")


def broken(error: OpenAIError, *, model: str, base_url: str, key: str, timeout: float) -> ChatFailed:
    """The SDK's error as ours: what happened, and what a person can do."""
    import openai

    host = host_of(base_url)
    if isinstance(error, openai.APIStatusError):
        return _refused(error, model=model, host=host, key=key)
    if isinstance(error, openai.APITimeoutError):
        return ChatFailed(
            f"{host} did not answer within {timeout:g} seconds.",
            hint="Ask again, pick a faster model, or raise OPENQUERY_MODEL_TIMEOUT.",
        )
    cause = provider_text(str(error.__cause__ or error), key)
    return ChatFailed(f"Nothing answers at {host} ({cause}).", hint="Is it running? Check the base URL.")


def _refused(error: openai.APIStatusError, *, model: str, host: str, key: str) -> ChatFailed:
    said = provider_text(error.body, key)
    quoted = f": {said}" if said else ""
    variable = "OPENROUTER_API_KEY" if "openrouter" in host else "OPENAI_API_KEY"
    lower = said.lower()
    match error.status_code:
        case 401 if not key:
            return ChatFailed(f"{host} asks for a key.", hint=f"Type one on the page, or set {variable}.")
        case 401:
            return ChatFailed(
                f"{host} refused the key{quoted}.", hint=f"Check the key you typed, or {variable}."
            )
        case 402 | 429 if error.status_code == 402 or error.code == "insufficient_quota":
            return ChatFailed(
                f"No credit left at {host}{quoted}.", hint="Add credit to that account, or pick a free model."
            )
        case 429:
            wait = wait_asked(error.response.headers)
            when = f"in {wait:.0f} seconds" if wait else "in a minute"
            return ChatFailed(
                f"{host} takes no more requests for now{quoted}.",
                hint=f"Ask again {when}, or pick another model.",
            )
        case 403:
            return ChatFailed(
                f"{host} does not allow this{quoted}.",
                hint="Check what the key may do, or pick another model.",
            )
        case 404 | 400 if _unknown_model(error, lower):
            return ChatFailed(
                f"The model {model} does not exist at {host}{quoted}.", hint="Pick another model."
            )
        case 404 | 405:
            return ChatFailed(
                f"There is no chat at {host} under this address ({error.status_code}){quoted}.",
                hint="Check the base URL; most end in /v1.",
            )
        case 400 | 413 | 422 if error.status_code == 413 or ("context" in lower or "too long" in lower):
            return ChatFailed(
                f"The sources are too long for {model}{quoted}.",
                hint="Put fewer or smaller passages in the context, or pick a model that reads more.",
            )
        case status if 300 <= status < 400:
            return ChatFailed(
                f"{host} sends requests elsewhere ({status}), which is not followed.",
                hint="Set the base URL to the final address.",
            )
        case status if status >= 500:
            return ChatFailed(
                f"{host} failed ({status}){quoted}.", hint="Ask again in a moment, or pick another model."
            )
        case status:
            return ChatFailed(
                f"{host} refused the request ({status}){quoted}.",
                hint="Pick another model, or check the base URL.",
            )


def _unknown_model(error: openai.APIStatusError, said: str) -> bool:
    if error.code in ("model_not_found", "model_not_exist"):
        return True
    missing = ("not found", "not exist", "not a valid model", "no such", "unknown", "no endpoints")
    return "model" in said and any(words in said for words in missing)


if TYPE_CHECKING:
    import openai
