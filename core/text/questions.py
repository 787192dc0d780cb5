"""Limits of questions and search queries, and the checks of what a caller gives."""

from collections.abc import Sequence

from core.errors import BadInput
from core.text.sanitize import sanitize, truncate

QUESTION_LIMIT = 1000
"""The longest question, in characters."""

MESSAGE_LIMIT = 100_000
"""The longest message of a chat client in which a question is looked for, in characters."""

INSTRUCTIONS_LIMIT = 8_000
"""Characters of a chat client's system and developer messages that reach the model that answers."""

QUERY_LIMIT = 400
"""The longest search query that a person may add, in characters."""

MOST_QUERIES = 10
"""The most search queries that a run begins with."""

MOST_SUB_QUESTIONS, SUB_QUESTION_LIMIT = 12, 300
"""The most sub-questions of a plan, and the longest one in characters."""


def checked_question(question: str) -> str:
    """Return the question without surrounding white space.

    Raises:
        BadInput: when the question is empty or longer than `QUESTION_LIMIT` characters.
    """
    question = question.strip()
    if not sanitize(question):  # characters that nobody sees ask nothing
        raise BadInput("The question is empty.", hint="Type what you want to know.")
    if len(question) > QUESTION_LIMIT:
        raise BadInput(
            f"The question has {len(question):,} characters; the limit is {QUESTION_LIMIT:,}.",
            hint="Shorten it to what you want to know. A message of a chat client, at /v1, may be longer.",
        )
    return question


def checked_queries(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct search queries of a caller.

    Raises:
        BadInput: for more than `MOST_QUERIES`, or an empty or too long query.
    """
    if len(texts) > MOST_QUERIES:
        raise BadInput(
            f"There are {len(texts):,} queries; the limit is {MOST_QUERIES}.", hint="Leave some of them out."
        )
    unique: dict[str, str] = {}
    for text in map(checked_query, texts):
        unique.setdefault(text.casefold(), text)
    return tuple(unique.values())


def checked_query(text: str) -> str:
    """Return a person's search query on one line.

    Raises:
        BadInput: when it is empty or longer than `QUERY_LIMIT` characters.
    """
    text = " ".join(text.split())
    if not text:
        raise BadInput("The query is empty.", hint="Type what is to be searched for.")
    if len(text) > QUERY_LIMIT:
        raise BadInput(
            f"The query has {len(text):,} characters; the limit is {QUERY_LIMIT}.",
            hint="Shorten it to the words that matter.",
        )
    return text


def checked_sub_questions(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct sub-questions that a person approves, each on one line. Empty lines are left out.

    Raises:
        BadInput: for no sub-question, more than `MOST_SUB_QUESTIONS`, or a too long sub-question.
    """
    unique: dict[str, str] = {}
    for text in texts:
        line = " ".join(sanitize(text).split())
        if len(line) > SUB_QUESTION_LIMIT:
            raise BadInput(
                f"A sub-question has {len(line):,} characters; the limit is {SUB_QUESTION_LIMIT}.",
                hint=f"Shorten it, or divide it: “{truncate(line, 60)}”.",
            )
        if line:
            unique.setdefault(line.casefold(), line)
    if not unique:
        raise BadInput("The plan has no sub-question.", hint="Keep or add at least one.")
    if len(unique) > MOST_SUB_QUESTIONS:
        raise BadInput(
            f"The plan has {len(unique):,} sub-questions; the limit is {MOST_SUB_QUESTIONS}.",
            hint="Take some of them out, or ask them as another question.",
        )
    return tuple(unique.values())
