"""OpenAI's responses API over runs: `/v1/responses`."""
