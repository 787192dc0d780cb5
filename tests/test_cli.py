"""The command line, as a person or a script calls it.

Commands run in this process. Those that a signal or a closed pipe ends have a process of their own.
"""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import core
from core.cli.main import PIPE_CLOSED, parser, with_command
from core.features.share.formats import FORMATS
from core.storage import run_schema
from core.storage.migrations import Schema, migrate, version_of
from tests.services.command_line import Done, Stream, environment, openquery
from tests.services.loopback import Gate, Loopback, Reply, Request, json_reply
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
DEMO = ("--search", "demo")


@pytest.fixture(scope="module")
def folder(shared_warm_folder: Path) -> Path:
    """One data folder for all commands."""
    return shared_warm_folder


@pytest.fixture(scope="module")
def verbose(folder: Path) -> Done:
    """A question with three short flags, every step on stderr."""
    return openquery(folder, "ask", QUESTION, *DEMO, "-v", "-c", "3", "-r", "5", "-q", "3")


class SearchServer(Loopback):
    """A SearXNG that finds `count` pages without snippets on this machine; the query `failing` fails."""

    def __init__(self, count: int, failing: str = "") -> None:
        super().__init__(self._answer)
        self.count, self.failing = count, failing
        self.snippet = ""

    async def _answer(self, request: Request) -> Reply:
        if request.query["q"] == self.failing:
            return json_reply({}, status=500)
        rows = [
            {"url": f"{self.url}/{number}", "title": f"Page {number}", "content": self.snippet}
            for number in range(self.count)
        ]
        return json_reply({"results": rows})


@pytest.fixture
def model(fake_openai: FakeOpenAI) -> dict[str, str]:
    """The variables that connect the scripted model."""
    return {
        "OPENAI_API_KEY": "sk-canary",
        "OPENQUERY_BASE_URL": fake_openai.base_url,
        "OPENQUERY_CHAT_MODEL": "fake-chat",
    }


# --- arguments --------------------------------------------------------------------------------------------


def test_help_is_quick_because_it_loads_no_heavy_library(folder: Path) -> None:
    program = (
        "import sys, core.cli.main as m; print(m.parser().format_help()); "
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'sentencepiece', 'trafilatura', 'openai', 'httpx', 'pandas', "
        "'streamlit', 'plotly'}; print(sorted(heavy & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], env=environment(folder), capture_output=True, text=True, check=True
    )
    assert process.stdout.endswith("\n[]\n")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_program_option_loads_neither_settings_nor_knobs(folder: Path, option: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "openquery", option]
    process = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "core.cli.main" in loaded
    assert not {"pydantic", "pydantic_settings", "core.config.settings", "core.config.knobs"} & loaded


def test_the_program_has_a_command_for_each_use(folder: Path) -> None:
    result = openquery(folder, "--help")
    assert result.code == 0
    for command in ("ask", "check", "ingest", "serve", "--version", "--port"):
        assert re.search(rf"^\s+{command} ", result.out, re.M)


def test_version_is_the_version_of_the_package(tmp_path: Path) -> None:
    assert openquery(tmp_path, "--version").out == f"openquery {core.__version__}\n"


def test_version_tells_what_an_upgrade_migrates_and_changes_nothing(tmp_path: Path) -> None:
    first, latest = run_schema.SCHEMA.version, run_schema.SCHEMA.latest
    migrate(tmp_path / "runs.sqlite", Schema(first, run_schema.SCHEMA.tables))
    told = openquery(tmp_path, "--version").out
    assert f"has schema {first}, and this version writes {latest}: opening it migrates the file" in told
    assert version_of(tmp_path / "runs.sqlite") == first
    migrate(tmp_path / "runs.sqlite", run_schema.SCHEMA)
    assert "nothing is migrated" in openquery(tmp_path, "--version").out
    (tmp_path / "library.sqlite").write_text("no database, but long enough to be taken for the header of one")
    assert "library.sqlite cannot be read" in openquery(tmp_path, "--version").out


@pytest.mark.parametrize(
    "arguments", [["chek"], ["ask"], ["ask", "a", "b"], ["serve", "--port", "x"], ["ask", "a", "-s", "-l"]]
)
def test_unparsable_command_line_is_exit_code_2(folder: Path, arguments: list[str]) -> None:
    result = openquery(folder, *arguments)
    assert result.code == 2
    assert ": error: " in result.err
    assert result.err.count("\n") < 20, "what is wrong is seen, not a usage of a screen"


@pytest.mark.parametrize("command", ["ask", "runs", "eval run", "serve"])
def test_unknown_option_is_refused_with_the_usage_of_its_command(folder: Path, command: str) -> None:
    result = openquery(folder, *command.split(), *(["a"] if command == "ask" else []), "--nope")
    assert result.code == 2
    assert f"openquery {command}: error: unrecognized arguments: --nope\n" in result.err
    assert result.err.startswith(
        f"openquery {command}: " if command == "ask" else f"usage: openquery {command} "
    )


def test_a_port_that_is_none_is_refused(folder: Path) -> None:
    result = openquery(folder, "serve", "--port", "70000")
    assert (result.code, "'70000' is not a port from 0 to 65535" in result.err) == (2, True)


def test_help_of_export_names_every_format(folder: Path) -> None:
    help_text = " ".join(re.sub(r"[,;()]", " ", openquery(folder, "export", "--help").out).split())
    assert [ending for ending in FORMATS if f" {ending} " not in help_text] == []


@pytest.mark.parametrize("length", ["short", "long"])
def test_the_options_used_most_have_a_letter(length: str) -> None:
    words = ["--chunks", "3", "--results", "5", "--queries", "2", f"--{length}", "--verbose"]
    letters = ["-c", "3", "-r", "5", "-q", "2", f"-{length[0]}", "-v"]
    parse = parser().parse_args
    assert parse(["ask", QUESTION, *letters]) == parse(["ask", QUESTION, *words])


def test_the_numbers_of_a_run_are_flags() -> None:
    flags = ["--read-concurrency", "10", "--embed-batch", "100", "--embed-in-flight", "2"]
    options = vars(parser().parse_args(["ask", QUESTION, *flags]))
    assert [options[name] for name in ("read.concurrency", "embed.batch", "embed.in_flight")] == [10, 100, 2]


def test_in_a_checkout_no_question_is_a_usage_error(folder: Path) -> None:
    result = openquery(folder, checkout=True)
    assert result.code == 2
    assert "required: question" in result.err


@pytest.mark.parametrize("checkout", [False, True])
def test_a_question_may_be_asked_without_the_command(folder: Path, verbose: Done, checkout: bool) -> None:
    for arguments in (("-c", "3", *DEMO, QUESTION), (QUESTION, "-c", "3", *DEMO)):
        result = openquery(folder, *arguments, checkout=checkout)
        assert (result.code, result.out) == (0, verbose.out)


def test_options_of_the_program_are_no_question() -> None:
    for arguments in ([], ["--port", "8502"], ["--port=8502"], ["--version"], ["chek"], ["ask", "a"]):
        assert with_command(arguments) == arguments


def test_wrong_settings_are_named_by_every_command(folder: Path) -> None:
    for arguments in (["check"], ["serve"], ["ask", QUESTION], ["ingest", "notes", "a.md"]):
        result = openquery(folder, *arguments, OPENQUERY_WORKERS="-1")
        assert result.code == 2, arguments
        assert "OPENQUERY_WORKERS" in result.err


# --- what is printed --------------------------------------------------------------------------------------


def test_the_answer_is_on_stdout_with_its_sources_below(verbose: Done) -> None:
    assert verbose.code == 0, verbose.err
    answer, _, sources = verbose.out.partition("\nSources\n")
    assert "[1]" in answer
    assert "https://handbook.openquery.example/chunk-overlap" in sources
    assert "[4]" not in sources


def test_verbose_prints_every_step_on_stderr_one_a_line(verbose: Done) -> None:
    lines = verbose.err.splitlines()
    steps = [line for line in lines if line.startswith("[")]
    assert steps[0] == f"[Searching web for '{QUESTION}'...]"
    assert steps[1:6] == [
        f"[Fetching article {number}/5: handbook.openquery.example]" for number in range(1, 6)
    ]
    batches = [re.fullmatch(r"\[Generating embeddings: batch (\d+)/(\d+)\]", step) for step in steps[6:-1]]
    assert [int(batch[1]) for batch in batches if batch] == list(range(1, len(batches) + 1))
    assert all(int(batch[1]) <= int(batch[2]) for batch in batches if batch)
    assert steps[-1] == "[Found top 3 most relevant chunks overall. Generating answer...]"
    for word in ("query", "search", "page", "chunked", "embedded", "ranked"):
        assert any(re.match(rf" +\d+\.\d\d s  {word}", line) for line in lines)
    assert "extractive" in lines[-2]


def test_pipe_without_verbose_gets_only_notes_and_a_summary(folder: Path) -> None:
    result = openquery(folder, "ask", QUESTION, *DEMO, "-q", "1")
    assert re.fullmatch(
        r"\d+\.\d s · searched by demo · 5 of 5 pages read · extractive: quoted sentences\n"
        r"The run is in the history: \S+\n",
        result.err,
    )


def test_terminal_gets_one_rewritten_line_that_fits(folder: Path) -> None:
    result = openquery(folder, "ask", QUESTION, *DEMO, "-q", "1", terminal=True, COLUMNS="60")
    progress = re.findall(r"\r\x1b\[K([^\r\n]*)", result.err)
    for step in ("[Searching web for", "[Fetching article 5/5: ", "[Generating embeddings: batch 1/"):
        assert any(line.startswith(step) for line in progress), step
    assert max(len(line) for line in progress[:-1]) < 60
    assert result.err.count("\n") == 2, "the summary, and where the run is"


def test_json_prints_the_run_and_nothing_else(folder: Path) -> None:
    run = json.loads(openquery(folder, "ask", QUESTION, *DEMO, "--json").out)
    assert run["status"] == "done"
    assert run["sources"]
    assert run["pages"]


def test_context_prints_the_sources_and_asks_for_no_answer(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    result = openquery(folder, "ask", QUESTION, *DEMO, "--context", "-q", "1", "-c", "2", "-v", **model)
    assert result.code == 0, result.err
    first, second = re.split(r"\n\n(?=\[Source)", result.out)
    assert re.match(r"\[Source 1: .+\]\(https://handbook\.openquery\.example/[\w-]+\)\n\w", first)
    assert re.match(r"\[Source 2: .+\]\(https://handbook\.openquery\.example/[\w-]+\)\n\w", second)
    assert "[Found top 2 most relevant chunks overall.]" in result.err
    assert fake_openai.requests == []


def test_given_queries_are_searched_without_asking_a_model(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    flags = ("--query", "passage boundaries", "--query", "chunk size cost")
    result = openquery(folder, "ask", QUESTION, *DEMO, *flags, "--context", "-v", **model)
    assert result.code == 0, result.err
    searched = re.findall(r"^\[Searching web for '(.+)'\.\.\.\]$", result.err, re.M)
    assert searched == ["passage boundaries", "chunk size cost"]
    assert fake_openai.requests == []


# --- what fails -------------------------------------------------------------------------------------------


def test_failed_searches_and_articles_are_warnings_naming_the_step(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    fake_openai.chats.append(streamed("chunk overlap\nchunk size"))
    with SearchServer(2, failing="chunk size") as server:
        connected = {**model, "SEARXNG_URL": server.url}
        result = openquery(folder, "ask", QUESTION, "-q", "2", "-v", "--context", **connected)
        assert result.code == 4
        assert result.out == "Found search results but could not extract readable content.\n"
        assert "Warning: Search failed for query 'chunk size': SearXNG at" in result.err
        assert f"Warning: Failed to fetch article {server.url}/0: address not allowed" in result.err
        assert (
            "openquery: Found search results but could not extract readable content. None of the 2"
            in result.err
        )

        fake_openai.chats.append(streamed("chunk overlap\nchunk size"))
        server.count = 0
        result = openquery(folder, "ask", QUESTION, "-q", "2", "--context", **connected)
        assert (result.code, result.out) == (3, "No search results found.\n")
        assert "openquery: No search results found. " in result.err
        assert "Warning: Search failed" in result.err, "a search that failed is news without --verbose too"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ((" ",), 2, "empty"),
        (("x" * 1001,), 2, "limit is 1,000"),
        ((QUESTION, "--chunks", "51"), 2, "--chunks: input should be less than or equal to 50"),
        ((QUESTION, "--read-page-timeout", "0"), 2, "--read-page-timeout: input should be"),
        ((QUESTION, "--query", " "), 2, "query is empty"),
        ((QUESTION, *(("--query", "a") * 11)), 2, "limit is 10"),
        ((QUESTION, "--search", "searxng", "--searxng-url", "http://127.0.0.1:9"), 3, "SearXNG"),
        ((QUESTION, "--search", "searxng"), 3, "SEARXNG_URL"),
    ],
)
def test_exit_codes_name_the_failed_part_with_advice(
    folder: Path, arguments: tuple[str, ...], code: int, word: str
) -> None:
    result = openquery(folder, "ask", *arguments)
    assert result.code == code, result.err
    assert word in result.err


def test_a_chat_model_of_the_environment_writes_the_answer(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    fake_openai.chats.append(streamed("chunk overlap"))
    fake_openai.chats.append(streamed("Written [Source 2: A title], [1]."))
    result = openquery(folder, "ask", QUESTION, *DEMO, "--verbose", **model)
    assert result.code == 0, result.err
    assert result.out.startswith("Written [2], [1].\n")
    assert re.findall(r"^\*\[(\d)\]", result.out, re.M) == ["1", "2"]
    assert "24+10 tokens" in result.err
    assert "sk-canary" not in result.out + result.err


def test_model_text_sends_no_control_sequences_to_the_terminal(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    fake_openai.chats.append(streamed("Written\x1b]0;title\x07 \x1b[2J\x9b2J\rso [1].\n\tEnd.", " 検索 “so”"))
    result = openquery(folder, "ask", QUESTION, *DEMO, "-q", "1", "-v", encoding="latin-1", **model)
    assert result.out.startswith("Written]0;title [2J2Jso [1].\n\tEnd. ?? ?so?\n")
    assert "\x1b" not in result.out + result.err


def test_a_refused_key_is_exit_code_6(folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]) -> None:
    fake_openai.chats.extend([failure(401), failure(401)])
    result = openquery(folder, "ask", QUESTION, *DEMO, **model)
    assert result.code == 6
    assert "key" in result.err
    assert "sk-canary" not in result.err


@pytest.mark.parametrize("command", [(), ("serve",), ("check",), ("ask", QUESTION)])
def test_misspelt_setting_stops_every_command(folder: Path, command: tuple[str, ...]) -> None:
    result = openquery(folder, *command, OPENQUERY_PRIVATE_COLLECTION="notes")
    assert result.code == 2
    assert "OPENQUERY_PRIVATE_COLLECTION (in the environment)" in result.err
    assert "Did you mean OPENQUERY_PRIVATE_COLLECTIONS " in result.err


def test_check_lists_what_is_connected(folder: Path) -> None:
    result = openquery(folder, "check")
    assert result.code == 0, result.out + result.err
    for part in ("SearXNG", "Chat model", "Embedder", "Article extraction", "Data folder"):
        assert part in result.out
    assert "384 dimensions" in result.out
    assert "8-bit kernels: " in result.out


def test_check_fails_when_something_named_does_not_work(folder: Path) -> None:
    result = openquery(folder, "check", SEARXNG_URL="http://127.0.0.1:9")
    assert result.code == 1
    assert "broken" in result.out


# --- processes --------------------------------------------------------------------------------------------


def started(folder: Path, model: dict[str, str]) -> subprocess.Popen[str]:
    """A question whose answer has begun, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "core", QUESTION, *DEMO, "-q", "1"],
        env=environment(folder, **model),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "A start [1].\n"
    return process


def test_ctrl_c_in_the_first_second_is_code_130(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-v", "-m", "openquery", "chat"],
        env=environment(folder),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "import 'core.errors'" not in (line := process.stderr.readline()):
        assert line, "its imports are listed as they are made"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_ctrl_c_stops_at_once_with_code_130(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("A start [1].\n", gate, "The rest."))
    process = started(folder, model)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    gate.open()
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_reader_that_closes_early_ends_the_run_quietly(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]
) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("A start [1].\n", gate, "The rest.", Gate()))
    process = started(folder, model)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    gate.open()
    assert process.wait(timeout=20) == PIPE_CLOSED
    assert process.stderr.read() == ""


# --- the method deep --------------------------------------------------------------------------------------

PLAN = f"{QUESTION}\nWhat does BM25 reward?"


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A person at a terminal types this."""
    terminal = Stream("utf-8", terminal=True)
    terminal.write(text)
    terminal.seek(0)
    monkeypatch.setattr("sys.stdin", terminal)


def test_a_plan_is_approved_in_advance(folder: Path, fake_openai: FakeOpenAI, model: dict[str, str]) -> None:
    fake_openai.chats.extend(map(streamed, (PLAN, "Overlap [1].", "BM25 [7].", "Both [1][7].")))
    done = openquery(
        folder, "ask", QUESTION, "--method", "deep", "--yes", "--queries", "1", "--search", "demo", **model
    )
    assert done.code == 0
    assert f"## {QUESTION}\n\nOverlap [1]." in done.out
    assert "## In brief\n\nBoth [1][7]." in done.out
    assert "2. What does BM25 reward?" in done.err


def test_a_plan_is_edited_in_the_terminal(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "e\nHow large should the overlap be?\n\n")
    fake_openai.chats.extend(map(streamed, (PLAN, "Half [1].", "Half [1].")))
    done = openquery(
        folder, "ask", QUESTION, "--method", "deep", "--queries", "1", "--search", "demo", **model
    )
    assert "## How large should the overlap be?" in done.out
    assert "What does BM25 reward?" not in done.out


def test_a_plan_that_is_not_approved_searches_nothing(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "n\n")
    fake_openai.chats.append(streamed(PLAN))
    done = openquery(folder, "ask", QUESTION, "--method", "deep", "--search", "demo", **model)
    assert (done.code, done.out) == (0, "")
    assert "nothing was searched" in done.err


def test_plan_is_refused_without_a_terminal_before_any_model(
    folder: Path, fake_openai: FakeOpenAI, model: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Stream("utf-8"))
    done = openquery(folder, "ask", QUESTION, "--method", "deep", **model)
    assert done.code == 2
    assert "--yes" in done.err
    assert fake_openai.requests == []
