"""A conversation as a file: questions and answers, and one list of sources."""

from collections.abc import Sequence
from typing import Any

from core.analysis.conversation import understood
from core.features.share.answer_export import source_anchors, source_parts
from core.model import Source, readable, snippet_numbers
from core.run.state import Run
from core.text.markdown.file_markdown import file_markdown, file_text
from core.text.sanitize import one_line

CONVERSATION_FORMAT = "openquery-conversation"


def conversation_document(turns: Sequence[Run]) -> str:
    """Return the conversation as Markdown without active content.

    `turns` are its runs, oldest first. Citations link to the headings of their sources, whose numbers are the same in
    all turns.
    """
    sources = _sources(turns)
    questions = [f"{number}. {one_line(run.written, 1000)}" for number, run in enumerate(turns, 1)]
    title = one_line(turns[0].written, 1000)
    anchors = source_anchors([title, *questions], [run.text for run in turns], sources)
    parts = [f"# {file_text(title)}"]
    for question, run in zip(questions, turns, strict=True):
        parts += [
            f"## {file_text(question)}",
            file_text(understood(run.question, run.turn)),
            *(f"> {file_text(str(notice))}" for notice in run.notices if notice.is_caveat),
            file_markdown(readable(run.text), anchors, deeper=2, snippets=snippet_numbers(sources)),
            "\n".join(f"- {file_text(str(notice))}" for notice in run.notices),
        ]
    parts += source_parts(sources)
    return "\n\n".join(filter(None, parts)) + "\n"


def conversation_json(turns: Sequence[Run]) -> dict[str, Any]:
    """Return the conversation as a JSON value. `turns` are its runs, oldest first."""
    return {
        "format": CONVERSATION_FORMAT,
        "conversation": turns[0].conversation,
        "turns": [
            {
                "run": run.id,
                "asked": run.started,
                "written": run.written,
                "question": run.question,
                "answer_from": run.turn.answer_from if run.turn else None,
                "coverage": run.turn.coverage if run.turn else None,
                "answer": run.text,
                "cited": list(run.check.cited),
                "sources": [source.number for source in run.sources],
                "notes": [str(notice) for notice in run.notices],
            }
            for run in turns
        ],
        "sources": [
            {
                "number": source.number,
                "title": source.title,
                "url": source.url,
                "text": source.text,
                "snippet_only": source.snippet_only,
            }
            for source in _sources(turns)
        ],
    }


def _sources(turns: Sequence[Run]) -> list[Source]:
    """Return the sources of all turns, each number once."""
    numbered = {source.number: source for run in turns for source in run.sources}
    return [numbered[number] for number in sorted(numbered)]
