"""Shells complete commands, actions, options and their values."""

import shutil
import subprocess

import pytest

from core.cli.completion import completion_script
from tests.services.command_line import openquery


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    commands = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_openquery; echo ${{COMPREPLY[@]}}"
    return subprocess.run(
        ["bash", "-c", f"{script}\n{commands}"], capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("openquery", ""), {"ask", "chat", "serve", "ingest", "eval", "mcp"}),
        (("openquery", "eval", ""), {"run", "freeze", "check", "compare", "answers"}),
        (("openquery", "ask", "--rank-"), {"--rank-per-page", "--rank-diversity"}),
        (("openquery", "ask", "--strategy", ""), {"cosine", "bm25", "fused"}),
    ],
)
def test_bash_completes_commands_options_and_values(words: tuple[str, ...], offered: set[str]) -> None:
    if shutil.which("bash") is None:
        pytest.fail("This test needs bash.")
    assert offered <= set(completed(completion_script("bash"), *words))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_every_knob(
    tmp_path_factory: pytest.TempPathFactory, shell: str
) -> None:
    script = openquery(tmp_path_factory.mktemp(shell), "completion", shell).out
    assert "rank-diversity" in script
    assert "no-store" in script
