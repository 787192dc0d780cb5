import openai
import pytest

from tests.services.small_model import SmallModel

pytestmark = [pytest.mark.model, pytest.mark.thorough]


async def test_the_small_model_streams_within_its_token_limit(small_model: SmallModel):
    async with openai.AsyncOpenAI(
        base_url=small_model.base_url, api_key=small_model.key.get_secret_value(), max_retries=0
    ) as client:
        stream = await client.chat.completions.create(
            model=small_model.name,
            messages=[{"role": "user", "content": "Count from one to a hundred in words."}],
            max_tokens=12,
            stream=True,
            extra_body={"ignore_eos": True},  # else the model may end by itself before the limit
        )
        chunks = [chunk async for chunk in stream]
    texts = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert 1 < len(texts) <= 12
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "length"
