"""Keys of the operator, taken out of the environment, where every process of the same user could read them."""

import os
from collections.abc import Iterable

from core.sandbox.process import erase_variable

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
