"""A digest that stands for a text."""

import hashlib


def text_digest(text: str) -> str:
    """24 hexadecimal digits that stand for a text; empty for an empty one."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if text else ""
