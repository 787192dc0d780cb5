"""Prompt-injection detection: orders to a model, imitated chat roles, hidden characters.

It finds typical attacks and marks them for a person to check. It is no filter: nothing is removed because of it, and a
page without a sign may still attack. docs/security/injection.md has its measured recall and false alarms.

Pure, and linear in the length of the text, since rules with bounded gaps are tried only near their anchors.
"""

from dataclasses import replace

from core.injection.contradictions import contradictions
from core.injection.encoded_text import find_encoded
from core.injection.invisible_text import find_invisible, invisible_words, spell_out_invisible
from core.injection.rule_matching import match_rules, sign
from core.injection.text_folding import fold
from core.model import InjectionSign

__all__ = [
    "EDITION",
    "MAX_CHARACTERS",
    "MAX_SIGNS",
    "contradictions",
    "injection_signs",
    "invisible_words",
    "spell_out_invisible",
]

EDITION = 4
"""Version of the rules and of their signs in articles. A new version makes cached articles be checked again."""
MAX_SIGNS = 20
"""The most signs of one page."""
MAX_CHARACTERS = 2_000_000
"""The most characters that are searched."""


def injection_signs(text: str, hidden: str = "") -> tuple[InjectionSign, ...]:
    """Return signs of prompt injection in visible and hidden text.

    Offsets of signs with `hidden` set count in `hidden`, others in `text`. Signs are sorted by offset, hidden signs
    first, at most `MAX_SIGNS`. A sign is `strong` unless the words are quoted or talked about, or honest pages write
    them too. Signs in hidden text are strong.
    """
    visible_signs = _found(text[:MAX_CHARACTERS])
    unseen = (replace(sign, hidden=True, strong=True) for sign in _found(hidden[:MAX_CHARACTERS]))
    return (*unseen, *visible_signs)[:MAX_SIGNS]


def _found(text: str) -> tuple[InjectionSign, ...]:
    if not text:
        return ()
    folded = fold(text)
    signs = [
        *find_invisible(text),
        *(
            sign(text, rule.kind, *folded.span(start, end), strong=not (rule.weak or quoted))
            for rule, start, end, quoted in match_rules(folded.text)
        ),
        *find_encoded(text, folded),
    ]
    return _without_overlaps(signs)


def _without_overlaps(signs: list[InjectionSign]) -> tuple[InjectionSign, ...]:
    """Return signs by offset, without overlaps. The strongest and longest of overlapping signs is kept."""
    merged: list[InjectionSign] = []
    for candidate in sorted(signs, key=lambda candidate: (candidate.start, -candidate.end)):
        if merged and candidate.start < merged[-1].end:
            last = merged[-1]
            if (candidate.strong, candidate.end - candidate.start) > (last.strong, last.end - last.start):
                merged[-1] = candidate
        else:
            merged.append(candidate)
    return tuple(merged[:MAX_SIGNS])
