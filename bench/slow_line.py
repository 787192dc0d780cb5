"""A line between a browser and a server that is long and narrow. Chromium's own throttling leaves websockets as fast as they are."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def slow_line(port: int, *, delay: float, rate: float) -> Iterator[int]:
    """A port on loopback that leads to `port`.

    Args:
        port: where the server listens.
        delay: seconds that each byte takes in each direction.
        rate: bytes a second, of all connections together, in each direction.
    """
    loop = asyncio.new_event_loop()
    free = {"up": 0.0, "down": 0.0}

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str) -> None:
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                at, data = await late.get()
                await asyncio.sleep(at - loop.time())
                if not data or writer.is_closing():
                    writer.close()
                    return
                writer.write(data)

        task = asyncio.create_task(deliver())
        try:
            while data := await reader.read(4096):
                free[way] = max(free[way], loop.time()) + len(data) / rate
                late.put_nowait((free[way] + delay, data))
                await asyncio.sleep(free[way] - loop.time())
        except OSError:
            pass
        late.put_nowait((loop.time() + delay, b""))
        await task

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # by `hang_up`; asyncio would print it
            answers, asks = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(
                pass_on(reader, asks, "up"), pass_on(answers, writer, "down"), return_exceptions=True
            )

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(connect, "127.0.0.1", 0)

    async def hang_up(server: asyncio.Server) -> None:
        server.close()
        await asyncio.sleep(0)  # a connection that was just made has its task
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
        yield int(server.sockets[0].getsockname()[1])
    finally:
        asyncio.run_coroutine_threadsafe(hang_up(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
