"""Tasks of chat clients, such as titles and tags for a chat.

A task is recognised by its structure, not by the prompt of one client. It has

- an instruction to write something about a conversation (a title, tags, follow-up questions, search queries, …),
- the form of the reply (JSON with a key, "only the title", "at most 5 words", …), and
- the conversation: in an element such as `<chat_history>`, as lines or JSON with roles, below a heading, or in the
  messages before it. The instruction may also be the system message, and the message the conversation.
"""

import json
import re
from dataclasses import dataclass, replace

from core.model import ClientTaskKind
from core.text.chat.prompt_parts import Conversation, elements, find_conversation
from core.text.sanitize import one_line, truncate

_KINDS = (
    (ClientTaskKind.QUESTION, r"stand-?\s?alone (?:question|query|search)|rephras\w+ (?:the|this) (?:follow|question|query)|"
                        r"condense[sd]? (?:the )?question|eigenständige frage"),
    (ClientTaskKind.COMPLETION, r"auto-?\s?complet\w+|(?:continue|complete) (?:the|this) (?:\w+ ){0,2}(?:text|message|sentence|input|query)|"
                                r"\bcontinuation\b|fill[ -]in[ -]the[ -]middle|vervollständig\w+|补全"),
    (ClientTaskKind.FOLLOW_UPS, r"follow-?\s?_?ups?\b|(?:next|related|suggested) (?:questions|prompts|replies)|folgefragen|"
                          r"anschlussfragen|questions de suivi|preguntas de seguimiento|追问|後續問題|フォローアップ"),
    (ClientTaskKind.QUERIES, r"(?:search|web|google|retrieval)[ -](?:queries|query|terms?|phrases?|keywords)|"
                       r"\bqueries\b|(?:versions|variants) of the (?:\w+ )?(?:\w+ )?question|alternative questions|suchanfragen|requêtes|búsquedas|搜索(?:查询|关键词|词)|検索(?:クエリ|語)"),
    (ClientTaskKind.TITLE, r"\btitles?\b|\btopic names?\b|\b(?:conversation|chat) topic\b|\bheadline\b|\b(?:titel|überschrift|titre|título|titolo|tytuł|başlık)\b|заголов\w+|"
                     r"название|标题|標題|主题|タイトル|제목|\bname (?:for )?(?:this|the) (?:chat|conversation)|"
                     r"(?:chat|conversation) (?:a )?(?:short )?name\b"),
    (ClientTaskKind.TAGS, r"\b(?:hash)?tags?\b|\bkeywords?\b|\btopics?\b|\blabels?\b|schlag\w+|stichw\w+|étiquettes|etiquetas|"
                    r"标签|標籤|タグ|태그"),
    (ClientTaskKind.SUMMARY, r"\bsummar\w+|\brecap\w*|zusammenf\w+|\brésum\w+|\bresum[ei]\w*|\briassum\w+|总结|總結|摘要|要約|요약"),
    (ClientTaskKind.OTHER, r"\bemojis?\b|image generation|\bprompt for (?:an?|the) \w+|tool_calls|\bmemories\b|"
                     r"synthesi[sz]e (?:these|the) responses"),
)  # fmt: skip
_KIND = re.compile("|".join(f"(?P<{kind.value}>{words})" for kind, words in _KINDS), re.IGNORECASE)

_KEYS = {
    "title": ClientTaskKind.TITLE,
    "tags": ClientTaskKind.TAGS,
    "keywords": ClientTaskKind.TAGS,
    "topics": ClientTaskKind.TAGS,
    "labels": ClientTaskKind.TAGS,
    "follow_ups": ClientTaskKind.FOLLOW_UPS,
    "followups": ClientTaskKind.FOLLOW_UPS,
    "questions": ClientTaskKind.FOLLOW_UPS,
    "suggestions": ClientTaskKind.FOLLOW_UPS,
    "queries": ClientTaskKind.QUERIES,
    "query": ClientTaskKind.QUERIES,
    "search_queries": ClientTaskKind.QUERIES,
    "text": ClientTaskKind.COMPLETION,
    "completion": ClientTaskKind.COMPLETION,
    "question": ClientTaskKind.QUESTION,
    "summary": ClientTaskKind.SUMMARY,
    "prompt": ClientTaskKind.OTHER,
    "emoji": ClientTaskKind.OTHER,
    "tool_calls": ClientTaskKind.OTHER,
}
"""Kinds of tasks by the key of the JSON object that they ask for."""
_KEY = re.compile(r"\{\s{0,20}[\"“'](?P<key>[A-Za-z_-]{1,30})[\"”']\s{0,5}:\s{0,5}(?P<list>\[)?")
_NAMED_KEY = re.compile(
    r"\b(?:fields?|keys?|property)\b[^.\n]{0,30}?(?:called|named)\s{1,3}[\"“'`]?(?P<after>\w{1,30})|"
    r"[\"“'`](?P<before>\w{1,30})[\"”'`]\s{1,3}(?:key|field|property)",
    re.IGNORECASE,
)

_REQUEST = re.compile(
    r"\b(?:generat\w*|creat\w+|writ(?:e|ing)|suggest\w*|giv(?:e|ing)|provid\w+|extract\w*|produc\w+|return|reply|respond\w*|"
    r"output|summari[sz]\w+|name|propos\w+|mak(?:e|ing)|determin\w+|analy[sz]\w+|continu\w+|complet\w+|rephras\w+|formulat\w+|"
    r"rewrit\w+|fill|reflect|identif\w+|list|come up with|think of|pick|choose|assign|find|condense\w*|decid\w+|need to|task|"
    r"erstell\w+|erzeug\w+|gib|schreib\w*|formulier\w+|fass\w*|nenn\w*|g[éeè]n[éeè]r\w+|donne\w*|cr[ée]+\w*|propose\w*|"
    r"escrib\w+|da(?:me)?|resum\w+|scriv\w+|napisz|создай|напиши|придумай)\b|"
    r"生成|返回|输出|总结|總結|概括|提取|给出|給出|写|作成|生成して|付けて|まとめ|만들|작성",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"\bJSON\b|\bonly\b|\bnothing (?:else|but)\b|\bwithout\b|\bno (?:other|more|extra|additional|quot|explanation|punct)|"
    r"\b(?:do not|don't|never|avoid|must not)\b|-words?\b|\bwords?\b|\bcharacters?\b|\bat most\b|\bmax(?:imum)?\b|"
    r"\ban? (?:\w+ )?emoji\b|\bconcise\b|\bshort\b|\bbrief(?:ly)?\b|\bone line\b|\bsingle\b|\bseparated\b|\bformat\b|\bexactly\b|\blimit(?:ed)?\b|"
    r"^#{0,6}\s{0,3}(?:output|answer|title)\b|"
    r"\b(?:nur|ohne|höchstens|kurze?[nrs]?|wörter\w*|zeichen)\b|\b(?:uniquement|seulement|sans|mots|court)\b|"
    r"\b(?:solo|sólo|sin|palabras|breve|corto)\b|\b(?:senza|parole)\b|\b(?:только|без|слов)\b|只|仅|僅|不要|以内|以內|个字|だけ|のみ|文字|字以内",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT = re.compile(
    r"\b(?:this|these|our|my|the|your|above|previous|preceding|following|given|user'?s?|a|latest)\s+(?:\w+\s+){0,2}?"
    r"(?:conversations?|discussion|dialogue|chat|transcript|messages?|exchange|session|quer(?:y|ies)|questions?|prompt|"
    r"responses)\b(?!\s+(?:apps?|programs?|clients?|rooms?|protocols?|servers?|models?|bots?|queues?|brokers?|rates?))|"
    r"\b(?:chat|conversation) (?:titles?|so far|history|above|below|summar\w+|names?)\b|"
    r"\b(?:for|of) (?:\w+ ){0,2}(?:chats|conversations)\b|"
    r"\b(?:dieser?|unserer?|der) (?:unterhaltung|chat|konversation|anfrage|frage|nachricht)|\b(?:dieses?|unseres?|des) gespräch\w*|"
    r"\b(?:cette|notre|la) (?:conversation|discussion|question)|\b(?:esta|nuestra|la) (?:conversación|charla|pregunta)|"
    r"\b(?:questa|la) conversazione|(?:этого|нашего) (?:чата|разговора|диалога)|对话|對話|会话|會話|聊天|这句话|会話|대화",
    re.IGNORECASE,
)
"""Words about a conversation or a message in an instruction."""
_OURS = re.compile(
    r"\b(?:this|our|the|the (?:above|previous|preceding|entire|whole|current)|your)\s+"
    r"(?:conversation|discussion|dialogue|chat|role-?play|story)(?: history)?\b(?!\s+(?:about|on|of|around|among|between|with|apps?|in (?!\d)|"
    r"programs?|clients?|rooms?|servers?|models?|bots?)\b)|\bwe (?:have )?(?:discussed|talked)|"
    r"\b(?:chat|conversation|story) (?:so far|history|above)\b|"
    r"\b(?:diese|unsere) (?:unterhaltung|konversation)|\b(?:dieses|unser|unseres) gespräch|\b(?:cette|notre) (?:conversation|discussion)|"
    r"\b(?:esta|nuestra) (?:conversación|charla)|\bquesta conversazione|上述对话|以上对话|本次对话|用户的(?:会话|对话)|(?:会话|对话)内容|我们的对话|这句话|この会話",
    re.IGNORECASE,
)
"""Words for the conversation in the earlier messages."""
_LABELLED = re.compile(
    r"(?:question|query|prompt|message|input|request)\**[ \t]*[:：]\**\s{0,5}\S", re.IGNORECASE
)
_FOLLOW_UP = re.compile(
    r"<?follow[- ]?up (?:input|question|message|query)(?:>|[ \t]*[:：])\s{0,5}(?P<text>[^\n<]+)",
    re.IGNORECASE,
)

TITLE_CHARACTERS = 60
"""The most characters of a title cut from the question."""
QUERY_CHARACTERS = 300
"""The most characters of a query cut from the question."""
_INSTRUCTION_CHARACTERS = 8_000
"""The most characters to search for an instruction. Templates of clients have up to 3,000."""
_HEAD = 600
"""Characters of the beginning of a system message, which has its purpose."""
_LABEL_CHARACTERS = 60
"""A shorter text outside of a conversation is a label, not an instruction."""
_LISTS = frozenset({ClientTaskKind.TAGS, ClientTaskKind.FOLLOW_UPS, ClientTaskKind.QUERIES})
_ANY = re.compile("")
_AGENT = re.compile(r"\b(?:generat(?:or|ion)|assistant|agent|system|expert|summari[sz]er)\b", re.IGNORECASE)
_BEGUN_ELEMENT = re.compile(
    r"<(?P<name>text|prefix|input|draft|partial\w{0,20})>(?P<text>(?:(?!<(?P=name)>)[^\0]){0,20000}?)</(?P=name)>",
    re.IGNORECASE,
)
"""An element of a begun text. Its name may also stand in the instructions before it."""
_BEGUN = re.compile(
    r"^[ \t]*(?:text|input|prefix|draft)[ \t]*[:：][ \t]*(?P<text>\S[^\n]*)", re.IGNORECASE | re.MULTILINE
)
_ABOUT_BEGUN = re.compile(
    r"\b(?:the|this|user'?s?|given|following|my)\s+(?:\w+\s+){0,2}(?:text|message|input|prompt|query|words)\b",
    re.I,
)
_ABOUT_MESSAGE = frozenset(
    {ClientTaskKind.TITLE, ClientTaskKind.TAGS, ClientTaskKind.QUERIES, ClientTaskKind.OTHER}
)
"""Kinds of tasks about one message. A request to summarise a text is a person's, not a client's."""
_FORM_OF_THEIR_OWN = frozenset(
    {
        ClientTaskKind.TITLE,
        ClientTaskKind.QUESTION,
        ClientTaskKind.FOLLOW_UPS,
        ClientTaskKind.QUERIES,
        ClientTaskKind.COMPLETION,
        ClientTaskKind.SUMMARY,
    }
)


@dataclass(frozen=True, slots=True)
class ClientTask:
    """A task, its conversation and the form of its reply."""

    kind: ClientTaskKind
    about: str = ""
    """The first question of the conversation, or ""."""
    latest: str = ""
    """The latest question of the conversation, or ""."""
    key: str = ""
    """The key of the JSON object to reply with, or "" for text."""
    is_list: bool = False
    """Whether the value of the key is a list."""

    def reply_without_model(self) -> str | None:
        """Return the reply that needs no model, or None.

        Titles, queries and standalone questions are cut from the conversation. Other tasks get an empty value if they
        ask for JSON.
        """
        match self.kind:
            case ClientTaskKind.TITLE:
                text = cut_at_word(self.about, TITLE_CHARACTERS)
            case ClientTaskKind.QUERIES | ClientTaskKind.QUESTION:
                text = one_line(self.latest, QUERY_CHARACTERS)
            case _:
                text = ""
        if not self.key:
            return text or None
        if self.kind is ClientTaskKind.TITLE and not text:
            return None
        value = ([text] if text else []) if self.is_list else text
        return json.dumps({self.key: value}, ensure_ascii=False)


def cut_at_word(text: str, limit: int) -> str:
    """Return a text on one line, cut at a word, with an ellipsis if it was cut."""
    line = one_line(text, max(len(text), limit))
    if len(line) <= limit:
        return line
    room = line[:limit]
    return (room[: room.rfind(" ")] if " " in room else truncate(line, limit)).rstrip(" ,;:–—-….") + "…"


def find_task(message: str, instructions: str = "", earlier: tuple[str, ...] = ()) -> ClientTask | None:
    """Return the task of a message, or None if a person asks a question.

    Args:
        message: the last message of the user, or a system message after it.
        instructions: the system and developer messages of the request.
        earlier: what the user said in earlier messages, oldest first.
    """
    if any(part.is_question and part.content for part in elements(message)):
        return None  # a template around a question
    if completion := _completion(message, instructions):
        return completion
    if conversation := find_conversation(message):
        own = _head_and_tail(conversation.outside)
        if _is_asked_by_person(own):
            return None
        task = _instructed(own, _ANY) or _instructed(
            instructions[:_INSTRUCTION_CHARACTERS], _ANY if len(own) < _LABEL_CHARACTERS else _ABOUT
        )
        return _with_questions(task, conversation, message) if task else None
    if earlier:
        if task := _instructed(_head_and_tail(message), _OURS):
            return replace(task, about=earlier[0], latest=earlier[-1])
        task = _instructed(instructions[:_HEAD], _ABOUT)
        is_rewrite = task is not None and task.kind is ClientTaskKind.QUESTION
        return task and replace(task, about=earlier[0], latest=message) if is_rewrite else None
    return _about_message(message) or _set_by_system(message, instructions)


def _completion(message: str, instructions: str) -> ClientTask | None:
    """Return the task to go on with a begun text, which an element, a label or the whole message has, or None."""
    element = next(iter(reversed(list(_BEGUN_ELEMENT.finditer(message[-_INSTRUCTION_CHARACTERS:])))), None)
    labelled = _BEGUN.search(message)
    begun = (element or labelled or {"text": ""})["text"].strip()
    own = _head_and_tail(message.replace(element[0], "\n\n") if element else message)
    task = _instructed(own, _ANY) if begun else None
    if task is None and not _is_question(message) and _ABOUT_BEGUN.search(instructions[:_HEAD]):
        task, begun = _instructed(instructions[:_HEAD], _ABOUT_BEGUN), begun or message
        task = task if task and _FORM.search(instructions[:_INSTRUCTION_CHARACTERS]) else None
    if task is None or task.kind is not ClientTaskKind.COMPLETION or _is_asked_by_person(own):
        return None
    return replace(task, about=begun, latest=begun)


def _about_message(message: str) -> ClientTask | None:
    """Return the task that one paragraph sets about the others, or None."""
    blocks = [block.strip() for block in re.split(r"\n[ \t]*\n", message) if block.strip(" \t\n-=")]
    for place, block in enumerate(blocks):
        task = _instructed(block[:_INSTRUCTION_CHARACTERS], _ABOUT)
        if task and task.kind in _ABOUT_MESSAGE and (len(blocks) > 1 or _LABELLED.search(block)):
            others = [*blocks[:place], *blocks[place + 1 :]]
            about = next(filter(None, map(_after_label, others)), "") or _labelled_text(block)
            return replace(task, about=about, latest=about)
    return None


def _set_by_system(message: str, instructions: str) -> ClientTask | None:
    """Return the task that a system message sets about the user's message, or None."""
    task = _instructed(instructions[:_HEAD], _ABOUT)
    if not task or task.kind not in _ABOUT_MESSAGE or not _is_for_messages(instructions[:_HEAD]):
        return None
    if conversation := find_conversation(instructions):
        return _with_questions(task, conversation, message)
    key, _, is_list = _json_key(instructions[:_INSTRUCTION_CHARACTERS])
    about = _after_label(message)
    return replace(task, about=about, latest=about, key=key, is_list=is_list)


def _is_for_messages(instructions: str) -> bool:
    """Return whether a single sentence names both the output and the conversation.

    “Give every answer a title”, in the instructions of an ordinary chat, does not.
    """
    sentences = re.split(r"(?<=[.!?。？！])\s+|\n+", instructions)
    return any(_KIND.search(sentence) and _ABOUT.search(sentence) for sentence in sentences)


def _instructed(text: str, about: re.Pattern[str]) -> ClientTask | None:
    """Return the task that an instruction sets, or None.

    It has a request, words that match `about`, and the form of the reply. Titles, queries and the like for a marked
    conversation need no form.
    """
    if not about.search(text):
        return None
    key, kind, is_list = _json_key(text)
    kind = kind or _kind_asked_for(text)
    if kind is None or not (_FORM.search(text) or (about is _ANY and kind in _FORM_OF_THEIR_OWN)):
        return None
    return ClientTask(kind, key=key, is_list=is_list)


def _kind_asked_for(text: str) -> ClientTaskKind | None:
    """Return the requested kind of task, or None.

    A question is not a request, unless it asks for a part of this conversation, such as its title.
    """
    kinds: list[ClientTaskKind] = []
    is_requested = False
    for sentence in re.split(r"(?<=[.!?。？！])\s+|\n+", text):
        asks_for_part = _is_question(sentence) and _KIND.search(sentence) and _OURS.search(sentence)
        if _is_question(sentence) and not asks_for_part:
            continue
        is_requested = bool(
            is_requested or asks_for_part or _REQUEST.search(sentence) or _AGENT.search(sentence)
        )
        if is_requested:
            kinds += (
                ClientTaskKind(match.lastgroup) for match in _KIND.finditer(sentence) if match.lastgroup
            )
    for kind, weaker in (
        (ClientTaskKind.QUESTION, set(ClientTaskKind)),
        (ClientTaskKind.TITLE, {ClientTaskKind.SUMMARY}),
    ):
        if kind in kinds and kinds[0] in weaker:
            return kind
    return kinds[0] if kinds else None


def _json_key(text: str) -> tuple[str, ClientTaskKind | None, bool]:
    """Return the key of the JSON object to reply with, its kind, and whether its value is a list."""
    found = [(match["key"], bool(match["list"])) for match in _KEY.finditer(text)]
    found += [(match["after"] or match["before"], False) for match in _NAMED_KEY.finditer(text)]
    for key, is_list in found:
        if kind := _KEYS.get(key.lower()):
            return key, kind, is_list or kind in _LISTS
    return "", None, False


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？", "؟"))


def _is_asked_by_person(text: str) -> bool:
    """Return whether a text ends with a question that is not about a task."""
    last = text.rstrip().rpartition("\n")[2]
    return _is_question(last) and not _KIND.search(last)


def _head_and_tail(text: str) -> str:
    """Return both ends of a long text. Instructions are before or after the conversation."""
    half = _INSTRUCTION_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n{text[-half:]}"


def _with_questions(task: ClientTask, conversation: Conversation, message: str) -> ClientTask:
    questions = conversation.questions
    latest = questions[-1] if questions else ""
    if task.kind is ClientTaskKind.QUESTION and (follow_up := list(_FOLLOW_UP.finditer(message))):
        latest = follow_up[-1]["text"].strip()
    return replace(task, about=questions[0] if questions else "", latest=latest)


def _after_label(text: str) -> str:
    """Return a text without its label, such as `Message:`."""
    return re.sub(
        r"\A(?:[^\n]{0,120}[:：]\**[ \t]*(?:\n+|\Z)|[#*\s]*\w+[ \w]{0,20}[:：]\**\s*)", "", text
    ).strip()


def _labelled_text(text: str) -> str:
    """Return the line after the last label, or ""."""
    lines = [text[label.end() - 1 :].partition("\n")[0] for label in _LABELLED.finditer(text)]
    return lines[-1].strip(" \t\"'`") if lines else ""
