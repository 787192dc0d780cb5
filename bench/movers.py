"""People who move a slider on the Research page: `python -m bench.movers`.

Without a browser, in Streamlit's own messages over websockets: CPU of the server and bytes of one move, at about 60 and
3,200 passages, with the groups of the sidebar closed and open; then the seconds of the moves of many people. In Chromium,
over a slow line: from a key on the slider to the new number and to the page at rest, until a visitor can type a question,
and from asking it to the first words of the answer.
"""

import argparse
import asyncio
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect, sync_playwright
from streamlit.proto.Delta_pb2 import Delta

from bench.browsing import PATIENCE, connected, made, new_page, pressed
from bench.measure import cpu_of
from bench.openquery import knobs
from bench.schedule import Seed, question
from bench.slow_line import slow_line
from bench.world import ANSWER, World
from tests.alone.visitors import Visitor
from tests.browser.conftest import CHROMIUM, FLAGS, App
from tests.browser.server import Site

GROUPS = ("plan", "search", "read", "embed", "answer")
DELAY, RATE = 0.25, 250_000
"""Seconds in each direction, and bytes a second: 500 ms there and back, and 2 Mbit/s."""
FEWEST, MOST = 6, 9
"""Passages in the context, between which the slider goes to and fro."""


class Mover(Visitor):
    """A session on a finished run that moves the slider of top-k."""

    receives = 1_000_000
    compression = "deflate"

    def __init__(self, url: str, run: str) -> None:
        super().__init__(url)
        self._query = f"run={run}"
        self._table_drawn = False
        self._moves = count(1)

    async def open_groups(self) -> None:
        """Open all groups of the sidebar, as somebody does who tries everything."""
        for group in GROUPS:
            await self._finish(f"group_{group}", True)

    @property
    def wire_bytes(self) -> int:
        """Bytes received over TCP, which are compressed where the server agrees to."""
        assert self._socket is not None
        line = self._socket.transport.get_extra_info("socket")
        (received,) = struct.unpack_from("Q", line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 128)
        return int(received)

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
        self._table_drawn |= delta.new_element.WhichOneof("type") == "dataframe"
        super()._see(data, delta)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a move costs."""

    cpu: float
    """Milliseconds of the server."""
    sent: float
    """kB of messages."""
    wire: float
    """kB over TCP."""


async def cost(site: Site, run: str, *, opened: bool, moves: int = 40) -> Cost:
    """The mean cost of so many moves of one person."""
    mover = Mover(site.url, run)
    await mover.open()
    if opened:
        await mover.open_groups()
    for _ in range(4):  # what is made once
        await mover.move()
    cpu, sent, wire = cpu_of(site.pid), mover.bytes, mover.wire_bytes
    for _ in range(moves):
        await mover.move()
    made = Cost(
        1000 * (cpu_of(site.pid) - cpu) / moves,
        (mover.bytes - sent) / 1000 / moves,
        (mover.wire_bytes - wire) / 1000 / moves,
    )
    await mover.close()
    return made


async def moves(
    url: str,
    run: str,
    people: int,
    seconds: float,
    pause: float,
    arrived: Callable[[], object] = lambda: None,
) -> list[float]:
    """Return the seconds of each move of so many people, who each wait `pause` seconds between two moves.

    `arrived` is called when all have opened the page.
    """
    movers = [Mover(url, run) for _ in range(people)]
    for mover in movers:  # one after the other: their arrival is not what is measured
        await mover.open()
    arrived()
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


def slow(browser: Browser, site: Site, run: str) -> list[tuple[float, float]]:
    """Milliseconds from a key on the slider to the new number, and to the page at rest, over a slow line."""
    with slow_line(urlsplit(site.url).port or 0, delay=DELAY, rate=RATE) as port:
        page = new_page(browser)
        app = App(page, site)
        page.goto(f"http://127.0.0.1:{port}/?run={run}")
        shown = '.oq-step[data-phase="rank"] .count'
        expect(page.locator(shown)).not_to_be_empty(timeout=PATIENCE)
        expect(app.keyed("map").locator(".scatterlayer").first).to_be_visible(timeout=PATIENCE)
        app.at_rest()
        keys = ("ArrowRight", "ArrowLeft") * 4
        took = [pressed(app, app.slider("rank_top_k"), key, shown) for key in keys]
        page.context.close()
    return took


def visit(browser: Browser, url: str, asked: str) -> tuple[float, float, float]:
    """Seconds until a visitor can type a question, for the first time and with the browser's cache; and from asking it to
    the first words of the answer on the screen."""
    page = new_page(browser)
    box = page.locator(".st-key-question input")
    loads = []
    for _ in range(2):
        began = time.perf_counter()
        page.goto(url, wait_until="commit")
        box.press_sequentially("H")
        loads.append(time.perf_counter() - began)
    box.fill(asked)
    began = time.perf_counter()
    box.press("Enter")
    page.locator(".st-key-answer_body").filter(has_text=ANSWER[:10]).wait_for()
    words = time.perf_counter() - began
    page.context.close()
    return loads[0], loads[1], words


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--visits", type=int, default=3, help="visits over each line")
    parser.add_argument("--pause", type=float, default=3, help="seconds between two moves of a person")
    args = parser.parse_args()
    with (
        World(Seed(1, 10, 11, real=False, runs=2, repeats=0)) as world,
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        small = made(world, folder, question(1), knobs(1, 2, extractor="fast"))
        large = made(world, folder, question(0), knobs(10, 11, extractor="fast"))
        with connected(world, folder) as site:
            print("| passages | groups | CPU: ms | sent: kB | over TCP: kB |\n|---|---|---|---|---|")
            for run, passages in ((small, "about 60"), (large, "about 3,200")):
                for opened in (False, True):
                    one = asyncio.run(cost(site, run, opened=opened))
                    groups = "open" if opened else "closed"
                    print(f"| {passages} | {groups} | {one.cpu:.0f} | {one.sent:.1f} | {one.wire:.1f} |")
            took = asyncio.run(moves(site.url, small, args.people, args.seconds, args.pause))
            print(
                f"\n{args.people} people, a move every {args.pause:g} s: {len(took)} moves, "
                f"p50 {median(took):.2f} s, p95 {quantiles(took, n=20)[-1]:.2f} s\n"
            )
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                for run, passages in ((small, "about 60"), (large, "about 3,200")):
                    shown, rest = zip(*slow(browser, site, run), strict=True)
                    print(
                        f"{passages} passages, 500 ms and 2 Mbit/s: number {median(shown):.0f} ms, "
                        f"page at rest {median(rest):.0f} ms"
                    )
                print(
                    "\n| line | question field, first visit: s | with the cache: s | first words: s |\n|---|---|---|---|"
                )
                with slow_line(urlsplit(site.url).port or 0, delay=DELAY, rate=RATE) as port:
                    for _ in range(args.visits):  # in turns
                        for line, number in (
                            ("loopback", urlsplit(site.url).port),
                            ("500 ms and 2 Mbit/s", port),
                        ):
                            seconds = visit(browser, f"http://127.0.0.1:{number}", question(1))
                            print(f"| {line} |" + "".join(f" {value:.1f} |" for value in seconds), flush=True)
                browser.close()


if __name__ == "__main__":
    main()
