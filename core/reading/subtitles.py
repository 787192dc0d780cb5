"""Subtitles (SubRip and WebVTT) become the words that are spoken."""

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from core.model import Article
from core.reading.normalization import MAX_CHARACTERS, left_out, normalize

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d\d(?:[.,]\d{1,3})?)"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t][^\n]*)?")
_FIRST = re.compile(rf"\ufeff?\s*(?:WEBVTT\b|(?:\d+[ \t]*\r?\n)?{_TIMES.pattern}\s)")
_SPEAKER = re.compile(r"<v(?:\.[^\s<>]{0,100})?[ \t]+([^<>\n]{1,100})>")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>|<[\d:.]{5,14}>|\{\\[^{}\n]{0,200}\}")
"""Tags, times of words, and the places of SubStation Alpha."""
_ASIDE = ("NOTE", "STYLE", "REGION")
"""Blocks of WebVTT that nobody sees."""
_DASHES = ("-", "–", "—")
_PAUSE = 2.0
"""Seconds without words after which a paragraph begins."""
_AT_ONCE = 0.1
"""The most seconds between two cues of a caption that rolls."""


class _Cue(NamedTuple):
    start: float
    end: float
    lines: tuple[str, ...]


def are_subtitles(text: str) -> bool:
    """Return whether a text begins as subtitles do."""
    return _FIRST.match(text) is not None


def read_subtitles(text: str) -> Article:
    """Return the spoken words, without numbers, times and styles.

    A rolling caption shows a line in several cues, and has it once here.
    """
    paragraphs: list[str] = []
    before = _Cue(0.0, 0.0, ())
    for cue in _cues(text[:MAX_CHARACTERS].removeprefix("\ufeff").splitlines()):
        known = _shown(before.lines, cue.lines) if cue.start - before.end <= _AT_ONCE else 0
        for line in cue.lines[known:]:
            apart = cue.start - before.end > _PAUSE and line == cue.lines[0]
            if not paragraphs or apart or line.startswith(_DASHES):
                paragraphs.append(line)
            else:
                paragraphs[-1] += f" {line}"
        before = cue
    return Article(
        text=normalize("\n\n".join(paragraphs)), extractor="subtitles", left_out=left_out(len(text))
    )


def _cues(lines: list[str]) -> Iterator[_Cue]:
    """Yield the cues that have words. The line before the times is their number or name."""
    times: re.Match[str] | None = None
    words: list[str] = []
    aside = False
    for place, line in enumerate([*lines, "0:00.0 --> 0:00.0"]):
        if begun := _TIMES.fullmatch(line):
            if times and (spoken := tuple(filter(None, map(_words, words)))):
                yield _Cue(_seconds(times, 1), _seconds(times, 4), spoken)
            times, words, aside = begun, [], False
        elif not line.strip():
            aside = False
        elif aside or (line.startswith(_ASIDE) and _after_blank(lines, place)):
            aside = True
        elif not (
            _after_blank(lines, place) and place + 1 < len(lines) and _TIMES.fullmatch(lines[place + 1])
        ):
            words.append(line)


def _after_blank(lines: list[str], place: int) -> bool:
    return place == 0 or not lines[place - 1].strip()


def _seconds(times: re.Match[str], first: int) -> float:
    hours, minutes, seconds = times.group(first, first + 1, first + 2)
    return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))


def _shown(before: tuple[str, ...], lines: tuple[str, ...]) -> int:
    """Return how many of the first lines are the last lines of the cue before."""
    most = min(len(before), len(lines))
    return next((count for count in range(most, 0, -1) if before[-count:] == lines[:count]), 0)


def _words(line: str) -> str:
    return normalize(unescape(_MARKUP.sub("", _SPEAKER.sub(r"\1: ", line))))
