"""The audit of dependencies reports everything, fails for what can be cured, and admits when it could not look."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.__main__ import NOT_DONE

SCRIPT = Path(__file__).parents[1] / ".ci" / "audit.py"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "fixes", "curable"),
    [
        ("kettle", ["1.9.1"], True),
        ("Kettle", ["1.9.1", "2.0"], True),
        ("kettle", ["2.0"], False),
        ("kettle", [], False),
        ("a-part-of-a-part", ["7.0"], True),
    ],
)
def test_only_what_an_allowed_version_cures_is_fatal(
    audit: ModuleType, name: str, fixes: list[str], curable: bool
) -> None:
    report = {
        "dependencies": [
            {"name": name, "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": fixes}]},
            {"name": "sound", "version": "3", "vulns": []},
            {"name": "local", "skip_reason": "not on the index"},
        ]
    }
    lines, fatal = audit.verdict(report, audit.allowed(["# ours", "kettle[lid]>=1,<2", ""]))
    assert fatal is curable
    assert len(lines) == 1
    assert "CVE-1" in lines[0]


def test_service_that_does_not_answer_is_reported() -> None:
    environment = {**os.environ, "HTTPS_PROXY": NOBODY, "HTTP_PROXY": NOBODY, "ALL_PROXY": NOBODY}
    done = subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, env=environment, timeout=100, check=False
    )
    assert done.returncode == NOT_DONE
    assert "NOT audited" in done.stdout


def test_audit_fails_if_its_tool_is_missing(tmp_path: Path) -> None:
    """In an environment that has `packaging`, which the script needs, and no more."""
    package = importlib.util.find_spec("packaging")
    assert package is not None
    assert package.origin is not None
    (tmp_path / "packaging").symlink_to(Path(package.origin).parent)
    done = subprocess.run(
        [sys.executable, "-S", SCRIPT],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert "pip-audit is missing" in done.stderr
    assert "pip install" in done.stderr
