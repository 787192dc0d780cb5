"""`./start` makes an environment as the lock names it, and runs OpenQuery in it, on machines of many kinds."""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.spread]

ROOT = Path(__file__).parent.parent
PROGRAM = """
import json, sys
from importlib.util import find_spec
print(json.dumps({"arguments": sys.argv[1:], "spout": find_spec("spout") is not None, "prefix": sys.prefix}))
import kettle
"""
WITHOUT_PACKAGES = {
    "PIP_FIND_LINKS": "",
    "PIP_NO_INDEX": "",
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "UV_FIND_LINKS": "",
    "UV_OFFLINE": "false",
    "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
}
"""A package index that does not answer."""
NOBODY = 65534
"""The user that owns nothing."""
TOOLS = ("sh", "dirname", "readlink")
"""Programs that the shell scripts call, beside Python."""


def wheel(folder: Path, name: str) -> str:
    """Write a wheel of one empty module, and return its line in a lock."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    information = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{information}/RECORD", "")
    return f"{name}==1.0 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


class Checkout:
    """A checkout whose lock names one small package, and a shell in another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "möhre und korn"
        self.elsewhere = folder
        self.wheels = folder / "wheels"
        self.programs = folder / "bin"
        for path in (self.folder / "locks", self.folder / "openquery", self.wheels, self.programs):
            path.mkdir(parents=True)
        shutil.copy(ROOT / "start", self.folder)
        shutil.copytree(
            ROOT / "scripts", self.folder / "scripts", ignore=shutil.ignore_patterns("__pycache__")
        )
        (self.folder / "openquery" / "__init__.py").touch()
        (self.folder / "openquery" / "__main__.py").write_text(PROGRAM)
        (self.folder / "requirements.lock").write_text(wheel(self.wheels, "kettle"))
        (self.folder / "locks" / "spout.lock").write_text(wheel(self.wheels, "spout"))
        for tool in TOOLS:
            (self.programs / tool).symlink_to(shutil.which(tool) or "")
        self.python = self.programs / "python3"
        self.python.symlink_to(Path(sys.base_prefix) / "bin" / "python3")
        self.environment = {
            "PATH": str(self.programs),
            "HOME": str(folder),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "UV_OFFLINE": "1",
            "UV_FIND_LINKS": str(self.wheels),
            "UV_NO_CACHE": "1",
        }

    @property
    def stamp(self) -> Path:
        return self.folder / ".venv" / "openquery-environment.json"

    def begin(self, *arguments: str, program: str = "", **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [program or str(self.folder / "start"), *arguments],
            cwd=self.elsewhere,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(
        self, *arguments: str, program: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        process = self.begin(*arguments, program=program, **environment)
        out, err = process.communicate(timeout=100)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def add_uv(self) -> None:
        """Put uv on the path."""
        (self.programs / "uv").symlink_to(shutil.which("uv") or "uv is among the requirements of the tests")

    def refused_to_nobody(self) -> subprocess.CompletedProcess[str]:
        """Start in a folder that may not be written, as a user without rights."""
        self.folder.chmod(0o555)
        user: dict[str, Any] = {}
        if os.getuid() == 0:  # whom no permission stops
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
            public = (Path(prefix) / "bin" / "python3" for prefix in (sys.base_prefix, "/usr", "/usr/local"))
            self.python.unlink()
            self.python.symlink_to(next(path for path in public if path.exists() and runs(path, **user)))
        return subprocess.run(
            [self.folder / "start"],
            check=False,
            cwd=self.elsewhere,
            env=self.environment,
            capture_output=True,
            text=True,
            **user,
        )

    def replace_python(self, condition: str) -> None:
        """Put a Python on the path that fails when the shell condition holds for its arguments `$*`."""
        real = self.python.resolve()
        self.python.unlink()
        self.python.write_text(f'#!/bin/sh\ncase "$*" in {condition}) exit 1 ;; esac\nexec "{real}" "$@"\n')
        self.python.chmod(0o755)


def runs(python: Path, **user: Any) -> bool:
    try:
        return subprocess.call([python, "--version"], cwd="/", **user) == 0
    except PermissionError:
        return False


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    with tempfile.TemporaryDirectory(prefix="openquery-start-") as folder:
        Path(folder).chmod(0o755)  # also for the test without rights
        yield Checkout(Path(folder))


@pytest.fixture
def checkout_with_uv(checkout: Checkout) -> Checkout:
    """A checkout on a machine with uv, where an install takes a tenth of a second."""
    checkout.add_uv()
    return checkout


@pytest.fixture(scope="module")
def environment_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environment", ROOT / "scripts" / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["environment"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def one_line(err: str) -> str:
    """The only line of an error, which no traceback precedes."""
    lines = [line for line in err.splitlines() if not line.startswith("Installing up to")]
    assert len(lines) == 1, err
    return lines[0]


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_first_start_installs_and_the_second_needs_no_index(checkout: Checkout, installer: str) -> None:
    if installer == "uv":
        checkout.add_uv()
    link = checkout.elsewhere / "oq"
    link.symlink_to(checkout.folder / "start")
    first = checkout.start("ask", "a b", program=str(link))
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["arguments"] == ["ask", "a b"]
    assert told["prefix"] == str(checkout.folder / ".venv")
    assert first.stderr == "Installing up to 1 packages into .venv, once\n"

    second = checkout.start(**WITHOUT_PACKAGES)
    assert (second.returncode, second.stderr) == (0, "")


def test_extras_are_added_and_remembered(checkout_with_uv: Checkout) -> None:
    assert json.loads(checkout_with_uv.start().stdout)["spout"] is False
    assert json.loads(checkout_with_uv.start("--with", "spout").stdout)["spout"] is True
    assert json.loads(checkout_with_uv.start().stdout)["spout"] is True
    unknown = checkout_with_uv.start("--with", "lid")
    assert unknown.returncode == 1
    assert one_line(unknown.stderr) == "OpenQuery is not set up: there is no extra 'lid'. Extras: spout."


def test_failed_update_keeps_the_environment_before_it(checkout_with_uv: Checkout) -> None:
    lock = checkout_with_uv.folder / "requirements.lock"
    old = lock.read_text()
    assert checkout_with_uv.start().returncode == 0
    lock.write_text(old.replace("kettle", "teapot"))
    failed = checkout_with_uv.start(**WITHOUT_PACKAGES)
    assert failed.returncode == 1
    assert "the package index does not answer" in one_line(failed.stderr)
    lock.write_text(old)
    assert checkout_with_uv.start(**WITHOUT_PACKAGES).returncode == 0


def test_start_after_a_killed_install_begins_again(checkout_with_uv: Checkout) -> None:
    process = checkout_with_uv.begin()
    while not checkout_with_uv.stamp.exists():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert json.loads(checkout_with_uv.stamp.read_text())["locks"] == []
    again = checkout_with_uv.start()
    assert again.returncode == 0, again.stderr


def test_moved_checkout_gets_a_new_environment(checkout_with_uv: Checkout) -> None:
    assert checkout_with_uv.start().returncode == 0
    moved = checkout_with_uv.elsewhere / "moved"
    checkout_with_uv.folder.rename(moved)
    checkout_with_uv.folder = moved
    told = json.loads(checkout_with_uv.start().stdout)
    assert told["prefix"] == str(moved / ".venv")
    assert json.loads(checkout_with_uv.stamp.read_text())["root"] == str(moved)


def test_environment_of_another_python_is_replaced(checkout_with_uv: Checkout) -> None:
    assert checkout_with_uv.start().returncode == 0
    values = json.loads(checkout_with_uv.stamp.read_text())
    checkout_with_uv.stamp.write_text(json.dumps({**values, "python": "3.11.0"}))
    (checkout_with_uv.folder / ".venv" / "leftover").touch()
    assert checkout_with_uv.start().returncode == 0
    assert not (checkout_with_uv.folder / ".venv" / "leftover").exists()


def test_two_starts_at_once_both_run(checkout_with_uv: Checkout) -> None:
    both = [checkout_with_uv.begin(str(number)) for number in range(2)]
    for number, process in enumerate(both):
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        assert json.loads(out)["arguments"] == [str(number)]


def test_environment_of_somebody_else_is_left_alone(checkout_with_uv: Checkout) -> None:
    (checkout_with_uv.folder / ".venv").mkdir()
    (checkout_with_uv.folder / ".venv" / "mine").touch()
    refused = checkout_with_uv.start()
    assert refused.returncode == 1
    assert "was not made by this command. Move it away" in one_line(refused.stderr)
    assert (checkout_with_uv.folder / ".venv" / "mine").exists()


def test_folder_without_write_permission_is_one_line(checkout: Checkout) -> None:
    refused = checkout.refused_to_nobody()
    assert refused.returncode == 1
    assert "Copy OpenQuery to a folder that you may write" in one_line(refused.stderr)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("*version_info*", "OpenQuery needs Python 3.11 or newer. Debian 12"),
        ("*ensurepip*", "python3 has no venv module. Debian and Ubuntu: sudo apt install python3-venv"),
    ],
)
def test_missing_python_or_venv_says_what_to_install(
    checkout: Checkout, condition: str, message: str
) -> None:
    checkout.replace_python(condition)
    refused = checkout.start()
    assert refused.returncode == 1
    assert one_line(refused.stderr).startswith(message)


@pytest.mark.parametrize(
    ("printed", "meaning"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk is full",
        ),
        ("error: failed to write: No space left on device (os error 28)", "disk is full"),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "not the one that the lock names",
        ),
        (
            "error: Failed to fetch: dns error: failed to lookup address information",
            "package index does not answer",
        ),
        ("ERROR: kettle requires a kernel", "pip failed: ERROR: kettle requires a kernel"),
    ],
)
def test_install_failures_are_told_by_their_cause(
    environment_script: ModuleType, printed: str, meaning: str
) -> None:
    cause: Callable[[list[str], str], str] = environment_script.cause
    assert meaning in cause(["Collecting kettle", printed, ""], "pip")
