"""A process for `test_processes.py`: it adds documents until it is killed, or until it is done.

Its arguments are a data folder, a collection, and how many documents of how many sentences. On stdout:

    done 3     so many documents are whole in the collection
    ended done the ingest has ended, and how
"""

import asyncio
import sys
from pathlib import Path

from core.config.settings import Settings
from core.features.library.ingests import TaskState, Upload
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine import Engine
from tests.features.library.sample_library import words


def uploads(count: int, sentences: int) -> list[Upload]:
    """The same documents in every process."""
    return [Upload(f"{n}.txt", words(sentences, f"thing {n}").encode()) for n in range(count)]


async def main(folder: str, collection: str, count: int, sentences: int) -> None:
    async with Engine(Settings(data=Path(folder), ollama_url="", workers=1)) as engine:
        ingest = await engine.part(LibraryConnections).library.ingests.add(
            collection, uploads(count, sentences)
        )
        printed = -1
        while ingest.ingest.live:
            complete = ingest.progress.counts[TaskState.DONE]
            if complete != printed:
                print("done", printed := complete, flush=True)
            await asyncio.sleep(0.005)
        print("ended", ingest.progress.state, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
