"""Detection of a looping model: the end of a text repeats the same words.

A cycle is a run of words that occurs several times in a row. List marks and citations are no words, so that a numbered
list of one sentence is a cycle too.
"""

import re
from collections import deque

from core.text.markdown.citation_grammar import PIECE_OF_MARK
from core.text.sanitize import one_line, truncate

IN_PARAGRAPH, OVER_LINES, OVER_STRUCTURED_LINES = 8, 20, 40
"""The least repetitions of a loop, by structure.

Within a paragraph, over lines or paragraphs, and over table rows or lines of code. A table row or a line of code may
repeat a cell or value without limit.
"""
LEAST_CHARACTERS, LEAST_OVER_LINES = 400, 1_000
"""The least characters of a loop, within a paragraph and over lines.

A refrain and a list of short values are shorter.
"""
LONGEST_CYCLE = 300
"""The most words of a cycle."""
_QUOTED = 80

_SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # characters that are words by themselves
_TOKEN = re.compile(rf"\n|[{_SINGLE}]|[^\s{_SINGLE}]{{1,64}}")
_LIST_NUMBER = re.compile(r"\d{1,3}[.)]")
_NOT_WORD = re.compile(r"[\W_]+")


class RepetitionGuard:
    """Reads a text in pieces, in linear time. `loop` describes a repetition, if found."""

    def __init__(self) -> None:
        self.loop = ""
        """The loop as the end of a sentence about the reply, or ""."""
        self._buffer = ""
        self._words: list[str] = []
        self._written: list[tuple[str, int, int]] = []
        """Each word as written, with the offset of its end and its line number."""
        self._places: dict[str, deque[int]] = {}
        self._runs: dict[int, tuple[int, int]] = {}
        """By distance, the last word equal to the word at that distance before it, and the length of the run."""
        self._offset, self._line = 0, 0
        self._starts_line, self._in_code, self._in_table = True, False, False

    def read(self, piece: str) -> bool:
        """Read a piece, and return whether the text loops. Nothing is read after a loop."""
        if self.loop:
            return True
        text = self._buffer + piece
        tokens = [*_TOKEN.finditer(text)]
        is_open = bool(tokens) and tokens[-1].end() == len(text) and tokens[-1][0] != "\n"
        whole = tokens[:-1] if is_open else tokens
        rest = tokens[-1].start() if is_open else len(text)
        self._buffer = text[rest:]
        looped = any(self._loops(token[0], self._offset + token.end()) for token in whole)
        self._offset += rest
        return looped

    def _loops(self, token: str, end: int) -> bool:
        """Read a token, and return whether it loops."""
        if token.isspace():
            self._line += 1
            self._starts_line = True
            self._in_table = False
            return False
        if self._starts_line:
            self._starts_line = False
            self._in_table = token.startswith("|")
            if token.startswith(("```", "~~~")):
                self._in_code = not self._in_code
            if _LIST_NUMBER.fullmatch(token):
                return False
        word = _NOT_WORD.sub("", PIECE_OF_MARK.sub("", token)).casefold()
        if not word:
            return False
        self._words.append(word)
        self._written.append((token, end, self._line))
        return self._repeats(word)

    def _repeats(self, word: str) -> bool:
        """Compare the latest word with its earlier occurrences."""
        latest = len(self._words) - 1
        places = self._places.setdefault(word, deque())
        while places and latest - places[0] > LONGEST_CYCLE:
            places.popleft()
        for place in reversed(places):
            distance = latest - place
            before, run = self._runs.get(distance, (-1, 0))
            run = run + 1 if before == latest - 1 else 1
            self._runs[distance] = (latest, run)
            if self._is_loop(latest, distance, run):
                return True
        places.append(latest)
        return False

    def _is_loop(self, latest: int, distance: int, run: int) -> bool:
        times = run // distance + 1
        if times < IN_PARAGRAPH:
            return False
        over_lines = self._written[latest][2] != self._written[latest - distance][2]
        structured = self._in_code or self._in_table
        if not over_lines and structured:
            return False
        limit = OVER_STRUCTURED_LINES if structured else OVER_LINES if over_lines else IN_PARAGRAPH
        first = latest - distance * times + 1
        begins = self._written[first][1] - len(self._written[first][0])
        least = LEAST_OVER_LINES if over_lines else LEAST_CHARACTERS
        if times < limit or self._written[latest][1] - begins < least:
            return False
        cycle = " ".join(token for token, _, _ in self._written[latest - distance + 1 : latest + 1])
        quoted = truncate(one_line(cycle, 10 * _QUOTED), _QUOTED)
        self.loop = f"repeated itself, “{quoted}” {times} times in a row, and was ended"
        return True
