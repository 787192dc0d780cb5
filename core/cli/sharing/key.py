"""`openquery key`: the key by which exported runs are signed."""

import sys
from pathlib import Path

from core.cli.printing import print_text
from core.export.signature import key_id, new_key, public_key


def key_in_terminal(action: str, file: Path) -> int:
    """Make a private key (`new`) or read one, print its public key, and return the exit code.

    Raises:
        BadInput: when the new file exists, or the other has no key.
        OSError: when the file cannot be written.
    """
    public = new_key(file) if action == "new" else public_key(file)
    print_text(public)
    print_text(f"The public key, which its signatures name {key_id(public)}.", to=sys.stderr)
    return 0
