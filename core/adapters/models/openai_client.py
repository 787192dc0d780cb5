"""Create `openai` clients without own headers, retries and redirects, and translate their errors."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.adapters.certificates import trusted_certificates
from core.adapters.models.model_http import ModelService, host_of, parsed_body, plain_key, provider_text
from core.adapters.network_failure import network_failure
from core.adapters.web.body_limits import Decompressor
from core.errors import ChatFailed
from core.model import Unreadable

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI, OpenAIError

_FIRST_WITH_HTTPX2 = 3
"""The first major version of `openai` whose HTTP client is httpx2, as httpx was before."""
_ALLOWED_HEADERS = frozenset(
    ("host", "authorization", "content-type", "content-length", "transfer-encoding", "accept", "connection")
)
"""Request headers. The SDK's own (platform, organisation and headers from the environment) are left out."""


_TOOLS = re.compile(r"\btools?\b|\bfunction.?call", re.IGNORECASE)


def chat_service(base_url: str, api_key: SecretStr | None, model: str = "") -> ModelService[ChatFailed]:
    """Describe the chat endpoint below `base_url` for errors."""
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


RequestHook = Callable[[Any], Awaitable[None]]
"""Called with each request before it is sent, such as `ModelFile.route`."""


def create_client(
    base_url: str, api_key: SecretStr | None, timeout: float, hook: RequestHook | None = None
) -> AsyncOpenAI:
    """Create a client without redirects, environment proxies or retries.

    `timeout` is the longest wait for data in seconds. Importing the package takes about a second, so call this off the
    event loop.

    Raises:
        ChatFailed: when the address or the key is invalid.
    """
    import openai

    http = sdk_http()
    service = chat_service(base_url, api_key)
    key = service.key
    if fault := service.bad_key():
        raise fault

    async def filter_headers(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name not in _ALLOWED_HEADERS]:
            del request.headers[name]
        request.headers["user-agent"] = "OpenQuery"
        request.headers["accept-encoding"] = "identity"  # so that received bytes can be counted
        request.headers.pop("authorization", None)
        if key:
            request.headers["authorization"] = f"Bearer {key}"

    try:
        _ = urlsplit(base_url).port  # raises ValueError for an invalid port
        return openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=http.AsyncClient(
                timeout=http.Timeout(timeout, connect=min(timeout, 10.0)),
                follow_redirects=False,
                trust_env=False,
                verify=trusted_certificates(http),
                event_hooks={"request": [filter_headers, *((hook,) if hook else ())]},
            ),
        )
    except (http.InvalidURL, ValueError) as error:
        raise service.bad_address() from error


def refuses_tools(error: OpenAIError) -> bool:
    """Check whether a server refuses a request's tools.

    Messages are such as "does not support tools" (Ollama), "tools param requires --jinja flag" (llama.cpp), "auto tool
    choice requires --enable-auto-tool-choice" (vLLM), "no endpoints found that support tool use" (OpenRouter).
    """
    import openai

    return isinstance(error, openai.APIStatusError) and bool(_TOOLS.search(provider_text(error.body, "")))


def chat_failure(error: OpenAIError, service: ModelService[ChatFailed], timeout: float) -> ChatFailed:
    """Translate the SDK's error. `timeout` is the client's, in seconds."""
    import openai

    if isinstance(error, openai.APIStatusError):
        # The body as it was sent: the SDK keeps only its field `error`, which may be a mere title.
        body = parsed_body(error.response)
        return service.refusal(error.status_code, body, error.response.headers, error.code or "")
    if isinstance(error.__cause__, ChatFailed):  # raised by a request hook
        return error.__cause__
    if isinstance(error, openai.APITimeoutError):
        return service.timed_out(timeout)
    return service.unreachable(network_failure(error.__cause__ or error))


async def unpacked(
    pieces: AsyncIterable[bytes], encoding: str, *, host: str, limit: int
) -> AsyncGenerator[bytes]:
    """Decompress the pieces of a streamed reply. Some servers use a Content-Encoding although it was declined.

    `limit` bounds all received bytes, and the unpacked size of a piece.

    Raises:
        ChatFailed: for an encoding other than gzip and deflate, damaged data, and beyond the limit.
    """
    try:
        unpacker = Decompressor(encoding, limit)
        async for piece in pieces:
            unpacker.feed(piece)
            yield bytes(unpacker.body)
            unpacker.body.clear()
    except Unreadable as why:
        raise ChatFailed(
            f"The reply from {host} cannot be unpacked: {why.detail}.",
            hint="Turn compression off in the server, or in the proxy before it.",
        ) from why


def sdk_http() -> Any:
    """Return the HTTP client module of the installed `openai`.

    Both modules have the same names. Other packages, such as LlamaIndex, need `openai` 2 together with OpenQuery.
    Importing the package takes about a second.
    """
    import openai

    major = int(openai.__version__.partition(".")[0])
    return import_module("httpx2" if major >= _FIRST_WITH_HTTPX2 else "httpx")
