"""The table: every case, group by group."""

from tests.hostile.addresses import ADDRESSES, NAMES
from tests.hostile.case import Case
from tests.hostile.hosts import MANNERS, ON_THE_WIRE, REDIRECTS
from tests.hostile.pages import TYPES, WORDS
from tests.hostile.parsers import PARSERS

CASES: tuple[Case, ...] = (*ADDRESSES, *NAMES, *REDIRECTS, *ON_THE_WIRE, *TYPES, *PARSERS, *WORDS, *MANNERS)
