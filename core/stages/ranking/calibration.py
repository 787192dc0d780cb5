"""Convert cosines to similarities from 0 to 1 that are comparable between models.

Models use different ranges of the cosine for related texts, so a threshold on cosines fits only one model. Decision
0020 has the fit and its figures, and `bench/calibration.py` repeats it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A curve `1 / (1 + odds ** -slope)`, with the cosine's odds divided by the midpoint's.

    This is beta calibration (Kull, Silva Filho and Flach, 2017) with one shape for both ends: the logistic regression
    on the cosine's log odds. It rises from 0 at a cosine of 0 to 1 at 1, and is 0.5 at `midpoint`. The defaults keep a
    cosine from 0 to 1 unchanged.
    """

    midpoint: float = 0.5
    slope: float = 1.0

    def similarity(self, cosine: float) -> float:
        """Convert a cosine to a similarity from 0 to 1. Negative cosines and NaN give 0."""
        if not cosine > 0:
            return 0.0
        return _logistic(self.slope * (_log_odds(cosine) - _log_odds(self.midpoint)))

    def cosine(self, similarity: float) -> float:
        """Convert a similarity to a cosine. A similarity of 0 gives -1, which excludes nothing."""
        if similarity <= 0:
            return -1.0
        return _logistic(_log_odds(similarity) / self.slope + _log_odds(self.midpoint))


UNKNOWN = Calibration()
"""The calibration of an embedder that was not measured: the cosine itself."""

CALIBRATIONS: Mapping[str, Calibration] = MappingProxyType(
    {"minilm-l6-v2-w8a8-256:8199be6f": Calibration(midpoint=0.284, slope=2.97)}
)
"""Calibrations by the embedder's identity."""


def calibration_of(embedder: str) -> Calibration:
    """Return the calibration of an embedder by its identity."""
    return CALIBRATIONS.get(embedder, UNKNOWN)


def _log_odds(share: float) -> float:
    return math.inf if share >= 1 else math.log(share / (1 - share))


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
