"""Sentence splitting, in linear time and without a model."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from core.text.language import dominant_language

_SPACED = ".!?…؟۔։‽߹"
"""Stops that need white space after them."""
_BARE = "。！？｡．︒﹒﹖﹗‼⁇⁈⁉।॥།༎༏༐༑။។៕៖៚᠃᠉෴።፧፨᱾᱿꯫᭞᭟꧈꧉꩝꩞꩟꣎꣏꤯꓿꘎꘏꛳꛷܀܁܂᙮᥄᥅᪨᪩᪪᪫᭚᭛᰻᰼⳹⳺⳻꡶꡷꫰꫱𑃀𑃁𑅁𑅂𑅃𑇅𑇆𑑋𑑌︕︖"
"""Stops that need no white space after them."""
_CLOSERS = r"[\"'»«”“’‘›)\]}*_」』）】〉》]{0,8}"
_NUMBERS = r"(?:\[\^?\d{1,4}(?:[\s,;–-]{1,3}\d{1,4}){0,20}\]|【\d{1,4}[^】\n]{0,40}】)"
# Numbers of citations, and right after the stop also notes: [a], [note 2], [citation needed], ², †.
_MARK = rf"(?:[ \t\xa0]{{0,2}}{_NUMBERS}|\[(?!\^?\d)[^\[\]\n]{{1,30}}\]|[⁰¹²³⁴-⁹†‡])"
# All of the citation marks or none: the blank before a mark does not end the tail.
_TAIL = rf"{_CLOSERS}(?:(?:{_MARK})+(?!{_MARK}){_CLOSERS}|(?!{_MARK}))"
_DASH = r"(?:[—–―][ \xa0\u202f]?)?"
"""The dash before what a speaker says next, or before who spoke: "— Yes? — asked Ana."""
_OPENERS_AFTER = rf"\s*{_DASH}[\"'“”‘«‹(\[{{¿¡*_]{{0,4}}(?P<initial>\w?)(?P<rest>\w{{0,12}})"
_NEXT_WORD = re.compile(_OPENERS_AFTER)
# Where a sentence may end: at a stop, or at a break that ends any sentence. A character class comes first, so that the
# pattern engine skips all others. The text after a spaced stop is matched but not consumed, because it may hold another
# candidate. A row of stops is tried only at its first, so that a long row takes linear time.
_CANDIDATE = re.compile(
    rf"[{_SPACED}{_BARE}\n](?:"
    rf"(?<=[{_SPACED}])(?<![{_SPACED}]{{2}})[{_SPACED}]*(?=(?P<tail>{_TAIL})(?:(?=\s)|\Z)"
    rf"{_OPENERS_AFTER})"
    rf"|(?<=[{_BARE}])[{_BARE}]*{_TAIL}"
    r"|(?<=\n)[^\S\n]*(?:\n\s*|(?=(?:[-*+•‣▪◦–—]|\d{1,3}[.)]|\#{1,6}|>|\|)\s|```)))"
)
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
# Ends that only one script has: the Greek question mark, a colon for the Armenian full stop, a Chinese or Japanese
# ellipsis in a sentence of more than a word, and the blank of Tibetan, whose stop is left out after three letters.
_SCRIPT_ENDS = re.compile(
    rf"(?:[;\u037e](?<=[\u0370-\u03ff\u1f00-\u1fff]{{2}}.)|:(?<=[\u0561-\u0587]:)){_CLOSERS}(?=\s|\Z)"
    rf"|(?<=[{_IDEOGRAPHS}]{{2}})(?:…{{2,6}}|⋯{{2,6}})(?=[{_IDEOGRAPHS}「『“‘])"
    r"|[\u0f40\u0f42\u0f64][\u0f71-\u0f84]?[ \xa0](?=[\u0f40-\u0f6c])"
)
# Thai and Lao have blanks between sentences and no stops; blanks between words of a clause are rare.
_BLANK = re.compile(r"(?<=[\u0e01-\u0eff])[ \xa0\u200b]+(?=[\u0e01-\u0eff])(?![ๆໆฯຯ])")
_HAS_BLANK_ENDS = re.compile(r"[\u0e01-\u0eff]{10}")
_ANY_STOP = re.compile(rf"[{_SPACED}](?:\s|\Z)|[{_BARE}]")
_CLAUSE = 30
"""The fewest characters of a sentence that a blank ends."""
_HAS_SCRIPT_ENDS = re.compile(r"[\u0370-\u03ff\u0530-\u058f\u0f00-\u0fff]|……|⋯⋯")
_WITHOUT_CAPITALS = frozenset(map(chr, range(0x10D0, 0x1100)))
"""Letters of Georgian. They are small by Unicode, but sentences begin with them."""
_KHMER_ET_CETERA = "ល។"
_LAST_WORD = re.compile(r"[^\W_][\w\u0900-\u0dff.’'-]{0,18}$")
"""The last word, with the vowel signs of India's scripts."""
_SPACED_ABBREVIATION = re.compile(
    r"(?<![^\W_])(?:[^\W\d_]\.[ \xa0\u202f][^\W\d_]|[a-z]\.[ \xa0\u202f][^\W\d_]{2,4})\."
)
"""A letter and a few more with dots and a blank: "z. B.", "d. h.", "т. е.", "v. Chr."."""
_DOUBLED_ABBREVIATION = re.compile(r"([A-Z])\1\.[ \xa0\u202f]?([A-Z])\2\.")
"""Spanish plurals: "EE. UU.", "FF. AA."."""
_SPACED_CLOSER = re.compile(rf"[ \xa0\u202f]{{1,2}}[»›]{_TAIL}(?=\W|\Z)")
"""The French closing mark, after a blank. Right before a word it opens, as in German and Danish."""
_QUOTED_WINDOW = 1_000
"""The most characters between an opening quotation mark and its closing one."""
_CODE = re.compile(r"(?<![`\w])`[^`\n]{1,200}`(?![`\w])")
_QUOTATION_GOES_ON = re.compile(r"(?<=[」』”])(?:って|と(?!ころ|ても|にかく|うとう|もかく|りあえず))")
"""The Japanese word after speech that is reported: 「……。」と言った。"""
_NUMBER_BEFORE = re.compile(r"\d\.?\s*$")
_NO_ABBREVIATIONS: frozenset[str] = frozenset()
_LIST_NUMBER = re.compile(r"\s*\d{1,3}(?:\.\d{1,3}){0,4}$")
"""The number of an item or heading: 1, 2.1."""
_ITEM = re.compile(
    r"\n[^\S\n]{0,20}(?:\((?:[a-z]|[ivx]{2,5}|\d{1,3})\)|(?:[a-z]|[ivx]{2,5})\)|[ivx]{2,5}\.|[①-⑳⑴-⒇])\s"
)
"""The beginning of an item with a letter, a Roman number or a number in a circle, which a sentence may also have."""
LABELLED_ROW = re.compile(r"\s*(?P<label>[^\n:;.!?]{1,80}): [^\n;]*;[ \xa0]")
"""The beginning of a table's row whose cells have the names of their columns: `Country: Spain; Growth: 1.1%`."""
_ORDINAL = re.compile(
    r"\b(?:d(?:er|ie|as|en|em|es)|im|zum|zur|vom|beim|(?:ein|kein|mein|dein|sein|ihr|unser|dies|jed)(?:e|em|en|er|es)?)"
    r"\s\d{1,2}$",
    re.IGNORECASE,
)
"""A German ordinal number: "der 2. Versuch"."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEVER_LAST = _set(
    # English
    "mr mrs ms dr prof st rev hon gen col capt lt sgt sen rep gov pres messrs mt v vs eg ie cf viz al approx ca "
    "fig figs eq eqs sec secs sect ch chap vol vols ed eds trans pp no nos art para ref refs ver resp incl excl esp "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun dept univ assn bros "
    # German, French, Spanish, Italian
    "bzw vgl evtl ggf sog bspw nr abb kap hrsg jh bd str tel zb ua dh usf mme mlle sr sra srta dott sig pag "
    "env av p"
)
"""Abbreviations in any language."""
_NEVER_LAST_IN = {
    "ar": _set("د أ م ص ج هـ قم"),
    "bn": _set("ড ডা মো মোঃ প্রফে অধ্যা"),
    "bg": _set("проф инж ул бул гр обл стр вж напр тн тнар акад арх св"),
    "ca": _set("dra sta pàg pàgs núm cap ex pex aprox avda tel ed vol ing"),
    "cs": _set("např tzv tj č ul nám ing mgr doc obr tab mj popř příp sv odst písm kpt"),
    "da": _set("bla dvs ca kl kap jf jfr evt inkl ekskl tlf vedr feks pga mht iht fhv hr frk pct mfl"),
    "de": _set(
        "inkl exkl zzgl abzgl zt ia idr oä uä mio mrd tsd dipl ing geb gest verh okt dez mrz bes allg urspr vmtl anm "
        "aufl abs ziff lit max min mind nrn hl frl hr fr bsp hg ff gem lt einschl ausschl entspr gegr ehem städt "
        "std sek jhs jhd wg zw med phil rer nat jur habil theol"
    ),
    "el": _set("κ κα δρ καθ αρ σελ βλ πχ δηλ χιλ εκατ δισ αι μχ κλ τηλ οδ λεωφ"),
    "en": _set(
        "jr adm cmdr maj brig messr ave blvd rd ft hwy est dist min max ext ibid op repr suppl "
        "cir supp cong pub stat"
    ),
    "es": _set(
        "dra ud uds vd vds pág págs núm cap ej pej aprox avda ing lic gral depto dpto sto sta aC dC eeuu tfno"
    ),
    "fi": _set("esim mm ym ks vrt ko ns toim nro puh kpl tms engl saks lat prof n"),
    "fr": _set(
        "m mm éd janv févr juill déc cad ex pex apr boul ste me mgr tél n éds hab max min env chap dir trad"
    ),
    "gu": _set("ડૉ ડો શ્રી પ્રો"),
    "he": _set("עמ מס פרופ"),
    "hi": _set("डॉ प्रो श्री पं सं"),
    "hr": _set("npr tzv tj dr prof mr ul sv god st br str odn inž akad"),
    "hu": _set("pl kb ill ún ua vö ld bp ifj özv id szül sz old"),
    "id": _set("drs ir jl hlm hal tgl dsb yth an bpk no"),
    "it": _set("dottssa sigg sigra pagg cap es ades prof ing avv geom arch cfr tel ca art nn sec tav"),
    "kn": _set("ಡಾ ಶ್ರೀ ಪ್ರೊ"),
    "ml": _set("ഡോ ശ്രീ പ്രൊഫ"),
    "mr": _set("डॉ श्री सौ प्रा"),
    "lt": _set("pvz vad tel prof habil doc g pr al psl nr"),
    "nl": _set("dhr mevr mw drs ir ing bijv bv blz zgn oa dwz mbt tav vgl ca nl jl ned"),
    "no": _set("bla dvs ca kl kap jf jfr evt inkl ekskl tlf vedr feks pga mht iht hr frk pst mfl"),
    "pl": _set(
        "np tzn tj mgr inż ul al godz ok ur zm wg im św pkt ust poz min tzw tys mln mld płk kpt zob por rys tab red hab"
    ),
    "pt": _set("dra profa pág págs núm cap ex pex aprox séc eng exmo exma av dto lda"),
    "ro": _set("dl dna alin cap ex ing cca aprox jud loc pct lit"),
    "ru": _set(
        "г гг в вв ул им проф акад рис табл стр с см ср др тыс млн млрд руб коп обл пос кв тел напр св изд гл ст п чел "
        "те тн тк род ум доц"
    ),
    "sk": _set("napr tzv tj č ul nám ing mgr doc obr tab odst písm popr príp sv"),
    "sl": _set("npr tj dr prof mag ul sv št str oz ing čl"),
    "sr": _set("нпр тзв тј др проф мр ул св год бр стр"),
    "sv": _set("tex bla dvs ca kl sk jfr ev kap inkl exkl tfn milj st"),
    "ta": _set("திரு திருமதி பேரா"),
    "te": _set("డా శ్రీ ప్రొ"),
    "tr": _set("doç yrd bkz örn vd sn cad sok mah yy çev haz s sf mö ms öğr uzm"),
    "vi": _set("tp ts ths pgs gs tx tt vd"),
    "uk": _set("р рр ст вул ім проф акад рис табл с див ін тис млн млрд грн обл м тел напр св вид гл п"),
}
"""Further abbreviations by ISO 639-1 code."""
_ABBREVIATIONS = _NEVER_LAST.union(*_NEVER_LAST_IN.values())
_LONG_WORD = 1 + max(map(len, _ABBREVIATIONS))
# Abbreviations that are words too: they continue a sentence only before a number.
_ALSO_WORDS = _set("no art sat sun mar may ed sec sect fig p")
# Years and centuries that often end a sentence: "в 2020 г.", "u 19. st.".
_ENDS_AFTER_NUMBERS = _set("г гг в вв р рр ст god god год mm руб грн чел тыс тис млн млрд mln mld")
# German writes dates and centuries with a dot after the number.
_AFTER_ORDINALS = _set(
    "januar februar märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts "
    "jan feb mrz apr aug sep sept okt nov dez jh jhd jhs"
)
_AFTER_CO = frozenset(("KG", "KGaA", "OHG", "Ltd", "Inc", "LLC"))
# Ends of companies' names: a title such as "Chairman" may follow.
_COMPANIES = _set("inc corp ltd")
# Words that usually open a sentence rather than follow an initial or an acronym.
_OPENERS = _set(
    "the a an this that these those it its he she they we you i in on at for from by as if when while after "
    "before however but and or so there here his her their our my what which who how why where one some many "
    "most all both each der die das ein eine es er sie wir le la les un une il elle el los las una ich "
    "danach dann dort hier heute seitdem dabei daher aber und auch so nun jetzt als dies diese dieser im am in bei mit"
)


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of `text` as `(start, end)` offsets.

    Only white space is between sentences. A blank line and the start of a list item, heading, quote or table row end a
    sentence, also of a row that names its columns. A single line break does not. Abbreviations, initials, decimals and list numbers do not either. Closing
    quotes and citation marks such as `[3]` after the stop belong to the sentence before them. Text without stops is one
    sentence, unless it is Thai or Lao, where blanks divide.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    ends = list(_ends(text))
    if _HAS_SCRIPT_ENDS.search(text):
        ends = sorted({*ends, *(match.end() for match in _SCRIPT_ENDS.finditer(text))})
    if starts := [*_item_starts(text), *_row_starts(text)]:
        ends = sorted({*ends, *starts})
    if _HAS_BLANK_ENDS.search(text) and not _ANY_STOP.search(text):
        ends = sorted({*ends, *_blank_ends(text)})
    for end in (*ends, len(text)):
        piece = text[start:end]
        leading = len(piece) - len(piece.lstrip())
        right = len(piece.rstrip())
        if right > leading:
            spans.append((start + leading, start + right))
        start = end
    return tuple(spans)


def _item_starts(text: str) -> list[int]:
    """Return where items begin whose number is a letter, Roman or in a circle.

    Such a line begins an item if the line before it is one or ends with a mark: any other may go on a sentence.
    """
    if "\n" not in text:
        return []
    # With a line break before it, the place of a match is where its line begins in the text.
    starts, begins = list[int](), dict.fromkeys(match.start() for match in _ITEM.finditer(f"\n{text}"))
    for start in begins:
        before = text.rfind("\n", max(0, start - _QUOTED_WINDOW), start - 1) + 1
        if start and (before in begins or text[before:start].rstrip()[-1:] in set(".:;,!?")):
            starts.append(start)
    return starts


def _row_starts(text: str) -> list[int]:
    """Return where lines begin and end that are rows of one table. Two lines with the same first label are."""
    if "; " not in text:
        return []
    lines = [line.start() for line in re.finditer("^", text, re.MULTILINE)]
    labels = [row["label"] if (row := LABELLED_ROW.match(text, start)) else "" for start in lines]
    starts: list[int] = []
    for place, (first, second) in enumerate(pairwise(labels)):
        if first and first == second:
            starts += lines[place : place + 3]
    return starts


def _ends(text: str) -> Iterator[int]:
    """Yield the offsets of sentence ends, ascending."""
    reached = sentence = 0
    abbreviations = cache(lambda: _NEVER_LAST_IN.get(dominant_language([text]), _NO_ABBREVIATIONS))
    codes = _CODE.finditer(text) if "`" in text else iter(())
    code = next(codes, None)
    for match in _CANDIDATE.finditer(text):
        stop_start, end = match.span()
        while code and code.end() <= stop_start:
            code = next(codes, None)
        if stop_start < reached or (code and code.start() < stop_start):
            continue
        stop = match.group()
        if stop[0] == "\n":
            reached = sentence = end
            yield stop_start
        elif stop == "។" and text.startswith(_KHMER_ET_CETERA, end):
            continue
        elif stop == "．" and text[stop_start - 1 : stop_start].isdigit() and text[end : end + 1].isdigit():
            continue  # a decimal point
        elif stop[0] in _BARE and _QUOTATION_GOES_ON.match(text, end):
            continue
        elif stop[0] in _BARE:
            reached = sentence = end
            yield end
        else:
            if stop == "." and (
                _SPACED_ABBREVIATION.match(text, max(stop_start - 1, 0))
                or (
                    text[stop_start - 1].isupper()
                    and _DOUBLED_ABBREVIATION.match(text, max(stop_start - 2, 0))
                )
            ):
                continue
            tail, initial, rest = match.groups()
            end += len(tail)
            follows = text[end : end + 3]
            if (
                ("»" in follows or "›" in follows)
                and (closer := _SPACED_CLOSER.match(text, end))
                and _is_quoted(text, stop_start)
            ):
                end = closer.end()
                if end < len(text) and not text[end].isspace():
                    continue
                initial, rest = _NEXT_WORD.match(text, end).groups()  # type: ignore[union-attr]  # it matches anything
            if _is_capital(initial, rest) and (
                stop != "." or _is_full_stop(text, sentence, stop_start, initial, rest, abbreviations)
            ):
                reached = sentence = end
                yield end


def _is_capital(initial: str, rest: str) -> bool:
    """Return whether a word may begin a sentence: not in small letters, except for a name such as iPhone or mRNA."""
    return not initial.islower() or initial in _WITHOUT_CAPITALS or rest != rest.lower()


def _is_quoted(text: str, place: int) -> bool:
    """Return whether a « before a place is open."""
    first = max(0, place - _QUOTED_WINDOW)
    return max(text.rfind(mark, first, place) for mark in "«‹") > max(
        text.rfind(mark, first, place) for mark in "»›"
    )


def _blank_ends(text: str) -> Iterator[int]:
    """Yield the ends of sentences that only blanks divide."""
    start = 0
    for blank in _BLANK.finditer(text):
        line = text.rfind("\n", start, blank.start()) + 1
        start = max(start, line)
        if blank.start() - start >= _CLAUSE:
            start = blank.end()
            yield start


def _is_full_stop(  # noqa: PLR0917
    text: str,
    sentence: int,
    stop_start: int,
    initial: str,
    rest: str,
    abbreviations: Callable[[], frozenset[str]],
) -> bool:
    """Return whether a dot ends a sentence, not only an abbreviation, initial or list number.

    `sentence` is the start of the sentence, `stop_start` the offset of the dot. `initial` and `rest` are the next word,
    `abbreviations` those of the text's language.
    """
    before = text[max(sentence, stop_start - 20) : stop_start]
    if before[-_LONG_WORD:].isalpha() and len(before) >= _LONG_WORD:
        return True  # most dots, decided without a closer look
    word = _LAST_WORD.search(before)
    if not word:
        return True
    if stop_start - 20 <= sentence and _LIST_NUMBER.match(before):
        return False
    bare, following = word.group().replace(".", "").lower(), initial + rest
    if bare in _NEVER_LAST:
        return bare in _ALSO_WORDS and not initial.isdigit()
    if bare in _ABBREVIATIONS and bare in abbreviations():
        after_number = _NUMBER_BEFORE.search(before[: -len(word.group())])
        acronym = word.group().isupper() and following.istitle() and following.lower() in _OPENERS  # EST. He
        return not initial or acronym or (bare in _ENDS_AFTER_NUMBERS and bool(after_number))
    if len(bare) <= 2 and bare.isdigit() and following.lower() in _AFTER_ORDINALS:
        return False
    if bare in _COMPANIES:
        return not initial or following.lower() in _OPENERS
    if bare.isdigit() and _ORDINAL.search(before) and following[:1].isalpha():
        return following.lower() in _OPENERS
    if (bare == "co" and following in _AFTER_CO) or (
        "." in word.group() and text.startswith(" §", stop_start + 1)
    ):
        return False
    if bare.isdigit() or (len(bare) > 1 and not ("." in word.group() and len(bare) <= 4)):
        return True
    if word.group() == bare:
        return True
    return not initial or following.lower() in _OPENERS
