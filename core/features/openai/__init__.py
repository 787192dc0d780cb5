"""OpenQuery as a model for clients of OpenAI's API."""
