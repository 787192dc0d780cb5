"""Presets: knobs under a name, in the run store."""

from pathlib import Path

import pytest

from core.config.knobs import Knobs
from core.errors import BadInput, StoreFailed
from core.storage.presets import NAME_LIMIT, PRESET_LIMIT, Presets
from core.storage.run_store import RunStore

FEW = Knobs.parse({"rank": {"top_k": 2, "excluded": ["https://a.example/"]}, "chunk": {"size": 300}})


@pytest.fixture
def presets(store: RunStore) -> Presets:
    return Presets(store)


def names(presets: Presets, user: str = "") -> list[str]:
    return [preset.name for preset in presets.all(user).presets]


def test_a_preset_is_found_again_by_another_process(presets: Presets, store: RunStore) -> None:
    presets.save("  Few,\nlong\u200b ones ", FEW)
    saved = Presets(RunStore(store.path)).all()
    assert [(preset.name, preset.knobs) for preset in saved.presets] == [("Few, long ones", FEW)]
    assert saved.problems == ()


def test_saving_under_the_same_name_replaces(presets: Presets) -> None:
    presets.save("mine", FEW)
    presets.save("Mine", Knobs())
    assert [(preset.name, preset.knobs) for preset in presets.all().presets] == [("Mine", Knobs())]


def test_users_do_not_see_each_other(presets: Presets) -> None:
    presets.save("hers", FEW, "anna@a.example")
    presets.save("his", FEW, "../../etc")
    assert (names(presets, "anna@a.example"), names(presets, "../../etc"), names(presets)) == (
        ["hers"],
        ["his"],
        [],
    )


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


def test_a_store_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    presets = Presets(RunStore(tmp_path / "data" / "runs.sqlite"))
    with pytest.raises(StoreFailed, match="not being saved"):
        presets.save("x", FEW)
    saved = presets.all()
    assert saved.presets == ()
    assert "not being saved" in saved.problems[0]


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
