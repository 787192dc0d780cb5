"""One sample event of every kind, in the order in which a run tells them."""

import numpy as np

from core.config.knobs import Knobs
from core.model import (
    Answer,
    AnswerKind,
    Article,
    Author,
    Citation,
    CitationCheck,
    FunctionCall,
    Index,
    Message,
    ModelUsage,
    Page,
    Passage,
    Phase,
    Place,
    Query,
    Ranking,
    Result,
    Retry,
    SearchReply,
    Sentence,
    Skip,
    SkipReason,
    Source,
    ToolCall,
    Usage,
)
from core.run import events as e
from core.run.reports import plan_events as p
from core.run.step_events import ModelDecided, StepEnded, StepStarted

QUERY = Query(text="overlap of passages", author=Author.MODEL)
OTHER = Query(text="naïve “quotes” 检索", author=Author.MODEL)
KEY, DEAD, SLOW = "https://a.example/one", "https://a.example/dead", "https://a.example/slow"
REPLY = SearchReply(
    backend="searxng",
    results=(
        Result(url="https://a.example/one", title="One", snippet="First.", rank=1, engines=("x", "y")),
        Result(url="https://a.example/dead", title="Dead", snippet="", rank=2, published="2024-01-01"),
        Result(url="https://a.example/slow", title="Slow", snippet="Third.", rank=3),
    ),
    unresponsive_engines=(("bing", "timeout"),),
    unknown_engines=("gogle",),
)
PAGE = Page(
    key=KEY,
    url="https://a.example/one",
    title="One",
    article=Article(text="Alpha beta gamma.\n\nDelta.", extractor="trafilatura", language="en", seconds=0.01),
    size=1234,
    seconds=0.2,
)
FIRST = Passage(text="Alpha beta gamma.", place=Place(page=KEY, start=0, end=17))
SECOND = Passage(
    text="Delta.", place=Place(page=KEY, start=19, end=25), also=(Place(page=SLOW, start=3, end=9),)
)
INDEX = Index(
    passages=(FIRST, SECOND),
    vectors=np.array([[1, 0], [0, 1]], dtype=np.float32),
    question=np.array([0.6, 0.8], dtype=np.float32),
    embedder="test",
)
RANKING = Ranking(
    order=np.array([1, 0]), context=(1,), strategy="cosine", cosine=np.array([0.6, 0.8], dtype=np.float32)
)
SOURCE = Source(number=1, passage=SECOND, title="One", url="https://a.example/one")
TEXT = "Delta holds [1]. So [7]."
USAGE = Usage(prompt_tokens=10, completion_tokens=3, cost=0.001)
ANSWER = Answer(kind=AnswerKind.WRITTEN, text=TEXT, model="m@h", usage=USAGE, finish="stop")
CHECK = CitationCheck(
    citations=(
        Citation(number=1, start=12, end=15, known=True),
        Citation(number=7, start=20, end=23, known=False),
    ),
    sentences=(
        Sentence(start=0, end=16, cites=(1,), text="Delta holds."),
        Sentence(start=17, end=24, cites=(), text="So."),
    ),
    cited=(1,),
)

EVENTS: tuple[e.Event, ...] = (
    e.RunStarted("run-1", "What is overlap?", Knobs(), "2026-01-02T03:04:05+00:00"),
    e.PhaseStarted(Phase.PLAN),
    e.QueryPlanned(QUERY),
    e.SearchStarted(QUERY),
    e.QueryPlanned(OTHER),
    e.PhaseEnded(Phase.PLAN),
    e.SearchStarted(OTHER),
    e.SearchAnswered(QUERY, REPLY),
    e.QueryFailed(OTHER, "It did not answer.", "Is it running?"),
    e.PhaseStarted(Phase.READ),
    e.FetchStarted(KEY, "https://a.example/one"),
    e.FetchStarted(DEAD, "https://a.example/dead"),
    e.Fetched(KEY, 1234),
    e.PageRead(PAGE),
    e.PageSkipped(
        Skip(key=DEAD, url="https://a.example/dead", reason=SkipReason.STATUS, detail="404", seconds=0.1)
    ),
    e.PhaseStarted(Phase.CHUNK),
    e.PageChunked(KEY, (FIRST, SECOND)),
    e.PhaseStarted(Phase.EMBED),
    e.EmbedStarted(1, 2),
    e.ModelRetry(Phase.EMBED, Retry(server="h", seconds=0.02, reason="rate limit"), 1),
    e.Embedded(1, (FIRST.id, SECOND.id), (0.6, 0.8), 1),
    e.BatchFailed(2, 3, "Too many.", "Wait."),
    e.Indexed(INDEX),
    e.Ranked(RANKING),
    ModelDecided("I search first.", (ToolCall(id="c1", function=FunctionCall(name="find")),), 90),
    StepStarted(1, "find", '{"text": "overlap"}'),
    StepEnded(1, "Delta holds.", "b0", 1),
    e.SourcesChosen((SOURCE,)),
    e.Note(Phase.ANSWER, "A note.", "A hint."),
    e.PhaseStarted(Phase.ANSWER),
    e.Prompted((Message(role="user", content="…"),), "m@h"),
    e.TokensWritten("Delta holds [1]. "),
    e.TokensWritten("So [7]."),
    e.ModelUsed(Phase.ANSWER, ModelUsage(model="m@h", tokens=USAGE)),
    e.Answered(ANSWER),
    e.Checked(CHECK),
    e.RunDone(),
    e.RunResumed(Knobs()),
    p.PlanProposed(
        sub_questions=("What is it?", "Why?"), estimate=p.Estimate(tokens=900, seconds=2.5), author="m@h"
    ),
    p.PlanApproved(("What is it?", "Why?")),
    p.SectionStarted(1),
    p.SectionWritten(1, ANSWER, (SOURCE,), 40),
    p.SectionLeftOut(2, "It broke."),
    p.BriefStarted(),
    e.ModelAsked(Phase.ANSWER, "m@h", silence=60.0),
    e.ModelHeard(Phase.ANSWER),
    e.ModelThought(Phase.ANSWER, "Delta seems to hold."),
    e.RunStopped(),
    e.RunFailed("answer", "It broke.", "Try again.", 6),
)


def records(*events: e.Event) -> list[e.Record]:
    return [e.Record(at=number / 10, event=event) for number, event in enumerate(events)]


def until(kind: type[e.Event]) -> tuple[e.Event, ...]:
    """The sample events up to and with the first of this kind."""
    ends = next(number for number, event in enumerate(EVENTS) if isinstance(event, kind))
    return EVENTS[: ends + 1]
