"""The HTTP client of the installed `openai` package."""

import openai

from core.adapters.models.openai_client import sdk_http


def test_client_is_accepted_by_the_package() -> None:
    http = sdk_http()
    with openai.OpenAI(api_key="none", http_client=http.Client(trust_env=False)) as client:
        assert isinstance(client.with_options(timeout=http.Timeout(1.0)).timeout, openai.Timeout)
