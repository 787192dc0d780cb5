"""The rules of `patterns.toml`, which match orders to a language model in folded text.

Every gap is bounded, so a rule takes the same time at each place. It is tried only near its anchors, which bounds the
work for any text. Each match contains at least one anchor, "ai" as a word.
"""

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.model import InjectionKind, InjectionSign
from core.text.sanitize import one_line

_PATTERNS = Path(__file__).with_name("patterns.toml")
_PART = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
QUOTE_LENGTH = 160
REACH = 260
"""The most characters around an anchor that its rule searches. No match is longer."""
_MAX_PLACES = 400
"""The most places that are tried for one rule."""
_SHORT_WORD = "ai"
"""The only anchor that most texts contain inside other words."""
# The letters lead, so that the pattern engine can skip to their next occurrence.
_AS_A_WORD = re.compile(r"ai\b(?<!\wai)")
_ABOUT = re.compile(
    r"prompt[- ]?injection|inject(?:ed|ion|ing)|jailbreak|attack|adversar|malicious|hostile|vulnerab|red[- ]?team|exploit"
    r"|such as|phrases? (?:like|such)|for (?:example|instance)|\be\.g\.|\bz\.b\.|par exemple|por ejemplo|guardrail|hijack"
    r"|instruct(?:ed|ing|s)? (?:it|the (?:model|ai|bot|assistant|chatbot))|told (?:it|the (?:model|ai|bot|chatbot))"
    r"|asked (?:it|the (?:model|ai|bot|chatbot|assistant))|researcher|trick(?:ed|s|ing)?\b|prompted"
)


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


def match_rules(folded: str) -> Iterator[tuple[Rule, int, int, bool]]:
    """Yield rule, start, end and quotedness of each match. A match is quoted if its words are quoted or described."""
    places = MatchSpans(folded)
    for rule in rules():
        for low, high in places.around(rule.anchors):
            for match in rule.pattern.finditer(folded, low, high):
                yield rule, match.start(), match.end(), _is_quoted(folded, match.start(), match.end())


class MatchSpans:
    """The positions of anchors in a text. Rules share anchors, so each anchor is searched once."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Distinct words suffice to check that an anchor is absent, and are fewer than the text's words.
        self._words = "\n".join(set(text.split(" ")))
        self._parts: dict[str, bool] = {}
        self._known: dict[str, list[int]] = {}

    def around(self, anchors: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        """Yield disjoint stretches around the anchors, in order."""
        present = [anchor for anchor, part in _with_longest_part(anchors) if self._has(part)]
        low = high = 0
        for place in sorted(place for anchor in present for place in self._of(anchor)):
            # After each find a reach was skipped, so a stretch has to cover that too.
            begin, end = max(0, place - REACH), min(len(self._text), place + 2 * REACH)
            if begin > high:
                if high:
                    yield low, high
                low = begin
            high = max(high, end)
        if high:
            yield low, high

    def _has(self, part: str) -> bool:
        cached = self._parts.get(part)
        if cached is None:
            cached = self._parts[part] = part in self._words
        return cached

    def _of(self, anchor: str) -> list[int]:
        if anchor not in self._known:
            places: list[int] = []
            find = self._word if anchor == _SHORT_WORD else self._text.find
            position = find(anchor, 0)
            while position >= 0 and len(places) < _MAX_PLACES:
                places.append(position)
                position = find(anchor, position + REACH)
            self._known[anchor] = places
        return self._known[anchor]

    def _word(self, _: str, start: int) -> int:
        match = _AS_A_WORD.search(self._text, start)
        return match.start() if match else -1


@functools.cache
def _with_longest_part(anchors: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((anchor, max(anchor.split(" "), key=len)) for anchor in anchors)


def _is_quoted(folded: str, start: int, end: int) -> bool:
    """Whether the words are quoted or described, not orders."""
    before = folded[max(0, start - 300) : start]
    paragraph = before[before.rfind("\n\n") + 1 :]
    inside = paragraph.count('"') % 2 == 1 and '"' in folded[end - 1 : end + 300]
    code = before.count("```") % 2 == 1
    single = paragraph.rstrip()[-1:] == "'" and "'" in folded[end - 1 : end + 200]
    return inside or code or single or _ABOUT.search(folded, max(0, start - 250), end + 120) is not None


def sign(text: str, kind: InjectionKind, start: int, end: int, *, strong: bool) -> InjectionSign:
    """Return the sign at [start, end) of `text`, with its quote."""
    return InjectionSign(
        kind=kind, start=start, end=end, quote=one_line(text[start:end], QUOTE_LENGTH), strong=strong
    )
