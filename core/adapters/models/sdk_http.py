"""The HTTP client of the `openai` package: httpx2 since its version 3, httpx before."""

from importlib import import_module
from typing import Any

_FIRST_WITH_HTTPX2 = 3


def sdk_http() -> Any:
    """Return the HTTP client module of the installed `openai`.

    Both modules have the same names. Other packages, such as LlamaIndex, need `openai` 2 together with OpenQuery.
    Importing the package takes about a second.
    """
    import openai

    major = int(openai.__version__.partition(".")[0])
    return import_module("httpx2" if major >= _FIRST_WITH_HTTPX2 else "httpx")
