"""A process that serves a GGUF file as an OpenAI-compatible server on loopback, until its input is closed.

It imports nothing but llama.cpp, so that a crash of its native code, or the memory of a model, ends no server.
"""

import json
import os
import sys
from typing import Any

CONTEXT_TOKENS = 8192
"""The longest prompt with its reply. What a model was trained for may be sixteen times as long, and its memory too."""
BATCH_TOKENS = 2048
"""The longest text that is embedded or reranked."""


def serve(path: str, kind: str, key: str) -> str:
    """Start the server of the file, whose requests must carry the key; `kind` is chat, embedding or reranking.

    Returns its address, such as http://127.0.0.1:40123.

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
        threads.poll = (
            0  # threads that spin while they wait would hold up every other process of a busy machine
        )
    if kind == "chat":
        params.n_ctx = CONTEXT_TOKENS
    else:
        params.embedding = True
        params.n_batch = params.n_ubatch = BATCH_TOKENS
    if kind == "reranking":
        params.pooling_type = llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    server = Server(params)
    if kind == "embedding" and "error" in server.handle_embeddings({"input": "a"}):
        # The file says nothing of how vectors of tokens become one of the text: the mean is the usual way.
        params.pooling_type = llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        server = Server(params)
    _running.append(server)
    return str(server.listening_address)


_running: list[Any] = []
"""The server, which would end with its last reference."""


def main() -> None:
    """Read the key from the first line of the input, and reply with the address, or with what failed, on one line."""
    key = sys.stdin.readline().strip()
    try:
        reply = {"address": serve(sys.argv[1], sys.argv[2], key)}
    except ImportError:
        reply = {"missing": "xllamacpp"}
    except Exception as error:  # whatever native code reports
        reply = {"error": str(error)}
    print(json.dumps(reply), flush=True)  # noqa: T201  # the reply of this process
    sys.stdin.read()  # until whoever started it closes the pipe, or ends
    os._exit(0)  # threads of native code would hold up an orderly exit


if __name__ == "__main__":
    main()
