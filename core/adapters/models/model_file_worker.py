"""A process that serves a GGUF file as an OpenAI-compatible server on loopback, until its input is closed.

It imports only llama.cpp, so that neither a crash of its native code nor a model's memory ends a server.
"""

import json
import os
import sys
from typing import Any

CONTEXT_TOKENS = 8192
"""The maximum tokens of a prompt with its reply.

Models may be trained for sixteen times as many, with as much memory.
"""
BATCH_TOKENS = 2048
"""The maximum tokens of an embedded or reranked text."""


def serve(path: str, kind: str, key: str) -> str:
    """Start the server of the file, and return its address. An example is http://127.0.0.1:40123.

    Requests must have the `key`. `kind` is chat, embedding or reranking.

    Raises:
        ImportError: without llama.cpp.
        RuntimeError: for a file that it cannot load.
    """
    from xllamacpp import CommonParams, Server, llama_pooling_type

    params: Any = CommonParams()
    params.model.path, params.api_keys, params.port = path, [key], 0
    params.model_alias = {os.path.basename(path)}  # noqa: PTH119  # pathlib would be another import
    params.n_parallel, params.endpoint_metrics, params.ui = 1, True, False
    for threads in (params.cpuparams, params.cpuparams_batch):
        # Each thread waits for the slowest, and pages need cores too.
        threads.n_threads = max(1, (os.cpu_count() or 2) // 2)
        threads.poll = 0  # threads that spin while waiting would slow every other process of a busy machine
    if kind == "chat":
        params.n_ctx = CONTEXT_TOKENS
    else:
        params.embedding = True
        params.n_batch = params.n_ubatch = BATCH_TOKENS
    if kind == "reranking":
        params.pooling_type = llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    server = Server(params)
    if kind == "embedding" and "error" in server.handle_embeddings({"input": "a"}):
        # The file does not say how token vectors are combined into the text's. The mean is usual.
        params.pooling_type = llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        server = Server(params)
    _running.append(server)
    return str(server.listening_address)


_running: list[Any] = []
"""Keeps the server alive, which ends with its last reference."""


def main() -> None:
    """Read the key from the input's first line and reply. The reply is one line with the address or the error."""
    key = sys.stdin.readline().strip()
    try:
        reply = {"address": serve(sys.argv[1], sys.argv[2], key)}
    except ImportError:
        reply = {"missing": "xllamacpp"}
    except Exception as error:  # native code raises any type
        reply = {"error": str(error)}
    print(json.dumps(reply), flush=True)  # noqa: T201  # the reply of this process
    sys.stdin.read()  # until the parent closes the pipe, or ends
    os._exit(0)  # threads of native code would delay an orderly exit


if __name__ == "__main__":
    main()
