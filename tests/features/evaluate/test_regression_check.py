"""`eval check`: what fails, what passes, and what is reported."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from core.cli.main import main
from core.errors import BadInput
from core.features.evaluate.experiment import Result
from core.features.evaluate.regression_check import check, junit_xml

METRIC = "nDCG@10"


def result(values: list[float], failed: dict[str, str] | None = None) -> Result:
    return Result(
        setting="defaults",
        values={f"q{place}": {METRIC: value} for place, value in enumerate(values)},
        failed=failed or {},
    )


def test_a_loss_of_five_points_fails() -> None:
    random = np.random.default_rng(4)
    before = random.uniform(0.3, 1, 200)
    after = before + random.normal(-0.05, 0.15, 200)
    checked = check(result(list(before)), result(list(after)), METRIC, {})
    assert checked.difference is not None
    assert checked.difference.high < 0
    assert not checked.passed


def test_the_same_ranking_passes_and_so_does_a_gain() -> None:
    before = [0.2, 0.5, 1.0]
    assert check(result(before), result(before), METRIC, {}).passed
    assert check(result(before), result([0.4, 0.6, 1.0]), METRIC, {}).passed


@pytest.mark.slow
def test_noise_fails_as_rarely_as_stated_with_few_questions() -> None:
    """At most 2.5 % of 800 are 20; a percentile bootstrap calls some 5 % a loss with ten questions."""
    random = np.random.default_rng(11)
    fails = 0
    for before, after in random.uniform(0, 1, (800, 2, 10)):
        fails += not check(result(list(before)), result(list(after)), METRIC, {}, tolerance=0).passed
    assert 5 < fails <= 32, "32 or more are a chance of .5 %"


@pytest.mark.slow
def test_hundred_checks_pass_under_noise_and_fail_after_a_loss() -> None:
    """Noise of .05 a question is .005 in the mean of a hundred; the tolerance is four times that."""
    random = np.random.default_rng(5)
    before = random.uniform(0.3, 1, 100)
    noise = random.normal(0, 0.05, (100, 100))
    for loss, passes in ((0.0, True), (0.05, False)):
        results = [result(list(before - loss + noise_values)) for noise_values in noise]
        assert {check(result(list(before)), noisy, METRIC, {}).passed for noisy in results} == {passes}


def test_report_has_the_interval_and_p_value_of_a_loss() -> None:
    checked = check(result([0.5] * 20), result([0.25] * 20), METRIC, {})
    failure = ET.fromstring(junit_xml(checked, "materials")).find("testcase[@name='mean difference']/failure")
    assert failure is not None
    assert failure.get("message") == f"{METRIC} changed by -0.250 [-0.250, -0.250], p < .0001"


def test_too_few_questions_are_named_in_the_verdict() -> None:
    assert "too few" not in check(result([0.5] * 6), result([0.25] * 6), METRIC, {}).verdict
    assert check(result([0.5] * 5), result([0.25] * 5), METRIC, {}).verdict.endswith(
        "p = .0625, too few questions to show a difference"
    )


def test_loss_within_the_tolerance_passes_however_certain() -> None:
    checked = check(result([0.5] * 50), result([0.49] * 50), METRIC, {})
    assert checked.difference is not None
    assert checked.difference.high < 0
    assert checked.passed
    assert not check(result([0.5] * 50), result([0.49] * 50), METRIC, {}, tolerance=0).passed


def test_a_question_that_fails_now_is_no_silent_pass() -> None:
    after = Result(setting="defaults", values={"q0": {METRIC: 1.0}}, failed={"q1": "The embedder refused."})
    checked = check(result([1.0, 1.0]), after, METRIC, {"q1": "Why\x00?"})
    assert not checked.passed
    report = ET.fromstring(junit_xml(checked, "materials"))
    assert (report.get("tests"), report.get("failures"), report.get("errors")) == ("3", "0", "1")
    error = report.find("testcase[@name='Why?']/error")
    assert error is not None
    assert error.get("message") == "The embedder refused."
    with pytest.raises(BadInput, match="have no recall"):
        check(result([1.0]), after, "recall", {})


def test_a_recut_passes_and_a_crippled_ranking_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))

    def knobs(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    kept, report = str(tmp_path / "kept"), tmp_path / "report.xml"
    by_words = '[rank]\nstrategy = "bm25"\n'
    assert main(["eval", "run", "--knobs", knobs("kept.toml", by_words), "--out", kept]) == 0
    recut = knobs("recut.toml", f"[chunk]\nsize = 450\n{by_words}")
    assert main(["eval", "check", kept, "--knobs", recut, "--junit", str(report)]) == 0
    assert len(ET.parse(report).getroot()) == 76
    crippled = knobs("crippled.toml", f"{by_words}top_k = 1\n")
    capsys.readouterr()
    assert main(["eval", "check", kept, "--knobs", crippled, "--metric", "excerpt recall"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 76
    assert printed[-1].endswith("failed")
    assert ", p = .0039 over 75 questions" in printed[-1], "9 of 9 lost: 2 of 512 swaps"
    several = knobs("several.toml", '[rank]\nstrategy = ["bm25", "fused"]\n')
    assert main(["eval", "check", kept, "--knobs", several]) == BadInput.exit_code
