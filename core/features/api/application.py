"""The FastAPI application: routes, middleware, OpenAPI document."""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from operator import attrgetter
from typing import Any

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Scope

from core.config.settings import Settings
from core.config.version import __version__
from core.errors import OpenQueryError
from core.features.api.middleware import Guard, HeadRequests, TrailingSlash
from core.features.api.routes import config, connect, health, history, questions, search, uploads
from core.features.api.service import Service
from core.runtime.features import features
from core.runtime.hardening import harden
from core.runtime.registry import RunRegistry
from core.serving import problems
from core.serving.body_limits import DrainRefused
from core.serving.host_check import HostCheck
from core.serving.security_headers import API_POLICY, SecurityHeaders
from core.serving.single_worker import SingleWorker

log = logging.getLogger(__name__)

BODY_LIMIT = 1_000_000
"""Bytes of a request's body, unless it is a file or a chat."""

COMPRESSED_FROM = 1_000
"""Bytes of a reply from which on it is compressed. Events are never."""

CHAT_BODY_LIMIT = 20_000_000
"""Bytes of a chat's messages. Clients repeat the images of earlier messages, which are left out here."""


def application(
    runs: RunRegistry | Callable[[], RunRegistry] | None,
    settings: Callable[[], Settings] | None,
    *,
    warm: bool,
) -> FastAPI:
    """Return the application of `core.features.api.create_app`."""
    service = _service_over(runs, settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        if runs is None:
            harden()
        service.settings()  # settings that cannot be used stop the start
        warming = asyncio.ensure_future(asyncio.to_thread(_warm, service)) if warm else None
        yield
        if warming:
            warming.cancel()
        if runs is None:
            await asyncio.to_thread(service.close)

    app = _Documented(
        title="OpenQuery",
        summary="Questions in, cited answers out, and every step of the way.",
        version=__version__,
        docs_url=None,  # both pages load their scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        separate_input_output_schemas=False,  # a generated client has one class for each
        generate_unique_id_function=attrgetter("name"),  # a generated client calls its methods by them
    )
    app.state.service = service
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM, compresslevel=6)
    app.add_middleware(Guard, settings=service.settings, limit=_body_limit)
    problems.install(app)
    for part in (questions, search, history, config, connect, uploads, health):
        app.include_router(part.router)
    for feature in features():
        if feature.extend_api:
            feature.extend_api(app)
    app.add_api_route("/", _to_the_document, include_in_schema=False)
    return app


async def _to_the_document() -> RedirectResponse:
    """Redirect to the OpenAPI document, because the service has no page of its own."""
    return RedirectResponse("openapi.json")


class _Documented(FastAPI):
    """An application with problems and tokens in its OpenAPI document. All replies have security headers."""

    def build_middleware_stack(self) -> ASGIApp:
        served = HostCheck(TrailingSlash(super().build_middleware_stack()), self.state.service.public_hosts)
        return SingleWorker(DrainRefused(SecurityHeaders(HeadRequests(served), API_POLICY)))

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            problem = problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            document["components"]["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
            document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}, {}]  # none is needed where none is set
        return super().openapi()


def _body_limit(scope: Scope, settings: Settings) -> int:
    is_file = "/session/files/" in scope["path"] or (
        "/collections/" in scope["path"] and "/files/" in scope["path"]
    )
    if scope["method"] == "PUT" and is_file:
        return int(settings.file_megabytes * 1e6)
    is_chat = scope["path"].endswith(("/v1/chat/completions", "/v1/responses"))
    return CHAT_BODY_LIMIT if is_chat else BODY_LIMIT


def _warm(service: Service) -> None:
    """Start what the first question would otherwise wait for."""
    try:
        runs = service.open()
        runs.call(runs.engine.warm())
    except OpenQueryError as error:
        log.warning("warm-up: %s", error)


def _service_over(
    runs: RunRegistry | Callable[[], RunRegistry] | None, settings: Callable[[], Settings] | None
) -> Service:
    if runs is None:
        read = functools.cache(settings or Settings.read)
        return Service(lambda: RunRegistry(read()), read)
    if isinstance(runs, RunRegistry):
        service = Service(lambda: runs, settings or (lambda: runs.settings))
        service.open()
        return service
    return Service(runs, settings or (lambda: runs().settings))
