"""What the command line prints."""

import json

import pytest

from core.cli.printing import print_json_line


def test_json_escapes_characters_that_a_terminal_obeys(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    title = "Prices \u202egnp.exe\u2066 \x9b31m kettle"
    print_json_line(json.dumps(title, ensure_ascii=False).encode())
    out = capsysbinary.readouterr().out
    assert b"\\u202e" in out and "\u202e".encode() not in out
    assert json.loads(out) == title
