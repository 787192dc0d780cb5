"""The files of a release: reproducible, with an SBOM of exact versions, and an image without rights."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from core.runtime.static_files import altered_files

ROOT = Path(__file__).parent.parent


def locked() -> dict[str, str]:
    """The exact versions of requirements.lock by canonical name."""
    return versions("requirements.lock")


def versions(*locks: str) -> dict[str, str]:
    """The exact versions that locks name, by canonical name; of a package with several versions one."""
    lines = [line for lock in locks for line in (ROOT / lock).read_text("utf-8").splitlines()]
    pins = (re.match(r"([\w.-]+)==([\w.!+]+)", line) for line in lines)
    return {canonicalize_name(pin[1]): pin[2] for pin in pins if pin}


@pytest.fixture(scope="module")
def tracked_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git tracks, as they are, in a repository of their own with one commit of a fixed time."""
    tree = tmp_path_factory.mktemp("tree")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in names.decode().split("\0"):
        if name and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    commit(tree)
    return tree


def commit(tree: Path) -> None:
    day = "2026-01-02T03:04:05Z"
    identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@a.example", "GIT_AUTHOR_DATE": day}
    identity |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@a.example", "GIT_COMMITTER_DATE": day}
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "release", "--no-verify"]):
        subprocess.run(["git", *command], cwd=tree, env={**os.environ, **identity}, check=True)


@pytest.mark.thorough
def test_two_builds_of_one_commit_give_the_same_files(tracked_tree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(tracked_tree, elsewhere)
    for path in elsewhere.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)  # as a stricter umask writes them
        os.utime(path, (981_173_106, 981_173_106))
    digests = []
    for tree in (tracked_tree, elsewhere):
        folder = tmp_path / f"dist-{tree.name}"
        subprocess.run([tree / ".ci" / "release", folder], check=True, capture_output=True, timeout=100)
        digests.append((folder / "SHA256SUMS").read_text())
    assert digests[0] == digests[1]
    assert [line.rpartition(".")[2] for line in digests[0].splitlines()] == ["whl", "json", "gz"]
    (sbom,) = folder.glob("*.cdx.json")
    bill = json.loads(sbom.read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    listed = {canonicalize_name(part["name"]): part["version"] for part in bill["components"]}
    assert listed == locked()
    assert all(part["externalReferences"][0]["hashes"] for part in bill["components"])


@pytest.mark.parametrize("group", ["", "umap", "dask", "notebook", "local", "rerank", "dev"])
def test_locks_have_an_allowed_version_of_every_requirement(group: str) -> None:
    file, lock = {"": ("requirements.txt", ""), "dev": ("requirements-dev.txt", "locks/tests.lock")}.get(
        group, (f"requirements-{group}.txt", f"locks/{group}.lock")
    )
    lines = (ROOT / file).read_text("utf-8").splitlines()
    required = [Requirement(line.partition("#")[0]) for line in lines if re.match(r"\w", line)]
    pins = versions("requirements.lock", *([lock] if lock else []))
    assert required
    for requirement in required:
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement.name


def test_image_installs_locked_versions_and_runs_unprivileged() -> None:
    recipe = (ROOT / "Dockerfile").read_text("utf-8")
    assert "--require-hashes -r requirements.lock" in recipe
    assert recipe.index("USER openquery") < recipe.index('CMD ["openquery"')
    service = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["openquery"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    writable = {mount.partition(":")[0] for mount in service["tmpfs"]}
    assert writable == {"/tmp"}
    assert [mount.partition(":")[2] for mount in service["volumes"]] == ["/data"]


def test_space_listens_as_documented_and_shares_nothing_between_visitors() -> None:
    folder = ROOT / "deploy" / "space"
    recipe = (folder / "Dockerfile").read_text("utf-8")
    front_matter = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---\n")[1])
    assert front_matter["sdk"] == "docker"
    assert f"\nEXPOSE {front_matter['app_port']}\n" in recipe
    assert f" --port {front_matter['app_port']}" in recipe.rpartition("CMD ")[2]
    assert "--require-hashes -r requirements.lock" in recipe
    assert recipe.index("USER openquery") < recipe.index("CMD [")
    assert {"OPENQUERY_SHARED=true", "OPENQUERY_SEARCH_BACKEND=demo"} <= set(recipe.split())


def test_static_files_that_differ_from_the_release_are_named(tmp_path: Path) -> None:
    assert altered_files() == ()
    folder = tmp_path / "static"
    shutil.copytree(ROOT / "static", folder)
    (folder / "logo.svg").write_text("<svg/>")
    (folder / "icon.png").unlink()
    (folder / "licences" / "new.js").write_text("alert(1)")
    assert altered_files(folder) == ("icon.png", "licences/new.js", "logo.svg")
