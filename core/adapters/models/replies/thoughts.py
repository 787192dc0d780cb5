"""Separate a reply's text into thoughts and answer, independent of how its pieces are cut.

Text is not passed on while a mark may still turn it into a thought. Marks in code, and in text about such marks, are
text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.adapters.models.replies.marks import HEADED, Kind, Mark, held_back, next_mark
from core.model import StreamChunk

_SENTENCE_END = re.compile(r"[.!?…。！？：)\]}»”*_\"'`]\s*$")
_LEADS_TO_A_NAME = re.compile(
    r"(?:^\s*(?:[-*+>|]|\d+[.)])"
    r"|\b(?:like|as|the|an?|tags?|marks?|tokens?|between|within|in|inside|with|uses?|using|writes?|emits?|wraps?|and|or"
    r"|by|of|to|is|are|called|named|pair|block|der|die|das|le|la|el|und|et|y))\s*$",
    re.IGNORECASE,
)
"""Words, and marks of lists, after which a mark is named and not used."""
_TAG_OF_FIELD = re.compile(r"</?(?:think(?:ing)?|thought)>\n?")
"""A tag that a server leaves in the separate field of thoughts."""
_QUOTES = "`\"'“”‘’«»„("
_FENCE = re.compile(r" {0,3}(?:[-*+]\s+|\d+[.)]\s+|>\s?)*(`{3,}|~{3,})(.*)")
_BACKTICKS = re.compile(r"`+")
_OPENING_CHARACTERS = 100
"""The number of first characters that show whether a reply begins as a thought."""
_ACTS = (
    r"(?:is|was|has|had|asks?|asked|wants?|wanted|needs?|says?|said|provided?s?|gave|gives|would|seems?|mentions?"
    r"|mentioned|requests?|requested|wrote|writes|query|question|request|prompt|message)(?=\W)"
)
_THOUGHT_OPENING = re.compile(
    rf"""\s*(?:[*_#>]{{0,3}}\s*)(?:
    (?:(?:ok(?:ay)?|alright|all\ right|hm+|well|right|so|first|now|good)[,.!:]?\s+)*(?:
        the\ (?:user|person|human)(?:'s|’s)?\s+{_ACTS}
        |(?:let\ me|let['’]s|let\ us|i\ (?!cannot|can['’]t|can\ not|could|do\ not|don|did|found|find|am\ (?:sorry|unable))[a-z]+
            |i['’](?:ll|ve|d)|we\ (?:need|should|must|have|are|can|could|want|know|see|look|start|get|will)
            |we['’](?:ll|re)|i['’]m\ (?:asked|given|going)|my\ task\ is)(?=\W)
        |(?:this|the)\ (?:question|query|prompt)\ (?:is|asks|wants|requires|seems)(?=\W)
        |(?:must|need|needs|wants?)\ (?:to|a|an|the|two|three|be|more|only)(?=\W)
        |they\ (?:want|ask|need|asked|wanted)(?=\W)
        |to\ answer\ (?:this|the|that|it)(?=\W)
        |(?:check|checking|find|finding|recall|consider|considering|identify|summarize|note\ that\ the\ user)
            \ (?:the|which|what|if|whether|source|sources)(?=\W)
        |what\ (?:does|do|did)\ the\ (?:user|sources?)(?=\W)
        |(?:looking|look)\ at\ (?:the\ )?(?:sources?|question|passages?)(?=\W)
    )
    |(?:hm+|okay|ok|alright|wait|right)[,.…!]{{1,3}}\s|(?:okay|ok|alright|so)\s(?:so|the\ user|let|i|we)(?=\W)|hm{{2,}}(?=\W)
    |(?:my\ )?plan(?:ning)?\s?:
    |user(?:'s)?\ {_ACTS}
    |(?:here's\ a\ |my\ )?(?:thinking|thought|reasoning)(?:\ process)?\s?:
    |(?:gut|okay|also|hm+)?[,.]?\s?(?:der|die)\ (?:nutzer|benutzer|anwender|person)(?:in)?\ (?:fragt|möchte|will|hat|braucht)(?=\W)
    |(?:okay|ok|bon|alors)?[,.]?\s?l['’]utilisat(?:eur|rice)\ (?:demande|veut|a|souhaite)(?=\W)
    |(?:bien|vale|ok)?[,.]?\s?el\ usuario\ (?:pregunta|quiere|pide)(?=\W)
    |(?:好的?|嗯|首先)?[，,。]?\s?(?:用户|我需要|我应该|我们需要|让我)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Phrases with which models begin to think. Such a text is held back until it ends or a mark shows its kind."""

_MAY_OPEN = re.compile(
    r"\s*(?:the\s(?:user|person|human)|(?:ok(?:ay)?|alright|hm+)[,.!…]*(?:\s(?:so|the|let)?)?|let|let['’]s?)\W*",
    re.IGNORECASE,
)
"""Words that rarely begin an answer. The next word shows whether they begin a thought."""


@dataclass(slots=True)
class ThoughtHabit:
    """Whether a model's earlier replies ended thoughts without an opening mark."""

    unopened: bool = False


class ThoughtSplitter:
    """Separates thoughts from the answer in a reply that arrives in pieces.

    A closing mark without an opening mark makes a thought of all text before it. If some of that was passed on, the
    chunk has `takes_back`. The text of a model with this habit is held back until the mark. So is a text that begins
    like thoughts, unless tools are offered, because then nobody reads the stream.
    """

    def __init__(self, habit: ThoughtHabit | None = None, *, calls: bool = False) -> None:
        """Keep channels addressed to tools in the text if `calls` is set."""
        self._habit, self._calls = habit or ThoughtHabit(), calls
        self._buffer = ""
        """Received text that is not decided yet."""
        self._family = ""
        """The family of the current thought's opening mark, or "" within text."""
        self._channels = False
        self._text = ""
        """The text since the latest thought without an opening mark."""
        self._shown = 0
        """The number of characters of `_text` that were passed on."""
        self._suspect = self._habit.unopened
        self._code = _CodeTracker()
        self._mentions = 0
        """The number of opening marks that are part of the text."""
        self._nested = 0
        """The number of thoughts opened within the first thought."""
        self._closing: Mark | None = None
        """A closing mark without an opening mark, until the following text is known."""
        self._closed = False
        """Whether a thought has ended."""
        self._wrapped = False
        self._gap = ""
        """White space before a thought, which the following text need not repeat."""
        self._after = False
        """Whether only white space has arrived since the latest thought."""
        self._thought_space = self._last = ""
        self._thought_begun = self._thoughts = False

    # --- what arrives ---

    def read(self, reasoning: str, content: str) -> Iterator[StreamChunk]:
        """Yield the chunks that a piece decides. `reasoning` has a separate field, and `content` may have marks."""
        if reasoning := _TAG_OF_FIELD.sub("", reasoning):
            if not self._text and not self._buffer:
                self._suspect = False  # the server separates thoughts from text
            self._thoughts = True
            yield StreamChunk(reasoning_delta=reasoning)
        self._buffer += content
        yield from self._advance(final=False)

    def end(self, *, complete: bool = True) -> Iterator[StreamChunk]:
        """Yield held-back text. In an incomplete reply, text that may be a thought counts as a thought."""
        yield from self._advance(final=True, complete=complete)
        if self._closing:
            yield from self._close_unopened(self._closing, followed=False)
        if self._shown < len(self._text) and not self._family:
            if complete:
                self._habit.unopened = False
                yield from self._show()
            else:
                yield self._taken_back()

    def _advance(self, *, final: bool, complete: bool = True) -> Iterator[StreamChunk]:
        place = 0
        if not self._text and not self._closed and not self._family and not self._thoughts:
            if (begun := self._bare_channel(final=final)) is None:
                return
            place = begun
        while mark := next_mark(self._buffer, place, self._family, calls=self._calls):
            decided = self._counts(mark, place, final=final)
            if decided is None:
                yield from self._pass(self._buffer[place : mark.start])
                self._buffer = self._buffer[mark.start :]
                return
            yield from self._pass(self._buffer[place : mark.start if decided else mark.end])
            if decided:
                yield from self._turn(mark)
            place = mark.end
        headed = not self._family and self._is_headed(self._buffer[place:])
        keep = held_back(self._buffer[place:], self._family, headed=headed)
        end = len(self._buffer) - keep
        yield from self._pass(self._buffer[place:end])
        self._buffer = self._buffer[end:]
        if final:
            rest, self._buffer = self._buffer, ""
            if complete or self._family:
                yield from self._pass(rest)

    def _bare_channel(self, *, final: bool) -> int | None:
        """Find the text after a bare first channel name.

        Its special tokens are missing. None while that is undecided.
        """
        text = self._buffer.lstrip()
        if not text:
            return 0
        name = "analysis"
        if text.startswith(name) and text[len(name) : len(name) + 1].strip() and text[len(name)].isupper():
            self._family = "bare"
            return len(self._buffer) - len(text) + len(name)
        return None if not final and name.startswith(text) else 0

    # --- marks ---

    def _counts(self, mark: Mark, place: int, *, final: bool) -> bool | None:
        """Check that a mark is used and not part of the text. None while that depends on later text."""
        before, after = self._buffer[place : mark.start], self._buffer[mark.end :]
        if self._family == mark.family == "think" and mark.kind is Kind.OPEN:
            opens = self._opens((self._last + before).rpartition("\n")[2], after, final=final)
            self._nested += bool(opens and not self._text and (self._thought_begun or before.strip()))
            return None if opens is None else False
        if self._family:
            return self._ends_thought(mark, before, after, final=final)
        code = self._code.after(before)
        counts: bool | None = False
        if not code.inside:
            counts = self._counts_in_text(mark, before, code.line, after, final=final)
        if counts is False and mark.family == "think":
            self._mentions = max(0, self._mentions + (1 if mark.kind is Kind.OPEN else -1))
        return counts

    def _counts_in_text(self, mark: Mark, before: str, line: str, after: str, *, final: bool) -> bool | None:
        is_first = not self._text and not before.strip()
        match mark.kind:
            case Kind.OPEN if mark.family == "think":
                return is_first or self._opens(line, after, final=final)
            case Kind.OPEN if mark.family == "fence":
                return not line.strip()
            case Kind.OPEN:
                return True
            case Kind.CLOSE if mark.family == "think":
                return self._closes(line, after, final=final)
            case Kind.CLOSE:
                return mark.family in ("gemma", "unused")
            case Kind.FINAL if mark.family == "heading":
                return not line.strip() and self._is_headed(before)
            case Kind.FINAL:
                at_start = is_first or (self._after and not before.strip())
                return mark.family == "channel" or (mark.family == "answer" and at_start)
            case Kind.FINAL_END:
                return self._wrapped
            case Kind.EMPTY:
                return is_first or not line.strip()
            case Kind.END if self._channels:
                return True
            case Kind.END:
                return False if after.strip() else True if final else None

    def _is_headed(self, more: str) -> bool:
        """Check for a heading of thoughts at the text's beginning."""
        return not self._closed and bool(HEADED.match(self._text[:100] + more[:100]))

    def _ends_thought(self, mark: Mark, before: str, after: str, *, final: bool) -> bool | None:
        match mark.kind:
            case Kind.CLOSE if mark.family == self._family:
                last = (self._last + before)[-1:]
                if last and last in "`\"'":  # the thought may be about the mark
                    return None if not after and not final else after[:1] != last
                return True
            case Kind.FINAL:
                return mark.family == self._family
            case Kind.EMPTY:
                return mark.family == "summary"
            case Kind.END | Kind.OPEN:
                return self._family == "channel" and mark.family in ("channel", "stop")
            case _:
                return False

    def _opens(self, line: str, after: str, *, final: bool) -> bool | None:
        """Check that an opening mark within text is used. It is at a break, or words follow it directly."""
        if line and line[-1] in _QUOTES:
            return False
        following = after.lstrip(" \t")
        if not following:
            return True if final else None
        spaced = len(following) < len(after)
        at_break = not line.strip() or bool(_SENTENCE_END.search(line))
        if following[0] in "\r\n" or (following[0] == "<" and at_break):
            return True
        if not at_break and _LEADS_TO_A_NAME.search(line):
            return False
        is_words = following[0].isalnum() and not (spaced and following[0].islower())
        return is_words and (at_break or not spaced)

    def _closes(self, line: str, after: str, *, final: bool) -> bool | None:
        """Check that an unopened closing mark is used. It may be a word of a text about such marks."""
        if self._nested:
            self._nested -= 1
            return True
        if self._mentions:
            return False
        following = after.lstrip(" \t")
        if not following:
            return True if final else None
        at_break = not line.strip() or bool(_SENTENCE_END.search(line))
        if following[0] in "\r\n<":
            return True
        return at_break and following[0] not in ",;:.)`'”’"

    def _turn(self, mark: Mark) -> Iterator[StreamChunk]:
        if mark.family == "channel":
            self._channels = True
        match mark.kind:
            case Kind.OPEN:
                yield from self._begin_thought(mark)
            case Kind.CLOSE if not self._family:
                if self._closing:
                    yield from self._close_unopened(self._closing, followed=True)
                self._closing = mark
            case Kind.CLOSE | Kind.END | Kind.FINAL if self._family:
                self._end_thought()
                self._wrapped = self._wrapped or (mark.kind is Kind.FINAL and mark.family == "answer")
            case Kind.FINAL if mark.family == "heading":
                self._closing = replace(mark, family="think")
            case Kind.FINAL:
                self._wrapped = self._wrapped or mark.family == "answer"
                self._after = True
            case Kind.FINAL_END:
                self._wrapped = False
                self._after = True

    def _begin_thought(self, mark: Mark) -> Iterator[StreamChunk]:
        if self._closing:
            yield from self._close_unopened(self._closing, followed=True)
        self._family, self._thought_begun, self._thought_space, self._last = mark.family, False, "", ""

    def _end_thought(self) -> None:
        self._family, self._closed, self._after = "", True, True
        self._suspect = self._nested > 0 or (self._suspect and bool(self._text))

    def _close_unopened(self, mark: Mark, *, followed: bool) -> Iterator[StreamChunk]:
        """Turn text before an unopened closing mark into a thought."""
        self._closing = None
        if not followed and self._closed:
            return  # a stray mark at the end of the answer
        if mark.family == "think" and self._text.strip():
            self._habit.unopened = True
            yield self._taken_back()
        self._closed, self._after, self._suspect = True, True, False

    def _taken_back(self) -> StreamChunk:
        thought = self._text.strip()
        separator = "\n" if self._thoughts else ""
        chunk = StreamChunk(reasoning_delta=separator + thought, takes_back=self._shown > 0)
        self._text, self._shown, self._thoughts, self._code = "", 0, True, _CodeTracker()
        return chunk

    # --- what is passed on ---

    def _pass(self, piece: str) -> Iterator[StreamChunk]:
        if not piece:
            return
        yield from self._pass_thought(piece) if self._family else self._pass_text(piece)

    def _pass_thought(self, piece: str) -> Iterator[StreamChunk]:
        """Pass on words of a thought.

        White space around it is dropped, and a line end separates it from the last thought.
        """
        self._last = piece[-1]
        piece = self._thought_space + piece
        if not self._thought_begun:
            piece = piece.lstrip()
        kept = piece.rstrip()
        self._thought_space = piece[len(kept) :]
        if kept:
            lead = "\n" if self._thoughts and not self._thought_begun else ""
            self._thought_begun = self._thoughts = True
            yield StreamChunk(reasoning_delta=lead + kept)

    def _pass_text(self, piece: str) -> Iterator[StreamChunk]:
        if self._closing:
            if not piece.strip():
                return
            yield from self._close_unopened(self._closing, followed=True)
        if self._after:
            self._gap += piece[: len(piece) - len(piece.lstrip())]
            piece = piece.lstrip()
            if not piece:
                return
            piece = _joining(self._text, self._gap) + piece
            self._after, self._gap = False, ""
        if not self._text:
            piece = piece.lstrip()
        if not piece:
            return
        self._text += piece
        self._code = self._code.after(piece)
        may_open = False
        known = self._suspect or self._closed or self._thoughts or self._calls
        if not known and self._shown < _OPENING_CHARACTERS:
            opening = self._text[:_OPENING_CHARACTERS]
            self._suspect = bool(_THOUGHT_OPENING.match(opening) or HEADED.match(opening))
            may_open = len(self._text) < _OPENING_CHARACTERS and bool(_MAY_OPEN.fullmatch(self._text))
        if not self._suspect and not may_open:
            yield from self._show()

    def _show(self) -> Iterator[StreamChunk]:
        text, self._shown = self._text[self._shown :], len(self._text)
        if text:
            yield StreamChunk(text_delta=text)


def _joining(text: str, gap: str) -> str:
    """Return the white space that joins text around a thought."""
    if not text:
        return ""
    space = text[len(text.rstrip()) :]
    lines = max(gap.count("\n"), space.count("\n"))
    if lines:
        return "\n" * (lines - space.count("\n"))
    return " " if gap and not space else ""


@dataclass(frozen=True, slots=True)
class _CodeTracker:
    """The code context of a text: its last line, and the fence of an open code block."""

    line: str = ""
    fence: str = ""

    @property
    def inside(self) -> bool:
        """Whether the next character is code."""
        if self.fence:
            return True
        run = ""
        for match in _BACKTICKS.finditer(self.line):
            run = match[0] if not run else "" if match[0] == run else run
        return bool(run)

    def after(self, piece: str) -> "_CodeTracker":
        """Return the state after a piece of text."""
        *lines, line = (self.line + piece).split("\n")
        fence = self.fence
        for whole in lines:
            if found := _FENCE.fullmatch(whole.rstrip("\r")):
                if not fence:
                    fence = found[1]
                elif found[1].startswith(fence) and not found[2].strip():
                    fence = ""
        return _CodeTracker(line[-400:], fence)
