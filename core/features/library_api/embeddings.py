"""`POST /v1/embeddings`: vectors of the embedder in use, for programs that fill a vector database themselves."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from core.config.permissions import Action
from core.features.api.service import CallerOf, ServiceOf, SessionOf
from core.features.api.strict_json import StrictRoute
from core.model.arrays import Floats
from core.ports import Embed
from core.serving.problems import Fault, Refusal, documented

router = APIRouter(route_class=StrictRoute, tags=["OpenAI-compatible"])

MODEL = "openquery"
"""The name of the current embedder, whichever model it is."""
MOST_TEXTS = 2048
"""The most texts of a request, as in OpenAI's API."""


class EmbeddingRequest(BaseModel):
    """The body of `POST /v1/embeddings`. Fields of OpenAI's API that ask for nothing here are ignored."""

    model_config = ConfigDict(extra="ignore")

    input: (
        Annotated[str, Field(min_length=1)]
        | Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=MOST_TEXTS)]
    )
    """A text or texts. Tokens as numbers are refused, because each model has its own."""
    model: Annotated[str, Field(max_length=200)] = MODEL
    """`openquery`, or the name of the embedder in use. Another one is refused."""
    encoding_format: Literal["float", "base64"] = "float"
    """`base64` encodes float32 numbers in little-endian order."""
    dimensions: int | None = None
    """The number of dimensions. Only the number of the embedder is accepted."""

    @field_validator("input", mode="before")
    @classmethod
    def _refuse_tokens(cls, value: Any) -> Any:
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, int | list):
            raise PydanticCustomError(
                "tokens",
                "Tokens as numbers are not read, because each model has its own. Send texts; OpenAIEmbeddings of "
                "LangChain does with check_embedding_ctx_length=False.",
            )
        return value


class EmbeddingView(BaseModel):
    """The unit vector of a text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """The tokens that the embedder's server counted. The embedder inside OpenQuery counts none."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(BaseModel):
    """The reply of `POST /v1/embeddings`."""

    object: Literal["list"] = "list"
    data: list[EmbeddingView]
    model: str
    """The embedder's identity, which collections store with their vectors."""
    usage: EmbeddingUsage


@router.post("/v1/embeddings", responses=documented(403, 404, 413, 429, 502, 503))
async def create_embeddings(
    body: EmbeddingRequest, service: ServiceOf, caller: CallerOf, session: SessionOf
) -> EmbeddingList:
    """Embed texts with the embedder of the library's collections."""
    caller.require(Action.READ_LIBRARY)
    runs = service.runs
    access = replace(session.access, quota_subject=caller.name)
    embed = (await asyncio.to_thread(runs.call, runs.engine.models.embedder(access))).embed
    _check_model(body.model, embed.identity)
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors, tokens = await asyncio.to_thread(runs.call, _embedded(embed, texts))
    if body.dimensions not in (None, vectors.shape[1]):
        fault = Fault(field="dimensions", message=f"The embedder has {vectors.shape[1]}.")
        raise Refusal(
            422, "The vectors cannot be made shorter.", errors=[fault], code="unsupported_parameter"
        )
    return EmbeddingList(
        data=[
            EmbeddingView(index=index, embedding=_encoded(vector, body.encoding_format))
            for index, vector in enumerate(vectors)
        ],
        model=embed.identity,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


async def _embedded(embed: Embed, texts: Sequence[str]) -> tuple[Floats, int]:
    """Return the vectors, shape (len(texts), dimensions), and the tokens that the server counted."""
    done = [await embed(texts[start : start + embed.batch]) for start in range(0, len(texts), embed.batch)]
    tokens = sum(part.usage.tokens.prompt_tokens for part in done if part.usage)
    return np.concatenate([part.vectors for part in done]), tokens


def _check_model(name: str, identity: str) -> None:
    """Refuse the name of another embedder. Raises Refusal."""
    if name not in (MODEL, identity, identity.partition("@")[0]):
        fault = Fault(field="model", message=f"The embedder in use is {identity}. {MODEL} stands for it.")
        raise Refusal(404, "There is no such embedder here.", errors=[fault], code="model_not_found")


def _encoded(vector: Floats, encoding: str) -> Any:
    return (
        base64.b64encode(vector.astype("<f4").tobytes()).decode() if encoding == "base64" else vector.tolist()
    )
