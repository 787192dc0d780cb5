"""The wheel: one top-level package, usable from any folder, beside another package called `core`."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

import openquery
from hatch_build import with_package
from tests.services.health import once_started
from tests.services.process import own_port, serving

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parent.parent
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
BUILD_SECONDS = 100


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [*PIP, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(command, check=True, timeout=BUILD_SECONDS, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    command = [*PIP, "install", "--no-index", "--no-deps", "--target", folder, wheel]
    subprocess.run(command, check=True, timeout=BUILD_SECONDS)
    return folder


@pytest.fixture
def environment(installed: Path, tmp_path: Path) -> dict[str, str]:
    """The installed package can be imported, and before it another package called `core`."""
    other = tmp_path / "other" / "core"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise RuntimeError('another package called core was imported')")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join((str(other.parent), str(installed))),
        "OPENQUERY_DATA": str(tmp_path / "data"),
        "OPENQUERY_WORKERS": "1",
        "OLLAMA_HOST": "",
    }


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def _run(command: list[str | Path], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []
    return done.stdout


def test_the_wheel_holds_one_package_with_all_it_needs(wheel: Path) -> None:
    assert wheel.name.startswith(f"openquery_dashboard-{openquery.__version__}-")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {
        "openquery",
        "openquery_dashboard",
    }
    data = (
        *("static/icon.png", "static/styles/theme.css", "static/scripts/citations.js"),
        *(".streamlit/config.toml", "pages/parts/copy_link.html", "docs/handbook/bm25.md"),
        *("core/features/share/assets/ranking.js", "core/features/share/assets/html_export.css"),
    )
    assert {f"openquery/{name}" for name in data} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "secrets" in name]


def test_nothing_in_the_wheel_imports_top_level_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(".py"):
                continue
            for node in ast.walk(ast.parse(archive.read(name))):
                named = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
                named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                assert not [module for module in named if re.match(r"(core|pages)\b", module or "")], name


def test_imports_are_rewritten_where_they_stand() -> None:
    source = (
        "x = 'ä'; from core.a import (\n    b,\n)\ndef f():\n    from pages import c\nfrom corelib import d\n"
    )
    assert with_package(source, "m.py") == (
        "x = 'ä'; from openquery.core.a import (\n    b,\n)\ndef f():\n    from openquery.pages import c\n"
        "from corelib import d\n"
    )
    with pytest.raises(ValueError, match=r"m\.py:1: write `from core"):
        with_package("import core.a", "m.py")


def test_the_installed_command_answers_from_an_empty_folder(
    installed: Path, environment: dict[str, str], empty: Path
) -> None:
    question = "How does chunk overlap affect retrieval?"
    command = [sys.executable, installed / "bin" / "openquery"]
    answer = _run([*command, "ask", question, "--search", "demo"], environment, empty)
    assert "[1]" in answer
    assert "https://handbook.openquery.example/chunk-overlap" in answer
    version = _run([*command, "--version"], environment, empty)
    assert version.split()[0] == "openquery"


def test_the_installed_package_exports_the_public_api(environment: dict[str, str], empty: Path) -> None:
    program = "from openquery import Knobs, Run, Settings, research, retrieve; print(retrieve.__module__)"
    assert _run([sys.executable, "-c", program], environment, empty) == "openquery.core.pipeline\n"


def test_the_installed_command_ingests_and_reads_documents(
    installed: Path, environment: dict[str, str], empty: Path, tmp_path: Path
) -> None:
    (tmp_path / "cats.md").write_text("# Cats\n\nCats sleep most of the day.")
    command = [sys.executable, installed / "bin" / "openquery"]
    _run([*command, "ingest", "notes", tmp_path / "cats.md"], environment, empty)
    # The embedded database and the extraction run in processes of their own.
    checked = _run([*command, "check"], environment, empty)
    assert "1 worker process" in checked
    assert "1 collection" in checked


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ([], ("/_stcore/health", "/", "/app/static/inter-latin.woff2", "/api/health")),
        (["serve"], ("/health", "/openapi.json")),
    ],
    ids=["pages", "api"],
)
def test_the_installed_command_serves(
    installed: Path, environment: dict[str, str], empty: Path, arguments: list[str], paths: tuple[str, ...]
) -> None:
    port = str(own_port())
    command = [sys.executable, installed / "bin" / "openquery", *arguments, "--port", port]
    url = f"http://127.0.0.1:{port}"
    with serving(command, ready=url + paths[0], folder=empty, env=environment, patience=60):
        for path in paths:
            address = url + path
            assert once_started(lambda: httpx.get(address, timeout=30, trust_env=False)).status_code == 200  # noqa: B023


def test_space_serves_only_its_name_from_the_demo_library(
    installed: Path, environment: dict[str, str], empty: Path
) -> None:
    recipe = (ROOT / "deploy" / "space" / "Dockerfile").read_text("utf-8")
    variables = dict(re.findall(r"^(?:ENV| {3}) (OPENQUERY_\w+)=(\S+)", recipe, re.MULTILINE))
    shell, flag, line = json.loads(recipe.rpartition("CMD ")[2])
    port = str(own_port())
    command = shlex.join([sys.executable, str(installed / "bin" / "openquery")])
    line = line.replace(" openquery ", f" {command} ").replace("7860", port)
    address, name = f"http://127.0.0.1:{port}", "ada-openquery.hf.space"
    environment = {
        **environment,
        **variables,
        "OPENQUERY_DATA": environment["OPENQUERY_DATA"],
        "SPACE_HOST": name,
    }
    ready = f"{address}/_stcore/health"
    with serving([shell, flag, line], ready=ready, folder=empty, env=environment, patience=60):
        for host, status in ((name, 200), ("other.example", 421)):
            assert httpx.get(address, headers={"Host": host}, trust_env=False).status_code == status
        question = {"question": "How does chunk overlap affect retrieval?"}
        reply = httpx.post(f"{address}/api/research", json=question, timeout=60, trust_env=False).json()
        assert reply["backend"] == "demo"
        assert "[1]" in reply["answer"]


def test_the_installed_pages_draw(installed: Path, environment: dict[str, str], empty: Path) -> None:
    program = (
        "import sys; from streamlit.testing.v1 import AppTest; "
        f"page = AppTest.from_file({str(installed / 'openquery' / 'app.py')!r}, default_timeout=60).run(); "
        "print([one.value for one in page.exception], len(page.text_area) + len(page.text_input) > 0)"
    )
    assert _run([sys.executable, "-c", program], environment, empty) == "[] True\n"
