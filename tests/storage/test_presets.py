"""Presets: knobs under a name, in the run store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.knobs import Knobs
from core.errors import BadInput, StoreFailed
from core.storage.presets import FILE_LIMIT, NAME_LIMIT, PRESET_LIMIT, Presets
from core.storage.run_store import RunStore

FEW = Knobs.parse({"rank": {"top_k": 2, "excluded": ["https://a.example/"]}, "chunk": {"size": 300}})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    store = RunStore(tmp_path / "runs.sqlite")
    yield store
    store.close()


@pytest.fixture
def presets(store: RunStore, tmp_path: Path) -> Presets:
    return Presets(store, tmp_path / "presets")


def stored_file(presets: Presets, name: str, knobs: object, folder: str = "own") -> Path:
    """A preset as earlier versions kept it."""
    digest = hashlib.blake2b(name.casefold().encode(), digest_size=12).hexdigest()
    path = presets.folder / folder / f"{digest}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, "knobs": knobs}))
    return path


def names(presets: Presets, user: str = "") -> list[str]:
    return [preset.name for preset in presets.all(user).presets]


def test_a_preset_is_found_again_by_another_process(presets: Presets, store: RunStore) -> None:
    presets.save("  Few,\nlong\u200b ones ", FEW)
    saved = Presets(RunStore(store.path), presets.folder).all()
    assert [(preset.name, preset.knobs) for preset in saved.presets] == [("Few, long ones", FEW)]
    assert saved.problems == ()


def test_saving_under_the_same_name_replaces(presets: Presets) -> None:
    presets.save("mine", FEW)
    presets.save("Mine", Knobs())
    assert [(one.name, one.knobs) for one in presets.all().presets] == [("Mine", Knobs())]


def test_users_do_not_see_each_other(presets: Presets) -> None:
    presets.save("hers", FEW, "anna@a.example")
    presets.save("his", FEW, "../../etc")
    assert (names(presets, "anna@a.example"), names(presets, "../../etc"), names(presets)) == (
        ["hers"],
        ["his"],
        [],
    )
    assert not presets.folder.exists()


def test_a_preset_is_renamed_and_deleted(presets: Presets) -> None:
    presets.save("b", FEW)
    presets.save("a", Knobs())
    presets.rename("b", "c")
    presets.rename("a", "A")
    assert names(presets) == ["A", "c"]
    with pytest.raises(BadInput, match="already"):
        presets.rename("c", "a")
    with pytest.raises(BadInput, match="no preset"):
        presets.rename("b", "d")
    presets.delete("c")
    presets.delete("never there")
    assert names(presets) == ["A"]


@pytest.mark.parametrize("name", ["", "  \n", "\u200b", "x" * (NAME_LIMIT + 1)])
def test_a_name_must_be_one(presets: Presets, name: str) -> None:
    with pytest.raises(BadInput):
        presets.save(name, FEW)
    assert names(presets) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "not a preset"),
        (b'{"name": "x"}', "no knobs"),
        (json.dumps({"name": "x", "knobs": {"rank": {"top_k": 9999}}}).encode(), "out of bounds"),
        (json.dumps({"name": "x", "knobs": {"rank": {"nothing": 1}}}).encode(), "out of bounds"),
        (json.dumps({"name": "x" * 999, "knobs": {}}).encode(), "999 characters"),
        (json.dumps({"name": "copied", "knobs": {}}).encode(), "another name"),
        (b" " * (FILE_LIMIT + 1), "too large"),
    ],
)
def test_a_bad_file_is_reported_and_harms_no_other(presets: Presets, content: bytes, told: str) -> None:
    presets.save("good", FEW)
    bad = presets.folder / "own" / "bad.json"
    bad.parent.mkdir(parents=True)
    bad.write_bytes(content)
    saved = presets.all()
    assert [preset.name for preset in saved.presets] == ["good"]
    assert len(saved.problems) == 1
    assert told in saved.problems[0] and "bad.json" in saved.problems[0]


def test_a_store_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    presets = Presets(RunStore(tmp_path / "data" / "runs.sqlite"), tmp_path / "presets")
    with pytest.raises(StoreFailed, match="not being saved"):
        presets.save("x", FEW)
    saved = presets.all()
    assert saved.presets == ()
    assert "not being saved" in saved.problems[0]


def test_files_of_earlier_versions_are_imported_once_with_their_knobs_upgraded(presets: Presets) -> None:
    theirs = hashlib.blake2b(b"anna", digest_size=12).hexdigest()
    first = stored_file(presets, "Old ones", {"search": {"excerpts": 7}, "rank": {"top_k": 2}})
    stored_file(presets, "hers", {}, folder=theirs)
    (old,) = presets.all().presets
    assert (old.name, old.knobs.search.passages, old.knobs.rank.top_k) == ("Old ones", 7, 2)
    assert names(presets, "anna") == ["hers"]
    assert not first.exists() and first.with_name(f"{first.name}.imported").exists()
    presets.delete("Old ones")
    assert names(presets) == []


def test_a_preset_saved_since_wins_over_a_file_of_its_name(presets: Presets) -> None:
    presets.save("mine", FEW)
    stored_file(presets, "mine", {})
    assert [one.knobs for one in presets.all().presets] == [FEW]


@pytest.mark.parametrize("knobs", ["{", "[1]", '{"rank": {"top_k": 9999}}', '{"rank": {"nothing": 1}}'])
def test_a_damaged_entry_is_reported_and_can_be_deleted(
    presets: Presets, store: RunStore, knobs: str
) -> None:
    presets.save("good", FEW)
    presets.save("bad", FEW)
    with store.transaction("") as db:
        db.execute("UPDATE presets SET knobs = ? WHERE name = 'bad'", (knobs,))
    saved = presets.all()
    assert [preset.name for preset in saved.presets] == ["good"]
    assert len(saved.problems) == 1 and "“bad”" in saved.problems[0]
    presets.delete("bad")
    assert presets.all().problems == ()


def test_there_is_a_limit_which_replacing_does_not_meet(presets: Presets) -> None:
    for number in range(PRESET_LIMIT):
        presets.save(f"{number}", Knobs())
    with pytest.raises(BadInput, match="limit"):
        presets.save("one more", Knobs())
    presets.save("7", FEW)
    presets.save("another's", Knobs(), "anna")
