"""Labels: the relevance of a text range to a question.

A label is a range of characters, not a passage, so it survives other chunkings: `passage_grades` projects labels onto
any passages.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.metrics.excerpt_metrics import Range
from core.model import Grade, Label, Page, Passage, Place
from core.model.passage_urls import collection_at_url
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore
from core.text.digest import text_digest
from core.text.sanitize import pluralize

LABELS_NAME = "labelled passages"
"""The name of the data set of labelled passages."""
HALF = 0.5
"""The overlap needed for a projection, as a share of the passage or label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLabels:
    """Labels located in the present pages of a run."""

    labels: tuple[Label, ...]
    """The labels, at their present ranges."""
    moved: Mapping[Place, Place] = field(default_factory=dict)
    """The original range of each label that moved on a changed page, by its present range."""
    gone: tuple[Label, ...] = ()
    """The labels whose text is missing or repeated on the changed page."""
    elsewhere: tuple[Label, ...] = ()
    """The labels of pages outside the run."""

    @property
    def excerpts(self) -> tuple[Range, ...]:
        """The ranges of relevant and partly relevant labels."""
        return tuple(
            (label.place.page, label.place.start, label.place.end) for label in self.labels if label.grade > 0
        )


def label(page: Page, place: Place, grade: Grade) -> Label:
    """Return a label of `page.text[place.start:place.end]`."""
    return Label(
        place=place, digest=text_digest(page.text), text=page.text[place.start : place.end], grade=grade
    )


def place_labels(labels: Iterable[Label], pages: Mapping[str, Page]) -> PlacedLabels:
    """Locate the text of each label in the present pages.

    A label on a page without stored text stays at its range. On a page that changed since the labelling, a label moves
    to the present range of its text, if the text occurs exactly once.
    """
    digests: dict[str, str] = {}
    placed: list[Label] = []
    moved: dict[Place, Place] = {}
    missing: list[Label] = []
    elsewhere: list[Label] = []
    for label in labels:
        key = label.place.page
        page = pages.get(key)
        if page is None:
            elsewhere.append(label)
            continue
        digest = digests.get(key) or digests.setdefault(key, text_digest(page.text))
        if label.digest == digest or page.lacks_text:
            placed.append(label)
            continue
        start = page.text.find(label.text)
        if start < 0 or page.text.find(label.text, start + 1) >= 0:
            missing.append(label)
            continue
        place = Place(page=key, start=start, end=start + len(label.text))
        placed.append(replace(label, place=place))
        moved[place] = label.place
    return PlacedLabels(labels=tuple(placed), moved=moved, gone=tuple(missing), elsewhere=tuple(elsewhere))


def passage_grades(passages: Sequence[Passage], labels: Sequence[Label]) -> dict[int, int]:
    """Return the grade of each labelled passage, by row.

    A label with exactly the passage's range decides. Otherwise a passage gets the best grade of the labels that overlap
    with at least half of the passage or of the label. A relevant label always counts for the passage with its largest
    part. A passage is not relevant if at least half of it is labelled, and nothing in it as relevant.
    """
    passages_by_page = _by_page(passages, {label.place.page for label in labels})
    grades: dict[int, int] = {}
    exact: dict[int, int] = {}
    covered: defaultdict[int, int] = defaultdict(int)
    for label in labels:
        best, most = None, 0
        for row, place in passages_by_page[label.place.page]:
            common = min(place.end, label.place.end) - max(place.start, label.place.start)
            if common <= 0:
                continue
            if (place.start, place.end) == (label.place.start, label.place.end):
                exact[row] = int(label.grade)
            length = place.end - place.start
            covered[row] += common
            if label.grade > 0:
                if common > most:
                    best, most = row, common
                if common >= HALF * min(length, label.place.end - label.place.start):
                    grades[row] = max(grades.get(row, 0), int(label.grade))
        if best is not None:
            grades[best] = max(grades.get(best, 0), int(label.grade))
    for row, common in covered.items():
        if common >= HALF * len(passages[row].text):
            grades.setdefault(row, int(Grade.NOT_RELEVANT))
    return grades | exact


def _by_page(passages: Sequence[Passage], pages: set[str]) -> Mapping[str, list[tuple[int, Place]]]:
    """Return the passages on these pages, by page. A passage on several pages has a range on each."""
    by_page: defaultdict[str, list[tuple[int, Place]]] = defaultdict(list)
    for row, passage in enumerate(passages):
        for place in (passage.place, *passage.also):
            if place.page in pages:
                by_page[place.page].append((row, place))
    return by_page


def labelled_passages(store: RunStore, labels: LabelStore, user: str = "") -> DataSet:
    """Return the questions that `user` has labelled, with the pages of their runs.

    Raises:
        BadInput: when nothing is labelled, or none of the runs is there any more.
        StoreFailed: when the store cannot be read.
    """
    questions = [question for person in labels.people(user) for question in labels.questions(person)]
    runs = dict.fromkeys(name for question in questions for name in question.runs)
    pages = {
        key: page
        for name in runs
        if (run := store.load(name))
        for key, page in run.pages.items()
        if not page.lacks_text
    }
    if not pages:
        raise BadInput(
            "There are no runs with labelled passages.", hint="Label passages on the Ask page first."
        )
    return labelled_data_set(
        LABELS_NAME,
        {question.question: labels.of_all(question.question, user) for question in questions},
        pages,
    )


def labelled_data_set(
    name: str, questions: Mapping[str, Sequence[Label]], pages: Mapping[str, Page]
) -> DataSet:
    """Return labels as a data set: pages as documents, relevant ranges as excerpts.

    `questions` are labels by the question's text. Labels of other pages or of missing texts are left out, with a
    warning.
    """
    placed = {text: place_labels(labels, pages) for text, labels in questions.items()}
    lost_count = sum(len(labels.gone) + len(labels.elsewhere) for labels in placed.values())
    return DataSet(
        name=name,
        questions=tuple(_question(text, labels) for text, labels in placed.items()),
        documents=lambda: (
            CorpusDocument(id=page.key, text=page.text, title=page.title, language=page.article.language)
            for page in pages.values()
        ),
        origins=frozenset(map(collection_at_url, pages)),
        warnings=(f"{pluralize(lost_count, 'label')} of texts that are not there any more.",)
        if lost_count
        else (),
    )


def _question(text: str, placed: PlacedLabels) -> Question:
    judgements: dict[str, int] = {}
    for label in placed.labels:
        judgements[label.place.page] = max(judgements.get(label.place.page, 0), int(label.grade))
    # The version is part of the id, so results of other labels are not continued.
    version = text_digest(
        repr(sorted((label.place.page, label.place.start, int(label.grade)) for label in placed.labels))
    )
    return Question(
        id=f"{text_digest(text)}-{version}", text=text, judgements=judgements, excerpts=placed.excerpts
    )
