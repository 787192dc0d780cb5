"""Apply the egress policy to the models of a run, with notes on withheld text."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from core.config.egress import OWN_MODEL
from core.config.knobs import RankKnobs
from core.errors import BadInput
from core.model import Exchange, Index, Page, Phase, Severity, Source
from core.ports import Chat, Ports
from core.run.events import Emit, Note
from core.text.sanitize import plural, pluralize


async def embeddable_pages(pages: AsyncGenerator[Page], ports: Ports) -> AsyncGenerator[Page]:
    """Yield the pages after checking them for the embedder.

    Raises:
        BadInput: when a page is withheld, because these ports were made for another run.
    """
    async with aclosing(pages):
        async for page in pages:
            if ports.withheld(ports.embed, [page.key]):
                raise BadInput(
                    f"Private text must not reach {ports.embed.identity}, which is hosted.",
                    hint="Make the ports with the run: engine.ports(knobs, run=run).",
                )
            yield page


def admitted_reranking(
    knobs: RankKnobs, index: Index, ports: Ports, notes: Sequence[Note], emit: Emit
) -> RankKnobs:
    """Disable reranking if a passage is withheld from it.

    Notes report that, and an embedder used instead of the chosen model, unless `notes` has that already.
    """
    note = Note(Phase.EMBED, ports.egress_note)
    if ports.egress_note and note not in notes:
        emit(note)
    pages = [passage.place.page for passage in index.passages]
    if ports.rerank is None or not knobs.rerank or not (withheld := ports.withheld(ports.rerank, pages)):
        return knobs
    count = sum(page in withheld for page in pages)
    message = f"The passages were not reranked: {count:,} of {len(pages):,} {plural(count, 'is', 'are')} private, and {ports.rerank.identity} is hosted."
    emit(Note(Phase.RANK, message, OWN_MODEL, Severity.WARNING))
    return replace(knobs, rerank=False)


def admitted_sources(
    numbered: Sequence[Source], ports: Ports, emit: Emit
) -> tuple[Sequence[Source], Chat | None]:
    """Select the sources that the chat model may read. They keep their numbers.

    If it may read none, returns all sources and no model.
    """
    withheld = ports.withheld(ports.chat, {source.place.page for source in numbered})
    if not withheld or ports.chat is None:
        return numbered, ports.chat
    admitted = [source for source in numbered if source.place.page not in withheld]
    kept = len(numbered) - len(admitted)
    message = (
        f"{kept} of {pluralize(len(numbered), 'source')} {plural(kept, 'is', 'are')} private and "
        f"{plural(kept, 'was', 'were')} not sent to "
        f"{ports.chat.identity}, which is hosted."
    )
    quoted = "" if admitted else " Sentences of the sources are quoted instead."
    severity = Severity.WARNING if admitted else Severity.INFO
    emit(Note(Phase.ANSWER, f"{message}{quoted}", OWN_MODEL, severity))
    return (admitted, ports.chat) if admitted else (numbered, None)


def admitted_history(
    history: Sequence[Exchange], chat: Chat | None, ports: Ports, emit: Emit
) -> tuple[Exchange, ...]:
    """Remove answers that may quote withheld text. A note counts them.

    Raises:
        BadInput: when the policy refuses them.
    """
    origins = frozenset[str]().union(*(exchange.origins for exchange in history if exchange.answer))
    withheld = ports.withheld_origins(chat, origins)
    if not withheld or chat is None:
        return tuple(history)
    count = sum(bool(exchange.answer and exchange.origins & withheld) for exchange in history)
    message = (
        f"{pluralize(count, 'earlier answer')} may quote private text and did not reach {chat.identity}, "
        "which is hosted."
    )
    emit(Note(Phase.ANSWER, message, OWN_MODEL))
    return tuple(
        replace(exchange, answer="") if exchange.origins & withheld else exchange for exchange in history
    )
