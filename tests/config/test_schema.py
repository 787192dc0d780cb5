"""What a knob's description says of its title, its values and its unit."""

import pytest

from core.config.schema import Parameter, parameters

KNOBS = {parameter.path: parameter for parameter in parameters()}


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("chunk.size", 500, "500 characters"),
        ("chunk.overlap", 10, "10 %"),
        ("rank.per_page", -1, "auto"),
        ("rank.per_page", 3, "3"),
        ("rank.threshold", 0.25, "0.25"),
        ("read.page_timeout", 2.5, "2.5 s"),
        ("read.deadline", 0.0, "none"),
        ("rank.rerank", True, "on"),
        ("rank.strategy", "fused", "fused"),
        ("rank.only_domains", "", "any"),
        ("rank.excluded", [], "none"),
    ],
)
def test_value_is_shown_by_label_or_with_unit(path: str, value: object, shown: str) -> None:
    assert KNOBS[path].value_text(value) == shown


@pytest.mark.parametrize("knob", parameters(), ids=lambda knob: knob.path)
def test_no_title_holds_a_unit(knob: Parameter) -> None:
    assert "(" not in knob.title
    assert knob.title_with_unit == (
        f"{knob.title} ({knob.control.unit})" if knob.control.unit else knob.title
    )
