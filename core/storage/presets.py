"""Presets: named knobs, a table of the run store."""

import json
from dataclasses import dataclass

from core.config.knobs import KNOBS, Knobs
from core.errors import BadInput, StoreFailed
from core.storage.run_store import RunStore
from core.text.digest import text_digest
from core.text.sanitize import encodable

NAME_LIMIT = 60
"""The most characters of a name."""
PRESET_LIMIT = 100
"""The most presets of one user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Knobs under a name."""

    name: str
    knobs: Knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPresets:
    """A user's presets, sorted by name. `problems` has a message for each unusable entry."""

    presets: tuple[Preset, ...]
    problems: tuple[str, ...]

    def get(self, name: str) -> Preset | None:
        """Return the preset of exactly this name, or None."""
        return next((preset for preset in self.presets if preset.name == name), None)


class Presets:
    """The presets in a run store. Users are stored as digests. Every method may be called from any thread."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def all(self, user: str = "") -> SavedPresets:
        """Return the user's presets. An unusable entry is reported and does not affect the others."""
        try:
            with self._store.transaction("They cannot be read") as db:
                rows = db.execute(
                    "SELECT name, knobs FROM presets WHERE user = ? ORDER BY folded_name",
                    (text_digest(user),),
                ).fetchall()
        except StoreFailed as error:
            return SavedPresets(presets=(), problems=(f"The presets cannot be read: {error}",))
        presets, problems = [], []
        for name, knobs in rows:
            try:
                presets.append(Preset(name=name, knobs=Knobs.parse(json.loads(knobs))))
            except (BadInput, ValueError) as error:
                problems.append(f"The preset “{name}” cannot be used: {error} Save it again, or delete it.")
        return SavedPresets(presets=tuple(presets), problems=tuple(problems))

    def save(self, name: str, knobs: Knobs, user: str = "") -> Preset:
        """Save knobs under a name. A preset whose name differs only in case is replaced.

        Raises:
            BadInput: when the name cannot be used, or there are too many presets.
            StoreFailed: when it cannot be written.
        """
        preset = Preset(name=checked_name(name), knobs=knobs)
        with self._store.transaction("The preset was not saved") as db:
            others = db.execute(
                "SELECT count(*) FROM presets WHERE user = ? AND folded_name <> ?",
                (text_digest(user), _folded(preset.name)),
            ).fetchone()[0]
            if others >= PRESET_LIMIT:
                raise BadInput(
                    f"There are {PRESET_LIMIT} presets, which is the limit.", hint="Delete one first."
                )
            db.execute(
                "INSERT OR REPLACE INTO presets VALUES (?, ?, ?, ?)",
                (text_digest(user), _folded(preset.name), preset.name, KNOBS.dump_json(knobs).decode()),
            )
        return preset

    def rename(self, name: str, new_name: str, user: str = "") -> Preset:
        """Give a preset another name.

        Raises:
            BadInput: when the preset is missing, the new name cannot be used, or another preset has it.
            StoreFailed: when it cannot be written.
        """
        preset = self.all(user).get(name)
        if preset is None:
            raise BadInput(f"There is no preset “{name}”.", hint="It may have been deleted elsewhere.")
        renamed = Preset(name=checked_name(new_name), knobs=preset.knobs)
        with self._store.transaction("The preset was not renamed") as db:
            other_preset = db.execute(
                "SELECT 1 FROM presets WHERE user = ? AND folded_name = ? AND folded_name <> ?",
                (text_digest(user), _folded(renamed.name), _folded(name)),
            ).fetchone()
            if other_preset:
                raise BadInput(f"There is a preset “{renamed.name}” already.", hint="Choose another name.")
            db.execute(
                "UPDATE presets SET folded_name = ?, name = ? WHERE user = ? AND folded_name = ?",
                (_folded(renamed.name), renamed.name, text_digest(user), _folded(name)),
            )
        return renamed

    def delete(self, name: str, user: str = "") -> None:
        """Delete a preset. A missing preset is ignored.

        Raises:
            StoreFailed: when the store cannot be written.
        """
        with self._store.transaction("The preset was not deleted") as db:
            db.execute(
                "DELETE FROM presets WHERE user = ? AND folded_name = ?", (text_digest(user), _folded(name))
            )


def checked_name(name: str) -> str:
    """Return a preset's name on one line.

    Raises:
        BadInput: when it is empty or too long.
    """
    name = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    if not name:
        raise BadInput("The preset has no name.", hint="Type one, such as “long answers”.")
    if len(name) > NAME_LIMIT:
        raise BadInput(f"The name has {len(name)} characters; the limit is {NAME_LIMIT}.", hint="Shorten it.")
    return name


def _folded(name: str) -> str:
    """Return the key of a preset, which ignores case."""
    return encodable(name).casefold()
