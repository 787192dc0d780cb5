"""Errors as RFC 9457 problem details: `application/problem+json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.routing import Match, compile_path

from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, LimitReached, OpenQueryError
from core.run.events import RunFailed

MEDIA_TYPE = "application/problem+json"

CLIENT_GONE = 499
"""The client closed the connection, so this reply is not read. The number is nginx's."""

_METHODS = ("DELETE", "GET", "POST", "PUT")
_PATHS = (
    "openapi.json below the base URL lists the paths. Clients of OpenAI's API take the base URL that ends with /v1, and "
    "ask for chat completions or responses, not for completions of a text."
)

STATUS_OF_PART: Mapping[str, int] = {
    "input": 422,
    "connection": 409,
    "permission": 403,
    "search": 502,
    "read": 502,
    "embed": 502,
    "rank": 502,
    "answer": 502,
    "library": 502,
    "store": 503,
    "limit": 429,
}
"""502: a server that OpenQuery calls as a gateway failed. Every other part is 500."""


class Fault(BaseModel):
    """One wrong field, by its path in the request."""

    model_config = ConfigDict(frozen=True)

    field: str
    message: str


class Problem(BaseModel):
    """A problem of RFC 9457.

    `hint` says what to do, and `errors` names the wrong fields. `run` has the results so far, and `alternatives` the
    other values of the knob `search.backend` for the caller.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    hint: str | None = None
    errors: list[Fault] | None = None
    run: str | None = None
    alternatives: list[str] | None = None


class Refusal(OpenQueryError):
    """A request that is answered with a problem. `code` is what clients of OpenAI's API know it by."""

    def __init__(  # noqa: PLR0917  # the parts of a problem
        self,
        status: int,
        detail: str,
        hint: str = "",
        errors: Sequence[Fault] = (),
        run: str = "",
        headers: Mapping[str, str] | None = None,
        alternatives: Sequence[str] = (),
        code: str = "",
    ) -> None:
        super().__init__(detail, hint=hint)
        self.status = status
        self.errors = tuple(errors)
        self.run = run
        self.headers = headers
        self.alternatives = tuple(alternatives)
        self.code = code

    @classmethod
    def of(
        cls, error: OpenQueryError | RunFailed, run: str = "", alternatives: Sequence[str] = ()
    ) -> Refusal:
        """The refusal for an error, or for a run that ended with one."""
        again = {"Retry-After": str(ceil(error.seconds))} if isinstance(error, LimitReached) else None
        return cls(
            STATUS_OF_PART.get(error.part, 500),
            error.message,
            error.hint,
            run=run,
            headers=again,
            alternatives=alternatives,
        )


def reply(refusal: Refusal, path: str) -> JSONResponse:
    """The problem as a response.

    Below `/v1/` it also has the `error` that clients of OpenAI's API look for, and a wrong request has status 400
    as there.
    """
    openai = "/v1/" in path
    status = 400 if openai and refusal.status == 422 else refusal.status
    problem = Problem(
        title=_title(status),
        status=status,
        detail=refusal.message,
        hint=refusal.hint or None,
        errors=list(refusal.errors) or None,
        run=refusal.run or None,
        alternatives=list(refusal.alternatives) or None,
    ).model_dump(exclude_none=True)
    if openai:
        problem["error"] = openai_error(refusal)
    return JSONResponse(problem, status, refusal.headers, media_type=MEDIA_TYPE)


def openai_error(refusal: Refusal) -> dict[str, Any]:
    """Return the problem in the form of OpenAI's own API."""
    return {
        "message": " ".join(
            (refusal.message, *(f"{f.field}: {f.message}" for f in refusal.errors), refusal.hint)
        ).strip(),
        "type": "invalid_request_error" if refusal.status < 500 else "server_error",
        "param": refusal.errors[0].field if refusal.errors else None,
        "code": refusal.code or None,
    }


def faults(errors: Sequence[Mapping[str, Any]], body: Any = None) -> list[Fault]:
    """Return pydantic's errors by field, without values, which may be keys.

    With the `body` that was sent, fields have the names in it. A field that may have several types has one fault, for
    the type that comes closest.
    """
    messages: dict[str, list[str]] = {}
    for error in errors:
        fault = _fault(error, body)
        messages.setdefault(fault.field, []).append(fault.message)
    return [
        Fault(field=field, message=". Or: ".join(dict.fromkeys(texts)))
        for field, texts in messages.items()
        if not any(other.startswith(f"{field}.") for other in messages)
    ]


def _fault(error: Mapping[str, Any], body: Any) -> Fault:
    if error["type"] == "json_invalid":
        return Fault(
            field="body", message=f"This is not JSON: {error['ctx']['error']}, at {error['loc'][-1]}."
        )
    steps = [step for step in error["loc"] if step != "body"]
    if isinstance(body, dict) and error["loc"][0] == "body":
        steps = list(_steps_sent(steps, body, missing=error["type"] == "missing"))
    return Fault(field=".".join(map(str, steps)) or "body", message=error["msg"])


def _steps_sent(steps: Sequence[str | int], body: Any, *, missing: bool) -> Iterator[str | int]:
    """The steps of a path that are in the body. The others name types of a union, such as `list[ContentPart]`."""
    value = body
    for place, step in enumerate(steps):
        match value:
            case dict() if step in value:
                value = value[step]
            case list() if isinstance(step, int) and step < len(value):
                value = value[step]
            case dict() if missing and place == len(steps) - 1:
                pass
            case _:
                continue
        yield step


def install(app: FastAPI) -> None:
    """Have every error of the application answered with a problem."""

    def answer(kind: type[Exception], refusal_of: Callable[[Request, Any], Refusal]) -> None:
        async def handler(request: Request, error: Exception) -> JSONResponse:
            return reply(refusal_of(request, error), request.url.path)

        app.add_exception_handler(kind, handler)

    answer(Refusal, lambda _request, error: error)
    answer(OpenQueryError, lambda _request, error: Refusal.of(error))
    answer(RequestValidationError, lambda _request, error: _invalid(error))
    answer(HTTPException, _of_framework)
    answer(Exception, lambda _request, _error: Refusal(500, INTERNAL_ERROR, INTERNAL_ERROR_HINT))


def _invalid(error: RequestValidationError) -> Refusal:
    wrong = faults(error.errors(), error.body)
    fields = ", ".join(fault.field for fault in wrong)
    hint = "Send a JSON object, with the header Content-Type: application/json." if fields == "body" else ""
    return Refusal(422, f"The request cannot be used: {fields}.", hint, errors=wrong)


def _of_framework(request: Request, error: HTTPException) -> Refusal:
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    match error.status_code:
        case 404:
            return Refusal(404, f"There is no path {path[:200]} here.", _PATHS, headers=error.headers)
        case 405:
            allowed = _allowed(request, path)
            detail = f"The path {path[:200]} has no method {request.method}."
            return Refusal(405, detail, f"It has {allowed}.", headers={"Allow": allowed})
    return Refusal(error.status_code, str(error.detail), headers=error.headers)


def _allowed(request: Request, path: str) -> str:
    """Return every method of a path, as the OpenAPI document has them.

    The framework itself names only the first route's. The document decides, since `/ingests/resume` is none of the
    paths `/ingests/{id}`; of paths that are not in it, the routes do.
    """
    document = request.app.openapi()["paths"]
    fitting = (methods for template, methods in document.items() if compile_path(template)[0].match(path))
    documented_methods = document.get(path) or next(fitting, None)

    def has(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    allowed = [
        method
        for method in _METHODS
        if (method.lower() in documented_methods if documented_methods else has(method))
    ]
    return ", ".join(sorted([*allowed, *(["HEAD"] if "GET" in allowed else [])]))


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: problems that a path may answer with, besides those that every path may."""
    return {
        status: {
            "description": _title(status),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in (400, 401, 403, *statuses)
    }


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Client Closed Request"
