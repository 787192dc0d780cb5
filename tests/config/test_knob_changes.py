"""Knobs written as changes, in addresses and in the history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knob_changes import apply_changes, changes, with_values
from core.config.knobs import Knobs
from core.config.schema import former_names, parameters
from core.errors import BadInput

LIVE = ("chunk", "rank")
ALL = tuple(dict.fromkeys(one.group for one in parameters()))


def test_equal_knobs_have_no_changes() -> None:
    assert changes(Knobs(), Knobs()) == ()
    assert apply_changes(Knobs(), (), LIVE).knobs == Knobs()


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "chunk": st.fixed_dictionaries(
                {},
                optional={"size": st.integers(100, 4000), "boundary": st.sampled_from(["fixed", "natural"])},
            ),
            "rank": st.fixed_dictionaries(
                {},
                optional={
                    "threshold": st.floats(-1, 1),
                    "rerank": st.booleans(),
                    "only_domains": st.text(max_size=20),
                    "excluded": st.lists(st.text(min_size=1, max_size=9), max_size=3),
                },
            ),
            "answer": st.fixed_dictionaries({}, optional={"stop": st.lists(st.just("END"), max_size=2)}),
        },
    )
)
def test_changes_applied_to_the_original_give_the_knobs_again(values: dict[str, dict[str, object]]) -> None:
    original = Knobs.parse({"rank": {"excluded": ["https://a.example/"], "top_k": 9}})
    knobs = Knobs.parse(values)
    applied = apply_changes(original, changes(original, knobs), ALL)
    assert applied.knobs == knobs
    assert applied.ignored == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("rank.top_k:9999", "rank.top_k:9999 (must be 0 to 50)"),
        ("rank.threshold:nan", "rank.threshold:nan (must be -1 to 1)"),
        ("rank.strategy:magic", "rank.strategy:magic (must be cosine or bm25 or fused)"),
        ("rank.rerank:perhaps", "rank.rerank:perhaps (must be true or false)"),
        ("rank.nothing:1", "rank.nothing:1 (no such setting)"),
        ("nonsense", "nonsense (no such setting)"),
        ("", " (no such setting)"),
        ("plan.queries:3", "plan.queries:3 (applies to the next run only)"),
        ("x" * 5000, f"{'x' * 60}… (no such setting)"),
    ],
)
def test_inapplicable_change_is_named_and_others_apply(change: str, message: str) -> None:
    applied = apply_changes(Knobs(), ("chunk.size:800", change, "rank.diversity:0.5"), LIVE)
    assert applied.ignored == (message,)
    assert changes(Knobs(), applied.knobs) == ("chunk.size:800", "rank.diversity:0.5")


FORMER = {
    "read.enough": "read.early_cut_percent",
    "read.quiet": "read.early_cut_idle",
    "answer.messages": "answer.prompt_layout",
}


def test_former_names_lead_to_knobs_that_exist() -> None:
    assert former_names().items() >= FORMER.items()
    assert set(former_names().values()) <= {knob.path for knob in parameters()}


@pytest.mark.parametrize(("former", "current"), FORMER.items())
def test_former_name_is_refused_with_the_current_one(former: str, current: str) -> None:
    with pytest.raises(BadInput, match=former) as refused:
        with_values(Knobs(), {former: 1})
    assert current in refused.value.hint


def test_links_of_earlier_versions_set_the_renamed_knob() -> None:
    applied = apply_changes(Knobs(), ["answer.messages:three"], ["answer"])
    assert changes(Knobs(), applied.knobs) == ("answer.prompt_layout:three",)
    assert applied.ignored == ()
