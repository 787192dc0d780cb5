"""What a process gives up by itself, each part alone: what one system lacks, another part makes up for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel of Linux")

SERVER = """
import subprocess, sys
from core.sandbox.process import drop_capabilities, hide_memory
drop_capabilities(writes=False)  # whoever has more of them than the reader is not read either way
{before}
child = '''
import os
from core.sandbox.process import drop_capabilities
drop_capabilities(writes=False)
try:
    print(b"canary" in open(f"/proc/{{os.getppid()}}/environ", "rb").read())
except OSError as error:
    print(type(error).__name__)
'''
subprocess.run([sys.executable, "-c", child], env={{}}, check=True)
"""


def output_of(program: str, **environment: str) -> list[str]:
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not process.returncode, process.stderr
    return process.stdout.splitlines()


@pytest.mark.parametrize(("before", "read"), [("hide_memory()", "PermissionError"), ("", "True")])
def test_hidden_memory_of_a_server_is_unreadable_without_landlock(before: str, read: str) -> None:
    assert output_of(SERVER.format(before=before), OPENAI_API_KEY="canary") == [read]


def test_operator_keys_leave_the_environment_and_stay_in_settings() -> None:
    program = (
        "import os\n"
        "from core.config.settings import Settings\n"
        "Settings.withdraw_keys()\n"
        "given = open('/proc/self/environ', 'rb').read()\n"
        "print('canary' in str(os.environ), b'canary' in given, b'OPENQUERY_WORKERS=3' in given)\n"
        "for _ in range(2):\n"
        "    settings = Settings.read()\n"
        "    print(settings.openai_api_key.get_secret_value(), settings.searxng_url, settings.workers)\n"
        "os.environ['OPENAI_API_KEY'] = 'set later'\n"
        "print(Settings.read().openai_api_key.get_secret_value())\n"
    )
    output = output_of(
        program, openai_api_key="canary", SEARXNG_URL="http://me:canary@127.0.0.1:9", OPENQUERY_WORKERS="3"
    )
    assert output == [
        "False False True",
        "canary http://me:canary@127.0.0.1:9 3",
        "canary http://me:canary@127.0.0.1:9 3",
        "set later",
    ]


def test_what_protects_this_process_is_reported() -> None:
    program = (
        "from core.runtime.hardening import harden, protection\n"
        "print(protection())\n"
        "harden()\n"
        "print(protection())\n"
    )
    before, after = output_of(program, OPENAI_API_KEY="canary")
    assert "in_force=()" in before and "OPENAI_API_KEY" in before and "canary" not in before
    assert "missing=()" in after


def test_all_descriptors_except_standard_and_kept_ones_are_closed() -> None:
    program = (
        "import os\n"
        "from core.sandbox.process import close_descriptors\n"
        "opened = [os.open('/dev/null', os.O_RDONLY) for _ in range(40)]\n"
        "os.dup2(opened[0], 900)\n"
        "close_descriptors(keep=(opened[7],))\n"
        "lowest = 3  # that of the listing\n"
        "print({int(one) for one in os.listdir('/proc/self/fd')} - {lowest} == {0, 1, 2, opened[7]})\n"
    )
    assert output_of(program) == ["True"]


def test_confined_process_may_start_threads_and_change_its_folder(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    program = (
        "import pathlib, sys, threading\n"
        "from core.sandbox import confine\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "confinement = confine(writable=folder / 'own')\n"
        "written = []\n"
        "thread = threading.Thread(target=lambda: written.append((folder / 'own' / 'a').write_text('a')))\n"
        "thread.start(); thread.join()\n"
        "try:\n"
        "    written.append((folder / 'b').write_text('b'))\n"
        "except PermissionError:\n"
        "    pass\n"
        "print(written, 'Landlock' in str(confinement.in_force))\n"
    )
    output = output_of(program)
    assert output in (["[1] True"], ["[1, 1] False"])
    assert (tmp_path / "own" / "a").read_text() == "a"
