"""The parts of a message from a chat client's template: elements, labels and conversations.

Everything here takes linear time: a message may have 100,000 characters from an untrusted writer.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]{0,40})(?:\s[^<>]{0,300})?>")
_SECTION = re.compile(r"^\[\[ ## (?P<name>[A-Za-z]\w{0,40}) ## \]\][ \t]*\n|^Respond with ", re.MULTILINE)
"""The mark before a field of DSPy, and the words after the last field of a message."""

_QUESTION_NAME = re.compile(
    r"(?:(?:user|original|latest|current|follow[_-]?up)[_-]?)?(?:query|question|input|request|prompt|message)",
    re.IGNORECASE,
)
_CONVERSATION_NAME = re.compile(
    r"(?:[a-z]+[_-])?(?:history|conversations?|chat|messages|transcript|dialogu?e?|turns)(?:[_-][a-z]+)?",
    re.IGNORECASE,
)
_CONTEXT_NAME = re.compile(
    r"(?:[a-z]+[_-]?){0,2}(?:context|sources?|documents?|docs?|files?|results?|references?|knowledge|attachments?|"
    r"excerpts?|passages?|chunks?|data|content|text|input|memor(?:y|ies))(?:[_-]?[a-z]+)?",
    re.IGNORECASE,
)

_USER = r"user|human|me|you|customer|nutzer(?:in)?|benutzer(?:in)?|utilisateur|usuario|utente|пользователь|用户|用戶|ユーザー|사용자"
_ASSISTANT = (
    r"assistant|response|ai|bot|chatbot|model|system|agent|gpt|chatgpt|openquery|assistent(?:in)?|asistente|assistente|"
    r"ассистент|助手|助理|アシスタント|어시스턴트"
)
_ROLE = re.compile(
    rf"^[ \t]*(?:[-*>#|]{{1,4}}[ \t]*)?(?:\*\*|\[|<\|)?(?:(?P<user>{_USER})|(?P<assistant>{_ASSISTANT}))"
    r"(?:[ \t]+message)?(?:\*\*|\]|\|>)?[ \t]*(?:[:：]|(?<=\|>))(?:\*\*)?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_JSON_ROLE = re.compile(r"\"role\"\s{0,5}:\s{0,5}\"(?P<role>user|human|assistant|ai|system)\"", re.IGNORECASE)
_JSON_TEXT = re.compile(
    r"\"(?:content|text|mainText|message)\"\s{0,5}:\s{0,5}\"(?P<text>(?:[^\"\\]|\\.)*)", re.DOTALL
)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\*\*)?(?:(?:the|this|current|previous|full|here(?: is|'s) the)[ \t]+)*"
    r"(?:(?:chat|conversation|message|dialogue)[ \t]+)?"
    r"(?:conversation|chat|history|messages?|transcript|dialogue|log|gespräch|unterhaltung|verlauf|"
    r"对话(?:内容|记录|历史)?|聊天记录|会話(?:履歴)?)(?:\*\*)?[ \t]*[:：](?:\*\*)?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,}|\"{3}|'{3})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Element:
    """An element such as `<context>…</context>`, or a section `[[ ## context ## ]]`, at `text[start:end]`.

    Its content is without the marks.
    """

    name: str
    content: str
    start: int
    end: int

    @property
    def is_question(self) -> bool:
        """Whether its name means a person's question."""
        return bool(_QUESTION_NAME.fullmatch(self.name))

    @property
    def is_conversation(self) -> bool:
        """Whether its name means that it holds a conversation."""
        return bool(_CONVERSATION_NAME.fullmatch(self.name))

    @property
    def is_context(self) -> bool:
        """Whether its name means material for the answer."""
        return bool(_CONTEXT_NAME.fullmatch(self.name)) and not self.is_question


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation inside a message, and the message without it."""

    outside: str
    questions: tuple[str, ...]
    """The user's turns, oldest first. Empty without marked roles."""


def elements(text: str) -> tuple[Element, ...]:
    """Return the outermost elements of a text, in order. In a text with sections, those are its elements.

    A conversation's element without an end tag reaches to the end, because clients cut their prompts.
    """
    if sections := tuple(_sections(text)):
        return sections
    tags = list(_TAG.finditer(text))
    ends: dict[str, list[int]] = {}
    for place, tag in enumerate(tags):
        if tag["end"]:
            ends.setdefault(tag["name"].lower(), []).append(place)
    found: list[Element] = []
    reached = 0
    for place, tag in enumerate(tags):
        if tag["end"] or tag.start() < reached:
            continue
        closing = ends.get(tag["name"].lower(), [])
        after = bisect_left(closing, place)
        if after < len(closing):
            close = tags[closing[after]]
            content, end = text[tag.end() : close.start()], close.end()
        elif _CONVERSATION_NAME.fullmatch(tag["name"]) and "\n" in text[tag.end() : tag.end() + 3]:
            content, end = text[tag.end() :], len(text)
        else:
            continue
        found.append(Element(tag["name"].lower(), content.strip(), tag.start(), end))
        reached = end
    return tuple(found)


def _sections(text: str) -> Iterator[Element]:
    """Yield the sections of a text, each up to the next mark."""
    marks = list(_SECTION.finditer(text))
    for place, mark in enumerate(marks):
        if mark["name"]:
            end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
            yield Element(mark["name"].lower(), text[mark.end() : end].strip(), mark.start(), end)


def without(text: str, parts: tuple[Element, ...]) -> str:
    """Return the text without these elements, a blank line in the place of each."""
    pieces, reached = [], 0
    for part in parts:
        pieces.append(text[reached : part.start])
        reached = part.end
    return "\n\n".join((*pieces, text[reached:]))


def find_conversation(text: str) -> Conversation | None:
    """Return the marked conversation in a text, or None.

    The mark is an element (`<chat_history>`), JSON messages with roles, lines that begin with roles (`USER:`,
    `Assistant:`), or a heading (`Conversation:`).
    """
    parts = elements(text)
    marked = tuple(part for part in parts if part.is_conversation)
    if marked:
        content = marked[-1].content
        return Conversation(without(text, marked).strip(), tuple(_user_turns(content)))
    text = without(text, tuple(part for part in parts if part.is_context or part.is_question))
    if json_role := _JSON_ROLE.search(text):
        start = max(text.rfind("{", 0, json_role.start()), 0)
        opening = text.rfind("[", 0, start)
        start = opening if opening >= 0 and not text[opening + 1 : start].strip() else start
        end = max(text.rfind("]"), text.rfind("}")) + 1
        return Conversation(f"{text[:start]}\n\n{text[end:]}".strip(), tuple(_user_turns(text)))
    roles = list(_ROLE.finditer(text))
    heading = next(iter(_HEADING.finditer(text)), None)
    users, assistants = any(role["user"] for role in roles), any(role["assistant"] for role in roles)
    if users and (assistants or (heading is not None and heading.start() <= roles[-1].start())):
        start = roles[0].start()
        fence = text.rfind("\n", 0, max(start - 1, 0))
        start = fence if _FENCE.match(text, fence + 1) else start
        return Conversation(
            f"{text[:start]}\n\n{_after_turns(text, roles[-1].end())}".strip(), tuple(_user_turns(text))
        )
    if heading is not None and text[heading.end() :].strip():
        first = next(iter(paragraphs(text[heading.end() :].replace("```", ""))), "")
        return Conversation(text[: heading.start()].strip(), (first,) if first else ())
    return None


def _after_turns(text: str, start: int) -> str:
    """Return the text after the last turn: after its closing fence, or after its paragraph."""
    fence = _FENCE.search(text, start)
    if fence:
        return text[fence.end() :]
    return text[start:].partition("\n\n")[2]


def _user_turns(text: str) -> Iterator[str]:
    """Yield the user's turns of a conversation, oldest first."""
    json_roles = list(_JSON_ROLE.finditer(text))
    for place, role in enumerate(json_roles):
        end = json_roles[place + 1].start() if place + 1 < len(json_roles) else len(text)
        content = _JSON_TEXT.search(text, role.end(), end)
        if content and role["role"].lower() in ("user", "human"):
            yield content["text"].replace("\\n", "\n").replace('\\"', '"').strip()
    if json_roles:
        return
    said_in_elements = [part.content for part in elements(text) if re.fullmatch(_USER, part.name)]
    if said_in_elements:
        yield from said_in_elements
        return
    roles = list(_ROLE.finditer(text))
    for place, role in enumerate(roles):
        end = roles[place + 1].start() if place + 1 < len(roles) else len(text)
        if role["user"] and (said := text[role.end() : end].strip(" \t\n\"'`")):
            yield said


def paragraphs(text: str) -> tuple[str, ...]:
    """Return the paragraphs of a text, without code in fences and quoted lines."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark["fence"][:3] == fence else fence
            continue
        if mark and mark["fence"] not in line[mark.end() :]:
            fence = mark["fence"][:3]
            kept.append("")
            continue
        is_rule = not line.strip(" \t-=*_#")
        kept.append("" if is_rule or line.lstrip().startswith(">") else line.rstrip())
    blocks = re.split(r"\n{2,}", "\n".join(kept))
    return tuple(block.strip() for block in blocks if block.strip())
