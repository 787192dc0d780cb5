"""What was said before a question: in its session, or in the messages that it comes with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.api.sessions import RunExchange, Session
from core.model import Exchange
from core.run.state import Run
from core.text.digest import text_digest


@dataclass(frozen=True, slots=True)
class Conversation:
    """The exchanges before a question, oldest first, and the latest run that gave one; empty: this server gave none."""

    session: Session
    exchanges: tuple[Exchange, ...]
    run: str
    digest: str = ""
    """Of the exchanges, where the client keeps them; empty: the session does."""

    @classmethod
    def of_session(cls, session: Session) -> Conversation:
        """What the session remembers."""
        history = session.history
        return cls(
            session, tuple(earlier.exchange for earlier in history), history[-1].run if history else ""
        )

    @classmethod
    def of_messages(cls, exchanges: Sequence[Exchange], session: Session, owner: str) -> Conversation:
        """What a client of this owner says that was said. Exchanges with the same ones before them are known again."""
        digests = list(_digests(owner, exchanges))
        known = [session.replies.get(digest) for digest in digests]
        return cls(
            session,
            tuple(own.exchange if own else said for own, said in zip(known, exchanges, strict=True)),
            next((own.run for own in reversed(known) if own), ""),
            digests[-1] if digests else text_digest(f"of {owner}"),
        )

    def is_continued_by(self, question: str) -> bool:
        """Whether a question follows the exchanges. One that stood alone in this session, and is asked again, does not."""
        is_repeated = not self.digest and any(exchange.question == question for exchange in self.exchanges)
        return bool(self.exchanges) and not is_repeated

    def add(self, question: str, run: Run) -> None:
        """Remember that a run answered a question, for those that follow it."""
        exchange = RunExchange(Exchange(question=run.question, answer=run.text, origins=run.origins), run.id)
        self.session.add_exchange(exchange)
        if self.digest:
            self.session.replies[_next_digest(self.digest, question, run.text)] = exchange


def _digests(owner: str, exchanges: Sequence[Exchange]) -> Iterator[str]:
    """A digest of each exchange with those before it."""
    digest = text_digest(f"of {owner}")
    for exchange in exchanges:
        yield (digest := _next_digest(digest, exchange.question, exchange.answer))


def _next_digest(digest: str, question: str, answer: str) -> str:
    return text_digest("\0".join((digest, question.strip(), answer.strip())))
