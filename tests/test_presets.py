"""Presets: knobs under a name, on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.config.knobs import Knobs
from core.errors import BadInput, StoreFailed
from core.storage.presets import FILE_LIMIT, NAME_LIMIT, Presets

FEW = Knobs.parse({"rank": {"top_k": 2, "excluded": ["https://a.example/"]}, "chunk": {"size": 300}})


@pytest.fixture
def presets(tmp_path: Path) -> Presets:
    return Presets(tmp_path / "presets")


def names(presets: Presets, keeper: str = "") -> list[str]:
    return [preset.name for preset in presets.all(keeper).presets]


def test_a_preset_is_found_again_by_another_process(presets: Presets) -> None:
    presets.save("  Few,\nlong\u200b ones ", FEW)
    saved = Presets(presets.folder).all()
    assert [(preset.name, preset.knobs) for preset in saved.presets] == [("Few, long ones", FEW)]
    assert saved.problems == ()


def test_saving_under_the_same_name_replaces(presets: Presets) -> None:
    presets.save("mine", FEW)
    presets.save("Mine", Knobs())
    assert [(one.name, one.knobs) for one in presets.all().presets] == [("Mine", Knobs())]


def test_keepers_do_not_see_each_other(presets: Presets) -> None:
    presets.save("hers", FEW, "anna@a.example")
    presets.save("his", FEW, "../../etc")
    assert (names(presets, "anna@a.example"), names(presets, "../../etc"), names(presets)) == (
        ["hers"],
        ["his"],
        [],
    )
    assert all(path.is_relative_to(presets.folder) for path in presets.folder.rglob("*.json"))


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
def test_a_bad_file_is_told_and_harms_no_other(presets: Presets, content: bytes, told: str) -> None:
    presets.save("good", FEW)
    (presets.folder / "own" / "bad.json").write_bytes(content)
    saved = presets.all()
    assert [preset.name for preset in saved.presets] == ["good"]
    assert len(saved.problems) == 1
    assert told in saved.problems[0] and "bad.json" in saved.problems[0]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "presets").write_text("a file where the folder should be")
    with pytest.raises(StoreFailed, match="not saved"):
        Presets(tmp_path / "presets").save("x", FEW)
    assert Presets(tmp_path / "presets").all().presets == ()
