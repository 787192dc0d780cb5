"""Calibration: cosine similarities as similarities from 0 to 1 that mean the same whichever model embeds.

Models use different parts of the cosine's range for what belongs together, so one threshold on cosines fits
one model. Decision 0020 has the fit and its figures; `bench/calibration.py` repeats it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """`1 / (1 + odds ** -slope)`, with the odds of the cosine over those of the midpoint.

    Beta calibration (Kull, Silva Filho and Flach, 2017) with one shape for both ends: the logistic regression
    on the cosine's log odds. It rises from 0 at a cosine of 0 to 1 at 1, and is 0.5 at `midpoint`. The
    defaults leave a cosine from 0 to 1 as it is.
    """

    midpoint: float = 0.5
    slope: float = 1.0

    def similarity(self, cosine: float) -> float:
        """The similarity of a cosine, from 0 to 1. Cosines below 0, and what is not a number, give 0."""
        if not cosine > 0:
            return 0.0
        return _logistic(self.slope * (_log_odds(cosine) - _log_odds(self.midpoint)))

    def cosine(self, similarity: float) -> float:
        """The cosine with this similarity; -1, which excludes nothing, for a similarity of 0."""
        if similarity <= 0:
            return -1.0
        return _logistic(_log_odds(similarity) / self.slope + _log_odds(self.midpoint))


UNKNOWN = Calibration()
"""For an embedder that nobody has measured: the cosine itself."""

CALIBRATIONS: Mapping[str, Calibration] = MappingProxyType(
    {"minilm-l6-v2-w8a8-256:8199be6f": Calibration(midpoint=0.284, slope=2.97)}
)
"""By the embedder's identity."""


def calibration_of(embedder: str) -> Calibration:
    """The calibration of the embedder with this identity."""
    return CALIBRATIONS.get(embedder, UNKNOWN)


def _log_odds(share: float) -> float:
    return math.inf if share >= 1 else math.log(share / (1 - share))


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
