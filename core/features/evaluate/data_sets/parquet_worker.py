"""A process that writes the rows of a Parquet file, its standard input, as lines of JSON.

Arrow's native code reads foreign bytes, so the process is confined.
"""

import json
import sys
from contextlib import suppress

from core.sandbox import confine
from core.sandbox.frames import reply_stream

ROWS = 100
"""Rows that are decoded at once."""
MEMORY = 4_000_000_000
"""Bytes of address space: rows are decoded by groups, and writers make groups of up to a million rows."""


def main() -> None:
    """Write the rows, a JSON object each. Exits with 1 for a file that cannot be read."""
    lines = reply_stream()
    import pyarrow
    from pyarrow.parquet import ParquetFile

    pyarrow.set_cpu_count(1)
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    confine(keep=(lines.fileno(),))
    try:
        for batch in ParquetFile(sys.stdin.buffer).iter_batches(ROWS, use_threads=False):
            for row in batch.to_pylist():
                line = json.dumps(row, ensure_ascii=False, default=_text)
                lines.write(line.encode("utf-8", "replace") + b"\n")
        lines.flush()
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError, RecursionError):
        sys.exit(1)


def _text(value: object) -> str:
    """Return a value that JSON lacks as text. Old writers mark texts as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    main()
