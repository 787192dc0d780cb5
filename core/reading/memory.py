"""Limits of a worker process: address space per kind of document, no files.

Programs and core dumps are forbidden too.
"""

import contextlib

MEGABYTES = {
    "text/html": 320,
    "application/xhtml+xml": 320,
    "text/plain": 320,
    "text/markdown": 320,
    "application/pdf": 400,
}
"""Megabytes of address space for one document by media type, besides twice its size. Other types may use all
of the worker's.

A worker starts with 60 MB. Of 160 large pages of real sites the largest needs 103 MB, a table of 100,000
cells 235 MB. Of PDFs a book of 1,500 pages needs 100 MB, the picture of a page scanned at 600 dpi 250 MB.
"""
_DESCRIPTORS = 64
_WORKER = 150 << 20
"""Bytes of address space of a worker with the libraries for office files."""


def limit_process(megabytes: int) -> None:
    """Permanently limit address space, descriptors, files, processes and core dumps.

    The limit of files is on written bytes.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = (
        (resource.RLIMIT_AS, megabytes << 20),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
        (resource.RLIMIT_NPROC, 0),
    )
    for kind, value in limits:
        with contextlib.suppress(ValueError, OSError):  # a stricter limit is already in force
            resource.setrlimit(kind, (value, value))


def limit_request(media_type: str, size: int, megabytes: int) -> None:
    """Limit the address space for a document of this type and size in bytes. It is never above `megabytes`.

    It is a soft limit: the next document may have another.
    """
    try:
        import resource
    except ImportError:
        return
    value = min((MEGABYTES.get(media_type, megabytes) << 20) + 2 * size, megabytes << 20)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (value, resource.getrlimit(resource.RLIMIT_AS)[1]))


def free_memory() -> int | None:
    """Return the bytes of address space for a document, or None without a limit.

    A confined process cannot read its own size, so that of a worker is assumed.
    """
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else max(0, limit - _WORKER)
