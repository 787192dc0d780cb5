"""Audit of the installed packages for known vulnerabilities.

Fails if a vulnerability is fixed in a version that requirements.txt allows, or if pip-audit is not installed. If the
vulnerability service does not answer, it says so and exits with `NOT_AUDITED`.
"""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
TIMEOUT = 300
"""Seconds for the whole audit."""
NOT_AUDITED = 75
"""The exit status if the vulnerability service does not answer: EX_TEMPFAIL of sysexits.h."""


def allowed(lines: Iterable[str]) -> dict[str, Requirement]:
    """The requirements by canonical name."""
    wanted = [Requirement(line) for line in lines if re.match(r"\w", line)]
    return {canonicalize_name(requirement.name): requirement for requirement in wanted}


def verdict(report: Mapping[str, Any], requirements: Mapping[str, Requirement]) -> tuple[list[str], bool]:
    """A line for each vulnerability, and whether a version that the requirements allow fixes one of them.

    Args:
        report: the JSON of `pip-audit`.
        requirements: by canonical name; packages that are not among them may have any version.
    """
    lines, curable = [], False
    for package in report["dependencies"]:
        name, found = package["name"], package.get("version", "?")
        requirement = requirements.get(canonicalize_name(name))
        for fault in package.get("vulns", ()):
            fixes = [
                fix
                for fix in fault["fix_versions"]
                if requirement is None or requirement.specifier.contains(fix)
            ]
            fix = f"fixed in {', '.join(fixes)}" if fixes else "not fixed in the allowed versions"
            lines.append(f"{name} {found}: {fault['id']}, {fix}")
            curable |= bool(fixes)
    return lines, curable


def main() -> int:
    """Check the installed packages, and print what is vulnerable."""
    if importlib.util.find_spec("pip_audit") is None:
        print("Dependencies were NOT audited: pip-audit is missing.", file=sys.stderr)
        print("Run: pip install -r requirements-dev.txt", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "pip_audit", "--local", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=ROOT
        )
        report = json.loads(done.stdout)
    except (ValueError, subprocess.TimeoutExpired) as error:
        why = (
            error if isinstance(error, subprocess.TimeoutExpired) else done.stderr.strip().rpartition("\n")[2]
        )
        print(f"Dependencies were NOT audited: the vulnerability service does not answer ({str(why)[:300]}).")
        return NOT_AUDITED
    lines, curable = verdict(report, allowed((ROOT / "requirements.txt").read_text().splitlines()))
    print("\n".join(lines) or f"{len(report['dependencies'])} packages audited, no known vulnerability.")
    if curable:
        print(
            "Raise the lower bounds in requirements.txt, or install the versions named above.",
            file=sys.stderr,
        )
    return int(curable)


if __name__ == "__main__":
    sys.exit(main())
