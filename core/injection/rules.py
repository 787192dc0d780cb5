"""What orders to a language model look like, as rules over folded text: lower case, plain letters, straight quotes.

Every gap is bounded, so a rule takes the same time at each place where it is tried, and it is tried only
near one of its anchors: strings of which each match holds at least one, "ai" as a word.
"""

from __future__ import annotations

import functools
import re

from core.injection.english import ENGLISH
from core.injection.other_languages import OTHER_LANGUAGES
from core.injection.rule import Rule


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules. Compiled on first use."""
    return tuple(
        Rule(kind, tuple(anchors.split("|")), re.compile(pattern, re.MULTILINE), weak)
        for kind, weak, anchors, pattern in (*ENGLISH, *OTHER_LANGUAGES)
    )
