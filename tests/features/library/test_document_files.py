"""The documents' bytes in their folder, while others add and delete."""

import threading
from pathlib import Path

from core.features.library.document_files import DocumentFiles, digest_of


def test_a_folder_is_measured_while_files_come_and_go(tmp_path: Path) -> None:
    files, body, measured = DocumentFiles(tmp_path), b"Words.", threading.Event()
    for number in range(100, 200):
        stays = b"Words of %d." % number
        files.put(stays, digest_of(stays))

    def come_and_go() -> None:
        while not measured.is_set():
            files.put(body, digest_of(body))
            files.delete(digest_of(body))

    writer = threading.Thread(target=come_and_go)
    writer.start()
    try:
        for _ in range(500):
            assert DocumentFiles(tmp_path).size() >= 100 * len(stays)
            DocumentFiles(tmp_path).delete_temporary(older=0.0)
    finally:
        measured.set()
        writer.join()


def test_a_damaged_file_is_stored_again(tmp_path: Path) -> None:
    files, body = DocumentFiles(tmp_path), b"Words."
    digest = digest_of(body)
    files.put(body, digest)
    (tmp_path / digest).write_bytes(b"Wor")
    assert files.get(digest) is None
    files.put(body, digest)
    assert files.get(digest) == body
