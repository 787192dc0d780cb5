"""The rules of `patterns.toml`, compiled: what orders to a language model look like in folded text.

Every gap is bounded, so a rule takes the same time at each place where it is tried, and it is tried only
near one of its anchors: strings of which each match holds at least one, "ai" as a word.
"""

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from core.model import InjectionKind

_PATTERNS = Path(__file__).with_name("patterns.toml")
_PART = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """`weak` rules match what honest pages write too; alone they are worth a look, not a warning."""

    kind: InjectionKind
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    weak: bool = False


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules. Read and compiled on first use."""
    data = tomllib.loads(_PATTERNS.read_text("utf-8"))
    parts: dict[str, str] = data["parts"]
    return tuple(
        Rule(
            kind=InjectionKind[row["kind"].upper()],
            anchors=tuple(row["anchors"]),
            pattern=re.compile(_PART.sub(lambda name: parts[name[1]], "".join(row["pattern"])), re.MULTILINE),
            weak=row.get("weak", False),
        )
        for row in data["rules"]
    )
