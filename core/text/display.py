"""Display of HTML, numbers, durations and embedders' names.

An embedder's identity, used in keys and files, distinguishes versions. Its name need not.
"""

import re

from htpy import Node, fragment

from core.model import readable
from core.text.sanitize import one_line, sanitize

BUILT_IN = "MiniLM-L6-v2 (built in)"
"""The model included in OpenQuery."""
_BUILT_IN_IDENTITY = "minilm-l6-v2-"
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+", re.MULTILINE)


def isolated(text: str) -> str:
    """Isolate a text of either direction from the words around it, for labels without HTML."""
    return f"\u2068{text}\u2069"


def passage_label(text: str, limit: int) -> str:
    """Return the beginning of a passage on one line, without the marks of Markdown headings."""
    return one_line(_HEADING.sub("", readable(text)[: 4 * limit]), limit)


def embedder_name(identity: str) -> str:
    """Return an embedder's name, such as `bge-m3 (host:1)`."""
    if identity == "local" or identity.startswith(_BUILT_IN_IDENTITY):
        return BUILT_IN
    if identity.startswith("use-multilingual-v3:"):
        return "Universal Sentence Encoder (built in, multilingual)"
    model, _, host = identity.rpartition("@")
    return f"{model} ({host})" if model else identity


def embedder_names(first: str, second: str) -> tuple[str, str]:
    """Return the display names of two embedders, with identities if the names are equal."""
    names = embedder_name(first), embedder_name(second)
    if names[0] != names[1] or first == second:
        return names
    return f"{names[0]}, version {first}", f"{names[1]}, version {second}"


def decimal(value: float, digits: int) -> str:
    """Return `value` with `digits` decimal places. A rounded zero has no sign."""
    return f"{value:z.{digits}f}"


def metric_text(value: float, *, signed: bool = False) -> str:
    """Return a metric in three places: `.826`, `+.041`, `−.003`."""
    text = f"{value:{'+' if signed else ''}z.3f}" if round(value, 3) else ".000"
    return text.replace("0.", ".", 1).replace("-", "\u2212")


def duration(seconds: float) -> str:
    """Return seconds as milliseconds, seconds or minutes."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def html(*nodes: Node) -> str:
    """Return elements and texts as HTML. Invisible characters are removed."""
    return sanitize(str(fragment[nodes]))
