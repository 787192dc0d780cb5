"""Calibrated similarities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.models.local_embedder import MiniLM
from core.stages.ranking.calibration import CALIBRATIONS, UNKNOWN, Calibration, calibration_of

CALIBRATION = st.builds(Calibration, midpoint=st.floats(0.05, 0.95), slope=st.floats(0.5, 10))
COSINE = st.floats(-1, 1)


@given(CALIBRATION, COSINE, COSINE)
def test_similarity_is_from_0_to_1_and_rises_with_cosine(
    calibration: Calibration, one: float, other: float
) -> None:
    low, high = (calibration.similarity(cosine) for cosine in sorted((one, other)))
    assert 0 <= low <= high <= 1
    assert calibration.similarity(0) == calibration.similarity(math.nan) == 0
    assert calibration.similarity(1) == 1
    assert calibration.similarity(calibration.midpoint) == pytest.approx(0.5)


@given(CALIBRATION, st.floats(0.001, 0.999))
def test_threshold_admits_exactly_the_similarities_from_it_up(
    calibration: Calibration, threshold: float
) -> None:
    assert calibration.similarity(calibration.cosine(threshold)) == pytest.approx(threshold)
    assert calibration.cosine(0) == -1
    assert calibration.cosine(1) == 1


@given(st.floats(0, 1))
def test_cosine_of_an_unmeasured_embedder_is_its_similarity(cosine: float) -> None:
    assert calibration_of("a model of somebody's") == UNKNOWN
    assert UNKNOWN.similarity(cosine) == pytest.approx(cosine)


def test_the_local_embedder_is_calibrated() -> None:
    model = MiniLM()
    model.close()
    assert set(CALIBRATIONS) == {model.identity}
    assert calibration_of(model.identity).similarity(0.3) > 0.5, "right answers score as low as that"
