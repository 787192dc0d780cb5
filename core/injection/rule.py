"""What a rule is, and the gaps that the patterns of all languages leave between their words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.model import InjectionKind

Row = tuple[InjectionKind, bool, str, str]
"""A rule as the tables hold it: kind, whether it is weak, anchors apart by `|`, pattern."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`weak` rules match what honest pages write too; alone they are worth a look, not a warning."""

    kind: InjectionKind
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    weak: bool = False


_GAP = r"[^.!?]{0,%d}?"
G10, G25, G40, G80 = (_GAP % size for size in (10, 25, 40, 80))
