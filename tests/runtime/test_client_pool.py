"""Clients are shared, bounded in number, and closed once nobody uses them."""

import asyncio
import gc
from collections.abc import Callable

import pytest

from core.runtime.wiring.client_pool import ClientPool

pytestmark = pytest.mark.slow


class Connection:
    closed = 0

    async def aclose(self) -> None:
        self.closed += 1


class Client:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection


def connecting(connection: Connection) -> Callable[[], tuple[Client, Connection]]:
    return lambda: (Client(connection), connection)


async def _settled() -> None:
    gc.collect()
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_client_is_shared_by_its_key() -> None:
    pool = ClientPool[Client](2)
    first = pool.get(("a",), connecting(Connection()))
    assert pool.get(("a",), connecting(Connection())) is first


async def test_the_least_recently_used_client_is_closed() -> None:
    pool = ClientPool[Client](2)
    connections = [Connection() for _ in range(3)]
    for name, connection in zip("abac", [*connections[:2], connections[0], connections[2]], strict=True):
        pool.get((name,), connecting(connection))
    await _settled()
    assert [one.closed for one in connections] == [0, 1, 0]


async def test_evicted_client_in_use_by_a_run_closes_after_it() -> None:
    pool = ClientPool[Client](1)
    connection = Connection()
    in_use = pool.get(("a",), connecting(connection))
    pool.get(("b",), connecting(Connection()))
    await _settled()
    assert connection.closed == 0
    await asyncio.to_thread(lambda: None)
    del in_use
    await _settled()
    assert connection.closed == 1


async def test_closing_the_pool_closes_every_connection_once() -> None:
    pool = ClientPool[Client](1)
    connections = [Connection(), Connection()]
    in_use = pool.get(("a",), connecting(connections[0]))
    pool.get(("b",), connecting(connections[1]))
    await pool.aclose()
    assert [one.closed for one in connections] == [1, 1]
    del in_use
    await _settled()
    assert [one.closed for one in connections] == [1, 1]
