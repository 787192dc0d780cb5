"""Chat models behind any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import httpx
from pydantic import SecretStr

from core.adapters.models.model_http import (
    ATTEMPTS,
    NO_QUOTA,
    ModelService,
    host_of,
    model_client,
    parsed_body,
    plain_key,
    provider_text,
    request_json,
    retry_reason,
)
from core.adapters.models.openai_stream import ReplyLimits, read_reply, unpacked
from core.errors import ChatFailed, ToolsRefused
from core.model import Message, Retry, StreamChunk, ToolDefinition
from core.text.http_headers import retry_after
from core.text.sanitize import json_without_surrogates

_MAX_RETRY_AFTER = 20.0
"""The longest `Retry-After`, in seconds, that is waited for; a longer one is reported."""
_SECONDS_A_TOKEN = 0.1
"""What the whole reply may take for each token of its limit, besides twice the longest silence."""
_RETRY_STATUSES = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
"""Statuses that another attempt may cure."""
_NOT_CHAT = ("embed", "minilm", "bge-", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe")
_NEWER_LIMIT = "max_completion_tokens"
"""What newer servers call `max_tokens`."""
_OPTIONAL = {"max_tokens", _NEWER_LIMIT, "temperature", "stream_options", "stop"}
"""Parameters that a server may decline."""
_PASSING = (httpx.ReadError, httpx.WriteError, httpx.CloseError, httpx.ProtocolError)
"""Failures of a connection that another attempt may cure."""
_TOOLS = re.compile(r"\btools?\b|\bfunction.?call", re.IGNORECASE)
"""In the message of a server that refuses a request because of its tools.

Such as "does not support tools" (Ollama), "tools param requires --jinja flag" (llama.cpp), "auto tool choice
requires --enable-auto-tool-choice" (vLLM), "no endpoints found that support tool use" (OpenRouter).
"""


def chat_service(base_url: str, api_key: SecretStr | None, model: str = "") -> ModelService[ChatFailed]:
    """The chat endpoint below `base_url`, for errors about it."""
    host = host_of(base_url)
    variable = "OPENROUTER_API_KEY" if "openrouter" in host else "OPENAI_API_KEY"
    return ModelService(
        error=ChatFailed,
        endpoint="chat",
        host=host,
        model=model,
        key=plain_key(api_key),
        key_place=f"on the page, or in {variable}",
        address="the base URL",
        example="https://openrouter.ai/api/v1",
        address_end="/v1",
        alternative="pick another model",
        too_long="Put fewer or smaller passages in the context, or pick a model that reads more.",
    )


class OpenAIChat:
    """One model of one server, matching the `Chat` port.

    `timeout` is the longest silence in seconds, `pause` the first of the growing waits between attempts.
    `client` is as `model_client`.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: SecretStr | None = None,
        *,
        timeout: float = 60.0,
        pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self.host = host_of(base_url)
        self.identity = f"{model}@{self.host}"
        self._model = model
        self._service = chat_service(base_url, api_key, model)
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._timeout = timeout
        self._pause = pause
        self._client = client or model_client()
        self._declined: set[str] = set()
        """Optional parameters that this server does not take."""

    async def __call__(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] = (),
        tools: Sequence[ToolDefinition] = (),
    ) -> AsyncGenerator[StreamChunk]:
        """Stream the reply, with a chunk before each wait for another attempt.

        Closing the generator ends the request, and so does a reply beyond its limits.

        Raises:
            ToolsRefused: when the server or the model takes no tools.
            ChatFailed: when the server cannot be asked, refuses, or breaks off.
        """
        body: dict[str, Any] = {
            "model": self._model,
            # Half a surrogate pair, as a browser may send in a question, cannot be sent on.
            "messages": [json_without_surrogates(message.to_json()) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if stop:
            body["stop"] = json_without_surrogates(stop)
        if tools:
            body["tools"] = [json_without_surrogates(tool.to_json()) for tool in tools]
        limits = ReplyLimits(max_tokens, 2 * self._timeout + _SECONDS_A_TOKEN * max_tokens)
        for attempt in range(1, ATTEMPTS + 1):
            reply = await self._asked(body, attempt)
            if isinstance(reply, Retry):
                yield StreamChunk(retry=reply)
                await asyncio.sleep(reply.seconds)
                continue
            pieces = unpacked(reply.aiter_raw(), reply.headers.get("content-encoding", ""), self.host)
            reading = read_reply(pieces, host=self.host, key=self._service.key, limits=limits)
            async with aclosing(reply), aclosing(pieces), aclosing(reading) as chunks:
                async for chunk in chunks:
                    yield chunk
            return

    async def _asked(self, body: Mapping[str, Any], attempt: int) -> httpx.Response | Retry:
        """The reply, which is still to be read, or the wait before another attempt. Raises as the call does."""
        wait = self._pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)  # noqa: S311
        while True:
            sent = self._accepted(body)
            try:
                response = await request_json(
                    self._service, self._client, self._url, sent, timeout=self._timeout, stream=True
                )
            except ChatFailed as error:
                if attempt == ATTEMPTS or not isinstance(error.__cause__, _PASSING):
                    raise
                return Retry(server=self.host, seconds=wait, reason=retry_reason(None))
            if response.is_success:
                return response
            status, reply = response.status_code, parsed_body(response)
            if status in (400, 422) and self._declines(reply, sent):
                continue
            code = _field(reply, "code")
            failure = self._service.refusal(status, reply, response.headers, code)
            if "tools" in body and _TOOLS.search(provider_text(reply, "")):
                raise ToolsRefused(failure.message, hint=failure.hint)
            server_wait = retry_after(response.headers.get("retry-after"))
            wait = wait if server_wait is None else server_wait
            passes = status in _RETRY_STATUSES and code != NO_QUOTA and wait <= _MAX_RETRY_AFTER
            if attempt == ATTEMPTS or not passes:
                raise failure
            return Retry(server=self.host, seconds=wait, reason=retry_reason(status))

    def _accepted(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body without the optional parameters that the server has declined."""
        accepted = {name: value for name, value in body.items() if name not in self._declined}
        if self._declined & {"max_tokens", _NEWER_LIMIT} == {"max_tokens"}:
            accepted[_NEWER_LIMIT] = body["max_tokens"]
        return accepted

    def _declines(self, reply: Any, sent: Iterable[str]) -> bool:
        """Whether the server names an optional parameter as the trouble; it is left out from now on."""
        message = f"{_field(reply, 'param')} {provider_text(reply, '')}"
        declined = sorted((message.index(name), name) for name in _OPTIONAL & {*sent} if name in message)
        self._declined.update(name for _, name in declined[:1])
        return bool(declined)


async def list_models(
    base_url: str,
    api_key: SecretStr | None = None,
    *,
    timeout: float = 10.0,  # noqa: ASYNC109  # the longest silence, not the whole
) -> tuple[str, ...]:
    """The models that a server offers, by name; those that sound like no chat model come last.

    Raises:
        ChatFailed: when the server cannot be asked, refuses, or answers with something else.
    """
    service = chat_service(base_url, api_key)
    async with await asyncio.to_thread(model_client) as client:
        response = await request_json(service, client, f"{base_url.rstrip('/')}/models", timeout=timeout)
    reply = parsed_body(response)
    if not response.is_success:
        raise service.refusal(response.status_code, reply, response.headers, _field(reply, "code"))
    try:
        rows = reply["data"] if isinstance(reply, dict) else reply
        names = {row["id"] for row in rows or () if isinstance(row["id"], str) and row["id"]}
    except (KeyError, TypeError) as error:
        raise ChatFailed(
            f"{service.host} did not answer with a list of models.",
            hint="Check the base URL; most end in /v1.",
        ) from error
    return tuple(
        sorted(names, key=lambda name: (any(mark in name.lower() for mark in _NOT_CHAT), name.lower()))
    )


async def list_local_models(base_url: str, *, timeout: float = 0.5) -> tuple[str, ...]:  # noqa: ASYNC109
    """The chat models of a local server such as Ollama; empty when nobody is there or none is installed.

    `base_url` is the server's root, with or without `/v1`.
    """
    try:
        offered = await list_models(f"{base_url.rstrip('/').removesuffix('/v1')}/v1", timeout=timeout)
    except ChatFailed:
        return ()
    return tuple(name for name in offered if not any(mark in name.lower() for mark in _NOT_CHAT))


def _field(reply: Any, name: str) -> str:
    """A field of the error object in a refusal; empty where there is none."""
    error = reply.get("error", reply) if isinstance(reply, dict) else None
    return str(error.get(name) or "") if isinstance(error, dict) else ""
