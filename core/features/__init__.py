"""The features: each serves one purpose beside the answer, in a folder of its own.

The spine is the rest of the core. It imports no feature, except where the product is put together: the command line,
the registry of runs and the server read `FEATURES`. A feature imports the spine, and the features that it names. Without
its folder and its line here, the product answers questions as before.
"""

from core.features.feature import Feature

FEATURES: tuple[Feature, ...] = ()
