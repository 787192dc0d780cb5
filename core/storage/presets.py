"""Presets: knobs under a name, kept on disk as one small JSON file each."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from core.config.knobs import Knobs
from core.errors import BadInput, StoreFailed
from core.storage.atomic_write import atomic_write

NAME_LIMIT = 60
"""Characters."""
MOST = 100
"""Presets of one keeper."""
FILE_LIMIT = 1_000_000
"""Bytes. A larger file is no preset."""

_KNOBS = TypeAdapter(Knobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    name: str
    knobs: Knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a keeper has: presets by name, and why files in the folder could not be used."""

    presets: tuple[Preset, ...]
    problems: tuple[str, ...]

    def get(self, name: str) -> Preset | None:
        return next((one for one in self.presets if one.name == name), None)


class Presets:
    """The presets below a folder. Each keeper has a folder of their own, named by a digest. Any thread may call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self, keeper: str = "") -> Saved:
        """The keeper's presets, sorted by name. A file that cannot be used is told and does no harm."""
        found: dict[str, Preset] = {}
        problems: list[str] = []
        try:
            files = sorted(self._of(keeper).glob("*.json"))
        except OSError as error:
            return Saved(presets=(), problems=(f"The presets cannot be read: {error.strerror}.",))
        for path in files[: 2 * MOST]:
            try:
                preset = _read(path)
            except BadInput as error:
                problems.append(str(error))
                continue
            if self._path(keeper, preset.name) == path:
                found[preset.name] = preset
            else:
                problems.append(f"{path.name} holds “{preset.name}”, whose file has another name.")
        ordered = sorted(found.values(), key=lambda preset: preset.name.casefold())
        return Saved(presets=tuple(ordered), problems=tuple(problems))

    def save(self, name: str, knobs: Knobs, keeper: str = "") -> Preset:
        """Keep knobs under a name; a preset of that name is replaced.

        Raises:
            BadInput: when the name cannot be used, or there are too many presets.
            StoreFailed: when the file cannot be written.
        """
        preset = Preset(name=checked_name(name), knobs=knobs)
        path = self._path(keeper, preset.name)
        known = self.all(keeper)
        if not path.exists() and len(known.presets) >= MOST:
            raise BadInput(f"There are {MOST} presets, which is the limit.", hint="Delete one first.")
        content = {"name": preset.name, "knobs": _KNOBS.dump_python(knobs, mode="json")}
        try:
            atomic_write(path, json.dumps(content, ensure_ascii=False, indent=1).encode())
        except OSError as error:
            raise StoreFailed(
                f"The preset was not saved: {error.strerror}.",
                hint=f"Check the space and rights of {self.folder}.",
            ) from error
        return preset

    def rename(self, name: str, to: str, keeper: str = "") -> Preset:
        """Give a preset another name.

        Raises:
            BadInput: when there is no such preset, the new name cannot be used, or another preset has it.
            StoreFailed: when the files cannot be changed.
        """
        preset = self.all(keeper).get(name)
        if preset is None:
            raise BadInput(f"There is no preset “{name}”.", hint="It may have been deleted elsewhere.")
        wanted = checked_name(to)
        if wanted == preset.name:
            return preset
        old, new = self._path(keeper, preset.name), self._path(keeper, wanted)
        if new.exists() and new != old:
            raise BadInput(f"There is a preset “{wanted}” already.", hint="Choose another name.")
        renamed = self.save(wanted, preset.knobs, keeper)
        if new != old:
            self.delete(preset.name, keeper)
        return renamed

    def delete(self, name: str, keeper: str = "") -> None:
        """Forget a preset; nothing happens when there is none of that name.

        Raises:
            StoreFailed: when the file cannot be removed.
        """
        try:
            self._path(keeper, name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreFailed(
                f"The preset was not deleted: {error.strerror}.", hint=f"Check the rights of {self.folder}."
            ) from error

    def _of(self, keeper: str) -> Path:
        return self.folder / (_digest(keeper) if keeper else "own")

    def _path(self, keeper: str, name: str) -> Path:
        """By a digest of the name, so that no name is a path. Names that differ in case only are one."""
        return self._of(keeper) / f"{_digest(name.casefold())}.json"


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


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _read(path: Path) -> Preset:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
        if len(data) > FILE_LIMIT:
            raise BadInput(f"{path.name} is too large for a preset.")
        content = json.loads(data)
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path.name} is not JSON.", hint="Repair or delete it.") from error
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise BadInput(f"{path.name} is not a preset.", hint="Repair or delete it.")
    if not isinstance(content.get("knobs"), dict):
        raise BadInput(f"{path.name} has no knobs.", hint="Repair or delete it.")
    try:
        return Preset(name=checked_name(content["name"]), knobs=Knobs.parse(content["knobs"]))
    except BadInput as error:
        raise BadInput(f"{path.name}: {error.message}", hint="Repair or delete it.") from error
