"""Digests of texts."""

import hashlib


def text_digest(text: str) -> str:
    """Return the digest of a text as 24 hexadecimal digits, or "" for an empty text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if text else ""
