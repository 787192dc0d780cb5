"""Copies of the containers around a fragment."""

from copy import deepcopy

import pytest
from streamlit.cursor import RunningCursor
from streamlit.delta_generator import DeltaGenerator

from pages.parts.serving.streamlit_patches import copy_containers_once


@pytest.fixture(autouse=True)
def drawn_as_served() -> None:
    """Each test here says whether Streamlit is patched."""


@pytest.mark.parametrize("patched", [True, False], ids=["once", "as Streamlit does it"])
def test_container_is_copied_once_with_those_around_it(
    monkeypatch: pytest.MonkeyPatch, patched: bool
) -> None:
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", DeltaGenerator.__deepcopy__)  # and back
    if patched:
        copy_containers_once()
    parent = None
    containers: list[DeltaGenerator] = []
    for depth in range(6):
        cursor = RunningCursor(root_container=0, parent_path=(0,) * depth)
        parent = DeltaGenerator(root_container=0, cursor=cursor, parent=parent, block_type="flex_container")
        containers.append(parent)
    copied = deepcopy(tuple(containers))
    for container, original in zip(copied, containers, strict=True):
        assert container is not original
        assert container._cursor is not original._cursor
        assert container._get_delta_path_str() == original._get_delta_path_str()
        assert container._block_type == original._block_type
    parents = [container._parent for container in copied[1:]]
    if patched:
        assert all(parent is around for parent, around in zip(parents, copied, strict=False))
    else:
        assert parents[0] is not copied[0], "Streamlit copies each of them once: the patch can go"
