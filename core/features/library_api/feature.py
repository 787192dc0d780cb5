"""The entry of the library over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runtime.features import Feature

if TYPE_CHECKING:
    from fastapi import FastAPI


def _extend_api(app: FastAPI) -> None:
    from core.features.library_api import collections, documents, embeddings, ingests

    for part in (collections, documents, ingests, embeddings):
        app.include_router(part.router)


FEATURE = Feature(name="library_api", uses=("api", "library"), extend_api=_extend_api)
