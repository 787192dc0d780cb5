"""Documents of a collection over HTTP: add by upload and by address, list, download and delete."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from core.features.api.service import ServiceOf
from core.features.api.strict_json import Strict, StrictRoute
from core.features.library.ingests import Address, IngestSource, Sitemap, Upload
from core.features.library_api.library_access import ChangingOf, CollectionName, LibraryAccess, ReadingOf
from core.features.library_api.views import DocumentView, IngestView, document_view, ingest_view
from core.model import LibraryDocument
from core.serving.conditional import NOT_MODIFIED, conditional
from core.serving.problems import Refusal, documented
from core.text.http_headers import attachment

router = APIRouter(route_class=StrictRoute, tags=["library"])

FileName = Annotated[
    str,
    Path(
        alias="file",
        min_length=1,
        max_length=200,
        description="The file's name. Its extension says its type.",
    ),
]
DocumentId = Annotated[
    str, Path(alias="document", min_length=1, max_length=2000, description="The `id` of the document.")
]
Digest = Annotated[
    str, Path(alias="digest", pattern="^[0-9a-f]{64}$", description="The SHA-256 of the document's bytes.")
]
WebAddress = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000, pattern=r"^https?://")
]

_FILE = {
    "requestBody": {
        "required": True,
        "description": "The file itself: PDF, office file, EPUB, HTML, Markdown, text, CSV, or a zip of them.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class DocumentPage(BaseModel):
    """Documents of a collection, latest first."""

    documents: list[DocumentView]
    total: int
    """The number of documents in the collection."""


@router.get(
    "/collections/{name}/documents",
    response_model=DocumentPage,
    responses=NOT_MODIFIED | documented(403, 404, 422, 502, 503),
)
async def list_documents(
    name: CollectionName,
    request: Request,
    library: ReadingOf,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List the documents of a collection, latest first."""
    await library.call(library.library.collection(name))
    listed = await library.call(library.library.documents(name))
    page = DocumentPage(
        documents=list(map(document_view, listed[offset : offset + limit])), total=len(listed)
    )
    return conditional(request, page.model_dump_json().encode())


@router.put(
    "/collections/{name}/files/{file}",
    status_code=202,
    openapi_extra=_FILE,
    responses=documented(403, 409, 413, 422, 502, 503),
)
async def put_document(
    name: CollectionName, file: FileName, request: Request, service: ServiceOf, library: ChangingOf
) -> IngestView:
    """Add a file to a collection. A missing collection is created.

    `GET /ingests/{id}` returns the progress. A document is skipped if the collection has its SHA-256.
    """
    incoming = await service.uploads.receive(request.stream(), service.settings().folder)
    with incoming:
        incoming.seek(0)
        body = await asyncio.to_thread(incoming.read)
    return await _added(library, name, [Upload(file, body)])


class Addresses(Strict):
    """The body of `POST /collections/{name}/documents`."""

    addresses: Annotated[list[WebAddress], Field(default_factory=list, max_length=1000)]
    """Documents on the web."""
    sitemaps: Annotated[list[WebAddress], Field(default_factory=list, max_length=20)]
    """Sitemaps. Their pages on the same host are added."""


@router.post(
    "/collections/{name}/documents", status_code=202, responses=documented(403, 409, 413, 422, 502, 503)
)
async def add_addresses(name: CollectionName, body: Addresses, library: ChangingOf) -> IngestView:
    """Add documents from the web to a collection. A missing collection is created.

    `GET /ingests/{id}` returns the progress. Private addresses are refused, as in runs.
    """
    return await _added(library, name, [*map(Address, body.addresses), *map(Sitemap, body.sitemaps)])


async def _added(library: LibraryAccess, name: str, sources: list[IngestSource]) -> IngestView:
    running = await library.call(library.library.ingests.add(name, sources, access=library.access))
    return ingest_view(running.progress)


@router.get(
    "/collections/{name}/documents/{digest}/file",
    response_class=Response,
    responses={
        **NOT_MODIFIED,
        **documented(403, 404, 422, 502, 503),
        200: {"content": {"application/octet-stream": {}}, "description": "The file."},
    },
)
async def get_file(name: CollectionName, digest: Digest, request: Request, library: ReadingOf) -> Response:
    """Download the file of a document. It is never served as a page."""
    document = await _document(library, name, digest)
    if not document.stored:
        raise Refusal(404, "The file of this document is not stored.", "Its passages are in the collection.")
    file = await library.call(library.library.file(document.key))
    sent = attachment(file.name.rpartition("/")[2] or "document")
    return conditional(request, file.body, "application/octet-stream", tag=digest, headers=sent)


@router.get(
    "/collections/{name}/documents/{document:path}",
    response_model=DocumentView,
    responses=NOT_MODIFIED | documented(403, 404, 422, 502, 503),
)
async def get_document(
    name: CollectionName, document: DocumentId, request: Request, library: ReadingOf
) -> Response:
    """Return a document of a collection."""
    view = document_view(await _document(library, name, document))
    return conditional(request, view.model_dump_json().encode())


@router.delete(
    "/collections/{name}/documents/{document:path}",
    status_code=204,
    responses=documented(403, 404, 409, 422, 502, 503),
)
async def delete_document(name: CollectionName, document: DocumentId, library: ChangingOf) -> None:
    """Delete a document from a collection, and its file if no other collection has it."""
    await _document(library, name, document)
    await library.change(library.library.delete(name, document))


async def _document(library: LibraryAccess, name: str, key: str) -> LibraryDocument:
    """Return a document of a collection.

    Raises:
        Refusal: when there is no such collection or document.
    """
    await library.call(library.library.collection(name))
    if (document := await library.call(library.library.document(name, key))) is None:
        raise Refusal(
            404, "The collection has no document of this id.", "See GET /collections/{name}/documents."
        )
    return document
