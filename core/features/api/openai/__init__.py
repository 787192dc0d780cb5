"""The part of the API that is compatible with clients of OpenAI: chat completions and the list of models."""
