"""A worker whose parser was taken over: each document is Python, which it runs. Otherwise it is the real worker.

`python -m tests.hostile.taken_over MEGABYTES`; with `--without-landlock` before it, it is confined as on a kernel that
has none. With `--unconfined`, it runs a JSON list of codes on its standard input alone, and prints what became of each.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # code that nothing confines needs no parsers, whose import takes longer than most attacks
    from core.model import Article, Document, Extractor

REFUSED = "refused: "


def run(code: str) -> str:
    """What became of the code, beginning with `REFUSED` where it was stopped."""
    scope: dict[str, Any] = {}
    try:
        exec(code, scope)
    except (OSError, ValueError, MemoryError) as error:
        return f"{REFUSED}{type(error).__name__}, {getattr(error, 'strerror', '') or error}"
    return f"got: {scope['found']!r}"


def read(document: Document, _extractor: Extractor) -> Article:
    from core.model import Article

    return Article(text=run(document.body.decode()), extractor="taken over")


if __name__ == "__main__":
    if sys.argv[1:] == ["--unconfined"]:
        print(json.dumps([run(code) for code in json.load(sys.stdin)]))
    else:
        from core.reading.__main__ import main

        main(int(sys.argv[-1]), read, with_landlock="--without-landlock" not in sys.argv)
