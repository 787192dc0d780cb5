"""Text in pieces that ends before the first of some sequences."""

from collections.abc import Sequence


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
