"""The file of questions for `openquery watch`."""

from pathlib import Path
from typing import Any

from core.config.knobs import Knobs
from core.config.questions import checked_question
from core.config.schema import nested, parameters
from core.config.settings import Settings
from core.errors import BadInput
from core.features.watch.watch_state import WatchedQuestion
from core.text.lenient_json import valid_json
from core.text.sanitize import one_line

FILE_LIMIT, MOST_LINES = 1_000_000, 1_000
"""The most bytes and lines of a file."""
_FORM = 'Write {"question": "What is BM25?", "knobs": {"rank.top_k": 3}}, or the question alone.'


def read_questions(file: Path, settings: Settings) -> tuple[WatchedQuestion, ...]:
    """Read the distinct questions of a file.

    A line is a question, or an object with `question` and `knobs` by path. Empty lines and lines that begin with # are
    ignored.

    Raises:
        BadInput: when the file is too large or has no question, or a line is wrong, with its number.
        OSError: when the file cannot be read.
    """
    if not file.exists():
        raise BadInput(f"There is no file {file}.", hint="Name a text file with a question a line.")
    if not file.is_file():
        raise BadInput(f"{file} is not a file.", hint="Name a text file with a question a line.")
    with file.open("rb") as body:
        text = body.read(FILE_LIMIT + 1)
    lines = [line.strip() for line in text.decode("utf-8-sig", "replace").splitlines()]
    if len(text) > FILE_LIMIT or len(lines) > MOST_LINES:
        raise BadInput(
            f"{file} has more than {MOST_LINES:,} lines or {FILE_LIMIT:,} bytes.",
            hint="Watch fewer questions.",
        )
    questions: dict[WatchedQuestion, None] = {}
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            try:
                questions[_watched(line, settings)] = None
            except BadInput as error:
                raise BadInput(f"{file}, line {number}: {error.message}", hint=error.hint) from error
    if not questions:
        raise BadInput(f"{file} has no question.", hint="Write one a line.")
    return tuple(questions)


def _watched(line: str, settings: Settings) -> WatchedQuestion:
    question: Any = line
    knob_fields: Any = {}
    if line.startswith("{"):
        try:
            fields = valid_json(line.encode())
        except ValueError as error:
            raise BadInput("This is not JSON.", hint=_FORM) from error
        question, knob_fields = fields.get("question"), fields.get("knobs", {})
        if (
            not isinstance(question, str)
            or not isinstance(knob_fields, dict)
            or fields.keys() - {"question", "knobs"}
        ):
            raise BadInput("This is not a question with its knobs.", hint=_FORM)
    if unknown := knob_fields.keys() - {parameter.path for parameter in parameters()}:
        raise BadInput(f"There is no knob {one_line(min(unknown), 60)}.", hint=_FORM)
    return WatchedQuestion(
        question=checked_question(question), knobs=Knobs.parse(nested({**settings.knobs, **knob_fields}))
    )
