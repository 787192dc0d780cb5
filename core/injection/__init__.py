"""Prompt-injection detection: orders to a model, imitated chat roles, hidden characters.

It finds what ordinary attackers write, and marks it for a person to look at. It is no filter: nothing is
removed because of it, and a page without a sign may still try. Its recall and its false alarms are measured
in docs/security/injection.md.

Pure, and linear in the length of the text: rules with bounded gaps are tried near their anchors only.
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
"""Version of the rules and of their signs in articles. A new one makes cached articles be checked again."""
MAX_SIGNS = 20
"""The most signs of one page."""
MAX_CHARACTERS = 2_000_000
"""The most characters that are searched."""


def injection_signs(text: str, hidden: str = "") -> tuple[InjectionSign, ...]:
    """Signs of prompt injection in `text`, and in the text that its page hid from the reader.

    Offsets of signs with `hidden` set count in `hidden`, those of others in `text`; signs are sorted by
    them, hidden ones first, at most `MAX_SIGNS`. A sign is `strong` unless the words are quoted or talked
    about, or honest pages write them too. Signs in hidden text are strong.
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
    """In order of their offsets; of those that overlap, the strongest and longest."""
    merged: list[InjectionSign] = []
    for candidate in sorted(signs, key=lambda candidate: (candidate.start, -candidate.end)):
        if merged and candidate.start < merged[-1].end:
            last = merged[-1]
            if (candidate.strong, candidate.end - candidate.start) > (last.strong, last.end - last.start):
                merged[-1] = candidate
        else:
            merged.append(candidate)
    return tuple(merged[:MAX_SIGNS])
