"""Every command in the quick selection: each starts, and names what it was told to use and is not there."""

import socket
from pathlib import Path

import pytest

from core.cli.arguments import COMMANDS
from core.features.evaluate.feature import ACTIONS
from tests.services.command_line import openquery

LEAVES = {*(name for name in COMMANDS if name != "eval"), *(f"eval {name}" for name in ACTIONS)}
ABSENT = {
    "ask": ("--since", "missing"),
    "chat": ("--follow", "missing"),
    "watch": ("missing", "--once"),
    "runs": ("show", "missing"),
    "export": ("missing", "--out", "run.zip"),
    "open": ("missing",),
    "replay": ("missing",),
    "ingest": ("notes", "missing"),
    "eval run": ("--data", "missing"),
    "eval freeze": ("--data", "missing", "--out", "frozen.zip"),
    "eval check": ("missing", "--data", "missing"),
    "eval compare": ("missing", "missing"),
    "eval answers": ("--data", "missing"),
}
"""Arguments with which a command ends at once, because what they name is not there."""


@pytest.mark.parametrize("command", sorted(LEAVES - {"check", "completion", "mcp", "serve"}))
def test_each_command_names_what_is_not_there(tmp_path: Path, command: str) -> None:
    result = openquery(tmp_path, *command.split(), *ABSENT[command])
    assert result.code in (2, 7)
    assert result.err.startswith("openquery: ")
    assert "missing" in result.err
    assert result.out == ""


def test_check_reports_a_machine_on_which_nothing_is_connected(tmp_path: Path) -> None:
    result = openquery(tmp_path, "check")
    assert result.code == 0
    assert "Egress              works   Passages stay on this machine." in result.out


def test_serve_ends_when_its_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = openquery(tmp_path, "serve", "--port", str(taken.getsockname()[1]))
    assert result.code == 2
    assert "Address already in use. Choose another" in result.err


def test_an_address_that_no_machine_has_is_refused(tmp_path: Path) -> None:
    result = openquery(tmp_path, "--host", "nowhere.invalid")
    assert result.code == 2
    assert result.err == "openquery: nowhere.invalid is no address of this machine. Name one by --host.\n"


def test_a_terminal_shows_how_far_a_sweep_is(tmp_path: Path) -> None:
    data = tmp_path / "ponds.jsonl"
    data.write_text(
        '{"id": "a", "text": "Ponds freeze."}\n{"question": "What freezes?", "relevant": ["a"]}\n', "utf-8"
    )
    results = {
        terminal: openquery(tmp_path, "eval", "run", "--data", str(data), terminal=terminal)
        for terminal in (True, False)
    }
    assert "1 ranking" in results[True].err
    assert results[True].err.endswith("\r\033[K"), "the line is removed"
    assert "\r" not in results[False].err
    assert "nDCG@10" in results[True].out
