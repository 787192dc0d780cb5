"""A chat model that sends nothing: how long it is silent, and when it is given up."""

import asyncio

from core.analysis.run_activity import can_quote, current_activity, silent_model
from core.config.knobs import AnswerKnobs
from core.model import Answer, AnswerKind, Message, ModelUsage, Phase, Retry, StreamChunk, Usage
from core.run import events as e
from core.run.state import Run
from core.stages.answer import QUOTED_BY_CHOICE, answer
from core.stages.metered_models import HEARD_EVERY, MeteredChat
from tests.stages.fakes import ScriptedChat, WordEmbed, source

ASKED = (
    (0.0, e.PhaseStarted(Phase.ANSWER)),
    (1.0, e.ModelAsked(Phase.ANSWER, "writer@127.0.0.1:8080", silence=60.0)),
)
USED = e.ModelUsed(Phase.ANSWER, ModelUsage(model="m", tokens=Usage(prompt_tokens=1, completion_tokens=1)))


def run_at(*events: tuple[float, e.Event]) -> Run:
    run = Run()
    for at, event in events:
        run = run.apply(e.Record(at=at, event=event))
    return run


def test_silence_is_told_from_ten_seconds_on() -> None:
    run = run_at(*ASKED)
    assert current_activity(run, 10.9) == "Writing the answer"
    line = "Waiting for writer (127.0.0.1:8080): nothing for 14 s, gives up at 60 s"
    assert current_activity(run, 15.0) == line
    assert can_quote(run)


def test_silence_begins_anew_with_each_word_and_thought() -> None:
    for heard in (e.TokensWritten("Kettles "), e.ModelHeard(Phase.ANSWER)):
        run = run_at(*ASKED, (12.0, heard))
        assert silent_model(run, 21.0) is None
        silent = silent_model(run, 30.5)
        assert silent is not None and int(silent.seconds) == 18


def test_silence_begins_after_the_wait_for_another_attempt() -> None:
    retry = e.ModelRetry(Phase.ANSWER, Retry(server="h", seconds=20.0, reason="rate limit"))
    run = run_at(*ASKED, (2.0, retry))
    assert "retrying in 5 s" in current_activity(run, 17.0)
    assert silent_model(run, 31.0) is None
    assert silent_model(run, 33.0) is not None


def test_end_of_the_time_budget_precedes_the_silence_limit() -> None:
    run = run_at(ASKED[0], (1.0, e.ModelAsked(Phase.ANSWER, "m", silence=60.0, ends=26.5)))
    assert "gives up at 27 s" in current_activity(run, 12.0)


def test_server_outlasting_the_limit_is_not_said_to_give_up() -> None:
    """As one that sends comments while its queue is long."""
    assert current_activity(run_at(*ASKED), 75.0) == "Waiting for writer (127.0.0.1:8080): nothing for 74 s"


def test_nothing_is_awaited_after_a_call_or_run_ended() -> None:
    for end in (USED, e.PhaseEnded(Phase.ANSWER), e.RunStopped(), e.RunFailed("answer", "It broke.")):
        run = run_at(*ASKED, (2.0, end))
        assert silent_model(run, 40.0) is None
        assert not run.timeline.awaited


async def test_a_call_is_reported_with_its_limits() -> None:
    told: list[e.Event] = []
    chat = MeteredChat(ScriptedChat("Yes."), Phase.ANSWER, told.append, seconds=8.0)
    async for _ in chat([Message(role="user", content="?")], max_tokens=1, temperature=0.0):
        pass
    assert told[0] == e.ModelAsked(Phase.ANSWER, "scripted@test", silence=60.0, ends=8.0)


async def test_reasoning_is_heard_at_most_once_a_second() -> None:
    told: list[e.Event] = []
    gate = asyncio.Event()
    thoughts = [StreamChunk(reasoning_delta="Hm. ")] * 3
    chat = MeteredChat(ScriptedChat(*thoughts, gate, *thoughts), Phase.ANSWER, told.append)
    opened = False
    async for _ in chat([Message(role="user", content="?")], max_tokens=1, temperature=0.0):
        if not opened:  # a second from now is a second after the call began, however late this chunk came
            opened = True
            asyncio.get_running_loop().call_later(HEARD_EVERY, gate.set)
    assert told.count(e.ModelHeard(Phase.ANSWER)) == 1


async def test_sources_are_quoted_when_a_person_does_not_wait() -> None:
    told: list[e.Event] = []
    never, quote = asyncio.Event(), asyncio.Event()
    chat = ScriptedChat("Half an ", never)

    def emit(event: e.Event) -> None:
        told.append(event)
        if isinstance(event, e.TokensWritten):
            quote.set()

    sources = (source(1, "Chunk overlap affects retrieval: it lifts recall."),)
    result: Answer = await answer(
        "How does chunk overlap affect retrieval?",
        sources,
        AnswerKnobs(),
        chat,
        WordEmbed(),
        emit,
        quote=quote,
    )
    assert result.kind is AnswerKind.EXTRACTIVE
    assert "Half an" not in result.text
    assert chat.closed
    again = len(told) - told[::-1].index(e.PhaseStarted(Phase.ANSWER))
    assert "".join(event.text for event in told[again:] if isinstance(event, e.TokensWritten)) == result.text
    assert e.Note(Phase.ANSWER, QUOTED_BY_CHOICE) in told
    run = run_at(*((0.0, event) for event in told))
    assert run.text == result.text
