"""The features: each serves one purpose beside the answer, in a folder of its own.

The spine is the rest of the core. It imports no feature, except where the product is put together: the command line,
the registry of runs and the server read `FEATURES`. A feature imports the spine, and the features that it names. Without
its folder and its line here, the product answers questions as before.
"""

from core.features.api.feature import API
from core.features.evaluate.feature import EVALUATE
from core.features.feature import Feature
from core.features.library.feature import LIBRARY
from core.features.notebook.feature import NOTEBOOK
from core.features.share.feature import SHARE
from core.features.watch.feature import WATCH

FEATURES: tuple[Feature, ...] = (WATCH, SHARE, EVALUATE, LIBRARY, API, NOTEBOOK)
"""Every feature, in the order of their commands in the help."""
