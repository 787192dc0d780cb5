"""The changes between two runs, as JSON for programs and as lines for a terminal."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from core.analysis.run_changes import ChangeKind, ChangeScores, PageChange, PassageChange, RunChanges
from core.analysis.text_diff import DiffKind, DiffPiece
from core.model import Passage
from core.run.state import Run
from core.text.display import passage_label
from core.text.sanitize import one_line, pluralize

SIGNS = {ChangeKind.NEW: "+", ChangeKind.GONE: "-", ChangeKind.CHANGED: "~", ChangeKind.MOVED: ">"}
DIFF_SIGNS = {DiffKind.ADDED: "+", DiffKind.REMOVED: "-"}
EVERY_SCORE = frozenset(ChangeScores._fields)


def change_document(changes: RunChanges) -> dict[str, Any]:
    """Return all changes as JSON values. `ranks` are positions in the context, from 1, or null outside it."""
    return {
        "question": changes.after.question,
        "before": _run(changes.before),
        "after": _run(changes.after),
        "scores": changes.scores._asdict(),
        "sources": [
            {
                "kind": change.kind,
                "before": _source(changes.before, change.before_row),
                "after": _source(changes.after, change.after_row),
            }
            for change in changes.sources
        ],
        "source_pages": {kind.value: [*keys] for kind, keys in changes.source_pages.items()},
        "answer": None
        if changes.answer is None
        else {
            "similarity": changes.answer.similarity,
            "citations_changed": changes.answer.citations_changed,
            "removed": [piece.text for piece in changes.answer.pieces if piece.kind is DiffKind.REMOVED],
            "added": [piece.text for piece in changes.answer.pieces if piece.kind is DiffKind.ADDED],
        },
        "ranks": [
            {"passage": change.id, "before": change.before_number, "after": change.after_number}
            for change in changes.ranks
        ],
        "pages": [
            {
                "kind": change.kind,
                "key": change.page.key,
                "url": change.page.url,
                "title": change.page.title,
                "reason": change.reason,
            }
            for change in changes.pages
        ],
        "passages": [
            {"kind": change.kind, "before": _passage(change.before), "after": _passage(change.after)}
            for change in changes.passages
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    return {"id": run.id, "started": run.started, "status": run.status}


def _source(run: Run, row: int | None) -> dict[str, Any] | None:
    if row is None:
        return None
    source = run.sources[row]
    return {"number": source.number, "title": source.title, "url": source.url, **_placed(source.passage)}


def _passage(passage: Passage | None) -> dict[str, Any] | None:
    return None if passage is None else _placed(passage)


def _placed(passage: Passage) -> dict[str, Any]:
    return {"page": passage.place.page, "start": passage.place.start, "text": passage.text}


# --- lines ------------------------------------------------------------------------------------------------


def change_lines(changes: RunChanges, scores: Collection[str] = EVERY_SCORE) -> Iterator[str]:
    """Yield the changes of sources and answer for `scores`. For all scores, yield the rest too.

    `+` is new, `-` gone, `~` changed, `>` moved.
    """
    kinds = {"sources": (ChangeKind.NEW, ChangeKind.GONE), "texts": (ChangeKind.CHANGED, ChangeKind.MOVED)}
    shown = [kind for name, names in kinds.items() if name in scores for kind in names]
    yield from _section("Sources", _sources(changes, shown))
    if "answer" in scores:
        yield from _section("Answer", _answer(changes))
    if set(scores) >= EVERY_SCORE:
        yield from _section("Pages", map(_page, changes.pages))
        yield from _section("Ranked passages", kind_counts("passage", changes.passages))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if not number:
            yield title
        yield f"  {line}"


def _sources(changes: RunChanges, kinds: Collection[ChangeKind]) -> Iterator[str]:
    for change in changes.sources:
        if change.kind in kinds:
            source = changes.source(change)
            yield f"{SIGNS[change.kind]} [{source.number}] {one_line(source.title, 80)} · {source.url}"
            if change.kind is ChangeKind.CHANGED:
                yield from (f"    {_piece(piece)}" for piece in change.pieces)
            elif change.kind is not ChangeKind.MOVED:
                yield f"    {passage_label(change.passage.text, 160)}"


def _answer(changes: RunChanges) -> Iterator[str]:
    if changes.answer:
        yield from map(_piece, (piece for piece in changes.answer.pieces if piece.kind in DIFF_SIGNS))
    elif changes.scores.answer:
        yield "- there is none any more" if changes.before.answer else "+ there was none before"


def _piece(piece: DiffPiece) -> str:
    return f"{DIFF_SIGNS[piece.kind]} {one_line(piece.text, 400)}"


def _page(change: PageChange) -> str:
    reason = f" ({one_line(change.reason, 120)})" if change.reason else ""
    return f"{SIGNS[change.kind]} {one_line(change.page.title, 80)} · {change.page.url}{reason}"


def kind_counts(noun: str, changes: Collection[PageChange | PassageChange]) -> Iterator[str]:
    """Yield the number of changes by kind, such as `5 pages: 3 new, 2 gone`, or nothing."""
    kinds = [change.kind for change in changes]
    counts = [f"{kinds.count(kind):,} {kind}" for kind in ChangeKind if kind in kinds]
    if counts:
        yield f"{pluralize(len(kinds), noun)}: {', '.join(counts)}"
