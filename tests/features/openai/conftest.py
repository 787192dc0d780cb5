"""The service of the API's tests, for clients of OpenAI's API."""

from tests.features.api.conftest import api, serve, shared_api, visitor

__all__ = ["api", "serve", "shared_api", "visitor"]
