"""Detection of pages without an article: walls, soft 404s, JavaScript pages, and those that lead elsewhere.

Walls ask for cookies or a login. An article about cookies, logins or missing pages must pass. So a page is
rejected only if its text is short and its words are a wall's, addressed to the reader.
"""

from __future__ import annotations

import html as html_entities
import re
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from core.model import CAPTCHA, SkipReason, Unreadable
from core.reading.html.html_parsing import parse_html
from core.text.sanitize import one_line
from core.text.tokenization import HAN, HANGUL, KANA, SOUTHEAST_ASIAN

_MIN_LETTERS = 20
"""Letters and digits of the shortest readable text. A character of a dense script counts as three."""
_FEWEST_WORDS, _FEWEST_LETTERS = 3, 15
"""Words, or else letters, of the shortest readable sentence, such as "Closed on Monday."."""
_LONG_LINE = 40
"""Letters and digits of the shortest readable line without a full stop."""
_NOTICE_WEIGHT = 450
"""Maximum weight of text for which one clear cue is enough. Walls are notices, not essays."""
_OPENING_CHARACTERS = 200
"""Characters in which a missing page says so."""
_LEAST_PROSE = 200
"""Letters and digits of sentences beside a request for consent that make a page readable."""
_MAX_WALL_WEIGHT = 2_000
"""Maximum weight of a wall with four different cues."""

_CJK = re.compile(f"[{KANA}{HAN}{HANGUL}]")
_DENSE = re.compile(f"[{KANA}{HAN}{HANGUL}{SOUTHEAST_ASIAN}]")
"""Characters of scripts that write a word with few of them, or without spaces."""

_SCRIPT = re.compile(
    r"java ?script|자바스크립트|checking (?:if the site|your browser)|verify(?:ing)? (?:that )?you are (?:a )?human"
    r"|just a moment|enable cookies and reload|ddos protection by|unusual traffic from your"
    r"|(?:complete|solve|pass|enter) (?:the|this|a) (?:\w+ ){0,2}(?:re)?captcha|i.?m not a robot",
    re.IGNORECASE,
)
_CAPTCHA = re.compile(
    r"captcha|not a robot|verify(?:ing)? (?:that )?you are (?:a )?human|unusual traffic from your|checking your browser",
    re.IGNORECASE,
)
_SWITCH_ON = re.compile(
    r"enabl|activ|aktiv|turn(?:ed)? (?:it )?on|switch(?:ed)? on|disabl|requir|need|must|support|without|habilit|abilit"
    r"|désactiv|включ|отключ|有効|启用|啟用|开启|開啟|włącz|wyłącz|schakel|inschakel|etkin|사용|활성|zapn|povol"
    r"|browser|human|moment|traffic|ddos|reload|captcha|robot",
    re.IGNORECASE,
)
# Requests of the Transparency and Consent Framework without the word cookie: that "we and our partners" store
# information on the reader's device. Articles say only one of these, about other people.
_STORES = (
    r"(?:stor\w*|access\w*|read) (?:\S+ ){0,5}?(?:information|data)\b[^.]{0,20} (?:on|from) (?:a|your|the) (?:device|browser|terminal)"
    r"|(?:information\w*|daten) (?:\S+ ){0,3}?auf (?:\S+ ){0,2}?(?:end)?gerät\w* (?:\S+ ){0,3}?(?:speicher|abruf|zu(?:zu)?greif|gespeichert)"
    r"|(?:speicher|abruf|zugreif|zugriff)\w* (?:\S+ ){0,7}?auf (?:\S+ ){0,2}?(?:end)?gerät"
    r"|(?:stock|accéd|conserv)\w* (?:\S+ ){0,7}?(?:informations|données) [^.]{0,40}?(?:appareil|terminal)"
    r"|(?:almacen|acced|guard|armazen|aced|acess)\w* (?:\S+ ){0,7}?(?:información|informaci[oó]ns|datos|informações|dados) [^.]{0,40}?dispositivo"
    r"|(?:archivi|memorizz|acced|conserv)\w* (?:\S+ ){0,7}?informazioni [^.]{0,40}?dispositivo"
    r"|(?:informatie|gegevens) (?:\S+ ){0,4}?(?:op|van) (?:\S+ )?apparaat"
    r"|(?:informacj|dan)\w+ (?:\S+ ){0,4}?(?:na|w) (?:\S+ )?urządzeni"
    r"|(?:хран|доступ)\w* (?:\S+ ){0,7}?(?:информаци|данны)\w* на (?:\S+ )?устройств"
    r"|(?:デバイス|端末)(?:上)?[^。]{0,12}(?:情報|データ)[^。]{0,12}(?:保存|アクセス)|设备[^。]{0,8}(?:存储|访问|读取)[^。]{0,8}(?:信息|数据)|(?:存储|访问)[^。]{0,8}设备[^。]{0,8}(?:信息|数据)"
)
_WE = (
    r"\b(?:we|our|wir|unsere\w*|nous|nos|nosotros|nuestr\w+|noi|nostr\w+|nós|noss\w+|wij|onze|nas[iz]\w*|мы|наш\w*)\b"
    r".{0,40}?(?:partner|vendor|partenaire|soci[oe]|parceir|партн|поставщик)|(?:当社|弊社|私たち)|我们|我們"
)
_CONSENT = (
    rf"\bcookies?\b|cookie-?hinweis|куки|クッキー|쿠키|(?={_WE})[\s\S]{{0,300}}?(?:{_STORES})",
    r"\baccept(?:er|eren|a|ar|eer)?\b|\baccept all\b|\bi agree\b|\bagree (?:to|and)\b|akzeptier|zustimm|einverstanden"
    r"|j'accepte|tout accepter|aceptar|acepto|accett|aceit|akcept|zgadzam|zgod(?:[ęy]|zić)|godkänn|accepteer|hyväksy"
    r"|принять|принимаю|согла|同意|接受|承諾|동의|kabul",
    r"your (?:privacy|consent|choices)|consent to|we value your privacy|ihre (?:privatsphäre|einwilligung|zustimmung)"
    r"|votre (?:vie privée|consentement|accord)|su (?:privacidad|consentimiento)|tu privacidad|la tua privacy"
    r"|sua privacidade|uw (?:privacy|toestemming)|twoj\w+ prywatnoś|隐私|隱私|プライバシー",
    r"(?:our|trusted|third[- ]party|ad) (?:[\d.,]+ )?partners|\bvendors\b|legitimate interest|unseren? (?:[\d.,]+ )?partner"
    r"|berechtigt\w* interesse|nos (?:[\d.,]+ )?partenaires|intérêt légitime|nuestros (?:[\d.,]+ )?socios"
    r"|i nostri (?:[\d.,]+ )?partner|nossos (?:[\d.,]+ )?parceiros|onze (?:[\d.,]+ )?partners",
    r"(?:manage|change|cookie|privacy|more) (?:settings|preferences|options)|reject all|before you continue"
    r"|(?:alle )?ablehnen|einstellungen (?:verwalten|ändern)|tout refuser|paramétrer|rechazar|gestionar"
    r"|rifiuta|gestisci|rejeitar|weigeren|odrzuc|odrzuć|отклонить|拒绝|拒絕|拒否|거부",
)
_LOGIN = (
    r"(?:log|sign) ?in (?:to|or (?:sign|register|create)|required|below|with)|please (?:log|sign) ?in|you must (?:be logged|log|sign)"
    r"|need to (?:log|sign) in|(?:melden sie sich|bitte) (?:\w+ )?an(?:melden)?\b|anmelden,? um|einloggen"
    r"|connectez-vous|identifiez-vous|se connecter pour|inicia(?:r)? sesión|accedi (?:per|al)|effettua (?:il )?login"
    r"|faça (?:o )?login|entre para|inloggen|log in om|zaloguj|logga in|войдите|авторизуйтесь|ログイン(?:して|が必要)"
    r"|登录后|请登录|請登入|登入後|로그인(?:이|하)|giriş yap",
    r"\bpassword\b|forgot(?:ten)? (?:your )?password|passwort|mot de passe|contraseña|senha|wachtwoord|hasł[oa]|пароль"
    r"|パスワード|密码|密碼|비밀번호|remember me|stay signed in|angemeldet bleiben",
    r"subscribe (?:to|now to) (?:continue|read|unlock|keep)|(?:for|to) (?:our )?(?:subscribers|members) only|subscribers[- ]only"
    r"|already (?:a subscriber|have an account|registered|a member)|create (?:a|an|your)(?: free)? account|sign up to"
    r"|unlock this|(?:nur|exklusiv) für abonnent|jetzt (?:abonnieren|registrieren)|réservé aux abonnés|abonnez-vous"
    r"|(?:exclusivo|solo) para suscriptores|suscríbete|riservat\w+ agli abbonati|abbonati per|exclusivo para assinantes"
    r"|assine para|alleen voor abonnees|tylko dla prenumeratorów|только для подписчиков|会員限定|有料会員|订阅后|訂閱",
)
_SENTENCE_END = re.compile(r"""[.!?…。！？।؟]["'”’»」)]*\s*\Z""")
_AROUND_NOTHING = re.compile(r"©|\(c\) ?\d|all rights reserved|\bloading\b|please wait", re.IGNORECASE)
_MISSING = re.compile(
    r"\b404\b|(?:page|article|file|content|url|story|post|address)\W+(?:\w+\W+){0,8}?(?:not (?:be )?found|no longer (?:exists?|available)"
    r"|(?:doesn.?t|does not) exist|(?:can.?t|cannot|couldn.?t|could not) (?:be found|find)|(?:has been|was) (?:removed|deleted|moved))"
    r"|(?:can.?t|cannot|couldn.?t|could not) find (?:the|that|this) (?:page|article)|not found"
    r"|seite (?:\w+ ){0,6}nicht (?:gefunden|verfügbar)|nicht (?:mehr )?(?:gefunden|vorhanden)|existiert nicht"
    r"|page (?:introuvable|non trouvée)|n.existe (?:pas|plus)|(?:no|não) (?:(?:foi|fue|se ha|ha sido) )?(?:encontrad[ao]|encontrou|existe)"
    r"|página no (?:encontrada|disponible)|não encontrada|non (?:è stata )?trovata|pagina non|niet gevonden"
    r"|nie znaleziono|nie istnieje|не найден|не существует|見つかりません|存在しません|找不到|不存在|未找到|찾을 수 없"
    r"|hittades inte|bulunamadı|sidan finns inte|finnes ikke|ei löydy",
    re.IGNORECASE,
)
_MISSING_TITLE = re.compile(
    r"\s*(?:error\W*|fehler\W*|erreur\W*)?404\b.{0,60}|\s*(?:oops\W*)?(?:page|seite|página|pagina)?\W*"
    r"(?:not found|nicht gefunden|introuvable|no encontrada|non trovata|não encontrada|niet gevonden)\b.{0,60}",
    re.IGNORECASE,
)
_CONSENT_CUES = tuple(re.compile(cue, re.IGNORECASE) for cue in _CONSENT)
_LOGIN_CUES = tuple(re.compile(cue, re.IGNORECASE) for cue in _LOGIN)

_PASSWORD_FIELD = re.compile(r"<input\b[^>]{0,500}\btype\s*=\s*[\"']?password", re.IGNORECASE)
_NOSCRIPT = re.compile(r"<noscript\b[^>]*>(.{0,2000}?)</noscript", re.IGNORECASE | re.DOTALL)
_EMPTY_ROOT = re.compile(
    r"<(div|main|section|[a-z]+-(?:root|app))\b[^>]{0,300}?(?:\bid\s*=\s*[\"']?(?:root|app|__next|__nuxt|___gatsby|react-root|main|application|svelte)\b"
    r"[^>]{0,300})?>\s*</\1\s*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^>]*>")
_LEADS_TO = re.compile(r"""\s*(\d{0,4})[\d.]{0,9}\s*[;,]\s*url\s*=\s*["']?([^"'\s]{1,2000})""", re.IGNORECASE)
_MAY_LEAD = re.compile("refresh|<frameset", re.IGNORECASE)
_SOON = 30
"""The most seconds after which a page that leads elsewhere does so."""


@dataclass(frozen=True, slots=True)
class MarkupSigns:
    """Signs of a wall in the markup."""

    scripts: int
    """Number of script elements."""
    noscript_text: str
    """The text of its `noscript` elements."""
    empty_root: bool
    """Whether the element that a script would fill exists and is empty."""
    password_field: bool

    @classmethod
    def of(cls, html: str) -> MarkupSigns:
        """The signs in a page's markup, in linear time."""
        noscript_text = " ".join(_TAG.sub(" ", match) for match in _NOSCRIPT.findall(html)[:5])
        root = any("id" in match[0].lower() or "-" in match[1] for match in _EMPTY_ROOT.finditer(html))
        return cls(
            scripts=html.lower().count("<script"),
            noscript_text=" ".join(html_entities.unescape(noscript_text).split()),
            empty_root=root,
            password_field=_PASSWORD_FIELD.search(html) is not None,
        )


def reject_non_articles(text: str, title: str, html: str, url: str) -> None:
    """Return when the text may be an article.

    Raises:
        Unreadable: MOVED, NEEDS_JAVASCRIPT, CONSENT_WALL, LOGIN_WALL, NOT_FOUND or EMPTY.
    """
    weight = len(text) + (len(_CJK.findall(text)) if len(text) < _MAX_WALL_WEIGHT else 0)
    if weight >= _MAX_WALL_WEIGHT:
        return
    if weight < _NOTICE_WEIGHT and (target := _leads_to(html, url)):
        raise Unreadable(SkipReason.MOVED, f"the page only leads to {target}")
    signs = MarkupSigns.of(html)
    letters = _letters(text)
    spoken = f"{title}\n{text}"
    if weight < _NOTICE_WEIGHT // 2 and not any(map(_says_something, text.split("\n"))):
        _reject_script_pages(signs)
    if weight < _NOTICE_WEIGHT and _SCRIPT.search(spoken) and _SWITCH_ON.search(spoken):
        detail = CAPTCHA if _CAPTCHA.search(spoken) else "the page is drawn by a script"
        raise Unreadable(SkipReason.NEEDS_JAVASCRIPT, detail)
    if letters < _MIN_LETTERS and not any(map(_is_sentence, text.split("\n"))):
        raise Unreadable(SkipReason.EMPTY, "there is no text on the page")
    if weight < _NOTICE_WEIGHT and (_MISSING.search(title) or _MISSING.search(text[:_OPENING_CHARACTERS])):
        raise Unreadable(SkipReason.NOT_FOUND, "the page says that it does not exist")
    if weight < _MAX_WALL_WEIGHT and _MISSING_TITLE.fullmatch(title.partition(" | ")[0].partition(" - ")[0]):
        raise Unreadable(SkipReason.NOT_FOUND, "the page says that it does not exist")
    asks = _CONSENT_CUES[0].search(spoken[: 2 * _OPENING_CHARACTERS])
    if asks and consent_cues(spoken) >= (2 if weight < _NOTICE_WEIGHT else 4):
        raise Unreadable(SkipReason.CONSENT_WALL, "the page asks for consent before it shows anything")
    if weight < _NOTICE_WEIGHT:
        login = sum(cue.search(spoken) is not None for cue in _LOGIN_CUES)
        if login >= 2 or (login and (signs.password_field or weight < _NOTICE_WEIGHT // 2)):
            raise Unreadable(SkipReason.LOGIN_WALL, "the page asks to sign in or subscribe")


def _leads_to(html: str, url: str) -> str:
    """Return where a page sends its readers by itself, or the pages of its frames, as written, or "".

    Its own address does not count, nor an element that serves readers without scripts alone.
    """
    if not _MAY_LEAD.search(html):
        return ""
    tree = parse_html(html)
    if frames := [source for frame in tree.iterfind(".//frameset//frame") if (source := frame.get("src"))]:
        return one_line(f"its frames {', '.join(frames)}", 200)
    for element in tree.iterfind(".//meta[@http-equiv][@content]"):
        leads = _LEADS_TO.match(element.get("content"))
        if not leads or element.get("http-equiv").strip().lower() != "refresh":
            continue
        if next(element.iterancestors("noscript"), None) is not None or int(leads[1] or 0) > _SOON:
            continue
        with suppress(ValueError):  # no address
            if _page(urljoin(url, leads[2])) != _page(url):
                return one_line(leads[2], 200)
    return ""


def _page(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, parts.path


def consent_cues(text: str) -> int:
    """Return how many kinds of words of a request for consent a text has, or 0 if cookies are not among them."""
    return sum(cue.search(text) is not None for cue in _CONSENT_CUES) if _CONSENT_CUES[0].search(text) else 0


def prose_letters(text: str) -> int:
    """Return the letters and digits of the sentences of a text, a paragraph a line."""
    return sum(_letters(line) for line in text.split("\n") if _says_something(line))


def beside_consent(text: str) -> str:
    """Return the text of a page without its request for consent, or "" if the request is most of the page.

    `text` is the whole visible text, a paragraph a line. A line with a cue of consent is part of the request.
    """
    lines = list(filter(str.strip, text.split("\n")))
    asking = {line for line in lines if any(cue.search(line) for cue in _CONSENT_CUES)}
    rest = [line for line in lines if line not in asking]
    enough = prose_letters("\n".join(rest)) >= max(_LEAST_PROSE, sum(map(_letters, asking)))
    return "\n\n".join(rest) if enough else ""


def _reject_script_pages(signs: MarkupSigns) -> None:
    """Raise for a page without sentences that a script would load. Raises Unreadable: NEEDS_JAVASCRIPT."""
    asks = _SCRIPT.search(signs.noscript_text) and _SWITCH_ON.search(signs.noscript_text)
    if signs.scripts and (signs.empty_root or asks):
        raise Unreadable(SkipReason.NEEDS_JAVASCRIPT, "the page is drawn by a script")


def _says_something(line: str) -> bool:
    """Whether a line is a sentence, or too long for a label. Typical lines of empty pages do not count."""
    if _AROUND_NOTHING.search(line):
        return False
    return _is_sentence(line) or _letters(line) >= _LONG_LINE


def _is_sentence(line: str) -> bool:
    """Whether a line ends as a sentence, and has enough words or letters."""
    return _SENTENCE_END.search(line) is not None and (
        len(line.split()) >= _FEWEST_WORDS or _letters(line) >= _FEWEST_LETTERS
    )


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text)) + 2 * len(_DENSE.findall(text))
