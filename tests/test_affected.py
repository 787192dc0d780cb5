"""`./test --changed` runs the tests that a changed file can break."""

import pytest

from tests.affected import affected_tests


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("core/text/sentences.py", "tests/stages/test_answer.py"),
        ("core/stages/rank.py", "tests/test_pipeline.py"),
        ("pages/evaluate.py", "tests/pages/test_evaluate.py"),
        ("pages/parts/compare/compare_config.py", "tests/pages/test_explain_and_compare.py"),
        ("docs/contracts.md", "tests/test_promises.py"),
        ("static/styles/base.css", "tests/browser"),
        ("pyproject.toml", "tests"),
    ],
)
def test_changed_file_selects_tests_that_use_it(changed: str, test: str) -> None:
    assert test in affected_tests([changed])


def test_changed_page_leaves_out_tests_of_other_pages() -> None:
    tests = affected_tests(["pages/evaluate.py"])
    assert "tests/pages/test_explain_and_compare.py" not in tests
    assert "tests/stages/test_rank.py" not in tests


def test_changed_test_selects_itself() -> None:
    changed = "tests/stages/test_rank.py"
    assert set(affected_tests([changed])) - {"tests/test_affected.py"} == {
        changed
    }  # which names the changed file
