"""The rules of `patterns.toml`. They match orders to a language model in folded text.

Every gap is bounded, so a rule takes the same time at each place. It is tried only near its anchors. Each match
contains at least one anchor, "ai" as a word.
"""

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from core.model import InjectionKind

_PATTERNS = Path(__file__).with_name("patterns.toml")
_PART = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


@dataclass(frozen=True)
class Rule:
    """A rule with its anchors. `weak` rules match text of honest pages too, so alone they cause no warning."""

    kind: InjectionKind
    anchors: tuple[str, ...]
    expression: str
    weak: bool = False

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression. Most texts have the anchors of few rules, so few are compiled."""
        return re.compile(self.expression, re.MULTILINE)


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Return all rules. They are read on first use."""
    data = tomllib.loads(_PATTERNS.read_text("utf-8"))
    parts: dict[str, str] = data["parts"]
    return tuple(
        Rule(
            kind=InjectionKind[row["kind"].upper()],
            anchors=tuple(row["anchors"]),
            expression=_PART.sub(lambda name: parts[name[1]], "".join(row["pattern"])),
            weak=row.get("weak", False),
        )
        for row in data["rules"]
    )
