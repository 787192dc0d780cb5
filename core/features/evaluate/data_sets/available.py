"""Data sets for experiments: the handbook's questions, labelled passages, and files of a folder."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO

from core.config.settings import HANDBOOK
from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.excerpt_csv import TABLES
from core.features.evaluate.data_sets.lines import BadLine, blank_line
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.data_sets.parquet import PARQUET
from core.features.evaluate.data_sets.source import Source, unpacked_name
from core.features.evaluate.labels.passage_labels import LABELS_NAME, labelled_passages
from core.features.evaluate.sweep_cost import DataSetSummary, summarize
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore

HANDBOOK_NAME = "handbook"
HANDBOOK_QUESTIONS = HANDBOOK / "questions.csv"
SUFFIXES = (*TABLES, ".json", ".jsonl", PARQUET, ".zip")
"""File name suffixes of data sets. All but a zip may be packed with gzip."""
LEFT_OUT_LIMIT = 20
"""The most lines to leave out of a file. A file with more bad lines has another layout."""


class AvailableDataSets:
    """Data sets by name, usable from any thread."""

    def __init__(
        self, folder: Path, store: RunStore, labels: LabelStore, document_folders: Iterable[str] = ()
    ) -> None:
        """Use the data sets of these folders and stores.

        Args:
            folder: the folder of stored data sets, in the layouts of `load_data_set`.
            store: the runs with labelled pages.
            labels: the labels. Those of everybody are the data set `LABELS_NAME`.
            document_folders: more folders of this machine whose data sets may be read, by absolute path.
        """
        self.folder = folder
        self._store, self._labels = store, labels
        self._document_folders = [Path(name.strip()) for name in document_folders if name.strip()]

    def loaders(self, user: str = "") -> dict[str, Callable[[], DataSet]]:
        """Return a loader for each data set, by name.

        The data sets are the handbook's questions, the passages that `user` has labelled, if any, and the files in
        `folder`.
        """
        loaders: dict[str, Callable[[], DataSet]] = {
            HANDBOOK_NAME: partial(load_data_set, HANDBOOK_QUESTIONS, HANDBOOK_NAME)
        }
        if any(map(self._labels.questions, self._labels.people(user))):
            loaders[LABELS_NAME] = partial(labelled_passages, self._store, self._labels, user)
        if self.folder.is_dir():
            loaders |= {
                path.name: partial(load_data_set, path, path.name)
                for path in sorted(self.folder.iterdir())
                if not path.name.startswith(".") and (path.is_dir() or Source(path).suffix in SUFFIXES)
            }
        return loaders

    def loader(self, data: str, user: str = "") -> Callable[[], DataSet]:
        """Return the loader of a data set, by name or absolute path.

        Raises:
            BadInput: when there is none, or its path is in no folder that may be read.
        """
        if load := self.loaders(user).get(data):
            return load
        if Path(data).is_absolute():
            return partial(load_data_set, self._allowed(Path(data)), data)
        raise BadInput(f"There is no data set {data[:60]}.", hint="Choose one from the list.")

    def _allowed(self, path: Path) -> Path:
        """Return the resolved path, if it may be read.

        Links in the data set must not lead out of the allowed folders.
        """
        resolved = path.resolve()
        patterns = ("*", "*/*") if resolved.is_dir() else ("*",) if Source(resolved).suffix in TABLES else ()
        folder = resolved if resolved.is_dir() else resolved.parent
        read = {resolved, *(each.resolve() for pattern in patterns for each in folder.glob(pattern))}
        allowed = [folder.expanduser().resolve() for folder in self._document_folders]
        if not all(any(each.is_relative_to(folder) for folder in allowed) for each in read):
            raise BadInput(
                f"{path} may not be read.",
                hint="The operator names the folders that may be read in OPENQUERY_DOCUMENT_FOLDERS.",
            )
        return resolved

    def add(self, files: Mapping[str, IO[bytes]], *, leave_out: bool = False) -> tuple[str, tuple[int, ...]]:
        """Store files as a data set after checking them.

        Several files become a folder. Returns the name of the data set, numbered if the name was taken, and the numbers
        of the lines that were left out.

        Args:
            files: by their names, of which only letters, digits, `.`, `-` and `_` are kept.
            leave_out: whether lines of JSON that cannot be used are left out, at most `LEFT_OUT_LIMIT`.

        Raises:
            BadInput: when they are no data set that can be used; nothing is kept then. Of a `BadLine` its file is gone,
                so `near` has what stood there.
            OSError: when they cannot be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=self.folder) as draft:
            paths = [Path(draft, _safe_name(name)) for name in files]
            for path, content in zip(paths, files.values(), strict=True):
                with path.open("wb") as file:
                    shutil.copyfileobj(content, file)
            path = paths[0] if len(paths) == 1 else Path(draft)
            left_out: list[int] = []
            while True:
                try:
                    load_data_set(path, paths[0].name)
                    break
                except BadLine as error:
                    error.near = error.nearby()
                    if not leave_out or len(left_out) == LEFT_OUT_LIMIT or not blank_line(error):
                        raise
                    left_out.append(error.number)
            table = next((each for each in paths if Source(each).suffix in TABLES), paths[0])
            name = self._free_name(table.name if len(paths) == 1 else table.stem)
            if len(paths) == 1:
                path.rename(self.folder / name)
            else:
                (self.folder / name).mkdir(mode=0o700)
                for each in paths:
                    each.rename(self.folder / name / each.name)
        return name, tuple(left_out)

    def _free_name(self, name: str) -> str:
        """Return the name, numbered if it is taken."""
        stem = PurePosixPath(unpacked_name(name)).stem
        numbered = (f"{stem}-{number}{name[len(stem) :]}" for number in count(2))
        return next(each for each in chain((name,), numbered) if each not in self.loaders())

    def summary(self, data: str, user: str = "") -> DataSetSummary:
        """Return the counts of a data set, cached.

        Raises:
            BadInput: when it cannot be used, or there is none of that name.
        """
        load = self.loader(data, user)
        if data == LABELS_NAME:
            return summarize(load())
        path = HANDBOOK_QUESTIONS if data == HANDBOOK_NAME else self.folder / data
        outcome = _summary(path, data, _changed(path))
        if isinstance(outcome, BadInput):
            raise outcome
        return outcome


def _safe_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", PurePosixPath(name.replace("\\", "/")).name).lstrip(".-")[-100:] or "data"


def _changed(path: Path) -> int:
    """Return when a data set's files changed, in nanoseconds.

    The documents of a table are in the table's folder.
    """
    folder = path if path.is_dir() else path.parent
    files = (folder, *folder.iterdir()) if path.is_dir() or Source(path).suffix in TABLES else (path,)
    return max((file.stat().st_mtime_ns for file in files if file.exists()), default=0)


@lru_cache(maxsize=16)
def _summary(path: Path, name: str, changed: int) -> DataSetSummary | BadInput:
    """Return the counts, or the error that prevents counting."""
    try:
        return summarize(load_data_set(path, name))
    except BadInput as error:
        if isinstance(error, BadLine):
            error.near = error.nearby()
        return error
