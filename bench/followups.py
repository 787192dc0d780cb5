"""Retrieval for follow-up questions, as they are typed and as standalone questions (decision 0058).

    python -m bench.followups

Forty two-turn questions of our own over the handbook: a first question, a follow-up as a person writes it, the same
written out by a person, a rewrite in other words, and an excerpt of the passage that answers it. The first question is
answered by the pipeline without a chat model. "Scripted rewrite" is the rewrite as the reply of an OpenAI-compatible
server on loopback, through the chat port. One half chose how terms are joined; the other was held back.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.demo_library import KNOBS, demo_library
from core.adapters.models.openai_chat import OpenAIChat
from core.config.settings import ROOT
from core.features.evaluate.metrics.ranking_metrics import ndcg, recall
from core.features.evaluate.statistics.significance import (
    difference_interval,
    mean_interval,
    p_text,
    randomization_test,
)
from core.model import Exchange, Index
from core.ports import Ports
from core.run.state import Run
from core.runtime.event_loop import run_async
from core.stages.answer import answer
from core.stages.conversation.follow_up import standalone_question
from core.stages.rank import rank, sources
from tests.services.openai_server import FakeOpenAI, streamed

QUESTIONS = ROOT / "tests" / "data" / "followup_questions.json"
RAW, JOINED, SCRIPTED, HUMAN = "follow-up as typed", "terms joined", "scripted rewrite", "written by a person"
METRICS = {"recall@6": (recall, 6), "nDCG@10": (ndcg, 10)}


@dataclass(frozen=True, slots=True)
class TwoTurns:
    """A conversation of two questions; the passage with `text` answers the second one."""

    question: str
    follow_up: str
    standalone: str
    rewrite: str
    text: str
    held_back: bool


Values = Mapping[str, Mapping[str, Sequence[float]]]
"""One value a conversation, by the way of asking and the metric."""


def conversations() -> tuple[TwoTurns, ...]:
    return tuple(TwoTurns(**row) for row in json.loads(QUESTIONS.read_text("utf-8")))


async def ways_of_asking(
    turns: TwoTurns, run: Run, ports: Ports, server: FakeOpenAI, chat: OpenAIChat
) -> dict[str, str]:
    """The text of the second question in each of the four ways."""
    history = [Exchange(question=turns.question, answer=await _first_answer(turns.question, run, ports))]
    server.chats.append(streamed(turns.rewrite))
    joined = await standalone_question(turns.follow_up, history, None, lambda event: None)
    scripted = await standalone_question(turns.follow_up, history, chat, lambda event: None)
    if scripted.author != chat.identity:
        raise RuntimeError(scripted.note)
    return {
        RAW: turns.follow_up,
        JOINED: joined.text,
        SCRIPTED: scripted.text,
        HUMAN: turns.standalone,
    }


async def _first_answer(question: str, run: Run, ports: Ports) -> str:
    """The extractive answer, from the sources that the library has for the question."""
    assert run.index
    index = await _asked(question, run.index, ports)
    numbered = sources(rank(question, index, KNOBS.rank, run.pages), index, run.pages, KNOBS.rank)
    return (await answer(question, numbered, KNOBS.answer, None, ports.embed, lambda event: None)).text


async def _asked(question: str, index: Index, ports: Ports) -> Index:
    return replace(index, question=(await ports.embed([question])).vectors[0])


async def measure(run: Run, ports: Ports, *, held_back: bool, show: bool = False) -> Values:
    """The metrics of one half of the conversations."""
    assert run.index
    values: dict[str, dict[str, list[float]]] = {}
    with FakeOpenAI() as server:
        chat = OpenAIChat("scripted", server.base_url)
        for turns in (turns for turns in conversations() if turns.held_back is held_back):
            relevant = {passage.id: 1 for passage in run.index.passages if turns.text in passage.text}
            for way, text in (await ways_of_asking(turns, run, ports, server, chat)).items():
                order = rank(text, await _asked(text, run.index, ports), KNOBS.rank, run.pages).order
                ids = [run.index.passages[row].id for row in order]
                for name, (metric, k) in METRICS.items():
                    values.setdefault(way, {}).setdefault(name, []).append(metric(ids, relevant, k))
                if show:
                    print(f"{ids.index(*relevant) + 1:4}  {way:20}  {text}")
        await chat.aclose()
    return values


async def report(data: Path, *, show: bool) -> None:
    async with demo_library(data) as (run, ports):
        for held_back in (False, True):
            values = await measure(run, ports, held_back=held_back, show=show)
            print(f"\n{'Held back' if held_back else 'For choosing'}\n")
            print("| way of asking |", " | ".join(METRICS), "| against the follow-up as typed |")
            print("|---|---|---|---|")
            for way, by_metric in values.items():
                means = " | ".join(str(mean_interval(by_metric[name])) for name in METRICS)
                raw, own = (values[each]["nDCG@10"] for each in (RAW, way))
                difference = f"{difference_interval(raw, own)}, {p_text(randomization_test(raw, own))}"
                print(f"| {way} | {means} | {'' if way == RAW else difference} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--show", action="store_true", help="print each question with the rank of its passage"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_async(report(Path(folder), show=args.show))


if __name__ == "__main__":
    main()
