"""Labels of passages, a table of the run store. Each user labels each question separately."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import BadInput
from core.model import Grade, Label, Place
from core.run.run_ids import refuse_link
from core.storage.run_store import RunStore
from core.text.digest import text_digest
from core.text.sanitize import encodable, folded_question

LABEL_LIMIT = 5_000
"""The most labels of one user for one question."""
PERSON = "person "
"""The prefix of users who gave a name, on a server where everybody sees all labels. It is stored unhashed."""
_COLUMNS = "page, start, end, digest, text, grade"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTwice:
    """A text that two people have labelled for one question."""

    question: str
    text: str
    grades: tuple[Grade, Grade]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question with labelled passages."""

    question: str
    """The question as it was asked at the latest labelling."""
    runs: tuple[str, ...]
    """Ids of the runs in which passages were labelled."""
    labels: int


class LabelStore:
    """The labels in a run store.

    Every method may be called from any thread, and raises StoreFailed when the store cannot be used. Questions that
    differ only in case are the same.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def of(self, question: str, user: str = "") -> tuple[Label, ...]:
        """Return the user's labels of a question, from all runs."""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM labels WHERE user = ? AND folded_question = ?",  # noqa: S608 - our own names
            _owner(user),
            folded_question(question),
        )
        return tuple(map(_label, rows))

    def of_all(self, question: str, user: str = "") -> tuple[Label, ...]:
        """Return the labels of a question, like `of`.

        If `user` is empty, labels of people who gave a name are included, with the highest grade of each range.
        """
        best: dict[Place, Label] = {}
        for label in (label for person in self.people(user) for label in self.of(question, person)):
            if label.place not in best or label.grade > best[label.place].grade:
                best[label.place] = label
        return tuple(best.values())

    def people(self, user: str = "") -> tuple[str, ...]:
        """Return the user. If `user` is empty, everybody who labels under a name follows in alphabetical order."""
        if user:
            return (user,)
        rows = self._rows("SELECT DISTINCT user FROM labels WHERE user LIKE ? ORDER BY user", f"{PERSON}%")
        return ("", *(name for (name,) in rows))

    def twice(self, user: str, other: str) -> tuple[LabelledTwice, ...]:
        """Return texts that both users labelled, by question and place."""
        rows = self._rows(
            "SELECT a.question, a.text, a.grade, b.grade FROM labels a JOIN labels b "
            "USING (folded_question, page, start, end) WHERE a.user = ? AND b.user = ? "
            "ORDER BY folded_question, page, start",
            _owner(user),
            _owner(other),
        )
        return tuple(
            LabelledTwice(question=question, text=text, grades=(Grade(grade), Grade(other_grade)))
            for question, text, grade, other_grade in rows
        )

    def by_question(self, user: str = "") -> dict[str, tuple[Label, ...]]:
        """Return all labels of the user, by folded question."""
        by_question: defaultdict[str, list[Label]] = defaultdict(list)
        query = f"SELECT folded_question, {_COLUMNS} FROM labels WHERE user = ?"  # noqa: S608 - our own names
        for question, *row in self._rows(query, _owner(user)):
            by_question[question].append(_label(row))
        return {question: tuple(labels) for question, labels in by_question.items()}

    def add(self, question: str, run: str, *labels: Label, user: str = "") -> None:
        """Add labels made in a run, or change their grades.

        Raises:
            BadInput: when the question has too many labels.
            NotAllowed: when `run` is a read-only link.
        """
        refuse_link(run)
        with self._store.transaction("The label was not saved") as db:
            db.executemany(
                "INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        _owner(user),
                        folded_question(question),
                        label.place.page,
                        label.place.start,
                        label.place.end,
                        label.digest,
                        encodable(label.text),
                        int(label.grade),
                        encodable(question),
                        run,
                    )
                    for label in labels
                ],
            )
            count = db.execute(
                "SELECT count(*) FROM labels WHERE user = ? AND folded_question = ?",
                (_owner(user), folded_question(question)),
            ).fetchone()[0]
            if count > LABEL_LIMIT:
                raise BadInput(
                    f"A question can have {LABEL_LIMIT:,} labels.", hint="Remove some before adding more."
                )

    def remove(self, question: str, *places: Place, user: str = "") -> None:
        """Remove the labels of exactly these ranges. Ranges without a label are ignored."""
        with self._store.transaction("The label was not removed") as db:
            db.executemany(
                "DELETE FROM labels WHERE user = ? AND folded_question = ? AND page = ? AND start = ? AND end = ?",
                [
                    (_owner(user), folded_question(question), place.page, place.start, place.end)
                    for place in places
                ],
            )

    def questions(self, user: str = "") -> tuple[LabelledQuestion, ...]:
        """Return the user's labelled questions, in alphabetical order."""
        rows = self._rows(
            "SELECT max(question), group_concat(DISTINCT run), count(*) FROM labels WHERE user = ? "
            "GROUP BY folded_question ORDER BY folded_question",
            _owner(user),
        )
        return tuple(
            LabelledQuestion(question=question, runs=tuple(runs.split(",")), labels=count)
            for question, runs, count in rows
        )

    def _rows(self, query: str, *values: str) -> list[Any]:
        return self._store.look_up(query, values, "The labels cannot be read")


def _owner(user: str) -> str:
    return user if user.startswith(PERSON) else text_digest(user)


def _label(row: Sequence[Any]) -> Label:
    page, start, end, digest, text, grade = row
    return Label(place=Place(page=page, start=start, end=end), digest=digest, text=text, grade=Grade(grade))
