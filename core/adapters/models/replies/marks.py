"""Marks by which models and chat templates separate thoughts from the answer.

Each family was seen in replies of real servers: tags, brackets, special tokens and channels.
"""

import re
from dataclasses import dataclass
from enum import Enum

_NAMES = (
    r"(?:[a-z]{1,14}[_-]?)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|monologue|cot|analysis"
    r"|deliberation|planning)(?:[_-](?:process|content|block|steps?|summary))?"
)
_ANSWERS = r"(?:answer|final_answer|response|solution)"
_ATTRIBUTES = r"(?:\s[^<>\n]{0,120})?"
_SUMMARY = r"<summary(?:\s[^<>]{0,80})?>"
_HEADING_OF_THOUGHTS = (
    r"[^\w<>]{0,5}(?:(?:show|hide|view|my|model)\s)?(?:thoughts?|thinking|reasoning|chain\sof\sthought|gedanken(?:gang)?|"
    r"überlegung(?:en)?|思考|推理)(?:过程|過程|\sprocess|\ssteps?)?(?:\s(?:for|took)\s[^<>\n]{1,30}|[^\w<>\n]{0,9})"
)
"""The summary of details that are thoughts, not a part of the answer."""
_PATTERN = re.compile(
    rf"""
    (?P<tag>(?:<|&lt;)\s?(?P<tag_end>/?)\s?(?:[a-z]{{2,10}}:)?{_NAMES}{_ATTRIBUTES}\s?(?P<tag_empty>/?)(?:>|&gt;))
    |(?P<bracket>\[(?P<bracket_end>/?)(?:THINK|THINKING|THOUGHT|REASONING)\])
    |(?P<token><\|(?P<token_end>/|end_(?:of_)?)?(?:begin_(?:of_)?|start_(?:of_)?)?{_NAMES}
        (?:_(?:(?P<token_end2>end)|start|begin))?\|>)
    |(?P<moon>◁(?P<moon_end>/?)think▷)
    |(?P<channel>(?:<\|start\|>[^<]{{0,80}})?<\|channel\|>\s*(?P<channel_name>[a-z]+)
        (?:[^<]|<\|constrain\|>){{0,100}}<\|message\|>)
    |(?P<start><\|start\|>\s*assistant(?:<\|message\|>)?)
    |(?P<gemma><\|channel>\s*(?:thought|analysis)\b)|(?P<gemma_end><channel\|>)
    |(?P<unused><unused94>(?:thought)?)|(?P<unused_end><unused95>)
    |(?P<details><details\s[^<>]{{0,100}}\btype="reasoning"[^<>]{{0,200}}>(?:\s{{0,9}}{_SUMMARY}[^<>\n]{{0,80}}</summary>)?
        |<details(?:\s[^<>]{{0,200}})?>\s{{0,9}}{_SUMMARY}{_HEADING_OF_THOUGHTS}</summary>)
    |(?P<details_end></details>)
    |(?P<summary>{_SUMMARY}|</summary>)
    |(?P<final><(?P<final_end>/?){_ANSWERS}\s?>)
    |(?P<solution><\|(?P<solution_end>end_(?:of_)?)?(?:begin_(?:of_)?|start_(?:of_)?)?(?:{_ANSWERS}|box)\|>)
    |(?P<fence>(?<![^\n])```(?:think(?:ing)?|thoughts?|reasoning|reflection)[ \t]*\n)|(?P<fence_end>\n```[ \t]*(?=\n|\Z))
    |(?P<heading>(?<![^\n])(?:\*\*|\#{{1,4}}\s)?(?:here\s(?:is|'s)\smy\sresponse|(?:final\s)?(?:answer|response))(?:\*\*)?:(?:\*\*)?
        |(?<![^\n])(?:\*\*|\#{{1,4}}\s)(?:final\s)?(?:answer|response)(?:\*\*)?[ \t]*(?=\n))
    |(?P<bare>assistant(?:\s?final|<\|message\|>))
    |(?P<stop><\|(?:end|return|im_end|eot_id|eom_id|end_of_text|endoftext|eos)\|>|<end_of_turn>|</s>|<｜end▁of▁sentence｜>)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ONLY_WITHIN = {"bare": ("bare",), "fence_end": ("fence",), "summary": ("think", "details")}
_PARTS = re.compile(
    rf"(?:<|&lt;)[\s/|]{{0,2}}[a-z0-9_:|｜▁-]{{0,40}}(?:&(?:g(?:t)?)?)?|&(?:l(?:t)?)?"
    rf"|(?:<|&lt;)\s?/?\s?(?:[a-z]{{2,10}}:)?{_NAMES}\s[^<>\n]{{0,120}}"
    r"|\[/?[a-z]{0,10}|◁/?[a-z]{0,10}|<details\s[^<>]{0,200}|<\|channel>\s{0,3}[a-z]{0,8}",
    re.IGNORECASE,
)
"""The beginning of a mark at the end of a piece."""
_HEADER = re.compile(
    r"(?:<\|start\|>[^<]{0,80}|(?:<\|start\|>[^<]{0,80})?<\|channel\|>(?:[^<]|<\|constrain\|>){0,100})"
    r"(?:<[|a-z]{0,12})?",
    re.IGNORECASE,
)
"""An incomplete header of a channel."""
_DETAILS = re.compile(
    r"<details(?:\s[^<>]{0,200})?>\s{0,9}(?:<[a-z]{0,7}|<summary(?:\s[^<>]{0,80})?(?:>(?:[^<>\n]{0,80}(?:</?[a-z]{0,7})?)?)?)?",
    re.IGNORECASE,
)
"""The beginning of details with a summary."""
_BEGUN_BARE = re.compile(
    r"assistant\s?(?:f(?:i(?:n(?:a)?)?)?)?|assistan|assista|assist|assis|assi|ass|as|a", re.IGNORECASE
)
_BEGUN = {"start": _HEADER, "details": _DETAILS}
_LONG_MARKS = {"<|start|>": _HEADER, "<|channel|>": _HEADER, "<details": _DETAILS}
"""Marks with further marks in them, by their beginning."""
_FENCE_PART = re.compile(r"(?<![^\n])`{1,3}[a-z]{0,10}[ \t]*\Z", re.IGNORECASE)
_FENCE_END_PART = re.compile(r"\n`{0,3}[ \t]*\Z")
_HEADING_PART = re.compile(r"(?<![^\n])(?:\*\*|#{1,4} ?)?[a-z' ]{0,20}(?:\*\*)?\Z", re.IGNORECASE)
HEADED = re.compile(
    r"\s*(?:\*\*|#{1,4}\s)?(?:here(?:\sis|['’]s)\s(?:my|the|a)\s)?(?:thoughts?|thinking|reasoning)(?:\sprocess)?(?:\*\*)?:"
    r"|\s*(?:\*\*|#{1,4}\s)(?:thoughts?|thinking|reasoning)(?:\sprocess)?(?:\*\*)?[ \t]*\n",
    re.IGNORECASE,
)
"""A heading of thoughts, which a heading of the answer ends."""
_LONGEST = 240


class Kind(Enum):
    """The role of a mark."""

    OPEN = "a thought begins"
    CLOSE = "a thought ends"
    FINAL = "the answer begins"
    FINAL_END = "the answer ends"
    END = "a message ends"
    EMPTY = "a thought without words"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark at `text[start:end]`. `family` names the marks that belong together."""

    kind: Kind
    family: str
    start: int
    end: int


def next_mark(text: str, start: int, family: str, *, calls: bool) -> Mark | None:
    """Return the first mark at or after `start`, or None.

    `family` is the current thought's, because some marks end only a thought of their own family. With `calls`, a
    channel that is addressed to a tool is no thought and stays in the text.
    """
    for match in _PATTERN.finditer(text, start):
        alternative = match.lastgroup or ""  # the outer group of the alternative
        if family not in _ONLY_WITHIN.get(alternative, (family,)) or (calls and "to=" in match[0]):
            continue
        if (begun := _BEGUN.get(alternative)) and begun.fullmatch(text, match.start()):
            continue  # incomplete
        return Mark(*_classified(alternative, match.groupdict()), match.start(), match.end())
    return None


def _classified(family: str, groups: dict[str, str | None]) -> tuple[Kind, str]:
    match family:
        case "tag" if groups["tag_empty"]:
            return Kind.EMPTY, "think"
        case "summary":
            return Kind.EMPTY, "summary"
        case "tag" | "bracket" | "token" | "moon":
            is_end = any(groups.get(name) for name in (f"{family}_end", f"{family}_end2"))
            return (Kind.CLOSE if is_end else Kind.OPEN), "think"
        case "channel" if groups["channel_name"] == "final":
            return Kind.FINAL, "channel"
        case "channel":
            return Kind.OPEN, "channel"
        case "start":
            return Kind.END, "channel"
        case "gemma" | "unused" | "details" | "fence":
            return Kind.OPEN, family
        case "gemma_end" | "unused_end" | "details_end" | "fence_end":
            return Kind.CLOSE, family.removesuffix("_end")
        case "final" | "solution":
            return (Kind.FINAL_END if groups[f"{family}_end"] else Kind.FINAL), "answer"
        case "bare" | "heading":
            return Kind.FINAL, family
        case _:
            return Kind.END, "stop"


def held_back(text: str, family: str, *, headed: bool) -> int:
    """Count the final characters that may begin a mark.

    `family` is the current thought's. `headed` says that the text begins with a heading of thoughts.
    """
    tail = text[-_LONGEST:]
    for beginning, begun in _LONG_MARKS.items():
        place = tail.lower().find(beginning)
        if place >= 0 and begun.fullmatch(tail, place):
            return len(tail) - place
    for place in range(len(tail) - 1, -1, -1):
        if tail[place] in "<[◁&":
            if _PARTS.fullmatch(tail, place):
                return len(tail) - place
            if tail[place] != "&":
                break
    line_parts: tuple[re.Pattern[str], ...] = (
        _FENCE_END_PART if family == "fence" else _FENCE_PART,
        *((_HEADING_PART,) if headed else ()),
    )
    for pattern in line_parts:
        if line := pattern.search(tail):
            return len(tail) - line.start()
    if family == "bare" and (words := re.search(r"[a-z ]{1,14}$", tail, re.IGNORECASE)):
        for place in range(words.start(), len(tail)):
            if _BEGUN_BARE.fullmatch(tail, place):
                return len(tail) - place
    return 0
