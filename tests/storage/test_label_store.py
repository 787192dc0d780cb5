"""Labels are kept for each question and each user, in the run store."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import BadInput, StoreFailed
from core.model import Grade, Label, Place
from core.storage import label_store
from core.storage.label_store import PERSON, LabelledQuestion, LabelStore
from core.storage.run_store import RunStore

QUESTION = "What do kettles do?"


@pytest.fixture
def labels(store: RunStore) -> LabelStore:
    return LabelStore(store)


def made(start: int, grade: Grade = Grade.RELEVANT, page: str = "https://kettles.example/") -> Label:
    return Label(
        place=Place(page=page, start=start, end=start + 10), digest="d", text="0123456789", grade=grade
    )


def test_labels_are_there_for_the_same_question_only(labels: LabelStore) -> None:
    labels.add(QUESTION, "run-1", made(0), made(20, Grade.NOT_RELEVANT))
    assert set(labels.of("what do  KETTLES do?")) == {made(0), made(20, Grade.NOT_RELEVANT)}
    assert labels.of("What do kettles cost?") == ()


def test_all_labels_of_a_user_are_read_by_question(labels: LabelStore) -> None:
    labels.add(QUESTION, "run-1", made(0), made(20))
    labels.add("What do  POTS do?", "run-2", made(40))
    labels.add(QUESTION, "run-3", made(60), user="somebody else")
    found = labels.by_question()
    assert found == {"what do kettles do?": labels.of(QUESTION), "what do pots do?": (made(40),)}
    assert labels.by_question("nobody") == {}


def test_last_grade_of_a_range_counts_and_can_be_removed(labels: LabelStore) -> None:
    labels.add(QUESTION, "run-1", made(0))
    labels.add(QUESTION, "run-2", made(0, Grade.PARTLY))
    assert labels.of(QUESTION) == (made(0, Grade.PARTLY),)
    labels.remove(QUESTION, made(0).place, made(50).place)
    assert labels.of(QUESTION) == ()
    assert labels.questions() == ()


def test_questions_are_listed_with_the_runs_that_were_labelled(labels: LabelStore) -> None:
    labels.add(QUESTION, "run-1", made(0))
    labels.add(QUESTION, "run-2", made(20))
    labels.add("A question?", "run-2", made(20))
    first, second = labels.questions()
    assert first == LabelledQuestion(question="A question?", runs=("run-2",), labels=1)
    assert (second.question, set(second.runs), second.labels) == (QUESTION, {"run-1", "run-2"}, 2)


def test_each_user_has_labels_of_their_own(labels: LabelStore) -> None:
    labels.add(QUESTION, "run-1", made(0), user="ada@example.org")
    labels.add(QUESTION, "run-1", made(0, Grade.NOT_RELEVANT), user="ben@example.org")
    assert labels.of(QUESTION) == ()
    assert labels.of(QUESTION, "ada@example.org") == (made(0),)
    labels.remove(QUESTION, made(0).place, user="ada@example.org")
    assert labels.of(QUESTION, "ben@example.org") == (made(0, Grade.NOT_RELEVANT),)


def test_two_people_labelling_one_question_at_once_lose_nothing(labels: LabelStore) -> None:
    with ThreadPoolExecutor(4) as people:
        list(people.map(lambda number: labels.add(QUESTION, "run", made(number * 10)), range(40)))
    assert len(labels.of(QUESTION)) == 40


def test_too_many_labels_are_refused_as_a_whole(labels: LabelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_store, "LABEL_LIMIT", 2)
    labels.add(QUESTION, "run", made(0))
    with pytest.raises(BadInput):
        labels.add(QUESTION, "run", made(10), made(20))
    assert labels.of(QUESTION) == (made(0),)


def test_texts_that_utf8_cannot_hold_are_kept(labels: LabelStore) -> None:
    odd = Label(place=made(0).place, digest="d", text="\ud83dx", grade=Grade.PARTLY)
    labels.add("\ud83d?", "run", odd)
    (found,) = labels.of("\ud83d?")
    assert found.text == "�x"


def test_a_store_that_cannot_be_written_says_so(labels: LabelStore, store: RunStore) -> None:
    store.close()
    with pytest.raises(StoreFailed):
        labels.add(QUESTION, "run", made(0))


def test_people_with_names_label_apart_and_count_together(labels: LabelStore) -> None:
    """On a server that is not shared, nobody's labels are everybody's, and people may give names."""
    ada, ben = f"{PERSON}Ada", f"{PERSON}Ben"
    labels.add(QUESTION, "run-1", made(0), made(20, Grade.NOT_RELEVANT), user=ada)
    labels.add(QUESTION, "run-1", made(0, Grade.PARTLY), made(20, Grade.NOT_RELEVANT), made(40), user=ben)
    labels.add(QUESTION, "run-1", made(60), user="someone on a shared server")
    assert labels.people() == ("", ada, ben)
    assert labels.people("someone") == ("someone",)
    assert labels.of(QUESTION) == ()
    twice = labels.twice(ada, ben)
    assert [one.grades for one in twice] == [(2, 1), (0, 0)]
    assert twice[0].text == made(0).text
    assert set(labels.of_all(QUESTION)) == {made(0), made(20, Grade.NOT_RELEVANT), made(40)}
    assert labels.of_all(QUESTION, "someone on a shared server") == (made(60),)
