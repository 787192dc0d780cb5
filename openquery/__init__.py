"""OpenQuery: a question becomes a cited answer, and every step of it is data.

The public API of the installed package; `core` has the same names in a checkout.
"""

from typing import TYPE_CHECKING

from core import __all__ as __all__
from core import __getattr__ as __getattr__
from core import __version__ as __version__

if TYPE_CHECKING:
    from core import *  # noqa: F403 - the names of `core.__all__`
