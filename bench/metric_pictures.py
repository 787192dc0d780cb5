"""The pictures of docs/metrics.md: `python -m bench.metric_pictures` draws them into docs/images.

Each is rows of boxes: a filled box counts, an outlined one does not, a dashed one is outside of what is counted.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.features.evaluate.metrics.metric_help import HELP

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
"""Where the pictures are."""
WIDTH, LABEL, ROW, GAP = 640, 128, 34, 4
FILL, LINE, INK, PAPER = "#3d4fc4", "#6b7080", "#1d2130", "#ffffff"

Row = tuple[str, Sequence[str]]
"""A label, and a text for each box. It begins with `+` where the box counts, with `~` where it is outside."""


def ranks(relevant: Sequence[int], outside: Sequence[int] = ()) -> list[str]:
    """Ten ranks, of which some count and some are outside."""
    return [f"{'+' if rank in relevant else '~' if rank in outside else ''}{rank}" for rank in range(1, 11)]


FOUND = ranks((2, 4))
EXCERPT: tuple[Row, ...] = (
    ("marked text", ["~", "~", "~", "", "+", "+", "+", "~", "~", "~", "~", "~"]),
    ("context", ["~", "~", "~", "~", "+", "+", "+", "", "", "", "", ""]),
)
WORDS: tuple[Row, ...] = (
    ("answer", ["It", "closed", "+in", "+1911"]),
    ("reference", ["+in", "+1911"]),
)
PICTURES: Mapping[str, Sequence[Row]] = {
    "nDCG@10": (
        ("ranking", FOUND),
        ("weight of a rank", ["1", "+.63", ".5", "+.43", ".39", ".36", ".33", ".32", ".3", ".29"]),
        ("best order", ranks((1, 2))),
    ),
    "recall@10": (("relevant documents", ["+rank 2", "+rank 4", "rank 37"]),),
    "MRR@10": (("ranking", ranks((2,), range(3, 11))),),
    "MAP@10": (("ranking", FOUND), ("relevant so far", ["", "+1 of 2", "", "+2 of 4", *["~"] * 6])),
    "judged@10": (("judged by anybody", ranks((1, 2, 3, 4, 6, 9))),),
    "excerpt recall": EXCERPT,
    "excerpt precision": EXCERPT,
    "excerpt IoU": EXCERPT,
    "context tokens": (
        ("context", ["+500 characters", "+500 characters", "+700 characters", "+400 characters"]),
    ),
    "answered": (("with an answer", ["+answered", "+answered", "refused", "+answered", "+answered"]),),
    "refused": (("without an answer", ["+refused", "answered"]),),
    "exact match": (("answers", ["+The 1911!", "in 1911", "1912", "+1911"]), ("reference", ["1911"] * 4)),
    "token F1": WORDS,
    "contains answer": WORDS,
    "citation recall": (
        ("sentences", ["+says A [1][2]", "says B", "says C [3]"]),
        ("sources cited", ["1 says A", "none", "3 says D"]),
    ),
    "citation precision": (
        ("citations", ["+[1] for A", "[2] for A", "[3] for C"]),
        ("what they say", ["A", "D", "D"]),
    ),
    "entailed (judge)": (
        ("sentences", ["says A [1]", "says B [1]", "says C [2]", "says D [2]"]),
        ("the judge", ["+entailed", "+entailed", "contradicted", "+entailed"]),
    ),
    "kappa (judge)": (
        ("people: entailed", ["+judge too: 20", "judge not: 5"]),
        ("people: not", ["judge: 10", "+judge neither: 15"]),
    ),
    "unchanged verdicts": (
        ("sentence", ["+A", "+B", "C", "+D"]),
        ("first time", ["yes", "yes", "no", "no"]),
        ("second time", ["yes", "yes", "yes", "no"]),
        ("third time", ["yes", "yes", "no", "no"]),
    ),
}
"""The boxes of each metric. A metric that is not here counts the relevant documents of a ranking."""


def file_name(metric: str) -> str:
    """The file of a metric's picture."""
    words = "".join(letter if letter.isalnum() else "-" for letter in metric.lower())
    return f"metric-{words.strip('-').replace('--', '-')}.svg"


def picture(metric: str) -> str:
    """The picture of a metric as SVG."""
    rows = PICTURES.get(metric, (("ranking", FOUND),))
    height = ROW * len(rows) + GAP
    size = {"width": str(WIDTH), "height": str(height)}
    drawn = ET.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}"} | size
    )
    ET.SubElement(drawn, "rect", size | {"fill": PAPER})
    for place, (label, boxes) in enumerate(rows):
        top = GAP + place * ROW
        _text(drawn, label, LABEL - 10, top, "end", INK)
        wide = (WIDTH - LABEL) / max(len(row) for _, row in rows)
        for column, box in enumerate(boxes):
            counts = box.startswith("+")
            left = LABEL + column * wide
            shape = {
                "x": f"{left:.1f}",
                "y": str(top),
                "width": f"{wide - GAP:.1f}",
                "height": str(ROW - GAP),
                "rx": "4",
                "fill": FILL if counts else PAPER,
                "stroke": FILL if counts else LINE,
            }
            ET.SubElement(drawn, "rect", shape | ({"stroke-dasharray": "2 3"} if box.startswith("~") else {}))
            middle = left + (wide - GAP) / 2
            _text(drawn, box.lstrip("+~"), middle, top, "middle", PAPER if counts else INK)
    return ET.tostring(drawn, "unicode") + "\n"


def _text(drawn: ET.Element, words: str, x: float, top: float, anchor: str, colour: str) -> None:
    font = {"font-size": "12.5", "font-family": "sans-serif", "text-anchor": anchor, "fill": colour}
    ET.SubElement(drawn, "text", {"x": f"{x:.1f}", "y": str(top + 20)} | font).text = words


if __name__ == "__main__":
    for name in HELP:
        (IMAGES / file_name(name)).write_text(picture(name), "utf-8")
