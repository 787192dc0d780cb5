"""Browser sessions without a browser: Streamlit's own messages over a real websocket.

A visitor opens the Ask page, presses its buttons, follows its timers as Streamlit's client does, and
keeps what the page showed. Forty of them cost less than one Chromium.
"""

import asyncio
import re
import socket
from urllib.parse import parse_qs, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

_WIDGET = re.compile(r'id: "(\$\$ID-[0-9a-f]+-(\w+))"')
_TURN = re.compile(rb"queued(?:, (\d+) ahead)?")
LITTLE = 4096
"""Bytes that a visitor who looks away lets its machine take in."""
UNREAD = 60
"""Requests that a visitor who looks away sends still: what waits for it then does not grow with the test's length."""


class Visitor:
    """One browser session. To be used from one event loop."""

    receives = LITTLE
    """Bytes that its machine takes in before the server has to wait."""
    compression: str | None = None

    def __init__(self, url: str) -> None:
        self.url = url
        self.turns: list[int] = []
        """How many were said to be before it, each time the page said so."""
        self.exceptions: list[str] = []
        self.bytes = 0
        self.run = ""
        self._query = ""
        self._widgets: dict[str, str] = {}
        self._fragments: dict[str, str] = {}
        self._values: dict[str, bool | str | float | list[str]] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._drawn, self._polling, self._answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._queued, self._searches = asyncio.Event(), asyncio.Event()
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._unread: int | None = None
        self._last: list[str] = []
        self._requests = 0

    @property
    def done(self) -> bool:
        """Whether the page has drawn the run that has ended."""
        return self._answered.is_set()

    def __str__(self) -> str:
        """What a test that waited in vain says about the visitor."""
        return (
            f"{self.run or 'no run'}, last heard {self._last}, {len(self._timers)} timers, "
            f"{self._requests} requests since it asked, turns {self.turns}"
        )

    async def open(self) -> None:
        """The first drawing of the page, to its end."""
        host, port = urlsplit(self.url).netloc.split(":")
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receives)
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, (host, int(port)))
        self._socket = await connect(
            f"ws://{host}:{port}/_stcore/stream",
            sock=line,
            subprotocols=["streamlit"],  # type: ignore[list-item]
            max_size=None,
            compression=self.compression,
            open_timeout=60,
            ping_interval=None,
        )
        self._reading = asyncio.create_task(self._read(self._socket))
        await self._send()
        await self._until(self._drawn)

    async def ask(self, question: str) -> None:
        """Open the settings of the search, choose the demo library, type, and press the button."""
        self._values = {"group_search": True}
        await self._send(fragment=self._fragments["group_search"])
        await self._until(self._searches)
        self._values |= {"question": question, "knob_search_backend": ["demo"]}
        await self._send(press="go")

    async def answered(self) -> None:
        """Wait until the page has drawn the run that has ended."""
        await self._until(self._answered)

    async def polling(self) -> None:
        """Wait until the page has its timers: from then on it asks by itself what is new."""
        await self._until(self._polling)

    async def queued(self) -> None:
        """Wait until the page has said that the run is in the queue."""
        await self._until(self._queued)

    def look_away(self) -> None:
        """Keep the connection, take nothing more from it, and go on asking what is new for a while."""
        assert self._reading is not None
        self._reading.cancel()
        self._unread = UNREAD

    async def close(self) -> None:
        for task in (*self._timers.values(), self._reading):
            if task is not None:
                task.cancel()
        if self._socket is not None:
            self._socket.transport.abort()

    async def _until(self, event: asyncio.Event) -> None:
        assert self._reading is not None
        waiting = asyncio.create_task(event.wait())
        await asyncio.wait((waiting, self._reading), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            self._reading.result()
            raise ConnectionError("the server hung up")

    async def _send(self, *, press: str = "", fragment: str = "", timed: bool = False) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self._query
        state.context_info.timezone = "UTC"
        state.context_info.url = f"{self.url}/"
        state.fragment_id = fragment
        state.is_auto_rerun = timed
        for name, value in self._values.items():
            widget = state.widget_states.widgets.add(id=self._widgets[name])
            if isinstance(value, bool):
                widget.bool_value = value
            elif isinstance(value, str):
                widget.string_value = value
            elif isinstance(value, float):
                widget.double_array_value.data.append(value)
            else:
                widget.string_array_value.data.extend(value)
        if press:
            state.widget_states.widgets.add(id=self._widgets[press], trigger_value=True)
        self._requests += 1
        assert self._socket is not None
        await self._socket.send(message.SerializeToString())

    async def _tick(self, fragment: str, seconds: float) -> None:
        while self._unread is None or self._unread > 0:
            await asyncio.sleep(seconds)
            if self._unread is not None:
                self._unread -= 1
            await self._send(fragment=fragment, timed=True)

    async def _read(self, line: ClientConnection) -> None:
        async for data in line:
            assert isinstance(data, bytes)
            self.bytes += len(data)
            message = ForwardMsg()
            message.ParseFromString(data)
            kind = message.WhichOneof("type")
            self._last = [*self._last[-4:], str(kind)]
            match kind:
                case "new_session" if not message.metadata.run.fragment_ids:
                    for timer in self._timers.values():
                        timer.cancel()
                    self._timers.clear()
                case "auto_rerun":
                    timer = message.auto_rerun
                    if timer.fragment_id not in self._timers:
                        tick = self._tick(timer.fragment_id, timer.interval)
                        self._timers[timer.fragment_id] = asyncio.create_task(tick)
                        self._polling.set()
                case "page_info_changed":
                    self._query = message.page_info_changed.query_string
                    self.run = parse_qs(self._query).get("run", [""])[0]
                case "delta":
                    self._see(data, message.delta)
                case "script_finished":
                    self._drawn.set()
                    if self.run and not self._timers:
                        self._answered.set()

    def _see(self, data: bytes, delta: Delta) -> None:
        if b"$$ID-" in data:  # to write a message as text takes longer than all else that a visitor does
            for number, name in _WIDGET.findall(str(delta)):
                self._widgets[name], self._fragments[name] = number, delta.fragment_id
            if "knob_search_backend" in self._widgets:
                self._searches.set()
        if turn := _TURN.search(data):
            self.turns.append(int(turn[1] or 0))
            self._queued.set()
        if delta.new_element.HasField("exception"):
            self.exceptions.append(str(delta)[:2000])
