"""The command line, as a person or a script calls it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import core
from core.cli.main import main
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parent.parent
QUESTION = "How does chunk overlap affect retrieval?"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "OPENQUERY_DATA": str(tmp_path), "OLLAMA_HOST": "", "PYTHONPATH": str(ROOT)}


def _call(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "core", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_help_is_quick_because_it_loads_no_heavy_library(environment: dict[str, str]) -> None:
    program = (
        "import sys, core.cli.main as m; m.parser().format_help(); "
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'trafilatura', 'openai', 'httpx', 'pandas', "
        "'streamlit', 'plotly'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert "--chunks" in _call(environment, "--help").stdout


def test_the_program_has_a_command_for_each_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for command in ("ask", "check", "ingest", "serve", "--version", "--port"):
        assert re.search(rf"^\s+{command} ", shown, re.M)


def test_version_is_the_version_of_the_package(environment: dict[str, str]) -> None:
    assert _call(environment, "--version").stdout == f"openquery {core.__version__}\n"


@pytest.mark.parametrize("arguments", [["chek"], ["ask"], ["ask", "a", "b"], ["serve", "--port", "x"]])
def test_a_command_line_that_cannot_be_parsed_is_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: openquery")


def test_in_a_checkout_no_question_is_a_usage_error(environment: dict[str, str]) -> None:
    done = _call(environment)
    assert done.returncode == 2
    assert "required: question" in done.stderr


def test_in_a_checkout_a_question_may_be_asked_with_or_without_the_command(
    environment: dict[str, str],
) -> None:
    with_command = _call(environment, "ask", QUESTION, "--search", "demo")
    assert with_command.returncode == 0, with_command.stderr
    assert with_command.stdout == _call(environment, "--search", "demo", QUESTION).stdout


def test_wrong_settings_are_named_by_every_command(environment: dict[str, str]) -> None:
    for arguments in (["check"], ["serve"], ["ask", QUESTION], ["ingest", "notes", "a.md"]):
        done = _call({**environment, "OPENQUERY_WORKERS": "-1"}, *arguments)
        assert done.returncode == 2, arguments
        assert "OPENQUERY_WORKERS" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_answer_is_on_stdout_with_its_sources_below_and_progress_on_stderr(
    environment: dict[str, str],
) -> None:
    done = _call(
        environment, QUESTION, "--search", "demo", "--chunks", "3", "--results", "5", "--queries", "3"
    )
    assert done.returncode == 0, done.stderr
    answer, _, sources = done.stdout.partition("\nSources\n")
    assert "[1]" in answer
    assert "https://handbook.openquery.example/chunk-overlap" in sources
    assert "[4]" not in sources
    assert "extractive" in done.stderr


def test_verbose_tells_every_step(environment: dict[str, str]) -> None:
    done = _call(environment, QUESTION, "--search", "demo", "--verbose")
    for word in ("query", "search", "page", "chunked", "embedded", "ranked"):
        assert f"  {word}" in done.stderr


def test_json_prints_the_run_and_nothing_else(environment: dict[str, str]) -> None:
    done = _call(environment, QUESTION, "--search", "demo", "--json")
    run = json.loads(done.stdout)
    assert run["status"] == "done"
    assert run["sources"]
    assert run["pages"]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ((" ",), 2, "empty"),
        (("x" * 1001,), 2, "limit is 1,000"),
        ((QUESTION, "--chunks", "51"), 2, "less than or equal to 50"),
        ((QUESTION, "--search", "searxng", "--searxng-url", "http://127.0.0.1:9"), 3, "SearXNG"),
        ((QUESTION, "--search", "searxng"), 3, "SEARXNG_URL"),
    ],
)
def test_exit_codes_say_which_part_failed_and_the_message_what_to_do(
    environment: dict[str, str], arguments: tuple[str, ...], code: int, word: str
) -> None:
    done = _call(environment, *arguments)
    assert done.returncode == code, done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_chat_model_of_the_environment_writes_the_answer(
    environment: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    environment |= {"OPENAI_API_KEY": "sk-canary", "OPENQUERY_BASE_URL": fake_openai.base_url}
    fake_openai.chats.append(streamed("chunk overlap"))
    fake_openai.chats.append(streamed("Written [1]."))
    done = _call(environment, QUESTION, "--search", "demo", "--model", "fake-chat", "--verbose")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Written [1].")
    assert "24+10 tokens" in done.stderr
    assert "sk-canary" not in done.stdout + done.stderr


def test_a_refused_key_is_exit_code_6(environment: dict[str, str], fake_openai: FakeOpenAI) -> None:
    environment |= {"OPENAI_API_KEY": "sk-canary", "OPENQUERY_BASE_URL": fake_openai.base_url}
    fake_openai.chats.extend([failure(401), failure(401)])
    done = _call(environment, QUESTION, "--search", "demo", "--model", "fake-chat")
    assert done.returncode == 6
    assert "key" in done.stderr
    assert "sk-canary" not in done.stderr


def test_ctrl_c_stops_at_once_with_code_130(environment: dict[str, str], fake_openai: FakeOpenAI) -> None:
    environment |= {"OPENAI_API_KEY": "k", "OPENQUERY_BASE_URL": fake_openai.base_url}
    gate = Gate()
    fake_openai.chats.append(streamed("A start [1]. ", gate, "The rest."))
    command = [sys.executable, "-m", "core", QUESTION, "--search", "demo", "--queries", "1", "--model", "m"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.read(12) == "A start [1]."
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    gate.open()
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_check_tells_what_is_connected(environment: dict[str, str]) -> None:
    done = _call(environment, "check")
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("SearXNG", "Chat model", "Embedder", "Article extraction", "Data folder"):
        assert part in done.stdout
    assert "384 dimensions" in done.stdout


def test_check_fails_when_something_named_does_not_work(environment: dict[str, str]) -> None:
    done = _call({**environment, "SEARXNG_URL": "http://127.0.0.1:9"}, "check")
    assert done.returncode == 1
    assert "broken" in done.stdout
