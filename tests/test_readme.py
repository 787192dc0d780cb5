"""What the README tells a reader to type does what it says, word for word."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reading.test_pdf import pdf
from tests.services.command_line import Done, environment, openquery
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.process import own_port

pytestmark = pytest.mark.slow

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
USAGE = (Path(__file__).parent.parent / "docs" / "usage.md").read_text("utf-8")
REPORT = pdf(
    [
        "What the report recommends",
        "What the report recommends is to dredge the mill pond in spring, and the report recommends no new wheel.",
    ]
)


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document, re.M | re.S)


def run_line(folder: Path, line: str) -> Done:
    program, *arguments = shlex.split(line)
    assert program == "openquery"
    return openquery(folder, *arguments)


def test_own_documents_are_added_and_asked_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("report.pdf").write_bytes(REPORT)
    Path("notes").mkdir()
    Path("notes/ferry.md").write_text("# The ferry\n\nThe ferry at Low Marsh carried eleven carts a day.")
    (block,) = (block for block in blocks(README, "bash") if "ingest" in block)
    ingest, ask = block.splitlines()

    added = run_line(tmp_path / "data", ingest)
    assert added.code == 0, added.err
    answered = run_line(tmp_path / "data", ask)
    assert answered.code == 0, answered.err
    assert "dredge the mill pond in spring" in answered.out

    last = added.err.splitlines()[-1]
    assert last.startswith("To ask it: openquery ask ")
    suggested = run_line(tmp_path / "data", last.removeprefix("To ask it: "))
    assert suggested.code == 0, suggested.err
    assert "[1]" in suggested.out


def test_the_first_words_of_the_program_are_the_address(tmp_path: Path) -> None:
    port = own_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "openquery", "--port", str(port)],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"OpenQuery: http://127.0.0.1:{port}\n"
    finally:
        process.terminate()
        process.wait(20)


class Search(Loopback):
    """A SearXNG whose one result has a snippet and a page that may not be fetched."""

    def __init__(self) -> None:
        super().__init__(self._answer)

    async def _answer(self, request: Request) -> Reply:
        text = "Chunk overlap lifts recall for facts that straddle a chunk boundary."
        return json_reply({"results": [{"url": f"{self.url}/a", "title": "Overlap", "content": text}]})


@pytest.mark.parametrize("program", [*blocks(README, "python"), *blocks(USAGE, "python")])
def test_a_python_example_runs_as_a_file(program: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(program)
    with Search() as search:
        done = subprocess.run(
            [sys.executable, tmp_path / "example.py"],
            env=environment(tmp_path / "data", SEARXNG_URL=search.url),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    assert "Chunk overlap lifts recall" in done.stdout
