"""Axes of an experiment, ranges on them, and the settings and rows that they leave."""

import math

from core.features.evaluate.setting_filter import axes, filtered, matching, range_text, read_ranges, written
from core.features.evaluate.setting_table import setting_table
from tests.features.evaluate.test_setting_table import METRIC, SWEEP, result, results

AXES = axes(SWEEP, METRIC)
SETTINGS = tuple(measured.setting for measured in SWEEP.results)


def test_knobs_are_ordered_by_share_before_costs_and_metric() -> None:
    assert [axis.name for axis in AXES] == ["rank.strategy", "chunk.size", "tokens", "ms", METRIC]
    assert AXES[0].share is not None and AXES[1].share is not None and AXES[0].share > AXES[1].share
    assert AXES[1].values == ("300", "500"), "numbers are in order"
    assert AXES[1].figures == (1.0, 1.0, 0.0, 0.0)
    assert AXES[2].figures == (100.0, 50.0, 60.0, 80.0)


def test_range_is_written_to_an_address_and_read_back() -> None:
    texts = ["chunk.size:300..300", "tokens:60..100"]
    ranges = read_ranges(texts, AXES)
    by_name = {axis.name: axis for axis in AXES}
    assert [written(each, by_name[each.axis]) for each in ranges] == texts
    assert [range_text(each, by_name[each.axis]) for each in ranges] == [
        "passage size 300",
        "tokens 60 to 100",
    ]
    assert read_ranges(["tokens:100..60"], AXES) == ranges[1:], "in any order"


def test_invalid_range_of_an_axis_is_ignored() -> None:
    for text in ("", "tokens", "tokens:1", "tokens:a..b", "tokens:nan..1", "chunk.size:7..500", "gone:1..2"):
        assert read_ranges([text], AXES) == ()


def test_settings_in_all_ranges_stay_with_baseline_and_tests() -> None:
    assert matching(SWEEP, AXES, ()) == SETTINGS
    ranges = read_ranges(["tokens:60..100", "chunk.size:300..300"], AXES)
    left = matching(SWEEP, AXES, ranges)
    assert left == SETTINGS[2:]
    table = setting_table(SWEEP, METRIC, "defaults")
    some = filtered(table, left[:1])
    assert [row.name for row in some.rows] == ["defaults", "rank.strategy:bm25"], "a row has several settings"
    assert some.comparisons == table.comparisons == 2
    assert filtered(table, ()).rows == table.rows[:1]


def test_figure_at_the_end_of_a_rounded_range_is_inside() -> None:
    axis = AXES[-1]
    whole = read_ranges([f"{METRIC}:{axis.text(axis.low)}..{axis.text(axis.high)}"], AXES)
    assert matching(SWEEP, AXES, whole) == SETTINGS


def test_setting_without_a_figure_is_in_no_range() -> None:
    measured = results(result("defaults", [0.5] * 60), result("rank.top_k:3", []))
    known = axes(measured, METRIC)
    assert math.isnan(known[-1].figures[1])
    assert matching(measured, known, read_ranges([f"{METRIC}:0..1"], known)) == ("defaults",)
