"""Conditional replies (RFC 9110, section 13): `ETag`, `If-None-Match` and 304."""

import hashlib
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "The client has the reply."}}
"""For the OpenAPI document of a path with `conditional` replies."""
REVALIDATE = "private, no-cache"
"""The `Cache-Control` of a reply that a client may keep and asks for again."""


def conditional(
    request: Request,
    body: bytes,
    media_type: str = "application/json",
    *,
    tag: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the reply with its `ETag`, or 304 without a body if the client has it.

    Args:
        request: what the client sent.
        body: the bytes of the reply.
        media_type: their media type.
        tag: what stands for the bytes, such as a digest; by default their SHA-256.
        headers: more headers of the reply.
    """
    # Weak: the same reply is sent with and without compression.
    etag = f'W/"{tag or hashlib.sha256(body).hexdigest()[:32]}"'
    sent = {"ETag": etag, "Cache-Control": REVALIDATE, **(headers or {})}
    if _matches(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=sent)
    return Response(body, media_type=media_type, headers=sent)


def _matches(header: str, etag: str) -> bool:
    """Return whether an `If-None-Match` names the tag. The comparison is weak."""
    tags = {part.strip().removeprefix("W/") for part in header.split(",")}
    return not tags.isdisjoint({"*", etag.removeprefix("W/")})
