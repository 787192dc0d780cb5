"""A language model's server on loopback: `python llama.py WEIGHTS NAME PORT`, until it is ended.

It runs in a virtual environment of its own, which has the runtime and nothing else: a crash of native code ends
this process, and no test.
"""

from __future__ import annotations

import signal
import sys

from xllamacpp import CommonParams, Server  # type: ignore[import-not-found]  # of the other environment


def main(weights: str, name: str, port: int) -> None:
    params = CommonParams()
    params.model.path, params.model_alias, params.port = weights, {name}, port
    params.n_ctx, params.n_parallel = 2048, 1
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = 1
        threads.poll = (
            0  # threads that spin while they wait would stall every other process of a busy machine
        )
    server = Server(params)
    print(server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
