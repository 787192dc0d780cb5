"""A process that asks by the method deep, approves the plan and researches it: folder, model server, sub-questions."""

import sys
import time
from pathlib import Path

from core.runtime.registry import RunRegistry
from tests.methods.test_deep import DEEP, QUESTION, connected


def main() -> None:
    folder, base_url, *sub_questions = sys.argv[1:]
    runs = RunRegistry(connected(Path(folder), base_url))
    run_id = runs.start(QUESTION, DEEP)
    print(run_id, flush=True)
    while (run := runs.get(run_id)) is None or not run.waits_for_approval:
        time.sleep(0.01)
    runs.approve_plan(run_id, sub_questions)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
