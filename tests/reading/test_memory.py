"""Limits of memory, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from core.reading.memory import limit_process, limit_request
limit_process({worker})
for media_type, size in {documents!r}:
    limit_request(media_type, size, {worker})
    try:
        found = bytearray(350 << 20)
    except MemoryError:
        found = b""
    print(bool(found))
    del found
"""
HTML, PDF, DOCX = (
    "text/html",
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
@pytest.mark.parametrize(
    ("worker", "documents", "fits"),
    [
        (1_000, [(HTML, 0), (PDF, 0), (DOCX, 0), (HTML, 0)], [False, True, True, False]),
        (1_000, [(HTML, 50 << 20)], [True]),
        (300, [(HTML, 50 << 20), (PDF, 0), (DOCX, 0)], [False, False, False]),
    ],
    ids=["by kind", "a large file has room for itself", "the worker's limit is above all"],
)
def test_each_kind_of_document_has_its_limit(
    worker: int, documents: list[tuple[str, int]], fits: list[bool]
) -> None:
    program = PROGRAM.format(worker=worker, documents=documents)
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not process.returncode, process.stderr
    assert process.stdout.split() == list(map(str, fits))
