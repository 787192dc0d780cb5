"""The question in a long message, or in the template of a client."""

import re
from collections.abc import Sequence

from core.text.chat.prompt_parts import elements, paragraphs, without
from core.text.questions import QUESTION_LIMIT
from core.text.sanitize import one_line
from core.text.sentences import sentences

# A bare label begins with a capital, because `query: 5` occurs in code and settings.
_LABEL = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\*\*)?(?:(?P<question>"
    r"(?:(?:user|my|the|the[ \t]original|original|current|follow[ -]?up)(?:'s)?[ \t]+)(?:question|query|input|request)"
    r"(?:[ \t]is(?:[ \t]as[ \t]follows)?)?|current[ \t]task|"
    r"(?-i:Q(?:uestion|uery|UESTION|UERY)|Frage|Anfrage|Pregunta|Consulta|Domanda|Вопрос)"
    r"|问题|用户问题|問題|質問|질문)"
    r"|(?P<human>human|user)"
    r"|(?P<answer>(?:provide[ \t]+)?(?:(?:helpful|final|your|complete|refined|standalone)[ \t]+){0,3}(?:answer|response)|"
    r"this[ \t]is[ \t]the[ \t]expected[ \t]criteria[ \t]for[ \t]your[ \t]final[ \t]answer|standalone[ \t]+question|thought|"
    r"assistant|ai|antwort|respuesta|risposta|réponse|ответ|回答|答案|답변)"
    r"|(?P<context>this[ \t]is[ \t]the[ \t]context[ \t][\w' \t]{0,40}|"
    r"(?:context|background|relevant|additional|provided|source|reference)[ \t\w]{0,40}|sources|documents|kontext|contexto?|contesto|контекст|已知信息|上下文|参考内容|文脈))"
    r"(?:\*\*)?[ \t]*[:：](?:\*\*)?[ \t]*"
    r"|^[ \t]*#{1,6}[ \t]*(?:(?P<heading>(?:user[ \t]+)?(?:question|query)|用户问题|问题))[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTION_MARK = re.compile(r"[?？؟⸮;՞፧][\s\"'”’»)\]}*_]{0,6}$")
_WORDS = (
    r"what|what's|which|who|who's|whom|whose|when|where|why|how|is|are|was|were|does|do|did|can|could|should|would|will|"
    r"explain|describe|summari[sz]e|compare|define|outline|list|find|search|look up|research|tell me|show me|give me|"
    r"help me|write|translate|calculate|analy[sz]e|evaluate|review|check|verify|discuss|recommend|suggest|"
    r"(?:please )?(?:explain|describe|summari[sz]e|compare|tell|find|give|help|list|check|answer)|i(?:'d| would) like to know|"
    r"i want to know|i need to know|"
    r"was|wer|wie|wo|wann|warum|weshalb|welche[rnsm]?|erkläre?|beschreibe?|vergleiche?|fasse|nenne|"
    r"que|quel(?:le)?s?|qui|quand|où|pourquoi|comment|explique[rz]?|résume[rz]?|compare[rz]?|"
    r"qué|quién|cuándo|dónde|cuál(?:es)?|cómo|explica|describe|resume|compara|"
    r"che|cosa|chi|quando|dove|perché|come|spiega|descrivi|riassumi|confronta"
)
_REQUEST = re.compile(rf"[\s\"'“‘(>*_-]{{0,6}}(?:{_WORDS})\b", re.IGNORECASE)
_LETTER_REQUEST = re.compile(
    r"[\s\"'“‘(>*_-]{0,6}(?:(?:please |bitte )?(?:explain|describe|summari[sz]e|compare|define|outline|translate|tell me|show me)|"
    r"i(?:'d| would) like to know|i (?:want|need) to know|erkläre?|beschreibe?|vergleiche?|explique[rz]?|explica|spiega)\b",
    re.IGNORECASE,
)
"""Requests that are meant for an assistant even in a letter, unlike “please check the crane”."""
_SALUTATION = re.compile(
    r"\A\s*(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|to whom|sehr geehrte[rs]?|liebe[rs]?|hallo|guten (?:tag|morgen)|"
    r"moin|cher|chère|chers|bonjour|madame|monsieur|estimad[oa]s?|querid[oa]s?|hola|buen[oa]s|gentile|egregi[oa]|car[oai]|"
    r"buongiorno|beste|geachte|уважаем\w+|здравствуйте|尊敬的|亲爱的|您好|拝啓)\b[^\n.?]{0,60}[,!:，！：]?[ \t]*(?:\n|\Z)",
    re.IGNORECASE,
)
_MAIL_HEADER = re.compile(
    r"^(?:from|to|cc|date|sent|subject|von|an|datum|gesendet|betreff|de|à|a|objet|para|asunto|发件人|收件人|主题)[ \t]*[:：][^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSING = re.compile(
    r"\W*(?:thanks?|thank you|many thanks|cheers|regards|(?:kind|best|warm) (?:regards|wishes)|best|love|yours|sincerely|danke|"
    r"vielen dank|(?:viele|beste|liebe|herzliche) grüße|mit (?:freundlichen|besten|lieben|herzlichen) grüßen|mfg|lg|merci|"
    r"cordialement|bien à (?:vous|toi)|gracias|(?:un )?(?:cordial )?saludos?|atentamente|grazie|(?:cordiali|distinti) saluti|"
    r"met vriendelijke groet(?:en)?|с уважением|谢谢|此致|敬上|祝好|ありがとう|敬具)\b.{0,60}",
    re.IGNORECASE | re.DOTALL,
)
_SIGNATURE = 40
"""The most characters of a last paragraph that may be the name below a letter."""
_PARAGRAPH = 400
"""The most characters of a paragraph that may be a question as a whole, among others."""


def find_question(text: str) -> str:
    """Return the question of a message, in at most `QUESTION_LIMIT` characters, or "".

    A message within the limit is the question, unless it is a client's template or a letter that asks nothing. Otherwise
    the question is the first of these: the element or label for a question (`<user_query>`, `Question:`), the text after or before the material of a
    template, and the last paragraph or sentence that asks.
    """
    text = text.strip()
    labelled = _in_template(text)
    if labelled and len(labelled) <= QUESTION_LIMIT:
        return labelled
    parts = elements(text)
    material = parts if len(text) > QUESTION_LIMIT else tuple(part for part in parts if part.is_context)
    if material:
        after = text[material[-1].end :].strip()
        before = text[: material[0].start].strip()
        for beside in (after, before):
            whole = beside if beside is after and len(beside) <= _PARAGRAPH else ""
            if asked := (whole if "\n\n" not in beside else "") or _last_asking(beside) or whole:
                return _without_label(asked)
    elif len(text) <= QUESTION_LIMIT:
        return "" if _is_letter(text) and not _last_asking(text) else text
    outside = without(text, parts).strip()
    return _last_asking(labelled or outside) or (text if len(text) <= QUESTION_LIMIT else "")


def _is_letter(text: str) -> bool:
    """Return whether a whole text is a letter: a salutation and a closing, or the head of a mail."""
    head = text[:400].partition("\n\n")[0]
    if len(_MAIL_HEADER.findall(head)) >= 2 and all(map(_MAIL_HEADER.fullmatch, head.splitlines())):
        text = text.partition("\n\n")[2]
        return bool(_SALUTATION.match(text)) or _is_signed(text)
    return bool(_SALUTATION.match(text)) and _is_signed(text)


def _is_signed(text: str) -> bool:
    """Return whether a text ends with a closing and perhaps a name."""
    lines = [line.strip() for line in text.strip().splitlines()[-4:]]
    return any(_CLOSING.fullmatch(" ".join(lines[place:])) for place in range(len(lines)))


def _in_template(text: str) -> str:
    """Return the question that a template names, or ""."""
    named = [
        part.content
        for part in elements(text)
        if (part.is_question or part.name == "task") and part.content  # agents call a question a task
    ]
    if named:
        return named[-1]
    labels = list(_LABEL.finditer(text))
    values = [
        text[label.end() : labels[place + 1].start() if place + 1 < len(labels) else len(text)].strip(
            " \t\n-=_"
        )
        for place, label in enumerate(labels)
    ]
    is_open = bool(labels and labels[-1]["answer"] and not values[-1])
    names = "question", "heading", *(("human",) if is_open else ())
    asked = [
        place for place, label in enumerate(labels) if any(label[name] for name in names) and values[place]
    ]
    is_template = is_open or any(label["context"] for label in labels)
    if not asked or not is_template or (len(asked) > 1 and not is_open):
        return ""
    value = values[asked[-1]]
    if asked[-1] == len(labels) - 1:
        value = value.partition("\n\n")[0]
    line = value.partition("\n")[0]
    return line if _QUESTION_MARK.search(line) else value


def _last_asking(text: str) -> str:
    """Return the last paragraph or sentence that asks, or "".

    Both ends of a text come before its middle, because a pasted letter may contain a question. The end comes first,
    unless the beginning introduces what follows. A request in a long paragraph or in a letter may be the letter's.
    """
    asks = _LETTER_REQUEST if _is_letter(text) else _REQUEST
    blocks = list(paragraphs(text))
    while len(blocks) > 1 and _is_closing(blocks[-1]):
        blocks.pop()
    if not blocks:
        return ""
    ends = [blocks[-1], blocks[0]]
    if blocks[0].endswith((":", "：")):
        ends.reverse()
    for requests in (False, True):
        for block in ends:
            if asked := _asking(block, asks if requests or len(block) <= _PARAGRAPH else None):
                return asked
    return next((asked for block in reversed(blocks) if (asked := _asking(block, None))), "")


def _asking(paragraph: str, asks: re.Pattern[str] | None) -> str:
    """Return a short asking paragraph, or the last asking sentence of a longer one, or "".

    Without requests that match `asks` only question marks count: “list the sails” inside a letter is not a question.
    """
    asking = [
        sentence
        for sentence in _sentences(paragraph)
        if _QUESTION_MARK.search(sentence) or (asks and asks.match(sentence))
    ]
    if not asking:
        return ""
    whole = one_line(paragraph, len(paragraph) + 1)
    if len(whole) > min(_PARAGRAPH, QUESTION_LIMIT):
        whole = next((sentence for sentence in reversed(asking) if len(sentence) <= QUESTION_LIMIT), "")
    return _without_label(whole)


def _without_label(question: str) -> str:
    label = _LABEL.match(question)
    return question[label.end() :] if label and label["question"] else question


def _sentences(paragraph: str) -> Sequence[str]:
    """Return the sentences of a paragraph. A short line ends a sentence too, a wrapped line does not."""
    lines = paragraph.split("\n")
    width = max(map(len, lines))
    joined: list[str] = []
    for line in lines:
        if joined and len(joined[-1].rpartition("\n")[2]) >= 0.6 * width and width >= 40:
            joined[-1] += f"\n{line}"
        else:
            joined.append(line)
    found: list[str] = []
    for piece in joined:
        found.extend(one_line(piece[start:end], end - start + 1) for start, end in sentences(piece))
    return found


def _is_closing(paragraph: str) -> bool:
    """Return whether a last paragraph only thanks or signs."""
    if _QUESTION_MARK.search(paragraph):
        return False
    is_name = len(paragraph) <= _SIGNATURE and paragraph[-1:].isalpha() and len(paragraph.split()) <= 3
    return bool(_CLOSING.fullmatch(paragraph)) or (is_name and not _REQUEST.match(paragraph))
