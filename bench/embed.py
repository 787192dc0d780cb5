"""How fast the local embedder is, and how near to the machine's limit: `python -m bench.embed`.

Passages are made up from a seed, of 100 to 500 characters, in calls of the embedder's own batch size. The
limit is what one core reaches in the multiplication of 8-bit matrices of the model's largest shape. Both are counted
in seconds of the processor, so that other work on the machine hardly shows in their ratio. The
work of a passage is counted from its tokens: 2 operations for each weight of the encoder and token, and
4 x width for each pair of tokens in the attention of each of the 6 layers. Padding counts for nothing.
"""

import argparse
import asyncio
import random
import resource
import time

import numpy as np
import onnxruntime
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

from core.adapters.models.local_embedder import MAX_TOKENS, MiniLM
from core.runtime.event_loop import run_async

LAYERS, WIDTH, INNER = 6, 384, 1536
WEIGHTS = LAYERS * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "la",
    "me",
    "ni",
    "or",
    "pa",
    "qui",
    "re",
    "sta",
    "ter",
    "um",
    "ver",
)


def passages(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)

    def word() -> str:
        return "".join(chance.choices(SYLLABLES, k=chance.randint(1, 2)))

    return [" ".join(word() for _ in range(chance.randint(20, 100)))[:500] for _ in range(count)]


def operations(tokens: int) -> float:
    return 2.0 * WEIGHTS * tokens + LAYERS * 4.0 * WIDTH * tokens * tokens


def peak(seconds: float) -> float:
    """Operations on 8-bit integers that ONNX Runtime's matrix product does in a second of one core."""
    shapes = (("left", TensorProto.UINT8, (512, WIDTH)), ("right", TensorProto.INT8, (WIDTH, INNER)))
    inputs = [make_tensor_value_info(name, kind, shape) for name, kind, shape in shapes]
    out = make_tensor_value_info("out", TensorProto.INT32, (512, INNER))
    product = make_graph([make_node("MatMulInteger", ["left", "right"], ["out"])], "product", inputs, [out])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = make_model(product, opset_imports=[make_opsetid("", 17)], ir_version=8).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {"left": np.ones((512, WIDTH), np.uint8), "right": np.ones((WIDTH, INNER), np.int8)}
    rounds = 0
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        session.run(None, given)
        rounds += 1
    return rounds * 2.0 * 512 * INNER * WIDTH / (time.process_time() - begun)


async def embedding(embedder: MiniLM, texts: list[str]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    batches = [texts[at : at + embedder.batch] for at in range(0, len(texts), embedder.batch)]
    begun, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(embedder, batches))
    return time.perf_counter() - begun, time.process_time() - worked


async def main() -> None:
    parser = argparse.ArgumentParser(description="Passages a second of the local embedder.")
    parser.add_argument("--passages", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    texts = passages(arguments.passages)
    embedder = MiniLM()
    begun = time.perf_counter()
    await embedder.warm()
    warm = time.perf_counter() - begun
    counted = embedder.token_counts(texts)
    work = sum(map(operations, counted))
    limits, clocks, worked = [], [], []
    for _ in range(arguments.rounds):  # in turn, so that a busy moment strikes both
        limits.append(peak(1.0))
        clock, cpu = await embedding(embedder, texts)
        clocks.append(clock)
        worked.append(cpu)
    clock, cpu, limit = (float(np.median(values)) for values in (clocks, worked, limits))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"threads                      {embedder.threads}")
    print(f"load and first vector        {warm:.2f} s")
    print(f"tokens a passage             {np.mean(counted):.0f} (at most {MAX_TOKENS})")
    print(f"passages a second            {len(texts) / clock:.1f}")
    print(f"passages a CPU second        {len(texts) / cpu:.1f}")
    print(f"embedder, a CPU second       {work / cpu / 1e9:.1f} G operations")
    print(f"matrix product, a CPU second {limit / 1e9:.1f} G operations")
    print(f"share of the peak            {work / cpu / limit:.0%}")
    print(f"peak memory                  {memory:.0f} MB")


if __name__ == "__main__":
    run_async(main())
