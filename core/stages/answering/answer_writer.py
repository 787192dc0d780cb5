"""Write the answer up to a stop sequence or a number of characters."""

from collections.abc import Container, Sequence

from core.run.events import Emit, TokensWritten
from core.text.markdown.citations import CitationStream


class StopSequences:
    """Cuts a stream of text before the first of `sequences`, also across pieces."""

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(filter(None, sequences))
        self._held_back = ""
        self.reached = False
        """Whether a sequence has occurred. No later text is passed on."""

    def read(self, piece: str) -> str:
        """Return the next part of the text. A possible beginning of a sequence is held back."""
        if self.reached:
            return ""
        text, self._held_back = self._held_back + piece, ""
        starts = [start for sequence in self._sequences if (start := text.find(sequence)) >= 0]
        if starts:
            self.reached = True
            return text[: min(starts)]
        held_back = max((overlap(text, sequence) for sequence in self._sequences), default=0)
        self._held_back = text[len(text) - held_back :]
        return text[: len(text) - held_back]

    def end(self) -> str:
        """Return the held-back text at the end."""
        text, self._held_back = self._held_back, ""
        return text


def overlap(text: str, mark: str) -> int:
    """Return how many final characters may begin `mark`."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)


class AnswerWriter:
    """Emit pieces of the answer as `TokensWritten`, which join to `text`. Leading white space is dropped."""

    def __init__(
        self,
        emit: Emit,
        stop: Sequence[str] = (),
        room: int | None = None,
        *,
        numbers: Container[int] | None = None,
    ) -> None:
        """Limit the answer to `room` characters, if set. Citations of the source `numbers` become [n] in any form."""
        self.text = ""
        self.cut = False
        """Whether the text was cut at `room` characters."""
        self._emit, self._stops, self._numbers, self._room = emit, stop, numbers, room
        self._begin()

    def _begin(self) -> None:
        self._stop = StopSequences(self._stops)
        self._citations = CitationStream(self._numbers) if self._numbers is not None else None

    @property
    def stopped(self) -> bool:
        """Whether a stop sequence has occurred. The text before it is complete."""
        return self._stop.reached

    def write(self, piece: str) -> None:
        """Add the next piece of streamed text."""
        piece = self._stop.read(piece)
        self._pass_on(self._citations.read(piece) if self._citations else piece)

    def take_back(self) -> None:
        """Drop the written text because it was reasoning. The run keeps that elsewhere."""
        self.text = ""
        self._begin()

    def close(self) -> None:
        """Write text held back for a stop sequence or citation."""
        piece = self._stop.end()
        self._pass_on(self._citations.read(piece) + self._citations.end() if self._citations else piece)

    def _pass_on(self, piece: str) -> None:
        piece = piece if self.text else piece.lstrip()
        if self._room is not None and len(self.text) + len(piece) > self._room:
            piece, self.cut = piece[: self._room - len(self.text)], True
        if piece:
            self.text += piece
            self._emit(TokensWritten(piece))
