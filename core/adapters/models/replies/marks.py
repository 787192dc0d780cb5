"""Marks by which models and chat templates set thoughts apart from the answer.

Each family was seen in replies of real servers: tags, brackets, special tokens and channels.
"""

import re
from dataclasses import dataclass
from enum import Enum

_NAMES = (
    r"(?:think|thinking|thoughts?|reasoning|reason|reflection|scratchpad|inner_(?:thoughts|monologue)|cot"
    r"|internal_(?:thoughts|monologue|reasoning)|chain_of_thought|thought_process|deliberation|analysis)"
)
_ANSWERS = r"(?:answer|final_answer|response|solution)"
_ATTRIBUTES = r"(?:\s[^<>\n]{0,120})?"


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


_PATTERN = re.compile(
    rf"""
    (?P<tag><\s?(?P<tag_end>/?)\s?(?:[a-z]{{2,10}}:)?{_NAMES}{_ATTRIBUTES}\s?(?P<tag_empty>/?)>)
    |(?P<bracket>\[(?P<bracket_end>/?)(?:THINK|THINKING|THOUGHT|REASONING)\])
    |(?P<token><\|(?P<token_end>/|end_(?:of_)?)?(?:begin_(?:of_)?|start_(?:of_)?)?{_NAMES}
        (?:_(?:(?P<token_end2>end)|start|begin))?\|>)
    |(?P<moon>◁(?P<moon_end>/?)think▷)
    |(?P<channel>(?:<\|start\|>[\s\w]{{0,20}})?<\|channel\|>\s*(?P<channel_name>[a-z]+)
        (?:[^<]|<\|constrain\|>){{0,100}}<\|message\|>)
    |(?P<start><\|start\|>\s*assistant(?:<\|message\|>)?)
    |(?P<gemma><\|channel>\s*(?:thought|analysis)\b)|(?P<gemma_end><channel\|>)
    |(?P<unused><unused94>(?:thought)?)|(?P<unused_end><unused95>)
    |(?P<details><details\s+type="reasoning"[^<>]{{0,200}}>)|(?P<details_end></details>)
    |(?P<final><(?P<final_end>/?){_ANSWERS}\s?>)
    |(?P<solution><\|(?P<solution_end>end_(?:of_)?)?(?:begin_(?:of_)?|start_(?:of_)?)?(?:{_ANSWERS}|box)\|>)
    |(?P<bare>assistant(?:\s?final|<\|message\|>))
    |(?P<stop><\|(?:end|return|im_end|eot_id|eom_id|end_of_text|endoftext|eos)\|>|<end_of_turn>|<｜end▁of▁sentence｜>)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PARTS = re.compile(
    rf"<[\s/|]{{0,2}}[a-z0-9_:|｜▁]{{0,40}}|<\s?/?\s?(?:[a-z]{{2,10}}:)?{_NAMES}\s[^<>\n]{{0,120}}"
    r"|\[/?[a-z]{0,10}|◁/?[a-z]{0,10}|<details\s[^<>]{0,200}",
    re.IGNORECASE,
)
"""The beginning of a mark at the end of a piece."""
_HEADER = re.compile(
    r"(?:<\|start\|>[\s\w]{0,20}|(?:<\|start\|>[\s\w]{0,20})?<\|channel\|>(?:[^<]|<\|constrain\|>){0,100})"
    r"(?:<[|a-z]{0,12})?",
    re.IGNORECASE,
)
"""A channel's header that is not whole."""
_BEGUN_BARE = re.compile(
    r"assistant\s?(?:f(?:i(?:n(?:a)?)?)?)?|assistan|assista|assist|assis|assi|ass|as|a", re.IGNORECASE
)
_LONGEST = 240


def next_mark(text: str, start: int, *, bare: bool, calls: bool) -> Mark | None:
    """Return the first mark at or after `start`, or None.

    `bare` admits the names of channels without their tokens, which servers that strip tokens leave behind. With
    `calls`, a channel that is addressed to a tool is no thought, and is left in the text.
    """
    for match in _PATTERN.finditer(text, start):
        groups = match.groupdict()
        family = next(family for family in _FAMILIES if groups[family] is not None)
        if (family == "bare" and not bare) or (calls and "to=" in match[0]):
            continue
        return Mark(*_classified(family, groups), match.start(), match.end())
    return None


_FAMILIES = (
    *("tag", "bracket", "token", "moon", "channel", "start", "gemma", "gemma_end", "unused", "unused_end"),
    *("details", "details_end", "final", "solution", "bare", "stop"),
)


def _classified(family: str, groups: dict[str, str | None]) -> tuple[Kind, str]:
    match family:
        case "tag" if groups["tag_empty"]:
            return Kind.EMPTY, "think"
        case "tag" | "bracket" | "token" | "moon":
            is_end = any(groups.get(name) for name in (f"{family}_end", f"{family}_end2"))
            return (Kind.CLOSE if is_end else Kind.OPEN), "think"
        case "channel" if groups["channel_name"] == "final":
            return Kind.FINAL, "channel"
        case "channel":
            return Kind.OPEN, "channel"
        case "start":
            return Kind.END, "channel"
        case "gemma" | "unused" | "details":
            return Kind.OPEN, family
        case "gemma_end" | "unused_end" | "details_end":
            return Kind.CLOSE, family.removesuffix("_end")
        case "final" | "solution":
            return (Kind.FINAL_END if groups[f"{family}_end"] else Kind.FINAL), "answer"
        case "bare":
            return Kind.FINAL, "bare"
        case _:
            return Kind.END, "stop"


def held_back(text: str, *, bare: bool) -> int:
    """Return how many characters at the end of a text may be the beginning of a mark."""
    tail = text[-_LONGEST:]
    for token in ("<|start|>", "<|channel|>"):
        place = tail.lower().find(token)
        if place >= 0 and _HEADER.fullmatch(tail, place):
            return len(tail) - place
    for place in range(len(tail) - 1, -1, -1):
        if tail[place] in "<[◁":
            if _PARTS.fullmatch(tail, place):
                return len(tail) - place
            break
    if bare and (words := re.search(r"[a-z ]{1,14}$", tail, re.IGNORECASE)):
        for place in range(words.start(), len(tail)):
            if _BEGUN_BARE.fullmatch(tail, place):
                return len(tail) - place
    return 0
