"""Every case of the table has its outcome, and nothing else was ever called."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core.adapters.web.extraction_pool import ExtractionPool
from tests.hostile.case import Case
from tests.hostile.cases import CASES
from tests.hostile.world import TRAP, calls, faults, fetch_case, readers

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[ExtractionPool]:
    async with readers() as workers:
        await workers.start()
        yield workers


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}: {case.name}")
async def test_each_case_has_its_outcome_and_calls_nobody_else(case: Case, workers: ExtractionPool) -> None:
    outcome = await fetch_case(case, workers)
    assert not faults(case, outcome), outcome


def test_table_is_long_enough_and_names_each_case_once() -> None:
    assert len(CASES) >= 60
    assert len({(case.group, case.name) for case in CASES}) == len(CASES)


async def test_the_audit_sees_every_way_to_connect() -> None:
    """Otherwise a count of 0 would mean nothing."""
    with calls() as called:
        for attempt in (
            lambda: asyncio.open_connection(TRAP, 9),
            lambda: asyncio.to_thread(socket.create_connection, (TRAP, 9), 1),
        ):
            with pytest.raises(OSError):
                await attempt()
    assert called == [(TRAP, 9), (TRAP, 9)]
