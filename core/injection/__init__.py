"""A hint that a page speaks to the model and not to its reader: orders, role marks, smuggled characters.

It finds what careless and ordinary attackers write, and marks it for a person to look at. It is no
filter: nothing is removed because of it, and a page without a mark may still try. What it catches and what
it accuses wrongly is measured in docs/security/injection.md.

Pure, and linear in the length of the text: rules with bounded gaps are tried near their anchors only.
"""

from __future__ import annotations

from dataclasses import replace

from core.injection.encoded_text import encoded
from core.injection.invisible_text import invisible, smuggled, spelt
from core.injection.rule_matching import by_rules, mark
from core.injection.text_folding import folded as folded_text
from core.model import InjectionSign

__all__ = ["EDITION", "LONGEST", "MOST", "injection_signs", "smuggled", "spelt"]

EDITION = 2
"""Counted up when the rules change, so that articles kept in caches are looked at anew."""
MOST = 20
"""Marks of one page; a page with more than these is no more suspicious."""
LONGEST = 2_000_000
"""Characters that are looked at."""


def injection_signs(text: str, hidden: str = "") -> tuple[InjectionSign, ...]:
    """What in `text`, and in what its page hid from the reader, looks like orders to a model.

    Offsets of marks with `hidden` set count in `hidden`, those of others in `text`; marks are sorted by
    them, at most `MOST`. A mark is `strong` unless the words are quoted or talked about, or honest pages
    write them too. Whatever was out of sight is strong.
    """
    seen = _found(text[:LONGEST])
    unseen = (replace(mark, hidden=True, strong=True) for mark in _found(hidden[:LONGEST]))
    return (*unseen, *seen)[:MOST]


def _found(text: str) -> tuple[InjectionSign, ...]:
    if not text:
        return ()
    folded = folded_text(text)
    marks = [
        *invisible(text),
        *(
            mark(text, rule.kind, *folded.span(start, end), strong=not (rule.weak or told))
            for rule, start, end, told in by_rules(folded.text)
        ),
        *encoded(text, folded),
    ]
    return _apart(marks)


def _apart(marks: list[InjectionSign]) -> tuple[InjectionSign, ...]:
    """In order, and of those that overlap the strongest and longest."""
    kept: list[InjectionSign] = []
    for one in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            if (one.strong, one.end - one.start) > (last.strong, last.end - last.start):
                kept[-1] = one
        else:
            kept.append(one)
    return tuple(kept[:MOST])
