"""Processes for `tests/alone/test_kill.py` that work until they are killed.

Every library is imported once; for each line on stdin, which names a data folder and limits, a fork begins
that asks short questions of the demo library, one after the other. On stdout, fork by fork:

    pid 123            it has begun
    kept <run> <n>     n events of the run are on disk
    ended <run> <s>    the run has ended with that status, and is on disk; then what trouble the store has
"""

import os
import resource
import signal
import sys
import time
from pathlib import Path

import core.pipeline  # noqa: F401 - everything that a run imports, so that forks need not
from core.config.knobs import Knobs, PlanKnobs, SearchKnobs
from core.config.settings import Settings
from core.run.events import Record
from core.run.state import Run
from core.runtime.registry import RunRegistry

QUESTIONS = ("How does chunk overlap affect retrieval?", "What does BM25 reward?", "Why normalise vectors?")
KNOBS = Knobs(search=SearchKnobs(backend="demo", results=3), plan=PlanKnobs(queries=1))


def say(*words: object) -> None:
    """One line in one piece, so that two processes at once do not mix theirs."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def ask(folder: Path, times: int) -> None:
    runs = RunRegistry(Settings(data=folder, ollama_url="", workers=1))
    told: dict[str, int] = {}

    def count(record: Record | None, run: Run) -> None:
        if record:
            told[run.id] = told.get(run.id, 0) + 1

    runs.observers = (count,)
    for number in range(times):
        run_id = runs.start(QUESTIONS[number % len(QUESTIONS)], KNOBS)
        while (run := runs.get(run_id)) is None or run.live:
            seen = told.get(run_id, 0)
            runs.store.flush()
            say("kept", run_id, seen)
            time.sleep(0.001)
        runs.store.flush()
        say("ended", run_id, run.status, runs.store.problem)
    runs.close()


def main() -> None:
    for line in sys.stdin:
        folder, times, bytes_at_most = line.rstrip("\n").split("\t")
        pid = os.fork()
        if not pid:
            if int(bytes_at_most):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(bytes_at_most), int(bytes_at_most)))
            say("pid", os.getpid())
            ask(Path(folder), int(times))
            os._exit(0)
        if folder.endswith("together"):
            continue  # the next one begins beside it
        os.waitpid(pid, 0)
        say("gone", pid)


if __name__ == "__main__":
    main()
