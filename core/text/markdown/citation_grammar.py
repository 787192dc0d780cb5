"""The grammar of citation marks, and of similar text that is no mark.

A new form is one more line in `_MARKS` or word in `_LABELS`, with a line in its test's table.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from core.text.markdown.mark_look_alikes import is_enumerator, is_index, is_power

if TYPE_CHECKING:
    from regex import Match, Pattern


def _any(words: str) -> str:
    return "|".join(words.split())


HIGHEST_NUMBER = 999
"""The highest number in brackets that is not a year or a quantity. A source's number may be higher."""
_LONGEST_RANGE = 50

# --- words ------------------------------------------------------------------------------------------------

_LABELS = (
    r"sources? src citations? cites? cited cit refs? references? footnotes? quellen? quellenangaben? belege? nachweise? "
    r"verweise? fundstellen? zitate? referenz(?:en)? fu(?:ß|ss)noten? références? réf fuentes? referencias? citas? fonti "
    r"fontes? riferiment[oi] referências? bron(?:nen)? verwijzing(?:en)? źródł[oa] zdroje? källa källor kilder? lähde "
    r"lähteet forrás(?:ok)? surs[ăae] kaynak(?:lar)? источники? источн ссылк[аи] джерел[оа] πηγ[ήέ]ς? المصادر مصادر "
    r"المصدر مصدر מקורות מקור स्रोत nguồn sumber 来源 來源 出处 出處 引用 引文 信源 参考文献 參考文獻 参考资料 參考資料 "
    r"参考 參考 文献 文獻 资料 資料 出典 参照 情報源 ソース 출처 참고문헌 참고 자료"
)
"""Words for a source. They make any number a citation, even without a source."""
_WEAK_LABELS = (
    r"docs? documents? dokumente? documentos? documenti ids? index indices files? dateien? web webpages? results? passages? chunks? contexts? snippets? "
    r"excerpts? 文档 文檔 网页 網頁 搜索结果 문서"
)
"""Words with other meanings too. They count within brackets, with a source's number."""
_INTRODUCTIONS = (
    r"see cf per via from siehe s vgl laut nach aus voir selon ver según vedi zie search 参见 參見 见 見"
)
_CONJUNCTIONS = "and or und oder et och og en ja ve e y i и і 和 及 与 與 と to bis"
_NUMBER_WORDS = r"no nr nº num number nummer numéro numero número ids? index"
_LOCATORS = r"pp? s l pages? seiten? lines? pág abs"
_HEADINGS = (
    r"notes? bibliography literature literatur(?:verzeichnis)? quellenverzeichnis quellennachweise? bibliographie "
    r"bibliografía bibliografia notas 脚注 注释 注釋"
)
"""Headings of a list of sources, in addition to the labels."""

_LABEL_WORDS = rf"(?:(?:{_any(_INTRODUCTIONS)})\.?[ \t]?(?:also[ \t]|auch[ \t]|the[ \t])?)?(?:(?P<strong>{_any(_LABELS)})|{_any(_WEAK_LABELS)})\.?(?:[ \t_-](?:{_any(_NUMBER_WORDS)})\.?)?"
_CONJUNCTION, _LOCATOR = re.compile(_any(_CONJUNCTIONS), re.I), re.compile(_any(_LOCATORS), re.I)

# --- forms ------------------------------------------------------------------------------------------------

# A label is any word here, and is checked after a match, because alternatives of all words would compile slowly.
_WORD = r"[^\W\d_]{1,20}\.?"
_GAP = r"[ \t]{0,2}"
_SIGN = rf"{_GAP}(?:(?:n[°º]|[:：._#№=-]){_GAP})?#?"
"""Separators of a label and its number."""
_LABEL = rf"(?P<label>(?:{_WORD}[ \t_-])?{_WORD}){_SIGN}"
_CIRCLES = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳❶❷❸❹❺❻❼❽❾❿"
_PASSAGE = r":(?:\d{1,3}[–-]\d{1,3}|\d{3}|\d)(?!\d)"
"""The passage of a source, as in [1:0]. Two digits alone are minutes or a verse."""
_NUMBER = rf"(?:\^?\d{{1,6}}\^?(?:{_PASSAGE})?|[{_CIRCLES}])"
_COMMA = rf"{_GAP}(?:[,;，、；&+–—‑~～-]{_GAP}(?:(?:{_any(_CONJUNCTIONS)}){_GAP})?|(?:{_any(_CONJUNCTIONS)}){_GAP})"
_LIST = rf"(?P<numbers>{_NUMBER}(?:{_COMMA}(?:{_WORD}{_SIGN})?{_NUMBER}){{0,50}})"
# A title may have brackets, escaped or one level deep.
_TITLE = r"(?:[^\[\]\\\n]|\\[^\n]|\[[^\[\]\n]{0,100}\]){0,400}"
_ASIDE = r"(?:[^()（）\n]|\([^()\n]{0,100}\)){0,400}"
_TARGET = r"\((?:[^()\s]|\([^()\s]{0,300}\)){0,2000}(?:[ \t]+\"[^\"\n]{0,300}\")?[ \t]*\)"
_TAG = r"(?:cite|citation|cit|ref|source|src|fn|footnote)"
_ATTRIBUTE = rf"(?:ids?|index|name|nr?|num|number|ref|source|doc)=[\"']?(?:{_LABEL})?{_LIST}[\"']?"
_WRAPPED = rf"[^<>\n]{{1,600}}</{_TAG}>"
_RAISED = r"[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}"

_CODE = (
    r"^(?:[ \t>]|[-*+][ \t]|\d{1,3}[.)][ \t]){0,12}(?P<fence>`{3,}|~{3,})",
    r"(?<!`)(?P<ticks>`+)(?!`)(?:[^\n]|\n(?![ \t]*\n)){1,2000}?(?<!`)(?P=ticks)(?!`)",
    r"(?P<definition>^[ \t]{0,3}\^?\[[^\[\]\n]{1,300}\]:[^\n]*)",
)
"""Text without marks: code, and the definitions of links and footnotes."""
_MARKS = (
    # what opens a cited text in front of its mark: [cite_start]text [cite: 1], <co: 1>text</co: 1>
    r"(?P<opens>\[cite_start\]|<co(?:[ \t]?:[^<>\n]{0,40})?>)",
    rf"</(?P<sure>co)[ \t]?:[ \t]?{_LIST}[ \t]?>",
    # marks of a model's own search, which has no source here
    r"(?P<opens>\ue200[^\ue200\ue201\n]{1,200}\ue201|【turn\d{1,3}[a-z]{1,12}\d{1,4}(?:†[^】\n]{0,60})?】)",
    # <|file-1|>
    rf"<\|[ \t]?{_LABEL}{_LIST}[ \t]?\|>",
    # <cite index="1">text</cite>
    rf"<(?P<sure>{_TAG})[ \t]+{_ATTRIBUTE}>(?P<wrapped>[^<>\n]{{1,600}})</{_TAG}>",
    # [1], [1-2], [1, 2], [^1^], [#1], [1†source], [1](address), [Source 1], [citation:1], [Source 1: Title](address)
    rf"(?<![\\!])\^?\[[ \t]?(?:\^?{_LABEL}|#)?{_LIST}[ \t]?(?:[†‡][^\[\]\n]{{0,60}}|(?P<title>[,:：|–—-]){_TITLE})?\]"
    rf"(?:{_TARGET})?",
    # "Done![1]", which is no image
    rf"(?<=(?<!\\)!)\[{_LIST}\](?!{_TARGET})",
    # [[1]](address)
    rf"(?<![\\!])\[\[[ \t]?(?:{_LABEL})?{_LIST}[ \t]?\]\](?:{_TARGET})?",
    # ［1］, 【来源1】, 【1†source】
    rf"[［〔〖⟦【][ \t]?(?:{_LABEL})?{_LIST}[ \t]?(?:(?P<sure>[†‡])[^］〕〗⟧】\n]{{0,60}}|[:：|][^］〕〗⟧】\n]{{0,60}})?[］〕〗⟧】]",
    # (Source 1), (see source 1), （来源1）, (doc 1)
    rf"(?<!\\)(?P<round>[(（])[ \t]?{_LABEL}{_LIST}[ \t]?(?:[:：]{_ASIDE})?[)）]",
    # {cite: 1}, {{source 1}}
    rf"(?<!\\)\{{\{{?[ \t]?{_LABEL}{_LIST}[ \t]?\}}\}}?",
    # <cite>1</cite>, <ref id="1"/>
    rf"<(?P<sure>{_TAG})\b[^<>\n]{{0,100}}>[ \t]?(?:{_LABEL})?\[?{_LIST}\]?[ \t]?</{_TAG}>",
    rf"<(?P<sure>{_TAG})[ \t]+{_ATTRIBUTE}[ \t]*/?>"
    rf"(?:</{_TAG}>)?",
    # <sup>1</sup>, <sup>[1]</sup>, <sup><a href="#1">1</a></sup>
    rf"<sup\b[^<>\n]{{0,80}}>[ \t]?(?:<a\b[^<>\n]{{0,300}}>)?[ \t]?(?:\[{_LIST}\]|(?P<raised>){_LIST})[ \t]?(?:</a>)?"
    r"[ \t]?</sup>",
    # \cite{1}, \textsuperscript{1}, $^{1}$, ^1^
    rf"\\(?P<sure>(?:auto)?cite[pt]?)\{{(?:{_LABEL})?{_LIST}\}}",
    rf"\\textsuperscript\{{(?:\[{_LIST}\]|(?P<raised>){_LIST})\}}",
    rf"\$(?:\{{\}})?\^(?:\{{(?:\[{_LIST}\]|(?P<raised>){_LIST})\}}|(?P<raised>)(?P<numbers>\d))\$",
    r"(?<!\^)\^(?P<raised>)(?P<numbers>\d{1,3}(?:,[ ]?\d{1,3}){0,9})\^",
    # ¹, ¹⁻³, ¹,²
    # ①, ①②
    rf"(?P<raised>)(?P<circled>)(?P<numbers>[{_CIRCLES}]{{1,10}})",
    rf"⁽?(?P<raised>)(?P<numbers>{_RAISED}(?:(?:[,˒ˌ‚⸴⁻]|[,⸴]?[ ](?=[⁰¹²³⁴-⁹])){_RAISED}){{0,20}})⁾?",
)
_IN_ADDRESS = r"\[[^\s\[\]]{0,100}\](?=(?:\[\d{0,6}\]|\([^()\s]{0,300}\)){0,4}[\w=/&%?#:])"
"""Brackets that an address goes on after."""
_ELSEWHERE = (
    # Links, images, tags and addresses: a number in brackets inside them is no citation.
    rf"!?\[[^\[\]\n]{{0,300}}\]{_TARGET}",
    r"<[A-Za-z/][^<>\n]{0,500}>",
    rf"(?<![A-Za-z])(?:https?|ftp)://(?:[^\s<>\[\]【】]|{_IN_ADDRESS})+",
)
_BEGINNING = re.compile(
    rf"[\[［〔〖⟦【(（{{<`^$\\!⁰¹²³⁴⁵⁶⁷⁸⁹⁽\ue200{_CIRCLES}]|(?<![A-Za-z])[hf](?=t|\Z)|^[ \t>*+\d~-]",
    re.MULTILINE,
)
"""The possible first characters of a form."""


PIECE_OF_MARK = re.compile(
    rf"[\[［【]\^?(?:[^\W\d_]{{1,20}}\.?[:：_-]?)?\d{{1,4}}(?:[,、，–-]\d{{1,4}})*\^?[\]］】,]|^\d{{1,4}}(?:,\d{{1,4}})*\](?=\W*$)|{_RAISED}|[{_CIRCLES}]"
)
"""A mark, or a part of a mark, within a word between blanks."""


_WORDS_AT_END = re.compile(r"[(（][ \t]?(?P<words>[^\W\d_][^\d()\[\]]*?)[ \t:：._#№=-]*\Z")
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒ˌ‚⸴", "0123456789-,,,,") | {
    ord(circle): f"{int(unicodedata.numeric(circle))}," for circle in _CIRCLES
}
_ROUND_LABELS = frozenset(("doc", "docs", "document", "documents", "dokument", "dokumente", "文档", "文檔"))
_TOKEN = re.compile(r"(?P<number>\d+)|(?P<word>[^\W\d_]+)|(?P<dash>[–—‑~～-])")
_HEADING = re.compile(
    rf"[ \t>]*(?:#{{1,6}}[ \t]*)?[*_]{{0,3}}(?:{_any(_LABELS)}|{_any(_HEADINGS)}|works cited)[ \t]*[*_]{{0,3}}[:：]?[*_]{{0,3}}"
    r"[ \t]*",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"[ \t>]*(?:[-*+•][ \t]+)?(?P<mark>\[\^?\d{1,3}\^?\][.:]?|［\d{1,3}］|【\d{1,3}[^】\n]{0,20}】|[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}|"
    rf"<sup>\d{{1,3}}</sup>|\[?(?i:{_any(_LABELS)}){_SIGN}\d{{1,3}}\]?[:.)]|\d{{1,3}}[.)])[ \t]*(?P<title>[^\n]*[^\W\d_][^\n]*)"
)
_STOPS = (*".!?。！？", "]")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*")


def _code_and_marks() -> Pattern[str]:
    return _compiled(*_CODE, *_MARKS)


@functools.cache
def _labels() -> Pattern[str]:
    import regex

    return regex.compile(_LABEL_WORDS, regex.IGNORECASE)


def _elsewhere() -> Pattern[str]:
    return _compiled(*_ELSEWHERE)


@functools.cache
def _compiled(*forms: str) -> Pattern[str]:
    import regex  # it tells what may still become a form

    return regex.compile("|".join(f"(?:{form})" for form in forms), regex.MULTILINE)


def prepare() -> None:
    """Compile the forms in advance."""
    _code_and_marks()
    _elsewhere()
    _labels()
    _compiled(_TARGET)
    _compiled(_IN_ADDRESS)


# --- marks ------------------------------------------------------------------------------------------------


class Form(Enum):
    """How clearly a mark is a citation."""

    LABELLED = "labelled"
    """A mark with a word for a source."""
    BARE = "bare"
    """A number in brackets, which is a citation if a source has it."""
    RAISED = "raised"
    """A superscript, which is a citation if nothing is cited in brackets."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A mark at `text[start:end]`, or text that cannot be a mark.

    `numbers` are empty without a mark. `fence` is the sign that opens a block of code beyond `end`.
    """

    start: int
    end: int
    numbers: tuple[int, ...] = ()
    form: Form = Form.BARE
    fence: str = ""
    is_index: bool = False
    """Whether it is the index of an array."""
    definition: bool = False
    """Whether it defines a link or a footnote."""
    opens: bool = False
    """Whether it opens a cited text, whose mark follows."""
    unfinished: bool = False
    """Whether more text may change the unit."""


def units(
    text: str,
    numbers: Container[int] | None,
    position: int = 0,
    *,
    unfinished: bool = False,
    beside: bool = False,
    after_index: bool = False,
) -> Iterator[Unit]:
    """Yield the marks of `text` and the parts without marks, from `position` on.

    `numbers` are those of the sources, or None for every number up to 999. With `unfinished`, more text may change the
    last unit. `beside` means that a mark ends at `position`, `after_index` that an array's index does.
    """
    length, row, index = len(text), position if beside else -1, position if after_index else -1
    while beginning := _BEGINNING.search(text, position):
        start = beginning.start()
        match = _code_and_marks().match(text, start, partial=unfinished)
        match = match or _elsewhere().match(text, start, partial=unfinished)
        if match is None or (match.partial and _is_aside(text, start)):
            position = start + 1
            continue
        if unfinished and (match.partial or _may_grow(text, match)):
            yield Unit(start, length, unfinished=True)
            return
        if match.re is _elsewhere():
            position = match.end()
            continue
        if match["fence"]:
            end = end_of_code(text, match["fence"], match.end())
            yield Unit(
                start, match.end() if end is None else end, fence=match["fence"] if end is None else ""
            )
            position = length if end is None else end
            continue
        unit = _unit(text, match, numbers, beside=row == start)
        if unit and start in (index, index + 1) and text[start - 1 : start] == "]" and row != start:
            unit = Unit(start, unit.end, is_index=True)  # of another dimension
        if unit and unit.numbers and match["wrapped"] is not None:
            yield Unit(start, match.start("wrapped"), opens=True)
            unit = replace(unit, start=match.end("wrapped"))
        index = unit.end if unit and unit.is_index else -1
        if unit is None:
            other = _elsewhere().match(text, start)
            position = other.end() if other else start + 1
            continue
        row = unit.end if unit.numbers else -1
        position = max(unit.end, start + 1)
        yield unit


def end_of_code(text: str, fence: str, position: int) -> int | None:
    """Return the end of the code block that `fence` opened before `position`, or None."""
    closing = re.compile(rf"^[ \t>]*{fence}", re.MULTILINE).search(text, position)
    return closing.end() if closing else None


def _is_aside(text: str, start: int) -> bool:
    """Return whether the parenthesis at `start` begins with words that label no source."""
    words = _WORDS_AT_END.match(text, start)
    return words is not None and _labels().fullmatch(words["words"], partial=True) is None


def _may_grow(text: str, match: Match[str]) -> bool:
    """Return whether more text may change the unit of a match near the end."""
    end, length = match.end(), len(text)
    if end >= length:
        return True
    if text[end] == "[" and match.re is _elsewhere():
        inside = _compiled(_IN_ADDRESS).match(text, end, partial=True)
        return inside is not None and inside.partial
    if text[end] == "(" and text[end - 1] in "]":
        target = _compiled(_TARGET).match(text, end, partial=True)
        return target is not None and (target.partial or target.end() == length)
    if (
        match.re is not _elsewhere()
        and match["sure"]
        and text[end - 1] == ">"
        and text[match.start() + 1] != "/"
        and "</" not in match[0]
    ):
        inside = _compiled(_WRAPPED).match(text, end, partial=True)
        return text[end - 2] != "/" and inside is not None and inside.partial
    attached = match.start() > 0 and text[match.start() - 1 : match.start()].isalnum()
    return attached and end + 3 > length and "\n" not in text[end:]


def _unit(text: str, match: Match[str], numbers: Container[int] | None, *, beside: bool) -> Unit | None:
    """Return the unit of a match, or None if it is no mark. `beside` means that a mark directly precedes it."""
    start, end = match.span()
    if match["numbers"] is None:
        return Unit(start, end, definition=match["definition"] is not None, opens=match["opens"] is not None)
    label = _labels().fullmatch(match["label"]) if match["label"] else None
    if match["label"] and not label and not (match["label"] == "S" and match["title"] is None):
        return None
    strong = bool(label and label["strong"])
    if match["title"] and not (label or _is_located(match["numbers"], text[match.end("numbers") : end])):
        return None
    if match["round"] and not strong and match["label"].lower().rstrip(".") not in _ROUND_LABELS:
        return None
    named, is_range = _numbers(match["numbers"], lenient=label is not None)
    known = [_is_known(number, numbers) for number in named]
    if not named or not all(
        fine or number <= HIGHEST_NUMBER for fine, number in zip(known, named, strict=True)
    ):
        return None
    if strong or match["sure"]:
        return Unit(start, end, named, Form.LABELLED)
    if match["raised"] is not None:
        if not all(known) and not match["numbers"].isascii():
            named = tuple(
                dict.fromkeys(
                    int(digit) for digit in match["numbers"].translate(_RAISED_DIGITS) if digit.isdigit()
                )
            )
            known = [_is_known(number, numbers) for number in named]  # word¹²: 1 and 2
        is_other = is_enumerator if match["circled"] is not None else is_power
        fine = all(known) and (beside or not is_other(text, start, end))
        return Unit(start, end, named, Form.RAISED) if fine else None
    # All numbers of a range must be known. In a list one is enough, or a known neighbouring mark.
    if 0 in named or not (all(known) if is_range else any(known) or beside):
        return None
    if text[start] == "[" and not label and is_index(text, start, end, beside=beside):
        return Unit(start, end, is_index=True)
    return Unit(start, end, named, Form.BARE)


def _is_known(number: int, numbers: Container[int] | None) -> bool:
    return 0 < number <= HIGHEST_NUMBER if numbers is None else number in numbers


def _numbers(inside: str, *, lenient: bool) -> tuple[tuple[int, ...], bool]:
    """Return the numbers of a mark with filled ranges, and whether it has a range.

    The numbers are empty if the text is no list of numbers. An unknown word ends a `lenient` list, because it begins a
    title.
    """
    inside = re.sub(_PASSAGE, "", inside.translate(_RAISED_DIGITS))
    found: dict[int, None] = {}
    last, dash, is_range = None, False, False
    for token in _TOKEN.finditer(inside):
        if token["dash"]:
            dash = last is not None
        elif word := token["word"]:
            if word == "S" and inside[token.end() : token.end() + 1].isdigit():
                continue  # [S1, S2]; a page is "S. 5"
            if _LOCATOR.fullmatch(word) and found:
                break
            if word.lower() in ("to", "bis"):
                dash = True
            elif not (_CONJUNCTION.fullmatch(word) or _labels().fullmatch(word)):
                if lenient and found:
                    break
                return (), False
        else:
            digits = token["number"]
            if len(digits) > 1 and int(digits[0]) == 0:
                return (), False
            number = int(digits)
            if dash and last is not None:
                is_range = True
                whole = range(last, number + 1) if 0 <= number - last < _LONGEST_RANGE else (number,)
                found.update(dict.fromkeys(whole))
            found[number] = None
            last, dash = number, False
    return tuple(found), is_range


def _is_located(numbers: str, rest: str) -> bool:
    """Return whether the text after the numbers is the page of a source, as in [1, p. 5]."""
    return bool(re.match(r",[ \t]?[^\W\d_]{1,6}\.?[ \t]?\d", rest) and _LOCATOR.match(rest.lstrip(", \t")))


# --- lists of sources -------------------------------------------------------------------------------------


def start_of_source_list(text: str) -> int:
    """Return the start of the list of sources that ends `text`, or the text's length.

    Each of its lines begins with a mark. Without a heading such as "Sources", each line must be a footnote, have an
    address, or be a title after a blank line, not a sentence.
    """
    start = end = len(text)
    fine, entries, numbered, blank = True, 0, False, False
    for line in reversed(text.splitlines(keepends=True)):
        end -= len(line)
        content = line.rstrip("\r\n")
        if not content.strip():
            blank = True
            continue
        if entry := _ENTRY.fullmatch(content):
            entries, blank = entries + 1, False
            title = entry["title"].rstrip()
            fine = fine and (
                entry["mark"][0] in "⁰¹²³⁴⁵⁶⁷⁸⁹" or bool(_ADDRESS.search(title)) or not title.endswith(_STOPS)
            )
            numbered = numbered or entry["mark"][0] in "0123456789"
            start = end
            continue
        if entries and _HEADING.fullmatch(content):
            return end
        blank = blank or bool(_RULE.fullmatch(content))
        break
    return start if entries and fine and blank and not numbered and start else len(text)
