"""The entry of OpenAI's chat completions and responses APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runtime.features import Feature

if TYPE_CHECKING:
    from fastapi import FastAPI


def _extend_api(app: FastAPI) -> None:
    from core.features.openai.chat import routes as chat
    from core.features.openai.responses import routes as responses

    for part in (chat, responses):
        app.include_router(part.router)


FEATURE = Feature(name="openai", uses=("api",), extend_api=_extend_api)
