"""What an operator sets, read once: environment, `.env`, `.streamlit/secrets.toml`, in that order of precedence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from core.config.data_folder import DEFAULT, ENV_FILE, TOML_FILE, VARIABLE, absolute
from core.config.knobs import MOST_COLLECTIONS, Backend, SearchScope
from core.errors import BadInput
from core.model.library import checked_name
from core.sandbox.process import erase_variable
from core.text.http_headers import host_and_port

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "docs" / "handbook"

OPENROUTER = "https://openrouter.ai/api/v1"
OPENAI = "https://api.openai.com/v1"
LOCAL = "local"
"""The name of the embedding model that runs inside OpenQuery."""
LOOPBACK = "loopback"
"""Stands for all addresses of this machine among the hosts of one's own."""
PREFIX = "OPENQUERY_"
FORMER_NAMES = {"OPENQUERY_OLLAMA_URL": "OLLAMA_HOST"}
"""Variables of earlier versions, with the name that replaced each."""
RETIRED_NAMES = frozenset({"OPENQUERY_SIGNING_KEY", "OPENQUERY_TRUSTED_KEYS"})
"""Variables of earlier versions that have no effect. Whoever still sets one can start."""
_OF_OTHERS = re.compile(
    # Kubernetes describes every Service of the namespace to a container, here those called openquery or openquery-….
    r"OPENQUERY_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
    # compose.yaml reads it, from the environment or from the same `.env`.
    r"|OPENQUERY_CONTAINER_MEMORY"
)


def _setting(default: object, *variables: str, **options: Any) -> Any:
    """A field that is read from the first of these environment variables that is set."""
    return Field(default, validation_alias=AliasChoices(*variables), **options)


def variable(field: FieldInfo) -> str:
    """The first name of a field's environment variables."""
    names = field.validation_alias
    if not isinstance(names, AliasChoices):
        raise TypeError("every setting has a variable of its own")
    return str(names.choices[0])


class Settings(BaseSettings):
    """Every field is an environment variable of the alias's name; docs/settings.md is made from this class."""

    model_config = SettingsConfigDict(
        env_file=ENV_FILE,
        toml_file=TOML_FILE,
        extra="ignore",
        use_attribute_docstrings=True,
        frozen=True,
        hide_input_in_errors=True,
    )

    openrouter_api_key: SecretStr | None = _setting(None, "OPENROUTER_API_KEY")
    """Key for OpenRouter; with it, chat goes there unless a base URL says otherwise."""
    openai_api_key: SecretStr | None = _setting(None, "OPENAI_API_KEY")
    """Key for OpenAI, or for the server at the base URL below."""
    base_url: str = _setting("", "OPENQUERY_BASE_URL", "OPENAI_BASE_URL")
    """Any OpenAI-compatible server. Empty: OpenRouter or OpenAI by the key that is set, else a local Ollama."""
    chat_model: str = _setting("", "OPENQUERY_CHAT_MODEL")
    """The model that writes queries and answers. Empty: openai/gpt-4o-mini at OpenRouter, gpt-4o-mini at OpenAI, the first that any other server lists (`default` where it lists none), of an Ollama the first that can chat. A path (/…, ~/… or ./…) of a .gguf file runs it on this machine, with the extra `local`."""
    embedding_model: str = _setting(LOCAL, "OPENQUERY_EMBEDDING_MODEL")
    """The embedding model. local runs inside OpenQuery. The path (/…, ~/… or ./…) of a .gguf file runs it on this machine, with the extra `local`. The server below runs any other, such as openai/text-embedding-3-small."""
    embedding_base_url: str = _setting("", "OPENQUERY_EMBEDDING_BASE_URL")
    """Where the embedding model is. Empty: where the chat model is; with no server at all, any model but local is an error."""
    embedding_api_key: SecretStr | None = _setting(None, "OPENQUERY_EMBEDDING_API_KEY")
    """Key for that server. Empty: the chat model's, where both are at the same host; no other server is sent it."""
    ollama_url: str = _setting("http://127.0.0.1:11434", "OLLAMA_HOST")
    """A local Ollama, found by asking it when no key is set. Empty: do not look."""

    rerank_url: str = _setting("", "OPENQUERY_RERANK_URL")
    """A /rerank endpoint, such as https://api.jina.ai/v1/rerank. Empty: none, and passages are not reranked."""
    rerank_model: str = _setting("", "OPENQUERY_RERANK_MODEL")
    """The reranking model, where the endpoint has several. Without an endpoint: the path of a .gguf file, or `local`, the model of the extra `rerank`."""
    rerank_key: SecretStr | None = _setting(None, "OPENQUERY_RERANK_KEY")
    """Key for that endpoint."""

    searxng_url: str = _setting("", "SEARXNG_URL", repr=False)
    """Your SearXNG, with json among its search.formats."""
    searxng_username: str = _setting("", "SEARXNG_USERNAME")
    """For a SearXNG behind basic authentication."""
    searxng_password: SecretStr | None = _setting(None, "SEARXNG_PASSWORD")
    """For a SearXNG behind basic authentication."""

    qdrant_url: str = _setting("", "QDRANT_URL", repr=False)
    """A Qdrant server or cluster for the library, such as http://127.0.0.1:6333; without a port, 6333. Empty: an embedded one below the data folder."""
    qdrant_api_key: SecretStr | None = _setting(None, "QDRANT_API_KEY")
    """Key for that server."""

    private_collections: str = _setting("", "OPENQUERY_PRIVATE_COLLECTIONS")
    """Collections whose text must not reach a hosted model, separated by commas; session is the files of sessions, * is all. Empty: none."""
    private_pages: bool = _setting(False, "OPENQUERY_PRIVATE_PAGES")
    """The same for the text of web pages and of data sets."""
    private_mode: Literal["withhold", "refuse"] = _setting("withhold", "OPENQUERY_PRIVATE_MODE")
    """The treatment of questions that would send such text to a hosted model. withhold leaves the text out and says so: the model gets the other sources, the local model embeds, and nothing is reranked. refuse refuses the question."""
    own_hosts: str = _setting(LOOPBACK, "OPENQUERY_OWN_HOSTS")
    """Hosts whose models are your own, as names, addresses or host:port, separated by commas; loopback is this machine. Every other host is hosted, and this machine too where loopback is missing, as for a gateway here that forwards to a provider. mcp stands for the models of MCP clients."""

    backend: Backend = _setting(Backend.AUTO, "OPENQUERY_SEARCH_BACKEND")
    """The search backend of questions that do not say one: auto, searxng, ddgs or demo."""
    origin: SearchScope = _setting(SearchScope.WEB, "OPENQUERY_ORIGIN")
    """Where questions look that do not say where: web, library or both."""
    collections: str = _setting("", "OPENQUERY_COLLECTIONS")
    """The collections of the library that they search, separated by commas. Empty: all of them."""

    data: Path = _setting(DEFAULT, VARIABLE, validate_default=True)
    """The folder of stored runs and caches."""
    cache_megabytes: Annotated[int, Field(ge=0, le=100_000)] = _setting(500, "OPENQUERY_CACHE_MB")
    """How much the caches may keep on disk. 0: nothing."""

    file_megabytes: Annotated[float, Field(gt=0, le=2_000)] = _setting(50.0, "OPENQUERY_FILE_MB")
    """Size limit of a document for a collection, in MB. Uploads in a browser are limited by `maxUploadSize` in `.streamlit/config.toml` too."""
    ingest_files: Annotated[int, Field(ge=1, le=1_000_000)] = _setting(2_000, "OPENQUERY_INGEST_FILES")
    """How many documents can be added at once."""
    library_megabytes: Annotated[int, Field(ge=1, le=10_000_000)] = _setting(10_000, "OPENQUERY_LIBRARY_MB")
    """Disk space for the files of all documents, in MB."""
    document_folders: str = _setting("", "OPENQUERY_DOCUMENT_FOLDERS")
    """Folders on the server's disk whose documents may be added, separated by commas. Empty: none."""

    search_timeout: Annotated[float, Field(gt=0, le=120)] = _setting(10.0, "OPENQUERY_SEARCH_TIMEOUT")
    """Seconds for one search."""
    model_timeout: Annotated[float, Field(gt=0, le=600)] = _setting(60.0, "OPENQUERY_MODEL_TIMEOUT")
    """Model idle timeout, in seconds. A request without data for so long is given up."""
    query_seconds: Annotated[float, Field(ge=0, le=600)] = _setting(5.0, "OPENQUERY_QUERY_SECONDS")
    """Time limit of `POST /query`, in seconds. 0 means no limit. When it is over, the found passages are answered from."""
    answer_cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = _setting(
        600.0, "OPENQUERY_ANSWER_CACHE_SECONDS"
    )
    """Lifetime of cached answers of `POST /qa`, in seconds. 0 means no cache. The same question and sources get the cached answer."""
    fetch_concurrency: Annotated[int, Field(ge=1, le=512)] = _setting(64, "OPENQUERY_FETCH_CONCURRENCY")
    """Pages fetched at the same time by the whole process."""
    per_host: Annotated[int, Field(ge=1, le=32)] = _setting(3, "OPENQUERY_PER_HOST")
    """Pages fetched at the same time from one host."""
    workers: Annotated[int, Field(ge=0, le=64)] = _setting(0, "OPENQUERY_WORKERS")
    """Processes that extract articles. 0: one a core."""
    memory_megabytes: Annotated[int, Field(ge=0, le=1_000_000)] = _setting(0, "OPENQUERY_MEMORY_MB")
    """Memory of these processes, and of files that users send, together. 0: half of the machine's, or of the container's limit."""
    runs_at_once: Annotated[int, Field(ge=1, le=1000)] = _setting(64, "OPENQUERY_RUNS_AT_ONCE")
    """The most concurrent runs. Further runs wait in a queue."""
    runs_per_hour: Annotated[int, Field(ge=0, le=100_000)] = _setting(0, "OPENQUERY_RUNS_PER_HOUR")
    """Questions that one person may ask within an hour. 0: no limit."""
    tokens_per_day: Annotated[int, Field(ge=0, le=1_000_000_000)] = _setting(0, "OPENQUERY_TOKENS_PER_DAY")
    """Tokens of model servers that one person's questions may use within a day. 0: no limit."""
    dollars_per_day: Annotated[float, Field(ge=0, le=1_000_000)] = _setting(0.0, "OPENQUERY_DOLLARS_PER_DAY")
    """US dollars that one person's questions may cost within a day, as providers state it, else by `prices.csv` in the data folder. 0: no limit."""
    shared: bool = _setting(False, "OPENQUERY_SHARED")
    """Set it when people who do not trust each other use this server. They have their own runs, labels, presets and experiments then, and leave the rest to you: docs/security/permissions.md."""
    sign_in: Literal["auto", "required"] = _setting("auto", "OPENQUERY_SIGN_IN")
    """auto asks people to sign in once `.streamlit/secrets.toml` has an `[auth]` section; required shows nothing to anybody until it has one."""
    api_tokens: SecretStr | None = _setting(None, "OPENQUERY_API_TOKENS")
    """Bearer tokens of the HTTP service, separated by commas. Empty: it serves programs on this machine and nobody else."""
    client_prompts: bool = _setting(True, "OPENQUERY_CLIENT_PROMPTS")
    """Whether the system and developer messages of chat clients at `/v1` reach the model that writes the answer. off refuses such requests."""
    v1_sources: Literal["links", "annotations"] = _setting("links", "OPENQUERY_V1_SOURCES")
    """The form of an answer's sources at `/v1`. links: marks are Markdown links, and the answer ends with a list of sources. annotations: only the field `annotations` has them, which most clients do not show."""
    hosts: str = _setting("", "OPENQUERY_HOSTS")
    """Names and addresses under which people and programs of other machines reach this server, separated by commas, such as openquery.example.org. Under every other one but loopback nothing is served."""
    fetch_allowlist: str = _setting("", "OPENQUERY_ALLOW")
    """Private addresses that pages may be fetched from, as host:port or networks, separated by commas."""
    trust_env_proxy: bool = _setting(False, "OPENQUERY_TRUST_PROXY")
    """Fetch pages through the proxy of the environment, which is then what guards private addresses."""
    user_agent: str = _setting(
        "OpenQuery/0.1 (research assistant; fetches pages a person asked about)", "OPENQUERY_USER_AGENT"
    )
    """The User-Agent header of requests to the sites that are read."""

    @field_validator("ollama_url")
    @classmethod
    def _as_ollama_reads_it(cls, value: str) -> str:
        """OLLAMA_HOST may lack scheme and port, and may be the address to listen on rather than to call."""
        if not value:
            return ""
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname  # noqa: S104
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or 11434}"

    @field_validator("qdrant_url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        _ = parts.port  # raises for one that cannot be
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc):
            raise ValueError("it must be like http://127.0.0.1:6333, with the key in QDRANT_API_KEY")
        return value

    @field_validator("collections")
    @classmethod
    def _names(cls, value: str) -> str:
        try:
            names = [checked_name(name) for name in value.split(",") if name.strip()]
        except BadInput as error:
            raise ValueError(error.hint) from error
        if value and not names:
            raise ValueError("it must name a collection")
        if len(names) > MOST_COLLECTIONS:
            raise ValueError(f"it may name {MOST_COLLECTIONS} collections at most")
        return ",".join(names)

    @field_validator("hosts")
    @classmethod
    def _host_names(cls, value: str) -> str:
        names = []
        for host in filter(None, map(str.strip, value.split(","))):
            name, port = host_and_port(f"[{host}]" if host.count(":") > 1 and host[0] != "[" else host)
            if not name or port:
                raise ValueError("it must be names without scheme and port, such as openquery.example.org")
            names.append(name)
        return ",".join(names)

    @property
    def public_hosts(self) -> tuple[str, ...]:
        """The names and addresses of `hosts`, as `core.text.http_headers.host_and_port` spells them."""
        return tuple(filter(None, self.hosts.split(",")))

    @field_validator("private_collections")
    @classmethod
    def _names_or_all(cls, value: str) -> str:
        return value if value.strip() in ("", "*") else cls._names(value)

    @property
    def knobs(self) -> dict[str, Any]:
        """The knobs that the operator sets for whoever does not set them, by name, as JSON values."""
        return {
            "search.backend": self.backend.value,
            "search.origin": self.origin.value,
            "search.collections": [name for name in self.collections.split(",") if name],
        }

    def __init__(self, **values: Any) -> None:
        """Read the settings from all sources. `values`, by field name, come first.

        A field's name is for code alone: DATA or SHARED in the environment are another program's.
        """
        super().__init__(**{variable(type(self).model_fields[name]): value for name, value in values.items()})

    @property
    def folder(self) -> Path:
        """The data folder, absolute."""
        return absolute(self.data)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Where settings come from, the strongest first; called by pydantic-settings."""
        keys = InitSettingsSource(settings_cls, init_kwargs=withdrawn())
        return init_settings, env_settings, keys, dotenv_settings, TomlConfigSettingsSource(settings_cls)

    @classmethod
    def withdraw_keys(cls) -> None:
        """Take keys, and addresses that may have passwords, out of the environment; later readings still have them.

        For programs alone: whoever embeds OpenQuery may need the variables.
        """
        withdraw(cls._secret_names())

    @classmethod
    def exposed_keys(cls) -> list[str]:
        """The variables of the environment, names alone, that `withdraw_keys` would take out of it."""
        return [variable for name in cls._secret_names() for variable in variables(name)]

    @classmethod
    def _secret_names(cls) -> Iterator[str]:
        for field in cls.model_fields.values():
            secret = SecretStr in get_args(field.annotation) or not field.repr
            if secret and isinstance(names := field.validation_alias, AliasChoices):
                yield from map(str, names.choices)

    @classmethod
    def read(cls, **values: Any) -> Settings:
        """Read the settings, with a readable error for an invalid one.

        Raises:
            BadInput: naming every variable that is out of bounds or no setting, without its value.
        """
        refuse_unknown_names(cls)
        try:
            return cls(**values)
        except ValidationError as error:
            wrong = "; ".join(
                f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors(include_url=False)
            )
            raise BadInput(f"Settings cannot be used: {wrong}.", hint="See docs/settings.md.") from error


_withdrawn: dict[str, str] = {}


def withdraw(names: Iterable[str]) -> None:
    """Take these variables out of this process's environment. `withdrawn` has them from then on."""
    for name in names:
        for variable in variables(name):
            _withdrawn[name] = os.environ[variable]
            erase_variable(variable)


def variables(name: str) -> list[str]:
    """The variables of the environment that a setting of this name is read from, without regard to case."""
    return [variable for variable in os.environ if variable.upper() == name.upper()]


def withdrawn() -> dict[str, str]:
    """The variables that were withdrawn, with their values."""
    return dict(_withdrawn)


def refuse_unknown_names(settings: type[BaseSettings]) -> None:
    """Check that every `OPENQUERY_*` variable is a setting.

    The environment, `.env` and `.streamlit/secrets.toml` are read, in any case of letters. No value is repeated.

    Raises:
        BadInput: naming every other variable, where it was found, and the nearest setting.
    """
    known = {
        str(name)
        for field in settings.model_fields.values()
        if isinstance(names := field.validation_alias, AliasChoices)
        for name in names.choices
    }
    places = {
        "the environment": EnvSettingsSource(settings).env_vars,
        ".env": DotEnvSettingsSource(settings).env_vars,
        ".streamlit/secrets.toml": TomlConfigSettingsSource(settings).toml_data,
    }
    unknown = dict(_unknown(places, known))
    if unknown:
        wrong = ", ".join(f"{name} (in {place})" for name, place in unknown.items())
        hints = " ".join(filter(None, (_hint(name, known) for name in unknown)))
        raise BadInput(
            f"No such setting: {wrong}.", hint=f"{hints} docs/settings.md lists all settings.".lstrip()
        )


def _unknown(places: Mapping[str, Mapping[str, object]], known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names that are no settings, in upper case, each with the place where it was found."""
    names = {name.upper() for name in known} | RETIRED_NAMES
    for place, variables in places.items():
        for variable in map(str.upper, variables):
            if variable.startswith(PREFIX) and variable not in names and not _OF_OTHERS.fullmatch(variable):
                yield variable, place


def _hint(name: str, known: Iterable[str]) -> str:
    """What was probably meant by a name, or ""."""
    if name in FORMER_NAMES:
        return f"{name} is called {FORMER_NAMES[name]} now."
    # Compared without the prefix, which would make all of them alike.
    ends = {each.upper().removeprefix(PREFIX): each for each in sorted(known)}
    near = get_close_matches(name.removeprefix(PREFIX), ends, 1)
    return f"Did you mean {ends[near[0]]} instead of {name}?" if near else ""
