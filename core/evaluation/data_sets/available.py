"""The data sets that experiments can be run over: the handbook's questions, labelled passages, and those of a folder."""

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from core.config.settings import HANDBOOK
from core.errors import BadInput
from core.evaluation.data_sets.data_set import DataSet
from core.evaluation.data_sets.load import load_data_set
from core.evaluation.labels.passage_labels import LABELS_NAME, labelled_passages
from core.evaluation.sweep_cost import DataSetSummary, summarize
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore

HANDBOOK_NAME = "handbook"
HANDBOOK_QUESTIONS = HANDBOOK / "questions.csv"


class AvailableDataSets:
    """Data sets by their names. Any thread may call."""

    def __init__(self, folder: Path, store: RunStore, labels: LabelStore) -> None:
        """
        Args:
            folder: where further data sets are looked for: files and folders as `load_data_set` takes them.
            store: the runs whose pages are labelled.
            labels: the labels; those of everybody are the data set `LABELS_NAME`.
        """
        self.folder = folder
        self._store, self._labels = store, labels

    def loaders(self, user: str = "") -> dict[str, Callable[[], DataSet]]:
        """What loads each data set, by its name: the handbook's questions, the passages that `user` has labelled if
        there are any, and what is in `folder`."""
        loaders: dict[str, Callable[[], DataSet]] = {
            HANDBOOK_NAME: partial(load_data_set, HANDBOOK_QUESTIONS, HANDBOOK_NAME)
        }
        if self._labels.questions(user):
            loaders[LABELS_NAME] = partial(labelled_passages, self._store, self._labels, user)
        if self.folder.is_dir():
            loaders |= {
                path.name: partial(load_data_set, path, path.name)
                for path in sorted(self.folder.iterdir())
                if not path.name.startswith(".")
                and (path.is_dir() or path.suffix.lower() in (".csv", ".json"))
            }
        return loaders

    def summary(self, data: str, user: str = "") -> DataSetSummary:
        """The counts of a data set, kept until it changes.

        Raises:
            BadInput: when it cannot be used, or there is none of that name.
        """
        load = self.loaders(user).get(data)
        if load is None:
            raise BadInput(f"There is no data set {data[:60]}.", hint="Choose one from the list.")
        if data == LABELS_NAME:
            return summarize(load())
        path = HANDBOOK_QUESTIONS if data == HANDBOOK_NAME else self.folder / data
        return _summary(path, data, _changed(path))


def _changed(path: Path) -> int:
    """When the files of a data set changed last, in nanoseconds. The documents of a table stand beside it."""
    folder = path if path.is_dir() else path.parent
    return max(file.stat().st_mtime_ns for file in (folder, *folder.iterdir()))


@lru_cache(maxsize=16)
def _summary(path: Path, name: str, changed: int) -> DataSetSummary:
    return summarize(load_data_set(path, name))
