"""A chat model that is silent or fails, on the command line."""

import asyncio
import os
from pathlib import Path

import pytest

from core.analysis.run_activity import SilentModel
from core.cli.silent_model import SilenceWatch
from core.model import Phase
from core.run import events as e
from core.run.state import Run
from tests.services.command_line import openquery
from tests.services.openai_server import FakeOpenAI, failure

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"


def silent_run() -> tuple[e.Record, Run]:
    run, record = Run(), e.Record(0.0, e.RunDone())
    for record in (
        e.Record(0.0, e.PhaseStarted(Phase.ANSWER)),
        e.Record(0.0, e.ModelAsked(Phase.ANSWER, "writer@h", silence=60.0)),
        e.Record(14.0, e.Note(Phase.EMBED, "Passages are embedded meanwhile.")),
    ):
        run = run.apply(record)
    return record, run


async def test_enter_at_a_terminal_quotes_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: asyncio.Queue[tuple[SilentModel | None, bool]] = asyncio.Queue()
    watch = SilenceWatch(lambda *silent: shown.put_nowait(silent))
    person, terminal = os.openpty()
    with os.fdopen(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        watch.listen(*silent_run())
        watching = asyncio.ensure_future(watch.watch())
        silent, reads_enter = await asyncio.wait_for(shown.get(), 30)
        assert silent is not None and reads_enter
        assert "nothing for 14 s, gives up at 60 s" in silent.text
        os.write(person, b"\n")
        await asyncio.wait_for(watch.quote.wait(), 30)
        watch.listen(e.Record(20.0, e.RunDone()), Run())
        while (await asyncio.wait_for(shown.get(), 30))[0]:
            pass
        watching.cancel()
    os.close(person)


async def test_without_a_terminal_nothing_is_read() -> None:
    shown: asyncio.Queue[tuple[SilentModel | None, bool]] = asyncio.Queue()
    watch = SilenceWatch(lambda *silent: shown.put_nowait(silent))
    watch.listen(*silent_run())
    watching = asyncio.ensure_future(watch.watch())
    silent, reads_enter = await asyncio.wait_for(shown.get(), 30)
    assert silent is not None and not reads_enter
    watching.cancel()


def test_failed_model_is_followed_by_a_command_that_quotes(
    warm_folder: Path, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(failure(401))
    model = {
        "OPENQUERY_BASE_URL": fake_openai.base_url,
        "OPENQUERY_CHAT_MODEL": "m",
        "OPENAI_API_KEY": "sk-1",
    }
    asked = openquery(warm_folder, "ask", QUESTION, "--search", "demo", "-q", "1", **model)
    assert asked.code == 6
    *_, offer, stored = asked.err.splitlines()
    run_id = stored.rpartition(": ")[2]
    assert offer.endswith(f"openquery runs quote {run_id}")
    quoted = openquery(warm_folder, "runs", "quote", run_id, **model)
    assert quoted.code == 0
    assert "“" in quoted.out and "[1]" in quoted.out
    assert len(fake_openai.chat_requests) == 1
    assert "extractive" in openquery(warm_folder, "runs", "show", run_id, **model).err
