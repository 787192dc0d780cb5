"""Names of variables that look like settings, so that a misspelt setting is refused instead of ignored."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from pydantic import AliasChoices
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, TomlConfigSettingsSource

from core.errors import BadInput

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
    near = get_close_matches(name, sorted(known), 1)
    return f"Did you mean {near[0]} instead of {name}?" if near else ""
