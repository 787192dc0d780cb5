"""Permissions: who may do what on a server that several people use, who do not trust each other (OPENQUERY_SHARED).

Pages and HTTP API ask here; docs/security/permissions.md is made from it. Where a server is not shared, everybody whom
it admits is its operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.errors import NotAllowed


class Role(StrEnum):
    """Who asks for an action."""

    VISITOR = "visitor"
    """A person on the pages without sign-in, known for one browser session."""
    PERSON = "signed-in person"
    TOKEN = "token"  # noqa: S105 - a role
    """A program with a token of the HTTP API. Without tokens, all programs of one address."""
    OPERATOR = "operator"
    """The person at the command line of the server. On an unshared server, everybody."""


class Right(StrEnum):
    """Whose objects a role may act on."""

    ALL = "yes"
    OWN = "own"
    """Only for the caller's own objects."""
    NONE = "no"


class Action(StrEnum):
    """An action. Its text completes the sentence "You may not ..."."""

    ASK = "ask questions and import runs"
    OPEN_RUN = "open, compare and export a run by its address"
    LIST_RUNS = "list runs"
    CHANGE_RUN = "stop, continue, tag and delete a run"
    SHARE_RUN = "give a run to others by a read-only link, and take it back"
    KEEP_LABELS = "label passages and save presets"
    EVALUATE_LABELS = "run an experiment over labelled passages"
    EVALUATE_DATA_SETS = "run an experiment over other data sets"
    CHANGE_EXPERIMENT = "stop, continue, delete and restore an experiment"
    READ_LIBRARY = "search and read the library"
    CHANGE_LIBRARY = "change the library"
    NAME_SERVERS = "connect servers that the operator did not name"
    USE_SESSION = "open and end a session of the HTTP API, set its configuration and send it files"
    SET_DEFAULTS = "set the configuration of callers without a session"
    SET_PRICES = "change the prices of models"
    CLEAR_CACHE = "clear the cache"
    SEE_STATE = "see the state and figures of the server"


_ALL, _OWN, _NO = Right
_SHARED: Mapping[Action, tuple[Right, Right, Right]] = {
    Action.ASK: (_ALL, _ALL, _ALL),
    Action.OPEN_RUN: (_ALL, _ALL, _ALL),
    Action.LIST_RUNS: (_OWN, _OWN, _OWN),
    Action.CHANGE_RUN: (_OWN, _OWN, _OWN),
    Action.SHARE_RUN: (_OWN, _OWN, _OWN),
    Action.KEEP_LABELS: (_OWN, _OWN, _NO),
    Action.EVALUATE_LABELS: (_OWN, _OWN, _NO),
    Action.EVALUATE_DATA_SETS: (_NO, _NO, _NO),
    Action.CHANGE_EXPERIMENT: (_OWN, _OWN, _NO),
    Action.READ_LIBRARY: (_ALL, _ALL, _ALL),
    Action.CHANGE_LIBRARY: (_NO, _NO, _NO),
    Action.NAME_SERVERS: (_NO, _NO, _NO),
    Action.USE_SESSION: (_NO, _NO, _OWN),
    Action.SET_DEFAULTS: (_NO, _NO, _NO),
    Action.SET_PRICES: (_NO, _NO, _NO),
    Action.CLEAR_CACHE: (_NO, _NO, _NO),
    Action.SEE_STATE: (_ALL, _ALL, _ALL),
}
"""The rights of a visitor, a signed-in person and a token on a shared server."""


def right(role: Role, action: Action) -> Right:
    """The right of a role to an action, by the table of this module."""
    if role is Role.OPERATOR:
        return Right.ALL
    return _SHARED[action][(Role.VISITOR, Role.PERSON, Role.TOKEN).index(role)]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for something. `name` is the owner of what they make, as stores know it."""

    role: Role
    name: str = ""

    @classmethod
    def of(cls, role: Role, name: str, *, shared: bool) -> Caller:
        """Return a caller of the pages or the API. The role counts only on a shared server."""
        return cls(role if shared else Role.OPERATOR, name)

    @property
    def owner_to_list(self) -> str | None:
        """Return the user whose runs the caller may list, or None for everybody's."""
        return None if right(self.role, Action.LIST_RUNS) is Right.ALL else self.name

    def may(self, action: Action, owner: str | None = None) -> bool:
        """Whether the caller may do this to things of `owner`, or with None at all."""
        match right(self.role, action):
            case Right.ALL:
                return True
            case Right.OWN:
                return owner is None or owner == self.name
            case Right.NONE:
                return False

    def require(self, action: Action, owner: str | None = None) -> None:
        """Raises NotAllowed when the caller may not."""
        if not self.may(action, owner):
            others = self.may(action)
            raise NotAllowed(
                f"This OpenQuery is shared: you may not {action}{' that is not yours' if others else ''}.",
                hint="Use one of your own." if others else "Ask the operator.",
            )


def person_id(claims: Mapping[str, Any]) -> str:
    """The id of a signed-in person: the e-mail address if the provider says that it has verified it, else issuer and
    subject. An address that was not verified could be anybody's, and a provider that says nothing has not said so."""
    if claims.get("email") and str(claims.get("email_verified")).lower() == "true":
        return str(claims["email"])
    return f"{claims.get('iss')} {claims.get('sub')}"
