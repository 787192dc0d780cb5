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
    shutil.copytree(ROOT / "core", folder / "core")  # with what is compiled, which takes seconds to make
    for name in ("app.py", "server.py", "pages", "static", "docs", ".streamlit"):
        (folder / name).symlink_to(ROOT / name)
    listing = folder / "core" / "runtime" / "features.py"
    source = listing.read_text("utf-8")
    for name in removed:
        shutil.rmtree(folder / "core" / "features" / name)
        source = source.replace(f'    "{name}",\n', "")
    listing.write_text(source, "utf-8")


def run(folder: Path, data: Path, *arguments: str) -> str:
    """Run Python in the copy, and return its output."""
    environment = {**os.environ, "OPENQUERY_DATA": str(data), "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("feature", FEATURES)
def test_a_question_is_answered_without_the_feature(
    feature: str, tmp_path_factory: pytest.TempPathFactory, warm_folder: Path
) -> None:
    folder = tmp_path_factory.mktemp("product")
    without(feature, folder)
    answer = run(folder, warm_folder, "-m", "core", "ask", QUESTION, "--search", "demo", "--strategy", "bm25")
    assert "[1]" in answer


@pytest.mark.thorough
@pytest.mark.parametrize("feature", ["api", "notebook", "watch"])
def test_the_pages_start_without_the_feature(feature: str, tmp_path: Path) -> None:
    without(feature, tmp_path)
    run(tmp_path, tmp_path / "data", "-c", "import server; [mounted.start() for mounted in server.mounts]")


@pytest.mark.slow
def test_a_question_imports_no_service_of_a_feature(warm_folder: Path) -> None:
    asked = f"main(['ask', {QUESTION!r}, '--search', 'demo', '--strategy', 'bm25'])"
    imported = "print(*(name for name in sys.modules if '.evaluate.services' in name or '.api.' in name))"
    said = run(ROOT, warm_folder, "-c", f"import sys; from core.cli.main import main; {asked}; {imported}")
    assert "[1]" in said
    assert "core.features.evaluate.services" not in said
    assert "core.features.api.application" not in said
