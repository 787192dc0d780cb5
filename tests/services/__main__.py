"""`python -m tests.services`: install the real parts that the tests talk to, before the first test."""

from tests.services import handbook_vectors, searxng, small_model
from tests.services.cached import CACHE, Unavailable

PARTS = {
    "SearXNG": searxng.prepare,
    "a small language model": small_model.prepare,
    "vectors of the handbook": handbook_vectors.prepare,
}

if __name__ == "__main__":
    for what, prepare in PARTS.items():
        print(f"Preparing {what} in {CACHE} ...", flush=True)
        try:
            prepare()
        except Unavailable as error:
            print(error)  # the tests that need it will fail, and say why
