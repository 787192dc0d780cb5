"""The product without one feature: a copy of the core without its folder and its line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.runtime.features import FEATURES, features

ROOT = Path(__file__).parents[2]
QUESTION = "How does chunk overlap affect retrieval?"


def without(feature: str, folder: Path) -> None:
    """Copy the product, without the feature and those that use it."""
    removed = {feature, *(other.name for other in features() if feature in other.uses)}
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "core", folder / "core", ignore=ignored)
    for name in ("app.py", "server.py", "pages", "static", "docs", ".streamlit"):
        (folder / name).symlink_to(ROOT / name)
    listing = folder / "core" / "runtime" / "features.py"
    source = listing.read_text("utf-8")
    for name in removed:
        shutil.rmtree(folder / "core" / "features" / name)
        source = source.replace(f'    "{name}",\n', "")
    listing.write_text(source, "utf-8")


def run(folder: Path, *arguments: str) -> str:
    """Run Python in the copy, and return its output."""
    environment = {**os.environ, "OPENQUERY_DATA": str(folder / "data"), "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("feature", FEATURES)
def test_a_question_is_answered_without_the_feature(feature: str, tmp_path: Path) -> None:
    without(feature, tmp_path)
    answer = run(tmp_path, "-m", "core", "ask", QUESTION, "--search", "demo", "--strategy", "bm25")
    assert "[1]" in answer


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["api", "notebook", "watch"])
def test_the_pages_start_without_the_feature(feature: str, tmp_path: Path) -> None:
    without(feature, tmp_path)
    run(tmp_path, "-c", "import server; [mounted.start() for mounted in server.mounts]")


@pytest.mark.slow
def test_a_question_imports_no_service_of_a_feature(tmp_path: Path) -> None:
    (tmp_path / "core").symlink_to(ROOT / "core")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    asked = f"main(['ask', {QUESTION!r}, '--search', 'demo', '--strategy', 'bm25'])"
    imported = "print(*(name for name in sys.modules if '.evaluate.services' in name or '.api.' in name))"
    said = run(tmp_path, "-c", f"import sys; from core.cli.main import main; {asked}; {imported}")
    assert "[1]" in said
    assert "core.features.evaluate.services" not in said
    assert "core.features.api.application" not in said
