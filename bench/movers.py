"""People who move a slider on the Research page, without a browser: Streamlit's own messages over websockets."""

import asyncio
import time
from collections import Counter
from itertools import count

from streamlit.proto.Delta_pb2 import Delta

from tests.alone.visitors import Visitor

GROUPS = ("plan", "search", "read", "embed", "answer")
FEWEST, MOST = 6, 9
"""Passages in the context, between which the slider goes to and fro."""


class Mover(Visitor):
    """A session on a finished run that moves the slider of top-k."""

    receives = 1_000_000

    def __init__(self, url: str, run: str) -> None:
        super().__init__(url)
        self._query = f"run={run}"
        self._table_drawn = False
        self._moves = count(1)
        self.parts: Counter[str] = Counter()
        """Bytes of what is sent, by kind of message and element."""

    async def open_groups(self) -> None:
        """Open all groups of the sidebar, as somebody does who tries everything."""
        for group in GROUPS:
            await self._finish(f"group_{group}", True)

    async def move(self) -> float:
        """Move the slider by one, and return the seconds until the table was drawn and the script was done."""
        began = time.perf_counter()
        steps = MOST - FEWEST
        place = next(self._moves) % (2 * steps)
        await self._finish("knob_rank_top_k", float(FEWEST + min(place, 2 * steps - place)), table=True)
        return time.perf_counter() - began

    async def _finish(self, widget: str, value: bool | float, *, table: bool = False) -> None:
        self._values[widget] = value
        self._table_drawn = not table
        self._drawn.clear()
        await self._send(fragment=self._fragments[widget])
        await self._until(self._drawn)
        while not self._table_drawn:  # the callback alone was run, and asked for a drawing
            self._drawn.clear()
            await self._until(self._drawn)

    def _see(self, data: bytes, delta: Delta) -> None:
        kind = delta.WhichOneof("type") or ""
        element = delta.new_element.WhichOneof("type") if kind == "new_element" else kind
        self.parts[str(element)] += len(data)
        if element == "dataframe":
            self._table_drawn = True
        super()._see(data, delta)


async def moves(url: str, run: str, people: int, seconds: float, pause: float) -> list[float]:
    """Seconds of each move of so many people, who each wait `pause` seconds between two moves."""
    movers = [Mover(url, run) for _ in range(people)]
    for mover in movers:  # one after the other: their arrival is not what is measured
        await mover.open()
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def go(mover: Mover, number: int) -> None:
        await asyncio.sleep(pause * number / people)
        while time.perf_counter() < end:
            began = time.perf_counter()
            took.append(await mover.move())
            await asyncio.sleep(max(0.0, pause - (time.perf_counter() - began)))

    await asyncio.gather(*(go(mover, number) for number, mover in enumerate(movers)))
    for mover in movers:
        await mover.close()
    return took
