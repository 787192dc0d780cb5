"""A small web on loopback: a SearXNG, and pages about tide mills, three of which carry one text."""

import json
from dataclasses import replace
from pathlib import Path

from core.config.knobs import Knobs, RankKnobs
from core.run.events import Record
from tests.seeding import record_run
from tests.services.loopback import Loopback, Reply, Request, html_reply, json_reply
from tests.services.openai_server import MODEL, FakeOpenAI, streamed

QUESTION = "How did tide mills store the power of the sea?"
QUERIES = ("tide mill pond", "tide mill history")
ANSWER = (
    "A tide mill kept the flood in a pond behind a gate and let it out over a wheel at ebb [1]. "
    "One mill ground 4711 sacks on a good day [2]. Most of them are museums now."
)
DROPPED = "Gulls nest on the roof of the old granary and quarrel from April to July."
BOILERPLATE = "<nav><ul><li>All newsletters of the archive</li><li>Opening hours</li></ul></nav>"
NOWHERE = "The miller's daughter married a clockmaker from the mountains in a snowstorm."

_REPORT = (
    "A tide mill turns the rise and fall of the sea into work. At flood the water pushes a hinged gate open and "
    "fills a pond behind a dam. When the tide turns, the weight of the pond closes the gate by itself.",
    "The miller then waits until the level outside has sunk far enough. He opens the sluice, and the stored "
    "water runs out over an undershot wheel. Twice a day there are about five hours of grinding.",
    "Since the tide comes fifty minutes later each day, the miller's working hours wandered around the clock.",
)
_PAGES = {
    1: ("How a tide mill works", _REPORT),
    2: ("Tide mills explained", (*_REPORT, "This report was sent to all newspapers of the coast.")),
    3: ("Power from the flood", _REPORT),
    4: (
        "Records of early mills",
        (
            "Monks built tide mills along the estuary in the twelfth century. A charter of 1170 names a mill with "
            "two wheels and a pond of nine acres, which belonged to the abbey.",
            "Later records count the sacks that were ground there, and the days that were lost to storms and ice.",
        ),
    ),
    5: (
        "Dams, gates and wheels",
        (
            "The pond of a tide mill has to hold water for hours, so its dam was built of clay between two rows "
            "of oak piles. Leaks were closed with moss.",
            "The gate hangs from its upper edge. It needs no hand: the sea opens it and the pond shuts it again. "
            "The larger the pond, the more power it stores.",
        ),
    ),
    6: (
        "Birds of the harbour",
        (
            f"{DROPPED} Cormorants dry their wings on the piles in front of it, and swallows live below the eaves.",
            "A warden counts them every spring and writes the numbers on a board beside the path for visitors.",
        ),
    ),
    7: (
        "What became of the mills",
        (
            "Steam and cheap rail freight ended the trade. The last tide mill on this coast stopped grinding when "
            "its shaft broke, and the pond is a marina today.",
            "Three mills were restored and show visitors on a few days of the month how the wheel turns at ebb.",
        ),
    ),
}
_GONE = 8
_FOUND = {QUERIES[0]: (1, 5, 2, 6, _GONE), QUERIES[1]: (4, 1, 3, 6), "mills as museums": (7, 1)}


class SmallWeb(Loopback):
    """`requests` tells what it was asked for."""

    def __init__(self) -> None:
        super().__init__(self._reply)

    def address(self, number: int) -> str:
        return f"{self.url}/page/{number}"

    @property
    def gone(self) -> str:
        """A page that is found and cannot be read."""
        return self.address(_GONE)

    async def _reply(self, request: Request) -> Reply:
        if request.path == "/search":
            rows = [
                {"url": self.address(number), "title": self._title(number), "content": "About tide mills."}
                for number in _FOUND.get(request.query.get("q", ""), ())
            ]
            return json_reply({"results": rows})
        number = int(request.path.removeprefix("/page/")) if request.path.startswith("/page/") else 0
        if number not in _PAGES:
            return html_reply("<html><body>There is nothing here.</body></html>", status=404)
        title, paragraphs = _PAGES[number]
        body = "".join(f"<p>{text}</p>" for text in paragraphs)
        around = BOILERPLATE if number == 4 else ""
        page = html_reply(
            f"<html lang='en'><head><title>{title}</title></head>"
            f"<body>{around}<article><h1>{title}</h1>{body}</article></body></html>"
        )
        # A page that says nothing of caching is fetched again after five minutes, which a slow test run may take.
        return replace(page, headers={"Cache-Control": "max-age=86400"})

    def _title(self, number: int) -> str:
        return _PAGES[number][0] if number in _PAGES else "A page that is gone"


def record_small_web(folder: Path, web: SmallWeb, author: FakeOpenAI) -> tuple[Record, ...]:
    """Ask `QUESTION` about the small web, with `ANSWER` as its answer: all that happened."""
    author.chats += [streamed(json.dumps(QUERIES)), streamed(ANSWER)]
    return record_run(
        folder,
        QUESTION,
        Knobs(rank=RankKnobs(per_cluster=0)),  # the pages show what a limit would change
        searxng_url=web.url,
        fetch_allowlist=f"127.0.0.1:{web.port}",
        base_url=author.base_url,
        chat_model=MODEL,
    )
