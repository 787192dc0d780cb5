"""The entry of the responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runtime.features import Feature

if TYPE_CHECKING:
    from fastapi import FastAPI


def _extend_api(app: FastAPI) -> None:
    from core.features.responses import routes

    app.include_router(routes.router)


FEATURE = Feature(name="responses", uses=("api",), extend_api=_extend_api)
