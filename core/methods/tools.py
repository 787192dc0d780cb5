"""The tools of an agent, and their use of the stages."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import orjson

from core.config.knobs import SearchScope
from core.errors import BadInput, EmbedFailed, ReadFailed, SearchFailed
from core.methods.phases import index_and_rank
from core.methods.run_context import RunContext
from core.model import (
    Author,
    FunctionCall,
    Hit,
    Page,
    Passage,
    Phase,
    Place,
    Query,
    Result,
    SearchReply,
    ToolDefinition,
    ToolFunction,
)
from core.model.passage_urls import collection_at_url, passage_at_url
from core.ports import Search
from core.run import events as e
from core.run.hit_merging import merge_hits
from core.run.state import Run
from core.stages.metered_models import MeteredEmbed
from core.stages.rank import rank
from core.stages.read import read
from core.stages.search import search
from core.stages.streams import collected, stream
from core.text.bm25_index import tokens
from core.text.language import dominant_language
from core.text.questions import checked_query
from core.text.sanitize import one_line, pluralize, truncate
from core.text.urls import canonical_url, listed_domains, site_filter, without_user_info

AGENT_OPENED_QUERY = Query(text="addresses that the agent opened", author=Author.AGENT)
"""The query for addresses that no search has found. It is never searched."""

HITS, PASSAGES = 20, 6
"""The most hits and the most passages in a result."""
PASSAGE_CHARACTERS, SNIPPET_CHARACTERS = 1_200, 300
"""The most characters of a passage, and of a hit's snippet, in a result."""

PRIVATE = "This is private, and is not shown to the model that asks."
UNKNOWN_ADDRESS = (
    "After private documents were searched, only addresses are opened that a search has found, or that stand in the "
    "question or in an opened page."
)
"""The refusal for a model that may have been tricked into leaking private text in an address."""

UNKNOWN_WORDS = (
    "After private documents were read, a search has words of the question, of web pages and of search results only. "
    "Search with these words."
)
"""The refusal for a model that may have been tricked into leaking private text in a query."""

_WEB_ADDRESS = re.compile(r"https?://[^\s/]\S{0,2000}", re.IGNORECASE)


class ToolResult(NamedTuple):
    """The result for the model: untrusted text, and its number of hits or passages."""

    text: str
    size: int = 0
    error: bool = False


class Toolbox:
    """The tools over the ports of a run. Found hits, pages and passages become part of the run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._knobs, self._ports, self._recorder = context.knobs, context.ports, context.recorder
        self._calls: Mapping[Tool, Callable[[str], Awaitable[ToolResult]]] = {
            SEARCH: self._search,
            OPEN: self._open,
            FIND: self._find,
            **({LIBRARY: partial(self._library, self._ports.library)} if self._ports.library else {}),
        }

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The definitions of the tools for the model."""
        return tuple(tool.definition for tool in self._calls)

    async def call(self, function: FunctionCall) -> ToolResult:
        """Return the result of a call. A refused or failed call has a result with the reason."""
        tool = next((tool for tool in self._calls if tool.name == function.name), None)
        if tool is None:
            names = ", ".join(tool.name for tool in self._calls)
            return ToolResult(
                f"There is no tool {one_line(function.name, 64)}. There are: {names}.", error=True
            )
        try:
            result = await self._calls[tool](tool.text(function.arguments))
        except (BadInput, SearchFailed, ReadFailed) as error:
            return ToolResult(error.message, error=True)
        return result if result.size else result._replace(text=result.text or "Nothing was found.")

    async def index_pages(self) -> None:
        """Rank the pages, unless all are indexed."""
        run = self._recorder.run
        indexed = {place.page for passage in _passages(run) for place in _places(passage)}
        if run.ranking is None or not indexed.issuperset(run.pages):
            await index_and_rank(self._context, stream(run.ranked_pages))

    async def read(self, hits: Iterable[Hit]) -> None:
        """Read the pages of hits, and rank all pages. Snippets replace unreadable pages.

        Raises:
            BadInput: when all of them are private.
            ReadFailed: when none can be read, and none has a snippet.
        """
        keyed = {hit.key: hit for hit in hits}
        private = self._withheld(keyed) | self._ports.withheld(self._ports.embed, keyed)
        admitted = [hit for key, hit in keyed.items() if key not in private]
        if not admitted:
            raise BadInput(PRIVATE)
        ports, emit = self._ports, self._recorder.emit
        pages = read(stream(admitted), self._knobs.read, ports.web, ports.extract, emit, self._context.budget)
        await collected(pages)
        await self.index_pages()

    async def _search(self, text: str) -> ToolResult:
        query = Query(text=checked_query(text), author=Author.MODEL)
        await asyncio.to_thread(self._require_public_words, query.text)
        hits = await self._hits(query, self._ports.search)
        listed = (
            f"{number}. {_title(hit)}\n{one_line(hit.snippet, SNIPPET_CHARACTERS)}"
            for number, hit in enumerate(hits[:HITS], 1)
        )
        return ToolResult("\n\n".join(listed), len(hits[:HITS]))

    async def _open(self, address: str) -> ToolResult:
        address = without_user_info(address)
        self._require_chosen_site(address)
        key = canonical_url(address)
        if not self._recorder.run.has_full_page(key):
            known = next((hit for hit in self._recorder.run.hits if hit.key == key), None)
            await self.read([replace(known, snippet="") if known else self._hit_at(address)])
        run = self._recorder.run
        page, passages = run.pages[key], self._best([key])
        count = sum(place.page == key for passage in _passages(run) for place in _places(passage))
        head = f"{_title(page)}\n{pluralize(len(page.text), 'character')} in {pluralize(count, 'passage')}, the best first:"
        return ToolResult("\n\n".join([head, *map(_text, passages)]), len(passages))

    async def _find(self, text: str) -> ToolResult:
        run = self._recorder.run
        if run.index is None:
            raise BadInput("No page has been opened yet.")
        index = replace(run.index, question=None)
        if index.vectors is not None:
            embed = MeteredEmbed(self._ports.embedder_of(index), Phase.EMBED, self._recorder.emit)
            with suppress(EmbedFailed):  # then words alone rank
                index = replace(index, question=(await embed([text])).vectors[0])
        ranking = await asyncio.to_thread(rank, text, index, self._knobs.rank, run.pages)
        return self._with_pages(self._shown(index.passages[row] for row in ranking.order.tolist()))

    async def _library(self, port: Search, text: str) -> ToolResult:
        query = Query(text=checked_query(text), author=Author.MODEL, library=True)
        hits = await self._hits(query, port)
        if new := [hit for hit in hits if hit.key not in self._recorder.run.pages]:
            await self.read(new)
        return self._with_pages(self._best([hit.key for hit in hits]))

    async def _hits(self, query: Query, port: Search) -> list[Hit]:
        """Return the hits of a query, best first.

        The query is searched unless the run has its results.
        """
        run, emit = self._recorder.run, self._recorder.emit
        knobs = (
            replace(self._knobs.search, origin=SearchScope.LIBRARY) if query.library else self._knobs.search
        )
        if query not in run.replies:
            if query not in run.queries:
                emit(e.QueryPlanned(query))
            await collected(search(stream([query]), knobs, port, emit))
        hits = merge_hits([(query, self._recorder.run.replies[query])], knobs)
        private = self._withheld(hit.key for hit in hits)
        if hits and all(hit.key in private for hit in hits):
            raise BadInput(PRIVATE)
        return [hit for hit in hits if hit.key not in private]

    def _hit_at(self, address: str) -> Hit:
        """Return a hit of `AGENT_OPENED_QUERY` for an unknown address.

        Raises:
            BadInput: when it is no address of the web, or could carry private text away.
        """
        run, emit = self._recorder.run, self._recorder.emit
        if not _WEB_ADDRESS.fullmatch(address) or passage_at_url(address):
            raise BadInput("This is no address of a web page.")
        readable = (run.question, *(page.text for page in run.pages.values()))
        if any(hit.collection for hit in run.hits) and not any(address in text for text in readable):
            raise BadInput(UNKNOWN_ADDRESS)
        earlier = run.replies[AGENT_OPENED_QUERY].results if AGENT_OPENED_QUERY in run.replies else ()
        result = Result(url=address, title="", snippet="", rank=len(earlier) + 1)
        if AGENT_OPENED_QUERY not in run.queries:
            emit(e.QueryPlanned(AGENT_OPENED_QUERY))
        emit(
            e.SearchAnswered(AGENT_OPENED_QUERY, SearchReply(backend=run.backend, results=(*earlier, result)))
        )
        return next(hit for hit in self._recorder.run.hits if hit.key == canonical_url(address))

    def _require_chosen_site(self, address: str) -> None:
        """Refuse an address outside the sites that the person chose.

        Raises:
            BadInput: naming the sites.
        """
        only, without = self._knobs.rank.only_domains, self._knobs.rank.without_domains
        if not site_filter(only, without)(address):
            sites = ", ".join(listed_domains(only if only else without))
            raise BadInput(f"Only pages of {sites} are opened." if only else f"No page of {sites} is opened.")

    def _require_public_words(self, text: str) -> None:
        """Refuse private words in a text for search engines.

        Raises:
            BadInput: when private text is in the run, and a word is neither in the question nor in public text.
        """
        run = self._recorder.run
        origins = {key: collection_at_url(key) for key in (*run.pages, *(hit.key for hit in run.hits))}
        private = self._ports.egress.private_origins(origins.values())
        if not private:
            return
        public = [run.question, run.written]
        public += [page.text for key, page in run.pages.items() if origins[key] not in private]
        public += [
            f"{hit.title} {hit.snippet} {hit.url}" for hit in run.hits if origins[hit.key] not in private
        ]
        language = dominant_language([run.question])  # its other endings are the same words
        public_words = {word for part in public for word in tokens(part, language)}
        if not public_words.issuperset(tokens(text, language)):
            raise BadInput(UNKNOWN_WORDS)

    def _best(self, keys: Collection[str]) -> list[Passage]:
        run = self._recorder.run
        if run.index is None or run.ranking is None:
            return []
        ordered = (run.index.passages[row] for row in run.ranking.order.tolist())
        return self._shown(
            passage for passage in ordered if any(place.page in keys for place in _places(passage))
        )

    def _shown(self, passages: Iterable[Passage]) -> list[Passage]:
        """Return the first passages not withheld from the model."""
        private = self._withheld(self._recorder.run.pages)
        return list(islice((p for p in passages if p.place.page not in private), PASSAGES))

    def _with_pages(self, passages: Sequence[Passage]) -> ToolResult:
        """Return passages as text, each below the title and address of its page."""
        pages = self._recorder.run.pages
        texts = (f"{_title(pages[passage.place.page])}\n{_text(passage)}" for passage in passages)
        return ToolResult("\n\n".join(texts), len(passages))

    def _withheld(self, keys: Iterable[str]) -> frozenset[str]:
        return self._ports.withheld(self._ports.chat, keys)


def _passages(run: Run) -> tuple[Passage, ...]:
    return (*run.index.passages, *run.index.not_embedded) if run.index else ()


def _places(passage: Passage) -> tuple[Place, ...]:
    return (passage.place, *passage.also)


def _title(page: Hit | Page) -> str:
    return f"{one_line(page.title) or '(no title)'}\n{one_line(page.url, 2_000)}"


def _text(passage: Passage) -> str:
    return truncate(passage.text, PASSAGE_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function for the model, with one text as argument."""

    name: str
    argument: str
    description: str
    about_argument: str

    @property
    def definition(self) -> ToolDefinition:
        """The definition for the model."""
        parameters = {
            "type": "object",
            "properties": {self.argument: {"type": "string", "description": self.about_argument}},
            "required": [self.argument],
        }
        return ToolDefinition(
            function=ToolFunction(name=self.name, description=self.description, parameters=parameters)
        )

    def text(self, arguments: str) -> str:
        """Return the text in the arguments of a call.

        Raises:
            BadInput: when the arguments are not a JSON object with the text.
        """
        try:
            values = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            values = None
        text = values.get(self.argument) if isinstance(values, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f'Wrong arguments: {self.name} takes {{"{self.argument}": "a text"}}.')
        return text.strip()


SEARCH = Tool(
    name="search",
    argument="query",
    description="Search for pages. Returns their titles, addresses and snippets.",
    about_argument="3 to 12 words as a person would type them into a search box",
)
OPEN = Tool(
    name="open",
    argument="url",
    description="Read a page. Returns its passages that fit the question best, and adds the page to those that the answer is written from.",
    about_argument="the address of a search result, or another https address",
)
FIND = Tool(
    name="find",
    argument="text",
    description="Look something up in the pages that have been opened. Returns the passages that fit best.",
    about_argument="what to look up, in words that a passage about it would have",
)
LIBRARY = Tool(
    name="library",
    argument="query",
    description="Search the documents of the person. Returns their passages that fit best, and adds them to those that the answer is written from.",
    about_argument="what to look up, as a phrase or question",
)
