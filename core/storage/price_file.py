"""The operator's price table: `prices.csv` in the data folder. It replaces the shipped table."""

import functools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from core.config.egress import EgressPolicy
from core.config.prices import SHIPPED, Price, Prices, parsed
from core.errors import BadInput, OpenQueryError, disk_failure
from core.storage.atomic_write import atomic_write
from core.text.decoding import decode

PRICES = "prices.csv"
MOST_BYTES = 1_000_000
"""The most bytes of a price table that is read."""


class PriceFile:
    """The price table in a data folder. It may be edited while the server runs. Any thread may call."""

    def __init__(self, folder: Path, policy: EgressPolicy) -> None:
        self.path = folder / PRICES
        self._policy = policy

    def read(self) -> Prices:
        """Return the operator's prices, or the shipped prices.

        If the file is unreadable, the shipped prices have a `problem`.
        """
        try:
            state = self.path.stat()
        except FileNotFoundError:
            return replace(SHIPPED, policy=self._policy)
        except OSError as error:
            return replace(SHIPPED, policy=self._policy, problem=str(disk_failure(error)))
        return _prices(self.path, state.st_mtime_ns, state.st_size, self._policy)

    def write(self, rows: Iterable[Price]) -> None:
        """Replace the operator's prices.

        Raises:
            BadInput: when there are too many.
            StoreFailed: when the file cannot be written.
        """
        text = Prices(rows=tuple(rows)).to_csv()
        parsed(text)
        try:
            atomic_write(self.path, text.encode())
        except OSError as error:
            raise disk_failure(error) from error

    def delete(self) -> None:
        """Restore the prices that come with OpenQuery.

        Raises:
            StoreFailed: when the file cannot be deleted.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise disk_failure(error) from error


@functools.lru_cache(8)
def _prices(path: Path, changed: int, size: int, policy: EgressPolicy) -> Prices:
    """Return the prices in a file. `changed` and `size` are cache keys for the state of the file."""
    try:
        if size > MOST_BYTES:
            raise BadInput(f"The price table has more than {MOST_BYTES // 1000:,} KB.", hint="Use patterns.")
        return Prices(rows=parsed(decode(path.read_bytes())), policy=policy)
    except OpenQueryError as error:
        problem = str(error)
    except OSError as error:
        problem = str(disk_failure(error))
    return replace(SHIPPED, policy=policy, problem=f"{PRICES} is not used. {problem}")
