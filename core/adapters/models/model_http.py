"""Turn HTTP failures of model servers into errors for a person: one table of statuses for all endpoints."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import httpx
import orjson
from pydantic import SecretStr

from core.adapters.models.stated_wait import stated_wait
from core.errors import OpenQueryError
from core.text.lenient_json import lenient_json
from core.text.sanitize import one_line, pluralize

E = TypeVar("E", bound=OpenQueryError)

_TOO_LONG = ("context", "too long", "too large")
_UNKNOWN_MODEL = ("not found", "not exist", "not a valid model", "no such", "unknown", "no endpoints")
_UNKNOWN_MODEL_CODES = ("model_not_found", "model_not_exist")
ATTEMPTS = 3
"""The maximum attempts of a request. The waits between attempts grow exponentially."""
NO_QUOTA = "insufficient_quota"
"""OpenAI's error code for an account without credit, sent with status 429."""
_WRAPPERS = ("error", "errors", "fault")
_WORDS = tuple(
    re.compile(names, re.IGNORECASE)
    for names in ("messages?$|msg|^fault", "detail|description", "error|reason", "code$", "type$")
)
"""Names of fields with the words of an error, the clearest first."""
_FILTERED = re.compile(
    r"content.?(?:filter|management|policy)|safety (?:system|filter|setting)|inappropriate content|data.?inspection",
    re.IGNORECASE,
)
"""Words of a server that refuses a text for its content."""


def retry_reason(status: int | None) -> str:
    """Describe why a request is repeated. `status` is its reply's HTTP status, or None without a reply."""
    if status is None:
        return "lost connection"
    return "rate limit" if status == httpx.codes.TOO_MANY_REQUESTS else f"HTTP status {status}"


def plain_key(api_key: SecretStr | None) -> str:
    """Return the key without surrounding blanks, or ""."""
    return api_key.get_secret_value().strip() if api_key else ""


def host_of(base_url: str) -> str:
    """Return host and port of an address, without credentials."""
    host = re.match(r"[a-z]+://(?:[^/?#]*@)?([^/?#]+)", base_url.strip(), re.IGNORECASE)
    return host.group(1).lower() if host else one_line(base_url.rpartition("@")[2], 60)


class _Response(Protocol):
    """A reply of httpx or of the client of `openai`."""

    @property
    def content(self) -> bytes:
        """The body."""

    @property
    def text(self) -> str:
        """The decoded body."""


def parsed_body(response: _Response) -> Any:
    """Parse a JSON body. If that fails, the beginning of its text is returned."""
    try:
        return lenient_json(response.content)
    except ValueError:
        return response.text[:1000]


def provider_text(body: Any, key: str) -> str:
    """Return a provider's error message, or "". It is on one line, without the key."""
    message = _words(body)
    if isinstance(body, str) and "<" in body[:200]:  # a web page
        return ""
    return one_line(message.replace(key, "[key]") if key else message, 300).rstrip(".")


def _words(error: Any, depth: int = 6) -> str:
    """Return the words of an error in any shape: text, JSON in a text, a list, or an object within others."""
    if isinstance(error, str):
        if error.lstrip()[:1] in ("{", "[") and depth:
            with suppress(ValueError):
                return _words(lenient_json(error.encode(errors="replace")), depth - 1) or error
        return error
    if isinstance(error, list) and depth:
        return next((words for row in error if (words := _words(row, depth - 1))), "")
    if not isinstance(error, dict) or not depth:
        return str(error) if isinstance(error, int) and not isinstance(error, bool) and error else ""
    inner = [error[name] for name in _WRAPPERS if isinstance(error.get(name), dict | list)]
    values = [value for names in _WORDS for name, value in error.items() if names.search(str(name))]
    inner += sorted(values, key=lambda value: isinstance(value, int))  # a number says least
    words = next((words for value in inner if (words := _words(value, depth - 1))), "")
    if isinstance(error.get("loc"), list):  # Pydantic: the field
        return f"{'.'.join(map(str, error['loc']))}: {words}"
    upstream = error.get("metadata")  # OpenRouter: the upstream's own words
    if isinstance(upstream, dict) and (raw := _words(upstream.get("raw"), depth - 1)):
        return f"{words}: {raw}"
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelService(Generic[E]):
    """An endpoint of a model server. Its methods return errors of the type `error` and raise none.

    The texts not from this server name the settings and alternatives that a person can choose.
    """

    error: type[E]
    endpoint: str
    """The endpoint: `chat`, `embeddings`, `reranking`."""
    host: str
    model: str
    key: str
    key_place: str
    """The place to set a key, such as `in OPENQUERY_RERANK_KEY`."""
    address: str
    """The name of the address's setting."""
    example: str
    address_end: str
    alternative: str
    """The alternative to this endpoint, as an imperative: `pick another model`."""
    too_long: str
    """Advice for texts that are too long, as a sentence."""

    def bad_key(self) -> E | None:
        """Return the error for an unsendable key, or None."""
        if self.key.isascii() and self.key.isprintable():
            return None
        return self.error(
            "The key holds characters that no key has.", hint="Copy it again, without line breaks or blanks."
        )

    def bad_address(self) -> E:
        """Return the error for an invalid address."""
        return self.error(
            f"{self.host} is not the address of a server.",
            hint=f"Set {self.address} to something like {self.example}.",
        )

    def timed_out(self, seconds: float) -> E:
        """Return the error for a timeout."""
        return self.error(
            f"{self.host} did not answer within {pluralize(seconds, 'second')}.",
            hint=f"Ask again, {self.alternative}, or raise OPENQUERY_MODEL_TIMEOUT.",
        )

    def unreachable(self, cause: str = "") -> E:
        """Return the error for an address without a server."""
        return self.error(
            f"Nothing answers at {self.host}{f' ({cause})' if cause else ''}.",
            hint=f"Is it running? Check {self.address}, or {self.alternative}.",
        )

    def transport_failure(self, error: httpx.HTTPError | httpx.InvalidURL, timeout: float) -> E:
        """Return the error for a request without a complete reply. `timeout` is in seconds."""
        match error:
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return self.bad_address()
            case httpx.TimeoutException():
                return self.timed_out(timeout)
            case httpx.DecodingError():
                return self.error(
                    f"{self.host} sent a reply that does not unpack.",
                    hint=f"A gateway on the way may be at fault. Check {self.address}, or {self.alternative}.",
                )
            case _:
                return self.unreachable()

    def refusal(self, status: int, body: Any, headers: Mapping[str, str], code: str = "") -> E:
        """Return the error for a failure status. It quotes the server's message.

        Args:
            status: the HTTP status, or the status in a body with HTTP status 200.
            body: the parsed body.
            headers: the reply's headers.
            code: the provider's error code.
        """
        quoted = provider_text(body, self.key)
        message, hint = self._refusal(status, quoted.lower(), stated_wait(headers, body), code)
        return self.error(f"{message}{f': {quoted}' if quoted else ''}.", hint=hint)

    def _refusal(self, status: int, message: str, wait: float | None, code: str) -> tuple[str, str]:
        host, other = self.host, self.alternative
        unknown = code in _UNKNOWN_MODEL_CODES or (
            "model" in message and any(mark in message for mark in _UNKNOWN_MODEL)
        )
        match status:
            case 401 if not self.key:
                return f"{host} asks for a key", f"Enter one {self.key_place}."
            case 401:
                return f"{host} refused the key", f"Check the key {self.key_place}."
            case 402 | 429 if status == 402 or code == NO_QUOTA:
                return f"{host} has no credit left for this key", f"Add credit to that account, or {other}."
            case 429:
                when = f"in {pluralize(round(wait), 'second')}" if wait else "in a minute"
                return f"{host} takes no more requests for now", f"Ask again {when}, or {other}."
            case 400 | 403 if _FILTERED.search(f"{code} {message}"):
                return (
                    f"{host} refused the text for its content ({status})",
                    f"Ask in other words, leave out the source that it objects to, or {other}.",
                )
            case 403:
                return f"{host} does not allow this", f"Check what the key may do, or {other}."
            case 404 | 400 if unknown:
                return f"The model {self.model} does not exist at {host}", f"{other[:1].upper()}{other[1:]}."
            case 404 | 405:
                return (
                    f"There is no {self.endpoint} endpoint at {host} under this address ({status})",
                    f"Check {self.address}; most end in {self.address_end}.",
                )
            case 400 | 413 | 422 if status == 413 or any(words in message for words in _TOO_LONG):
                return f"The texts are too long for {self.model or host} ({status})", self.too_long
            case _ if 300 <= status < 400:
                return (
                    f"{host} sends requests elsewhere ({status}), which is not followed",
                    f"Set {self.address} to the final address.",
                )
            case _ if status >= 500:
                return f"{host} answered with an error ({status})", f"Ask again in a moment, or {other}."
            case _:
                return f"{host} refused the request ({status})", f"Check {self.address}, or {other}."


async def post_json(
    service: ModelService[E],
    client: httpx.AsyncClient,
    url: str,
    body: Mapping[str, Any],
    timeout: float,  # noqa: ASYNC109  # the longest silence, not the total
) -> httpx.Response:
    """Post a JSON body, and return the reply of any status. `timeout` is the longest silence in seconds.

    Raises:
        OpenQueryError: of the service's type, for a key that cannot be sent, or with the cause for a request without a
            complete reply.
    """
    if fault := service.bad_key():
        raise fault
    headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "OpenQuery"}
    if service.key:
        headers["authorization"] = f"Bearer {service.key}"
    try:
        return await client.post(url, content=orjson.dumps(body), headers=headers, timeout=timeout)
    except (httpx.InvalidURL, httpx.RequestError) as error:
        raise service.transport_failure(error, timeout) from error
