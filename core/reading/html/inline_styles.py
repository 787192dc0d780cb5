"""Inline CSS, parsed for visibility: display, opacity, colours, size, position. The size is the font's."""

import re
from collections.abc import Mapping

Declarations = Mapping[str, str]
Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
_NAMED: dict[str, Colour] = {
    "white": WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240), "whitesmoke": (245, 245, 245),
    "black": (0, 0, 0), "silver": (192, 192, 192), "gray": (128, 128, 128), "grey": (128, 128, 128),
    "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "navy": (0, 0, 128),
}  # fmt: skip
_ALIKE = 12
"""Maximum difference of each channel, of 255, between colours that look equal."""

_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|em|rem|pt|%|vw|vh|in|cm|mm|ex|ch)?")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 1.33, "em": 16, "rem": 16, "ex": 8, "ch": 8, "%": 10, "vw": 10, "vh": 10}
_PIXELS |= {"in": 96, "cm": 38, "mm": 3.8}


def declarations(style: str) -> dict[str, str]:
    """Return the properties and values, in lower case. The last value counts, as in CSS."""
    pairs = (part.partition(":") for part in style.lower()[:2000].split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in pairs if value}


def pixels(value: str | None) -> float | None:
    """Return a length in approximate pixels, or None. Relative units have their usual size."""
    match = _LENGTH.fullmatch(value.strip()) if value else None
    return float(match[1]) * _PIXELS[match[2] or ""] if match else None


def hides(style: Declarations) -> bool:
    """Whether this style certainly hides an element and its content."""
    return (
        not_displayed(style)
        or any(pixels(style.get(side)) == 0 for side in ("width", "height", "max-width", "max-height"))
        or _below(style.get("text-indent"), -200)
        or any(_below(style.get(side), -1000) for side in ("margin-left", "margin-top", "margin-right"))
        or (
            style.get("position") in ("absolute", "fixed")
            and any(_below(style.get(side), -500) for side in ("left", "top", "right", "bottom"))
        )
        or _clipped(style)
        or _transformed_away(style.get("transform", ""))
    )


def not_displayed(style: Declarations) -> bool:
    """Whether an element is not displayed, or only as empty space."""
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or style.get("content-visibility") == "hidden"
    )


def may_hide(style: Declarations) -> bool:
    """Whether a style alone is reason to check its element."""
    return hides(style) or tiny_font(style) or transparent(style) or "color" in style


def tiny_font(style: Declarations) -> bool:
    """True for letters of a pixel or less."""
    size = pixels(style.get("font-size"))
    if size is None:
        # The shorthand's size is its first length with a unit, except "0". Weights are bare numbers.
        words = [word.partition("/")[0] for word in style.get("font", "").split()]
        size = next((pixels(word) for word in words if word == "0" or re.match(r"[\d.]+[a-z%]", word)), None)
    return size is not None and size <= 1


def sets_font_size(style: Declarations) -> bool:
    """Whether a size of letters is set in it."""
    return "font-size" in style or "font" in style


def transparent(style: Declarations) -> bool:
    """Whether the element lets nearly all through."""
    try:
        return float(style.get("opacity", "1").removesuffix("%")) <= 0.05
    except ValueError:
        return False


def colour(value: str | None) -> Colour | None:
    """Return a colour as red, green and blue, or None if unknown. The channels are from 0 to 255."""
    value = (value or "").strip().lower()
    if value in _NAMED:
        return _NAMED[value]
    if match := re.fullmatch(r"#([0-9a-f]{3})[0-9a-f]?", value):
        red, green, blue = (int(digit * 2, 16) for digit in match[1])
        return red, green, blue
    if match := re.fullmatch(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})(?:[0-9a-f]{2})?", value):
        return int(match[1], 16), int(match[2], 16), int(match[3], 16)
    if match := re.fullmatch(
        r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+[\d.]+%?)?\s*\)", value
    ):
        return int(match[1]), int(match[2]), int(match[3])
    if match := re.fullmatch(r"hsla?\(.*?,\s*100%\s*(?:,.*)?\)", value):
        return WHITE
    return None


def background(style: Declarations) -> str | None:
    """Return the background colour as written, or None."""
    return style.get("background-color") or style.get("background")


def see_through(value: str | None) -> bool:
    """True for a colour that lets everything through."""
    value = (value or "").replace(" ", "").lower()
    return value == "transparent" or re.fullmatch(r"(?:rgba|hsla)\(.*[,/]0*\.?0+%?\)", value) is not None


def alike(first: Colour, second: Colour) -> bool:
    """Whether two colours look equal."""
    return all(abs(a - b) <= _ALIKE for a, b in zip(first, second, strict=True))


def _below(value: str | None, limit: float) -> bool:
    size = pixels(value)
    return size is not None and size <= limit


def _clipped(style: Declarations) -> bool:
    if match := re.fullmatch(r"rect\(([^)]*)\)", style.get("clip", "")):
        sides = [pixels(side) for side in re.split(r"[\s,]+", match[1].strip())]
        return all(side is not None and 0 <= side <= 1 for side in sides)
    path = style.get("clip-path", "")
    if match := re.match(r"inset\(\s*([\d.]+)%", path):
        return float(match[1]) >= 50
    return re.match(r"circle\(\s*0", path) is not None


def _transformed_away(transform: str) -> bool:
    if re.search(r"scale[xy]?\(\s*0+(?:\.0+)?\s*[,)]", transform):
        return True
    return any(_below(move, -1000) for move in re.findall(r"translate[xy]?\(\s*(-\d+(?:px)?)", transform))
