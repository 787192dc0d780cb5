"""Chat models on any OpenAI-compatible server, through the `openai` package."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.adapters.models.alternating_roles import STATUSES, alternating, refuses_roles
from core.adapters.models.model_http import (
    ATTEMPTS,
    NO_QUOTA,
    host_of,
    parsed_body,
    plain_key,
    provider_text,
    retry_reason,
)
from core.adapters.models.openai_client import (
    RequestHook,
    chat_failure,
    chat_service,
    create_client,
    refuses_tools,
    sdk_http,
    unpacked,
)
from core.adapters.models.openai_stream import MAX_REPLY_BYTES, ReplyLimits, read_reply
from core.adapters.models.replies.thoughts import ThoughtHabit
from core.adapters.models.stated_wait import stated_wait
from core.errors import ChatFailed, ToolsRefused
from core.model import Message, Retry, StreamChunk, ToolDefinition
from core.text.sanitize import json_without_surrogates

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAIError

_MAX_RETRY_AFTER = 20.0
"""The maximum `Retry-After` in seconds that is respected. Longer waits are reported."""
_SECONDS_A_TOKEN = 0.1
"""The maximum seconds of a reply per token of its limit, besides twice the longest silence."""
_RETRY_STATUSES = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
"""Statuses that another attempt may cure."""
_RETRY_CODES = frozenset(("tool_use_failed",))
"""Codes of other statuses that another attempt may cure: Groq's model wrote a call that cannot be read."""
_NO_LIST_STATUSES = frozenset((400, 404, 405, 410, 501))
_NOT_CHAT = ("embed", "minilm", "bge-", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe")
_LOCAL_SECONDS = 0.5
"""The time in which a server on this machine has to answer."""


class OpenAIChat:
    """One model of one server, matching the `Chat` port.

    `timeout` is the longest silence in seconds, and `pause` the first of the growing waits between attempts. The
    package is imported and the connection made on first use. All calls belong to one event loop.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: SecretStr | None = None,
        *,
        timeout: float = 60.0,
        pause: float = 0.5,
        hook: RequestHook | None = None,
    ) -> None:
        """Call `hook` with each request before it is sent."""
        self.model = model
        self.base_url = base_url
        self.host = host_of(base_url)
        self.identity = f"{model}@{self.host}"
        self._api_key = api_key
        self.silence = timeout
        self._pause = pause
        self._hook = hook
        self._client: AsyncOpenAI | None = None
        self._connecting = asyncio.Lock()
        self._declined: set[str] = set()
        """Optional parameters that this server does not accept."""
        self._merges_roles = False
        self._habit = ThoughtHabit()

    async def __call__(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] = (),
        tools: Sequence[ToolDefinition] = (),
    ) -> AsyncGenerator[StreamChunk]:
        """Stream the reply, with a chunk before each retry wait.

        Closing the generator ends the request, and so does a reply beyond its limits.

        Raises:
            ToolsRefused: when the server or the model does not accept tools.
            ChatFailed: when the server cannot be asked, refuses, or breaks off.
        """
        from openai import OpenAIError

        client = await self._get_client()
        body: dict[str, Any] = {
            "model": self.model,
            "messages": self._json(messages),
            "stream": True,
        }
        if tools:
            body["tools"] = [json_without_surrogates(tool.to_json()) for tool in tools]
        limits = ReplyLimits(max_tokens, 2 * self.silence + _SECONDS_A_TOKEN * max_tokens)
        attempt = 1
        while True:
            optional = self._optional_parameters(max_tokens, temperature, stop)
            try:
                stream = await client.chat.completions.create(**body, **optional)
                async with stream:
                    raw, host = stream.response.aiter_raw(), host_of(self.base_url)
                    encoding = stream.response.headers.get("content-encoding", "")
                    pieces = unpacked(raw, encoding, host=host, limit=MAX_REPLY_BYTES)
                    reading = read_reply(
                        pieces,
                        host=host,
                        key=plain_key(self._api_key),
                        limits=limits,
                        tools=[tool.function.name for tool in tools],
                        habit=self._habit,
                    )
                    async with aclosing(raw), aclosing(pieces), aclosing(reading) as deltas:
                        async for delta in deltas:
                            yield delta
                return
            except OpenAIError as error:
                if self._drop_declined_parameter(error, optional):
                    continue
                if self._merge_refused_roles(error):
                    body["messages"] = self._json(messages)
                    continue
                refused = bool(tools) and refuses_tools(error)
                wait = None if refused else self._retry_delay(error, attempt)
                if wait is None:
                    service = chat_service(self.base_url, self._api_key, self.model)
                    failure = chat_failure(error, service, self.silence)
                    failure = ToolsRefused(failure.message, hint=failure.hint) if refused else failure
                    raise failure from _cause(error, service.key)
                reason = retry_reason(getattr(error, "status_code", None))
            attempt += 1
            yield StreamChunk(retry=Retry(server=host_of(self.base_url), seconds=wait, reason=reason))
            await asyncio.sleep(wait)

    async def warm(self) -> None:
        """Import the dependencies of the first reply. This takes about a second and sends nothing to the server.

        Raises:
            ChatFailed: when the address or the key is invalid.
        """
        client = await self._get_client()
        await asyncio.to_thread(lambda: client.chat.completions)  # imported by the package on its first use

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client:
            await self._client.close()

    async def _get_client(self) -> AsyncOpenAI:
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(
                    create_client, self.base_url, self._api_key, self.silence, self._hook
                )
            return self._client

    def _optional_parameters(
        self, max_tokens: int, temperature: float, stop: Sequence[str]
    ) -> dict[str, Any]:
        """Build the optional parameters that this server accepts. Declined parameters are left out."""
        # Newer servers have another name for the limit.
        limit = "max_completion_tokens" if "max_tokens" in self._declined else "max_tokens"
        values: dict[str, Any] = {
            limit: max_tokens,
            "temperature": temperature,
            "stream_options": {"include_usage": True},
        }
        if stop:
            values["stop"] = json_without_surrogates(stop)
        return {name: value for name, value in values.items() if name not in self._declined}

    def _json(self, messages: Sequence[Message]) -> list[Any]:
        """Return the messages of a request, with the roles that this server accepts."""
        turns = alternating(messages) if self._merges_roles else messages
        # Half of a surrogate pair, as a browser may send in a question, cannot be encoded.
        return [json_without_surrogates(message.to_json()) for message in turns]

    def _merge_refused_roles(self, error: OpenAIError) -> bool:
        """Record that the server refuses the roles of messages, such as system. Returns whether it does so anew."""
        from openai import APIStatusError

        if self._merges_roles or not isinstance(error, APIStatusError) or error.status_code not in STATUSES:
            return False
        self._merges_roles = refuses_roles(provider_text(parsed_body(error.response), ""))
        return self._merges_roles

    def _drop_declined_parameter(self, error: OpenAIError, parameters: Iterable[str]) -> bool:
        """Record the optional parameter that the server rejects.

        Returns whether it names such a parameter, which is no longer sent.
        """
        from openai import APIStatusError

        if not isinstance(error, APIStatusError) or error.status_code not in (400, 422):
            return False
        message = f"{error.param} {provider_text(error.body, '')}"
        declined = sorted((message.index(name), name) for name in parameters if name in message)
        self._declined.update(name for _, name in declined[:1])
        return bool(declined)

    def _retry_delay(self, error: OpenAIError, attempt: int) -> float | None:
        """Return the seconds until the next attempt, or None without another attempt."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        if attempt >= ATTEMPTS or isinstance(error, APITimeoutError):
            return None
        backoff = self._pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)  # noqa: S311
        if isinstance(error, APIStatusError):
            passing = error.status_code in _RETRY_STATUSES or error.code in _RETRY_CODES
            if not passing or error.code == NO_QUOTA:
                return None
            server_wait = stated_wait(error.response.headers, parsed_body(error.response))
            return (
                backoff if server_wait is None else server_wait if server_wait <= _MAX_RETRY_AFTER else None
            )
        return backoff if isinstance(error, APIConnectionError) and not _is_unreachable(error) else None


class NoModelList(ChatFailed):
    """A server answers, but does not list its models."""


async def list_models(
    base_url: str,
    api_key: SecretStr | None = None,
    *,
    timeout: float = 10.0,  # noqa: ASYNC109  # the longest silence, not the total
) -> tuple[str, ...]:
    """List a server's models by name. Names that do not look like chat models are last.

    Raises:
        NoModelList: when the server answers with something else.
        ChatFailed: when the server cannot be asked, or refuses.
    """
    client = await asyncio.to_thread(create_client, base_url, api_key, timeout)
    from openai import OpenAIError

    http = sdk_http()
    try:
        async with client:
            response = await client.get("/models", cast_to=http.Response)
            names = _model_names(response.json())
    except OpenAIError as error:
        service = chat_service(base_url, api_key)
        failure = chat_failure(error, service, timeout)
        if getattr(error, "status_code", None) in _NO_LIST_STATUSES:
            failure = NoModelList(failure.message, hint=failure.hint)
        raise failure from _cause(error, service.key)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise NoModelList(
            f"{host_of(base_url)} did not answer with a list of models.",
            hint="Check the base URL; most end in /v1.",
        ) from error
    return tuple(
        sorted(names, key=lambda name: (any(mark in name.lower() for mark in _NOT_CHAT), name.lower()))
    )


async def list_local_models(base_url: str) -> tuple[str, ...]:
    """List the chat models of a local server. The result is empty without a server, such as Ollama, or without a model.

    `base_url` is the server's root, with or without `/v1`.
    """
    root = base_url.rstrip("/").removesuffix("/v1")
    if not await _accepts_connections(root):
        return ()
    try:
        offered = await list_models(f"{root}/v1", timeout=_LOCAL_SECONDS)
    except ChatFailed:
        return ()
    return tuple(name for name in offered if not any(mark in name.lower() for mark in _NOT_CHAT))


async def _accepts_connections(address: str) -> bool:
    """Check whether an address accepts connections. If not, the import of the package is spared."""
    try:
        url = urlsplit(address)
        if not url.hostname:
            return False
        port = url.port or (443 if url.scheme == "https" else 80)
        async with asyncio.timeout(_LOCAL_SECONDS):
            _, writer = await asyncio.open_connection(url.hostname, port)
    except (OSError, ValueError):  # TimeoutError is an OSError
        return False
    writer.close()
    return True


def _model_names(reply: Any) -> set[str]:
    """Find the names in a list of models. Servers use different field names."""
    rows = reply
    if isinstance(reply, dict):
        lists = [reply[name] for name in ("data", "models", "result") if name in reply]
        if not lists:
            raise KeyError("data")
        rows = next(filter(None, lists), ())
    names = (_model_name(row) for row in rows or ())
    return {name for name in names if name}


def _model_name(row: Any) -> str:
    if isinstance(row, str):
        return row
    if not isinstance(row, dict):
        return ""
    return next(
        (row[key] for key in ("id", "model", "name", "key") if isinstance(row.get(key), str) and row[key]), ""
    )


def _is_unreachable(error: BaseException) -> bool:
    http = sdk_http()
    return isinstance(error.__cause__, http.ConnectError | http.UnsupportedProtocol | ChatFailed)


def _cause(error: OpenAIError, key: str) -> OpenAIError | None:
    """Return the error, unless it has the key. A traceback must not contain an echoed key."""
    return None if key and key in f"{error} {getattr(error, 'body', '')}" else error
