"""Presets: knobs under a name, one table of the run store.

Earlier versions kept one JSON file a preset. Each is imported when its user's presets are next read, and renamed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from core.config.knobs import Knobs
from core.errors import BadInput, StoreFailed
from core.run.upgrades import upgrade_knobs
from core.storage.run_store import RunStore
from core.text.digest import text_digest
from core.text.sanitize import encodable

NAME_LIMIT = 60
"""Characters."""
PRESET_LIMIT = 100
"""Presets of one user."""
FILE_LIMIT = 1_000_000
"""The largest JSON file that is imported, in bytes."""
IMPORTED = ".imported"
"""The suffix of a JSON file whose preset is in the table."""

_KNOBS = TypeAdapter(Knobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Knobs under a name."""

    name: str
    knobs: Knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPresets:
    """A user's presets, sorted by name, and a message for each entry or file that cannot be used."""

    presets: tuple[Preset, ...]
    problems: tuple[str, ...]

    def get(self, name: str) -> Preset | None:
        """The preset of exactly this name."""
        return next((one for one in self.presets if one.name == name), None)


class Presets:
    """The presets in a run store. Users are told apart by a digest. Every method may be called from any thread."""

    def __init__(self, store: RunStore, folder: Path) -> None:
        """`folder` is where earlier versions kept the JSON files."""
        self._store = store
        self.folder = folder

    def all(self, user: str = "") -> SavedPresets:
        """The user's presets. An entry that cannot be used is reported and does not affect the others."""
        problems = self._import_files(user)
        try:
            with self._store.transaction("They cannot be read") as db:
                rows = db.execute(
                    "SELECT name, knobs FROM presets WHERE user = ? ORDER BY folded_name",
                    (text_digest(user),),
                ).fetchall()
        except StoreFailed as error:
            return SavedPresets(presets=(), problems=(f"The presets cannot be read: {error}",))
        presets = []
        for name, knobs in rows:
            try:
                presets.append(Preset(name=name, knobs=_parse_knobs(json.loads(knobs))))
            except (BadInput, ValueError) as error:
                problems.append(f"The preset “{name}” cannot be used: {error} Save it again, or delete it.")
        return SavedPresets(presets=tuple(presets), problems=tuple(problems))

    def save(self, name: str, knobs: Knobs, user: str = "") -> Preset:
        """Save knobs under a name. A preset of that name, in upper or lower case, is replaced.

        Raises:
            BadInput: when the name cannot be used, or there are too many presets.
            StoreFailed: when it cannot be written.
        """
        preset = Preset(name=checked_name(name), knobs=knobs)
        self._import_files(user)
        with self._store.transaction("The preset was not saved") as db:
            others = db.execute(
                "SELECT count(*) FROM presets WHERE user = ? AND folded_name <> ?",
                (text_digest(user), _folded(preset.name)),
            ).fetchone()[0]
            if others >= PRESET_LIMIT:
                raise BadInput(
                    f"There are {PRESET_LIMIT} presets, which is the limit.", hint="Delete one first."
                )
            db.execute("INSERT OR REPLACE INTO presets VALUES (?, ?, ?, ?)", _row(user, preset))
        return preset

    def rename(self, name: str, new_name: str, user: str = "") -> Preset:
        """Give a preset another name.

        Raises:
            BadInput: when there is no such preset, the new name cannot be used, or another preset has it.
            StoreFailed: when it cannot be written.
        """
        preset = self.all(user).get(name)
        if preset is None:
            raise BadInput(f"There is no preset “{name}”.", hint="It may have been deleted elsewhere.")
        renamed = Preset(name=checked_name(new_name), knobs=preset.knobs)
        with self._store.transaction("The preset was not renamed") as db:
            taken = db.execute(
                "SELECT 1 FROM presets WHERE user = ? AND folded_name = ? AND folded_name <> ?",
                (text_digest(user), _folded(renamed.name), _folded(name)),
            ).fetchone()
            if taken:
                raise BadInput(f"There is a preset “{renamed.name}” already.", hint="Choose another name.")
            db.execute(
                "UPDATE presets SET folded_name = ?, name = ? WHERE user = ? AND folded_name = ?",
                (_folded(renamed.name), renamed.name, text_digest(user), _folded(name)),
            )
        return renamed

    def delete(self, name: str, user: str = "") -> None:
        """Delete a preset; nothing happens when there is none of that name.

        Raises:
            StoreFailed: when the store cannot be written.
        """
        with self._store.transaction("The preset was not deleted") as db:
            db.execute(
                "DELETE FROM presets WHERE user = ? AND folded_name = ?", (text_digest(user), _folded(name))
            )

    # --- JSON files of earlier versions -------------------------------------------------------------------

    def _import_files(self, user: str) -> list[str]:
        """Import the user's JSON files, and rename them. Returns a message for each that cannot be imported."""
        problems: list[str] = []
        try:
            paths = sorted((self.folder / (text_digest(user) or "own")).glob("*.json"))
        except OSError as error:
            return [f"{self.folder} cannot be read: {error.strerror}."]
        for path in paths[: 2 * PRESET_LIMIT]:
            try:
                preset = _read(path)
                with self._store.transaction("It cannot be stored") as db:
                    # One that was saved since then stays.
                    db.execute("INSERT OR IGNORE INTO presets VALUES (?, ?, ?, ?)", _row(user, preset))
                    path.rename(path.with_name(path.name + IMPORTED))
            except FileNotFoundError:
                continue  # another process has just imported it
            except BadInput as error:
                problems.append(str(error))
            except (OSError, StoreFailed) as error:
                problems.append(f"{path.name} cannot be imported: {error}")
        return problems


def checked_name(name: str) -> str:
    """A preset's name on one line.

    Raises:
        BadInput: when it is empty or too long.
    """
    name = " ".join("".join(one if one.isprintable() else " " for one in name).split())
    if not name:
        raise BadInput("The preset has no name.", hint="Type one, such as “long answers”.")
    if len(name) > NAME_LIMIT:
        raise BadInput(f"The name has {len(name)} characters; the limit is {NAME_LIMIT}.", hint="Shorten it.")
    return name


def _row(user: str, preset: Preset) -> tuple[str, str, str, str]:
    knobs = json.dumps(_KNOBS.dump_python(preset.knobs, mode="json"))
    return text_digest(user), _folded(preset.name), preset.name, knobs


def _folded(name: str) -> str:
    """The key of a preset: names that differ in case only are one."""
    return encodable(name).casefold()


def _parse_knobs(values: Any) -> Knobs:
    if not isinstance(values, dict):
        raise BadInput("It has no knobs.")
    return Knobs.parse(upgrade_knobs(values))


def _read(path: Path) -> Preset:
    """The preset of a JSON file: `{"name": …, "knobs": {…}}`.

    Raises:
        BadInput: when it holds none, with the file's name.
        OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(FILE_LIMIT + 1)
    if len(data) > FILE_LIMIT:
        raise BadInput(f"{path.name} is too large for a preset.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path.name} is not JSON.", hint="Repair or delete it.") from error
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise BadInput(f"{path.name} is not a preset.", hint="Repair or delete it.")
    if not isinstance(content.get("knobs"), dict):
        raise BadInput(f"{path.name} has no knobs.", hint="Repair or delete it.")
    try:
        preset = Preset(name=checked_name(content["name"]), knobs=_parse_knobs(content["knobs"]))
    except BadInput as error:
        raise BadInput(f"{path.name}: {error.message}", hint="Repair or delete it.") from error
    if path.stem != text_digest(preset.name.casefold()):
        raise BadInput(f"{path.name} holds “{preset.name}”, whose file has another name.")
    return preset
