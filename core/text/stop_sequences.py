"""Text that arrives in pieces and ends before the first of some sequences."""

from collections.abc import Sequence


class StopSequences:
    """Cuts a stream of text before the first occurrence of any of `sequences`, however the pieces are cut."""

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(filter(None, sequences))
        self._held_back = ""
        self.reached = False
        """A sequence has occurred: nothing of what follows is passed on."""

    def read(self, piece: str) -> str:
        """What may be passed on. An end that may be the beginning of a sequence is held back."""
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
        """What was held back, once no more text follows."""
        text, self._held_back = self._held_back, ""
        return text


def overlap(text: str, mark: str) -> int:
    """How many characters at the end of `text` may be the beginning of `mark`."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)
