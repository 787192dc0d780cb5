"""What the tests of agents ask."""

from core.config.knobs import Knobs, SearchKnobs
from core.config.run_knobs import Method, RunKnobs

QUESTION = "How does chunk overlap affect retrieval?"
OVERLAP = "https://handbook.openquery.example/chunk-overlap"
KNOBS = Knobs(search=SearchKnobs(backend="demo", results=3), run=RunKnobs(method=Method.AGENT))
