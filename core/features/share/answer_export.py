"""The answer as Markdown with links to its sources, and names for exported files."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from core.analysis.answers.answer_stats import answer_author
from core.analysis.run_usage import run_usage
from core.config.prices import SHIPPED, Prices
from core.config.schema import parameters
from core.model import Source, readable, snippet_numbers
from core.model.passage_urls import passage_at_url, site
from core.run.state import Run
from core.text.display import embedder_name
from core.text.markdown.file_markdown import file_link, file_markdown, file_text
from core.text.markdown.tokens import markdown_tokens
from core.text.sanitize import one_line

NAME_LIMIT = 60
"""The most characters of the question in a file name ..."""
_NAME_BYTES = 180
"""... and the most bytes of UTF-8: common file systems allow 255 for the whole name."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def export_name(question: str, suffix: str) -> str:
    """Return a file name for this question, such as `what-is-bm25.md` for the suffix `.md`.

    Letters and digits of every script stay, in lower case. Anything else becomes a hyphen. The name is safe on the file
    systems of Linux, macOS and Windows.
    """
    safe_title = ""
    for character in unicodedata.normalize("NFC", question.lower()):
        kind = unicodedata.category(character)[0]
        # A mark belongs to the letter before it. Without a letter it would begin a name or a word.
        is_kept = kind in "LN" or (kind == "M" and safe_title[-1:] not in ("", "-"))
        safe_title += character if is_kept else "-"
    words = re.sub(r"-{2,}", "-", safe_title).strip("-")
    if len(words) > NAME_LIMIT or len(words.encode()) > _NAME_BYTES:
        words = _shortened(words)
    return f"{'openquery-' if not words or _RESERVED.fullmatch(words) else ''}{words}".strip("-") + suffix


def _shortened(words: str) -> str:
    """Return the first words within the limits.

    A single longer word is cut at its end, but no letter loses its marks.
    """
    end = min(len(words), NAME_LIMIT)
    while len(words[:end].encode()) > _NAME_BYTES or (
        end < len(words) and unicodedata.category(words[end])[0] == "M" and end > 1
    ):
        end -= 1
    whole = words[:end] if words[end : end + 1] in ("", "-") else words[:end].rpartition("-")[0]
    return (whole or words[:end]).strip("-")


def answer_document(run: Run, prices: Prices = SHIPPED) -> str:
    """Return question, answer, sources, date and settings as Markdown without active content.

    The cost is stated by providers, or else computed with `prices`. Citations link to the headings of their sources, by
    the anchors of GitHub and most viewers.
    """
    anchors = source_anchors([run.question], [run.text], run.sources)
    parts = [f"# {file_text(one_line(run.question, 1000))}"]
    parts += [f"> {file_text(str(notice))}" for notice in run.notices if notice.is_caveat]
    parts.append(file_markdown(readable(run.text), anchors, deeper=1, snippets=snippet_numbers(run.sources)))
    parts += source_parts(run.sources)
    if run.notices:
        parts += ["## Notices", "\n".join(f"- {file_text(str(notice))}" for notice in run.notices)]
    parts += ["## About this answer", "\n".join(f"- {name}: {value}" for name, value in _facts(run, prices))]
    return "\n\n".join(filter(None, parts)) + "\n"


def heading_anchor(heading: str) -> str:
    """Return the anchor of the first heading with these words in GitHub and most viewers."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def source_parts(sources: Sequence[Source]) -> Iterator[str]:
    """Yield the paragraphs of a source list: number, title, address and passage for each."""
    if sources:
        yield "## Sources"
    for source in sources:
        title = file_text(one_line(source.title)) or file_text(site(source.url)) or "Untitled"
        library_passage = passage_at_url(source.url)
        file = file_text(one_line(source.site))
        file_name = f", {file}" if file and file not in title else ""
        where = f"{file_name} in the collection {file_text(library_passage[0])}" if library_passage else ""
        link = title if library_passage else file_link(title, source.url)
        yield f"### Source {source.number}"
        yield f"{link}{where}"
        if source.snippet_only:
            yield "*Only the search engine's snippet of this page is known: the page could not be read.*"
        yield re.sub("^", "> ", file_markdown(readable(source.text)), flags=re.MULTILINE)


def source_anchors(
    headings: Sequence[str], answers: Sequence[str], sources: Sequence[Source]
) -> dict[int, str]:
    """Return the anchors of the headings `Source n`, by number.

    Viewers add a count to the anchor if the document or an answer has the same heading before.
    """
    tokens = [markdown_tokens(answer) for answer in answers]
    of_answers = (
        token.content
        for answer in tokens
        for before, token in pairwise(answer)
        if before.type == "heading_open"
    )
    anchors = Counter(map(heading_anchor, (*headings, *of_answers)))
    return {
        source.number: f"source-{source.number}"
        + (f"-{count}" if (count := anchors[f"source-{source.number}"]) else "")
        for source in sources
    }


def _facts(run: Run, prices: Prices) -> Iterator[tuple[str, str]]:
    if run.started:
        yield "Asked", f"{datetime.fromisoformat(run.started).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if author := answer_author(run.answer):
        yield (
            "Answer",
            file_text({"extractive": "extractive: sentences quoted from the sources"}.get(author, author)),
        )
    if run.answer and not run.answer.complete:
        yield "State", "incomplete"
    if run.backend:
        yield "Search", file_text(run.backend)
    if run.index is not None and run.index.embedder:
        yield "Embedder", file_text(embedder_name(run.index.embedder))
    usage = run_usage(run.model_usage, prices)
    if usage.rows:
        yield "Tokens, read + written", file_text(usage.explanation)
    if usage.cost_text:
        yield "Cost", file_text(f"{usage.cost_text} ({prices.dated})")
    changed = [
        f"`{parameter.path}` {file_text(_value(value))}"
        for parameter in parameters()
        if (value := getattr(getattr(run.knobs, parameter.group), parameter.name)) != parameter.default
    ]
    yield "Settings other than the defaults", ", ".join(changed) or "none"


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple, frozenset, set)) else str(value)
