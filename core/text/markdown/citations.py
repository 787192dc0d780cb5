"""Citation marks of an answer, complete or streamed, and their short form [n]."""

from collections.abc import Container, Iterator, Sequence

from core.model import Citation
from core.text.markdown.citation_grammar import Form, Unit, end_of_code, prepare, start_of_source_list, units

_NEAR = 200
"""Characters before a piece of a stream that are needed as context: the last word, the start of the line."""
_WAIT = 1_500
"""The most characters to hold back until superscripts are known to be citations or powers."""


def find_citations(
    text: str, numbers: Container[int] | None, *, superscripts: bool = True
) -> Iterator[Citation]:
    """Yield the citation marks of `text` in order.

    `numbers` are those of sources, or None for any. Every number of a mark is a citation, and the citations of a mark
    share its offsets. `core.text.markdown.citation_grammar` has the forms. Code, links, addresses, footnotes and the
    list of sources at the end have no citations. A number without a source is a citation only with a word such as
    "Source", or directly beside a known number. It is not `known`. Superscripts are powers if there are marks in
    brackets, and without `superscripts`.
    """
    for mark in _marks(text, numbers, superscripts=superscripts):
        for number in mark.numbers:
            known = numbers is None or number in numbers
            yield Citation(number=number, start=mark.start, end=mark.end, known=known)


def citation_label(number: int, snippets: Container[int]) -> str:
    """Return the text of a citation inside its brackets.

    `snippets` are the numbers of sources known only by a snippet.
    """
    return f"{number} · snippet" if number in snippets else str(number)


def labelled_citations(text: str, numbers: Container[int], snippets: Container[int]) -> str:
    """Return `text` with labels such as `[2 · snippet]` for `snippets`."""
    pieces: list[str] = []
    reached = 0
    for mark in find_citations(text, numbers, superscripts=False):
        if mark.known and mark.number in snippets and mark.start >= reached:
            pieces += (text[reached : mark.start], f"[{citation_label(mark.number, snippets)}]")
            reached = mark.end
    return "".join((*pieces, text[reached:]))


def without_citations(text: str) -> str:
    """Return `text` without citation marks in brackets and the blanks before them."""
    pieces: list[str] = []
    reached = 0
    for mark in _marks(text, None, superscripts=False):
        before = text[reached : mark.start]
        pieces.append(before if mark.opens else before.rstrip(" "))
        reached = mark.end
    return "".join((*pieces, text[reached:]))


def short_marks(text: str, numbers: Container[int] | None) -> str:
    """Return `text` with `[2]` for every citation, and `[Source 9]` without a source."""
    return _shortened(text, 0, len(text), _marks(text, numbers, superscripts=True), numbers)


class CitationStream:
    """Shortens citation marks like `short_marks`, in a text that arrives in pieces.

    Text that may become a mark is held back. The first superscript after a word is held back until its paragraph ends,
    since it is a power if the paragraph cites in brackets.
    """

    def __init__(self, numbers: Container[int]) -> None:
        self._numbers = numbers
        self._before, self._held_back, self._fence = "", "", ""
        self._superscripts: bool | None = None
        """Whether superscripts cite, or None before the first mark."""
        self._beside = self._after_index = False
        """Whether the latest output ended with a mark, or with an array's index."""
        prepare()

    def read(self, piece: str) -> str:
        """Return the next part of the text that cannot change any more."""
        self._held_back += piece
        return self._pass_on(ended=False)

    def end(self) -> str:
        """Return the held-back text at the end."""
        return self._pass_on(ended=True)

    def _pass_on(self, *, ended: bool) -> str:
        pieces: list[str] = []
        while self._held_back:
            piece, whole = self._code(ended) if self._fence else self._prose(ended)
            pieces.append(piece)
            if not whole:
                break
        return "".join(pieces)

    @staticmethod
    def _limit(text: str, raised: int) -> int:
        """Return the end of a superscript's paragraph, which decides whether it cites."""
        blank = text.find("\n\n", raised, raised + _WAIT)
        return raised + _WAIT if blank < 0 else blank + 2

    def _take(self, count: int) -> str:
        taken, self._held_back = self._held_back[:count], self._held_back[count:]
        self._before = (self._before + taken)[-_NEAR:]
        return taken

    def _code(self, ended: bool) -> tuple[str, bool]:
        """Return the next part of the code, and whether its block has ended."""
        text, begin = self._before + self._held_back, len(self._before)
        end = end_of_code(text, self._fence, begin)
        if end is not None:
            self._fence = ""
            return self._take(end - begin), True
        last = self._held_back.rfind("\n") + 1
        is_open = not self._held_back[last:].strip(" \t>`~") and not ended
        return self._take(last if is_open else len(self._held_back)), False

    def _prose(self, ended: bool) -> tuple[str, bool]:
        """Return the next part of the text with short marks, and whether code follows."""
        text, begin = self._before + self._held_back, len(self._before)
        end, fence, marks, index = len(text), "", list[Unit](), -1
        for unit in units(
            text,
            self._numbers,
            begin,
            unfinished=not ended,
            beside=self._beside,
            after_index=self._after_index,
        ):
            if unit.unfinished:
                end = unit.start
                break
            if unit.fence:
                end, fence = unit.end, unit.fence
                break
            if unit.numbers or unit.opens:
                marks.append(unit)
            index = unit.end if unit.is_index else index
        raised = next((mark.start for mark in marks if mark.form is Form.RAISED), None)
        if self._superscripts is None and marks:
            # A superscript waits for the end of its paragraph, even if more text has arrived.
            limit = end if raised is None else self._limit(text, raised)
            if any(mark.form is not Form.RAISED and mark.start < limit for mark in marks):
                self._superscripts = False
            elif raised is not None and (ended or limit <= end):
                self._superscripts = True
            elif raised is not None:
                end, fence = raised, ""
        cited = [
            mark for mark in marks if mark.end <= end and (mark.form is not Form.RAISED or self._superscripts)
        ]
        piece = _shortened(text, begin, end, cited, self._numbers, beside=self._beside)
        self._take(end - begin)
        self._fence = fence
        if end > begin:
            self._beside = any(mark.numbers and mark.end == end for mark in cited)
            self._after_index = index == end
        return piece, bool(fence)


def footnotes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the slices of `text` with definitions and the final list of sources."""
    end = start_of_source_list(text)
    for unit in units(text[:end], None):
        if unit.definition:
            yield unit.start, unit.end
    if end < len(text):
        yield end, len(text)


def _marks(text: str, numbers: Container[int] | None, *, superscripts: bool) -> list[Unit]:
    end = start_of_source_list(text)
    marks = [unit for unit in units(text, numbers) if (unit.numbers or unit.opens) and unit.start < end]
    in_brackets = [mark for mark in marks if mark.form is not Form.RAISED]
    return marks if superscripts and not in_brackets else in_brackets


def _shortened(
    text: str,
    begin: int,
    end: int,
    marks: Sequence[Unit],
    numbers: Container[int] | None,
    *,
    beside: bool = False,
) -> str:
    """Return `text[begin:end]` with short marks.

    Directly after a mark, a number without a source keeps its short form.
    """
    pieces: list[str] = []
    reached = begin
    for mark in marks:
        attached = text[mark.start - 1 : mark.start].isalnum()
        gap = " " if attached and mark.numbers and text[mark.start] not in "[【［(（" else ""
        pieces += (text[reached : mark.start], gap)
        in_row = mark.start == reached and (beside or reached > begin)
        for number in mark.numbers:
            known = in_row or numbers is None or number in numbers
            pieces.append(f"[{number}]" if known else f"[Source {number}]")
            in_row = True
        reached = mark.end
    return "".join((*pieces, text[reached:end]))
