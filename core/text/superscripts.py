"""Superscripts and subscripts in plain text: 10⁶, H₂O, 10^x, P_CO2.

Without them "10⁶" becomes "106", which is another number.
"""

import re
from collections.abc import Callable

_MINUS = "-−–‐‑"
_RAISED = str.maketrans(f"0123456789+{_MINUS}=()inaedors", f"⁰¹²³⁴⁵⁶⁷⁸⁹⁺{'⁻' * len(_MINUS)}⁼⁽⁾ⁱⁿᵃᵉᵈᵒʳˢ")
_LOWERED = str.maketrans(
    f"0123456789+{_MINUS}=()aehijklmnoprstuvx", f"₀₁₂₃₄₅₆₇₈₉₊{'₋' * len(_MINUS)}₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"
)
_SIGNS = rf"0-9+=(){re.escape(_MINUS)}"
_CAN_RAISE = re.compile(rf"[{_SIGNS}in]+|[aedors]|[0-9]+(?:,[0-9]+)+")
"""Exponents, references such as 1,2, and the last letter of an ordinal: XIXᵉ, 3ᵃ."""
_CAN_LOWER = re.compile(rf"[{_SIGNS}aehijklmnoprstuvx]+")
_ENDS = "st nd rd th er re ère es ème eme ers de nde os as to ra do da mo me mes lle lles gr mr dr sr sra jr ie ve tm sm md mc"
"""Ends of ordinals and abbreviations: 1st, 1er, 2ème, 3os, Mme, Mlle, Cie. They are raised for their looks alone."""
_LONGEST = 20
"""Maximum characters of an exponent or index. Longer text is raised for its looks alone."""
_LONGEST_WORD = 3
"""Maximum letters of an exponent that is a word. A longer raised word is a remark."""
_SIMPLE = re.compile(r"[^\W_]|[0-9]+(?:[.,][0-9]+)?")
_INDEX_WORD = re.compile(r"[^\W_]+")
_PROSE = re.compile(r"[^\W\d_]{2,}\s+\w|\w\s+[^\W\d_]{2,}")
_WRITTEN = frozenset(map(chr, (*_RAISED.values(), *_LOWERED.values())))


def raised(text: str) -> str:
    """Return the text of a superscript as plain text: ⁶, ⁿ⁺¹, ^x, ^(2k).

    Ends of ordinals ("st"), marks such as † and remarks stay as they are.
    """
    return _outside_spaces(text, _exponent)


def lowered(text: str) -> str:
    """Return the text of a subscript as plain text: ₂, ᵢ, _b, _(i,j).

    Marks and remarks stay as they are.
    """
    return _outside_spaces(text, _index)


def _outside_spaces(text: str, write: Callable[[str], str]) -> str:
    """Write the words of a text. Spaces before the words would part them from their base."""
    core = text.strip()
    if not core:
        return text
    written = write(core)
    if written == core:
        return text
    return written + text[len(text.rstrip()) :]


def _exponent(core: str) -> str:
    if _CAN_RAISE.fullmatch(core) and len(core) <= _LONGEST:
        return core.translate(_RAISED)
    if _is_plain(core) or core.lower().rstrip(".") in _ENDS.split():
        return core
    if core.isalpha() and len(core) > _LONGEST_WORD:
        return core
    return f"^{core}" if _SIMPLE.fullmatch(core) else f"^({core})"


def _index(core: str) -> str:
    if _CAN_LOWER.fullmatch(core) and len(core) <= _LONGEST:
        return core.translate(_LOWERED)
    if _is_plain(core):
        return core
    return f"_{core}" if _INDEX_WORD.fullmatch(core) else f"_({core})"


def _is_plain(core: str) -> bool:
    """Whether a text has nothing to calculate with, or is a remark."""
    return (
        len(core) > _LONGEST
        or core.startswith("[")
        or not any(character.isalnum() and character not in _WRITTEN for character in core)
        or _PROSE.search(core) is not None
    )
