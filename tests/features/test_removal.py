"""The product without one feature: a copy of the core without its folder and its line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.features import FEATURES

ROOT = Path(__file__).parents[2]
QUESTION = "How does chunk overlap affect retrieval?"


def without(feature: str, folder: Path) -> None:
    """Copy the product, without the feature and those that use it."""
    removed = {feature, *(other.name for other in FEATURES if feature in other.uses)}
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "core", folder / "core", ignore=ignored)
    for name in ("app.py", "server.py", "pages", "static", "docs", ".streamlit"):
        (folder / name).symlink_to(ROOT / name)
    entry = folder / "core" / "features" / "__init__.py"
    source = entry.read_text("utf-8")
    for name in removed:
        shutil.rmtree(folder / "core" / "features" / name)
        source = re.sub(rf"^from core\.features\.{name}\..*\n", "", source, flags=re.M)
        source = re.sub(rf"\b{name.upper()}(, )?", "", source)
    entry.write_text(source, "utf-8")


def run(folder: Path, *arguments: str) -> str:
    """Run Python in the copy, and return its output."""
    environment = {**os.environ, "OPENQUERY_DATA": str(folder / "data"), "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("feature", [feature.name for feature in FEATURES])
def test_a_question_is_answered_without_the_feature(feature: str, tmp_path: Path) -> None:
    without(feature, tmp_path)
    answer = run(tmp_path, "-m", "core", "ask", QUESTION, "--search", "demo", "--strategy", "bm25")
    assert "[1]" in answer


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["api", "notebook", "watch"])
def test_the_pages_start_without_the_feature(feature: str, tmp_path: Path) -> None:
    without(feature, tmp_path)
    run(tmp_path, "-c", "import server; [mounted.start() for mounted in server.mounts]")
