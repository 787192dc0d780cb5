"""A process for `test_resuming.py`: an agent answers a question until it is killed: `ask_until_killed FOLDER BASE_URL ALLOWED`."""

import sys
from pathlib import Path

from core.config.access import Access
from core.config.settings import Settings
from core.runtime.registry import RunRegistry
from tests.methods.agent_runs import KNOBS, QUESTION
from tests.runtime.waiting import finished


def main(folder: str, base_url: str, allowed: str) -> None:
    runs = RunRegistry(Settings(data=Path(folder), ollama_url="", fetch_allowlist=allowed, workers=1))
    run_id = runs.start(QUESTION, KNOBS, Access(base_url=base_url, chat_model="fake-chat"))
    print("began", run_id, flush=True)
    finished(runs, run_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
