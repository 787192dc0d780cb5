"""Who asks: a visitor's own servers and keys, which of them a shared server admits, and whose quotas count."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from core.config.permissions import Action, Caller, Role
from core.config.settings import LOCAL, OPENAI, OPENROUTER, Settings
from core.errors import BadInput


class SessionDocuments(Protocol):
    """Documents of one session, held in memory: `core.features.library.session_files` searches them."""

    def clear(self) -> None:
        """Delete all of them. May be called from any thread."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The servers, keys, models, files and quotas of one visitor: in memory for the length of a session, never stored."""

    api_key: SecretStr | None = None
    base_url: str = ""
    chat_model: str = ""
    embedding_model: str = ""
    """Replaces the operator's embedding model: `local`, or a model of the embedding server."""
    searxng_url: str = ""
    searxng_username: str = ""
    searxng_password: SecretStr | None = None
    qdrant_url: str = ""
    qdrant_api_key: SecretStr | None = None
    files: SessionDocuments | None = None
    """Documents of this visitor alone, which questions find under the name `session`."""
    quota_subject: str = ""
    """The subject of the quotas for runs and model calls, or "" without quotas."""

    @property
    def provided(self) -> list[str]:
        """Return the names of the visitor's own services, without keys and addresses."""
        own = {
            "api_key": self.api_key,
            "base_url": self.base_url,
            "searxng": self.searxng_url,
            "qdrant": self.qdrant_url,
        }
        return [name for name, value in own.items() if value]


NO_ACCESS = Access()
"""A visitor without servers, keys or quotas: the operator's settings apply."""


class AccessPolicy:
    """AccessPolicy rules for visitors' own servers and models. Every method raises `BadInput` when it refuses."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known_only = not Caller.of(Role.VISITOR, "", shared=settings.shared).may(Action.NAME_SERVERS)

    def check_model_server(self, base_url: str) -> None:
        """A shared server calls only the model servers that its operator named."""
        named_servers = ("", OPENROUTER, OPENAI, self._settings.base_url)
        if self._known_only and base_url.rstrip("/") not in named_servers:
            raise BadInput(
                "This OpenQuery is shared, so it calls only the model servers that its operator named.",
                hint=f"Use {OPENROUTER}, {OPENAI}, or ask the operator to set OPENQUERY_BASE_URL.",
            )

    def check_service(self, url: str, operator_url: str, service: str, setting: str) -> None:
        """A shared server calls no search or vector service but `known`, the operator's."""
        if self._known_only and url.rstrip("/") != operator_url.rstrip("/"):
            raise BadInput(
                f"This OpenQuery is shared, so it calls no {service} but its operator's.",
                hint=f"Ask the operator to set {setting}.",
            )

    def check_embedder(self, model: str) -> None:
        """A shared server embeds with the operator's model or the local one only."""
        if self._known_only and model not in ("", LOCAL, self._settings.embedding_model):
            raise BadInput(
                f"This OpenQuery is shared, so it embeds with {self._settings.embedding_model} only.",
                hint=f"Choose that one, or {LOCAL}.",
            )
