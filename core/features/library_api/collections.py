"""Collections over HTTP: list, create, search, embed again and delete."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from core.features.api.strict_json import Strict, StrictRoute
from core.features.library_api.library_access import ChangingOf, CollectionName, ReadingOf
from core.features.library_api.views import (
    CollectionView,
    FoundPassage,
    IngestView,
    collection_view,
    found_passage,
    ingest_view,
)
from core.serving.conditional import NOT_MODIFIED, conditional
from core.serving.problems import documented

router = APIRouter(route_class=StrictRoute, tags=["library"])

ShortText = Annotated[str, Field(max_length=2000)]


class CollectionList(BaseModel):
    """The reply of `GET /collections`."""

    collections: list[CollectionView]


@router.get(
    "/collections", response_model=CollectionList, responses=NOT_MODIFIED | documented(403, 422, 502, 503)
)
async def list_collections(request: Request, library: ReadingOf) -> Response:
    """List the collections of the library by name."""
    described = await library.call(library.library.collections())
    views = [collection_view(name, described[name]) for name in sorted(described)]
    return conditional(request, CollectionList(collections=views).model_dump_json().encode())


@router.get(
    "/collections/{name}",
    response_model=CollectionView,
    responses=NOT_MODIFIED | documented(403, 404, 422, 502, 503),
)
async def get_collection(name: CollectionName, request: Request, library: ReadingOf) -> Response:
    """Return a collection."""
    view = collection_view(name, await library.call(library.library.collection(name)))
    return conditional(request, view.model_dump_json().encode())


@router.put("/collections/{name}", responses=documented(403, 409, 422, 502, 503))
async def create_collection(name: CollectionName, library: ChangingOf) -> CollectionView:
    """Create an empty collection for the current embedder, unless it exists."""
    created = await library.call(library.library.create(name, access=library.access))
    return collection_view(name, created)


@router.delete("/collections/{name}", status_code=204, responses=documented(403, 404, 422, 502, 503))
async def delete_collection(name: CollectionName, library: ChangingOf) -> None:
    """Delete a collection with its documents, and stop the ingests into it."""
    await library.call(library.library.collection(name))
    await library.call(library.library.drop(name))


@router.post(
    "/collections/{name}/reembed", status_code=202, responses=documented(403, 404, 409, 422, 502, 503)
)
async def reembed_collection(name: CollectionName, library: ChangingOf) -> IngestView:
    """Embed the documents of a collection again with the current embedder.

    `GET /ingests/{id}` returns the progress.
    """
    running = await library.change(library.library.ingests.reembed(name, access=library.access))
    return ingest_view(running.progress)


class PassageFilter(Strict):
    """Metadata that a passage must have. An empty text matches passages without a value."""

    source: ShortText | None = None
    section: ShortText | None = None
    url: ShortText | None = None
    title: ShortText | None = None
    created_at: ShortText | None = None
    document: ShortText | None = None
    """The `id` of a document."""
    embedder: ShortText | None = None
    page: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    position: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """The position among the document's passages, from 0."""


class CollectionSearch(Strict):
    """The body of `POST /collections/{name}/search`."""

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    exact: bool = False
    """Compares with every passage in place of an approximate index."""
    where: PassageFilter | None = None
    """Only passages with this metadata, such as `{"source": "mills.pdf", "page": 3}`."""


class FoundPassages(BaseModel):
    """The passages of a search, best first."""

    passages: list[FoundPassage]


@router.post("/collections/{name}/search", responses=documented(403, 404, 413, 422, 502, 503))
async def search_collection(
    name: CollectionName, body: CollectionSearch, library: ReadingOf
) -> FoundPassages:
    """Search a collection for the passages most similar to a query."""
    where = body.where.model_dump(exclude_none=True) if body.where else None
    searching = library.library.search(
        name, body.query, body.limit, where or None, exact=body.exact, access=library.access
    )
    neighbours = await library.call(searching)
    return FoundPassages(passages=list(map(found_passage, neighbours)))
