"""A page on a server whose event loop is busy with another run."""

import threading

from core.runtime.registry import RunRegistry
from tests.pages.conftest import answered, opened, words

BUSY_SECONDS = 1.0


def test_moved_slider_shows_its_ranking_in_one_drawing(registry: RunRegistry) -> None:
    app = opened(run=answered(registry).id)
    held, freed = threading.Event(), threading.Event()

    async def hold() -> None:
        held.set()
        freed.wait()

    holding = threading.Thread(target=registry.call, args=(hold(),))
    holding.start()
    held.wait()
    freeing = threading.Timer(BUSY_SECONDS, freed.set)
    freeing.start()
    app.slider(key="knob_rank_top_k").set_value(3).run()
    holding.join()
    freeing.join()
    assert not app.exception
    assert "Context vs. this answer" in words(app)
