"""What goes wrong with embeddings, planned queries and answers."""

from dataclasses import replace

from core.config.knobs import EmbedKnobs, Knobs
from core.model import AnswerKind, Phase
from core.run.state import Run, RunStatus
from tests.faults.world import BRIEF, KNOBS, QUESTION, WHOLE, Arrange, FaultCase, World, silent
from tests.services.loopback import Cut, Gate, Reply, html_reply, json_reply
from tests.services.openai_server import Fault, chunk, failure, streamed, whole
from tests.services.process import closed_port

# --- embeddings -------------------------------------------------------------------------------------------


def embedding(*replies: Reply | Fault) -> Arrange:
    return lambda world: world.openai.embeddings.extend(replies)


def no_embedder(world: World) -> None:
    world.embed_url = f"http://127.0.0.1:{closed_port()}/v1"


def _by_words(run: Run) -> bool:
    """Nothing is lost but the meaning: every passage is ranked by its words."""
    return run.ranking is not None and run.ranking.strategy == "bm25" and len(run.sources) > 0


def _unvectored(name: str, arrange: Arrange, says: str = "BM25") -> FaultCase:
    return FaultCase(name, arrange, WHOLE, says, keeps=_by_words)


ALWAYS = 40
"""Times that a fault is scripted when no try may come through."""

EMBED = [
    _unvectored("refused", no_embedder, "Nothing answers"),
    _unvectored("reset", embedding(*[Reply((b"{", Cut()))] * ALWAYS)),
    _unvectored("silent", silent(embedding(*[Reply((Gate(),))] * ALWAYS)), "within 0.5 seconds"),
    _unvectored("half-written", embedding(*[Reply((b'{"data": [',), streamed=True, unended=True)] * ALWAYS)),
    _unvectored("HTML instead of JSON", embedding(*[html_reply()] * ALWAYS), "other than embeddings"),
    _unvectored("another shape", embedding(*[json_reply({"data": "none"})] * ALWAYS), "vectors"),
    _unvectored("rows of another shape", embedding(*[json_reply({"data": [[1, 2, 3]]})] * ALWAYS), "vectors"),
    _unvectored("too few", embedding(*[Fault.TOO_FEW] * ALWAYS), "vectors for"),
    _unvectored("too many", embedding(*[Fault.TOO_MANY] * ALWAYS), "vectors for"),
    _unvectored(
        "one index twice",
        lambda world: (_batches(world), embedding(*[Fault.REPEATED_INDEX] * ALWAYS)(world))[1],
        "",
    ),
    _unvectored("not a number", embedding(*[Fault.NAN] * ALWAYS), "not finite"),
    _unvectored("no length", embedding(*[Fault.ZERO] * ALWAYS), "no length"),
    _unvectored(
        "an error object with status 200",
        embedding(*[json_reply({"error": {"message": "no", "code": 400}})] * ALWAYS),
    ),
    _unvectored("401", embedding(*[failure(401, "bad key sk-test")] * ALWAYS), "refused the key"),
    _unvectored("402", embedding(*[failure(402)] * ALWAYS), "no credit"),
    _unvectored("403", embedding(*[failure(403)] * ALWAYS), "does not allow this"),
    _unvectored("404", embedding(*[failure(404)] * ALWAYS), "There is no embeddings endpoint"),
    _unvectored("429", embedding(*[failure(429)] * ALWAYS), "no more"),
    _unvectored("429 for ten minutes", embedding(*[failure(429, retry_after="600")] * ALWAYS), "600 seconds"),
    _unvectored("500", embedding(*[failure(500)] * ALWAYS), "answered with an error (500)"),
    FaultCase(
        "500 once",
        embedding(failure(500)),
        WHOLE,
        "",
        keeps=lambda run: run.ranking is not None and run.ranking.strategy == "fused",
    ),
    FaultCase(
        "429 for no time",
        embedding(failure(429, retry_after="0")),
        WHOLE,
        "",
        keeps=lambda run: run.index is not None and run.index.vectors is not None,
    ),
    FaultCase(
        "in another order, rightly numbered",
        embedding(*[Fault.SHUFFLED] * ALWAYS),
        WHOLE,
        "",
        keeps=lambda run: run.index is not None and run.index.vectors is not None,
    ),
    FaultCase(
        "one batch of another width",
        lambda world: (_batches(world), embedding(*[Fault.OTHER_WIDTH])(world))[1],
        WHOLE,
        "widths",
        keeps=lambda run: run.index is not None and bool(run.sources),
    ),
]


def _batches(world: World) -> None:
    """Calls of four texts each, so that one of them can fail."""
    world.knobs = Knobs(
        plan=KNOBS.plan,
        search=KNOBS.search,
        read=KNOBS.read,
        chunk=KNOBS.chunk,
        embed=EmbedKnobs(batch=4, in_flight=1),
    )


# --- the answer -------------------------------------------------------------------------------------------


def chat(*replies: Reply) -> Arrange:
    return lambda world: world.openai.chats.extend(replies)


def no_chat(world: World) -> None:
    world.chat_url = f"http://127.0.0.1:{closed_port()}/v1"


def _unanswered(name: str, arrange: Arrange, says: str, *, part_way: bool = False) -> FaultCase:
    ends = (RunStatus.FAILED, AnswerKind.WRITTEN if part_way else None)
    text = "Kettles boil" if part_way else ""
    return FaultCase(
        name, arrange, ends, says, "answer", keeps=lambda run: len(run.sources) > 0 and run.text == text
    )


def _answered(name: str, reply: Reply, text: str = "Kettles boil water [1].") -> FaultCase:
    return FaultCase(
        name, chat(reply), WHOLE, "", keeps=lambda run: run.text == text and run.check.cited == (1,)
    )


def _escaped(text: str) -> bytes:
    """An event whose text is written in JSON's escapes as it stands here."""
    return f'data: {{"choices": [{{"index": 0, "delta": {{"content": "{text}"}}}}]}}\n\n'.encode()


SSE = "text/event-stream"
COMMENTS = Reply(
    (
        b": ping\n\n",
        chunk({"content": "Kettles boil "}),
        b":\r\n\r\n",
        chunk({"content": "water [1]."}),
        chunk({}, finish="stop"),
        b"data: [DONE]\n\n",
    ),
    content_type=SSE,
    streamed=True,
)
CRLF = Reply(
    tuple(
        part.replace(b"\n", b"\r\n")
        for part in (
            chunk({"content": "Kettles boil water [1]."}),
            chunk({}, finish="stop"),
            b"data: [DONE]\n\n",
        )
    ),
    content_type=SSE,
    streamed=True,
)
CHAT = [
    _unanswered("refused", no_chat, "Nothing answers"),
    _unanswered("reset at once", chat(*[Reply((Cut(),), content_type=SSE)] * 4), "127.0.0.1"),
    _unanswered("silent", silent(chat(*[Reply((Gate(),), content_type=SSE)] * 4)), "fell silent"),
    _unanswered(
        "silent half-way", silent(chat(streamed("Kettles boil", Gate(), " water."))), "silent", part_way=True
    ),
    _unanswered("reset half-way", chat(streamed("Kettles boil", Cut())), "broke", part_way=True),
    _unanswered(
        "cut in the middle",
        chat(streamed("Kettles boil", unended=True, finish=None, usage=None)),
        "broke",
        part_way=True,
    ),
    _unanswered(
        "no end mark",
        chat(streamed("Kettles boil", finish=None, usage=None, done=False)),
        "stopped before its end",
        part_way=True,
    ),
    _unanswered(
        "an error half-way",
        chat(streamed("Kettles boil", b'data: {"error": {"message": "overloaded"}}\n\n', finish=None)),
        "overloaded",
        part_way=True,
    ),
    _unanswered(
        "an error as its finish", chat(streamed("Kettles boil", finish="error")), "broke", part_way=True
    ),
    _unanswered("empty choices and no words", chat(streamed(chunk(None), chunk(None))), "empty answer"),
    _unanswered(
        "only thoughts", chat(streamed(reasoning=["Hm.", "Kettles."])), "thought and wrote no answer"
    ),
    _unanswered(
        "only counts",
        chat(
            Reply(
                (chunk(None, usage={"prompt_tokens": 1, "completion_tokens": 0}), b"data: [DONE]\n\n"),
                content_type=SSE,
                streamed=True,
            )
        ),
        "empty answer",
    ),
    _unanswered(
        "thoughts up to the limit",
        chat(streamed(reasoning=["Hm."], finish="length")),
        "had not written a word",
    ),
    _unanswered("an answer withheld", chat(streamed(finish="content_filter")), "withheld"),
    _unanswered("HTML", chat(html_reply()), "a web page"),
    _unanswered("nothing at all", chat(Reply((b"",), content_type=SSE)), "empty reply"),
    _unanswered("JSON of another kind", chat(json_reply({"status": "ok"})), "no chat reply"),
    _unanswered("a list", chat(json_reply([1])), "no chat reply"),
    _unanswered(
        "an error object with status 200",
        chat(json_reply({"error": {"message": "no such engine"}})),
        "no such engine",
    ),
    _unanswered("401", chat(failure(401, "bad key sk-test")), "refused the key"),
    _unanswered("402", chat(failure(402)), "no credit"),
    _unanswered("403", chat(failure(403)), "does not allow"),
    _unanswered("404", chat(failure(404, "model not found")), "does not exist"),
    _unanswered("413", chat(failure(413)), "too long"),
    _unanswered("429", chat(*[failure(429)] * 4), "no more requests"),
    _unanswered("429 for ten minutes", chat(failure(429, retry_after="600")), "600 seconds"),
    _unanswered("500", chat(*[failure(500)] * 4), "answered with an error (500)"),
    _unanswered(
        "a redirect", chat(json_reply({}, status=307, headers={"Location": "http://10.0.0.1/"})), "elsewhere"
    ),
    _answered("comments between events", COMMENTS),
    _answered("lines that end in CRLF", CRLF),
    _answered(
        "every byte by itself",
        streamed("Kettles boil wäter 沸 [1].", split=True),
        "Kettles boil wäter 沸 [1].",
    ),
    _answered("thoughts before the answer", streamed("Kettles boil water [1].", reasoning=["Hm. "])),
    _answered("empty choices between words", streamed("Kettles boil ", chunk(None), "water [1].")),
    _answered("no [DONE]", streamed("Kettles boil water [1].", done=False)),
    _answered("no counts", streamed("Kettles boil water [1].", usage=None)),
    _answered("a reply in one piece", whole("Kettles boil water [1].")),
    _answered(
        "a line separator inside a word",
        streamed("Kettles\u2028boil water [1]."),
        "Kettles\u2028boil water [1].",
    ),
    _answered(
        "one character in two pieces",
        streamed(_escaped("Kettles \\ud83d"), _escaped("\\ude00 [1].")),
        "Kettles \U0001f600 [1].",
    ),
    _answered(
        "half a character", streamed(_escaped("Kettles \\ud83d boil [1].")), "Kettles \ufffd boil [1]."
    ),
    FaultCase("429 once", chat(failure(429, retry_after="0")), WHOLE, ""),
    FaultCase("500 once", chat(failure(500)), WHOLE, ""),
    FaultCase(
        "cut at the token limit",
        chat(streamed("Kettles boil water [1].", finish="length")),
        WHOLE,
        "reached a limit of the model or its server",
    ),
    FaultCase(
        "numbers that no source has",
        chat(streamed("Kettles boil water [1][99].")),
        WHOLE,
        "",
        keeps=lambda run: run.check.unknown == (99,),
    ),
]


def _planned(*replies: Reply) -> Arrange:
    def arrange(world: World) -> None:
        world.knobs = Knobs(search=KNOBS.search, read=KNOBS.read, chunk=KNOBS.chunk)
        world.openai.chats.extend(replies)

    return arrange


def _own_question(run: Run) -> bool:
    return [query.text for query in run.queries] == [QUESTION] and len(run.pages) == 3


def _late(world: World) -> None:
    _planned(streamed("kettles water\nkettles steam\n", Gate()))(world)
    world.knobs = replace(world.knobs, read=replace(world.knobs.read, deadline=0.5))
    world.silence = 4 * BRIEF  # the model's; the search is given up before, with the time for pages
    world.site.searches.extend([world.site.results(), Reply((Gate(),))])


def _planned_before_answering(run: Run) -> bool:
    phases = run.timeline.phases
    ended = phases[Phase.PLAN].end
    return ended is not None and ended <= phases[Phase.ANSWER].start


PLAN = [
    FaultCase("refused", _planned(failure(401)), WHOLE, "could not be written", keeps=_own_question),
    FaultCase(
        "silent",
        silent(_planned(Reply((Gate(),), content_type=SSE))),
        WHOLE,
        "could not be written",
        keeps=_own_question,
    ),
    FaultCase("HTML", _planned(html_reply()), WHOLE, "web page", keeps=_own_question),
    FaultCase("no queries", _planned(streamed("- \n\n* \n")), WHOLE, "no query", keeps=_own_question),
    FaultCase(
        "cut after the first query",
        _planned(streamed("kettles water\nkettles ste", Cut())),
        WHOLE,
        "1 of 3",
        keeps=lambda run: [q.text for q in run.queries] == ["kettles water"],
    ),
    FaultCase(
        "silent after two queries, and a search silent when the time for pages is over",
        _late,
        WHOLE,
        "had not answered",
        keeps=lambda run: len(run.replies) == len(run.search_faults) == 1 and _planned_before_answering(run),
    ),
]
