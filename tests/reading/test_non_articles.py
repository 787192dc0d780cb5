"""Pages that are no articles are told apart, and articles about such pages are not."""

import pytest

from core.model import Document, Extractor, SkipReason, Unreadable
from core.reading import extract

WALLS = {
    SkipReason.NEEDS_JAVASCRIPT: [
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id='root'></div><script src=a.js></script>",
        "<div id=app></div><script>start()</script>",
        "<app-root></app-root><script type=module src=main.js></script>",
        "<p>Please enable JavaScript to view this page.</p>",
        "<h1>JavaScript is disabled</h1><p>Your browser does not run scripts. Turn it on and load the page again.</p>",
        "<p>Bitte aktivieren Sie JavaScript, um diese Seite anzuzeigen.</p>",
        "<p>Veuillez activer JavaScript pour continuer.</p>",
        "<p>Por favor, habilite JavaScript en su navegador.</p>",
        "<p>Per favore abilita JavaScript.</p>",
        "<p>Для работы сайта включите JavaScript.</p>",
        "<p>このページを見るにはJavaScriptを有効にしてください。</p>",
        "<p>请启用 JavaScript 后继续浏览本网站的内容。</p>",
        "<p>Please complete the CAPTCHA to go on. It tells us that you are no program.</p>",
        "<title>Just a moment...</title><p>Checking your browser before accessing the site. This takes up to five seconds.</p>",
        "<p>We need to verify you are human before you can go on to the page that you asked for.</p>",
    ],
    SkipReason.CONSENT_WALL: [
        "<h1>We value your privacy</h1><p>We and our partners use cookies to store and access data on your device.</p>"
        "<button>Accept all</button><p>You can accept all, or manage settings.</p>",
        "<h1>Before you continue</h1><p>We use cookies and data to deliver services. If you accept all, we also use them for ads.</p>",
        "<p>Wir verwenden Cookies. Mit Klick auf „Alle akzeptieren“ willigen Sie in die Verarbeitung ein.</p>",
        "<p>Nous utilisons des cookies. Vous pouvez tout accepter ou tout refuser à chaque instant.</p>",
        "<p>Utilizamos cookies propias y de terceros. Puede aceptar todas o rechazar su uso aquí.</p>",
        "<p>Używamy plików cookie. Kliknij, aby akceptować wszystkie lub odrzuć je.</p>",
        "<p>Deze site gebruikt cookies. U kunt ze accepteren of weigeren, wat u maar wilt.</p>",
        "<p>Мы используем cookies. Нажмите «Принять», чтобы согласиться с их использованием.</p>",
        "<p>当サイトはクッキーを使用しています。続けるには同意してください。拒否することもできます。</p>",
        "<h1>Your privacy matters</h1><p>Together with our 731 partners we store information on a device or read it there, "
        "such as identifiers, and process personal data for advertising and research. Some vendors rely on a legitimate "
        "interest, to which you can object. You may consent to this or refuse.</p><p>Agree to all. More options.</p>",
        "<p>We and our partners store and access information on your device, and process personal data such as identifiers, "
        "to show personalised content, to measure it, and to develop products. With your consent, we and our partners may "
        "use your precise location, and tell the device by its properties. You can agree to the processing by us and by our "
        "812 partners, or look at more options and change your preferences before you consent or refuse. Your preferences "
        "apply to this website only, and can be changed whenever you return to it.</p><button>Agree</button>",
        "<p>Wir und unsere 214 Partner speichern Informationen auf einem Gerät oder rufen sie dort ab, etwa Kennungen, "
        "und verarbeiten personenbezogene Daten für Werbung. Sie können zustimmen oder ablehnen.</p>",
        "<p>Avec nos 97 partenaires, nous stockons des informations sur votre appareil ou y accédons. Vous pouvez donner "
        "votre accord, tout refuser, ou paramétrer vos choix.</p>",
        "<p>Nosotros y nuestros socios almacenamos información en su dispositivo. Puede aceptar, rechazar o gestionar.</p>",
        "<p>Noi e i nostri partner archiviamo informazioni sul tuo dispositivo. Puoi accettare o rifiutare.</p>",
        "<p>Wij en onze partners slaan informatie op een apparaat op. U kunt dat accepteren of weigeren.</p>",
        "<p>My i nasi partnerzy przechowujemy informacje na urządzeniu. Możesz się zgodzić albo odrzucić.</p>",
    ],
    SkipReason.LOGIN_WALL: [
        "<h1>Sign in</h1><form><input name=u><input type=password></form><p>Please sign in to continue. Forgot your password?</p>",
        "<p>You must be logged in to view this page. Log in or register with your e-mail address.</p>",
        "<h1>Subscribe to continue reading</h1><p>Already a subscriber? Sign in to your account to read on.</p>",
        "<p>Dieser Artikel ist exklusiv für Abonnenten. Bitte melden Sie sich an, um weiterzulesen.</p>",
        "<p>Cet article est réservé aux abonnés. Connectez-vous pour lire la suite.</p>",
        "<p>Contenido exclusivo para suscriptores. Inicia sesión para seguir leyendo.</p>",
        "<p>Войдите, чтобы прочитать статью целиком. Забыли пароль?</p>",
        "<p>この記事は会員限定です。続きを読むにはログインしてください。</p>",
        "<p>请登录后查看完整内容，如果忘记密码请重新设置。</p>",
    ],
    SkipReason.NOT_FOUND: [
        "<title>404 Not Found</title><h1>Oops!</h1><p>Something went wrong here. Try our home page instead.</p>",
        "<h1>Page not found</h1><p>The page you are looking for may have been moved or deleted.</p>",
        "<p>Sorry, we can't find the page you requested. It is possible that the address was mistyped.</p>",
        "<h1>Hoppla</h1><p>Die gewünschte Seite konnte leider nicht gefunden werden.</p>",
        "<h1>Page introuvable</h1><p>La page que vous cherchez n'existe plus.</p>",
        "<p>La página que buscas no existe o ha cambiado de dirección.</p>",
        "<p>A página que procura não foi encontrada neste servidor.</p>",
        "<p>Страница не найдена. Возможно, она была удалена.</p>",
        "<p>お探しのページが見つかりませんでした。トップページからお探しください。</p>",
        "<p>抱歉，您访问的页面不存在或者已经被删除，请返回首页继续浏览。</p>",
    ],
    SkipReason.EMPTY: ["", "<p></p><img src=a.png>", "<p>...</p>", "<form><input></form>"],
}
CASES = [(reason, body) for reason, bodies in WALLS.items() for body in bodies]


def read(body: str, extractor: Extractor = Extractor.ACCURATE) -> str:
    html = f"<!doctype html><html><head></head><body>{body}</body></html>"
    document = Document(
        url="https://example.org/", status=200, media_type="text/html", charset="utf-8", body=html.encode()
    )
    return extract(document, extractor).text


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize(("reason", "body"), CASES)
def test_walls_are_skipped_with_their_reason(reason: SkipReason, body: str, extractor: Extractor) -> None:
    with pytest.raises(Unreadable) as caught:
        read(body, extractor)
    assert caught.value.reason is reason
    assert caught.value.detail


ABOUT = {
    "consent": "A dialog asks on behalf of hundreds of vendors, some of which claim a legitimate interest, and writes what the "
    "reader chose into a string that is passed along with each bid. A Belgian authority held in 2022 that the string is "
    "personal data. Publishers keep the dialogs because buyers pay less where nobody may store or access information on a "
    "device. Nine in ten readers accept if refusing takes a second click, and half of them if both buttons look alike. "
    "Browsers could send the choice themselves, as they did with a header that hardly any site honoured.",
    "phones": "Phones store data on the device in encrypted form, and to read it one needs the code. People can agree to send "
    "reports to the vendors of apps. They may change settings later, for each app or for all of them at once.",
    "cookies": "Cookies are small pieces of text that a site asks a browser to keep. Under the directive of 2009 a site "
    "must ask before it stores them, and a visitor may accept or refuse. Studies found that most banners nudge people "
    "towards consent: the button to accept all is large, the way to reject all is hidden behind settings. Regulators in "
    "France and Ireland fined several companies for that. Researchers counted how many partners receive data after one "
    "click, and found hundreds. Browsers have begun to block third-party cookies by default, which changes what consent "
    "means in practice. Some sites dropped the banner altogether and keep no cookies that need it.",
    "logins": "Passwords are older than the web. In 1961 a time-sharing system at MIT asked its users for one, and a year "
    "later they were leaked. Today a typical person has to sign in to about a hundred services, and forgets one password a "
    "week. Password managers help, passkeys may replace them. A site that uses passkeys stores a public key, and the device "
    "signs a challenge, so that there is nothing to phish and nothing to leak. Adoption is slow because people do not know "
    "what happens when a phone is lost, and because sites keep the password as a fallback.",
    "missing pages": "The status code 404 tells a client that the server has no page at that address. It says nothing about "
    "whether there ever was one; for that there is 410. The code entered the first draft of the protocol in 1992. Sites "
    "compete in decorating the page that comes with it. For search engines a page that says it was not found while the "
    "status is 200 is a nuisance, called a soft 404, since it fills the index with copies of nothing. Link rot makes such "
    "pages common: a study of court opinions found that half of the links they cite no longer lead anywhere.",
    "JavaScript": "JavaScript was written in ten days in 1995. To enable a page to react to its reader without a round trip "
    "was the aim, and browsers must support it to this day exactly as it was. Some readers disable it, and find that news "
    "sites load four times faster. A developer who wants pages to work without it starts with plain markup, then adds "
    "scripts where they help. This is called progressive enhancement, and it has been declared dead in every year since.",
}


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("topic", ABOUT)
def test_articles_about_walls_are_read(topic: str, extractor: Extractor) -> None:
    text = ABOUT[topic]
    middle = text.index(". ", len(text) // 2) + 2
    body = f"<article><h1>On {topic}</h1><p>{text[:middle]}</p><p>{text[middle:]}</p></article>"
    assert text[-60:] in read(body, extractor)


def test_an_article_under_a_cookie_banner_is_read() -> None:
    banner = "<div class=cookie-banner><p>We value your privacy. We and our partners use cookies. Accept all. Reject all.</p></div>"
    body = f"{banner}<article><p>{ABOUT['JavaScript']}</p><p>{ABOUT['missing pages']}</p></article><noscript>Please enable JavaScript.</noscript>"
    assert "progressive enhancement" in read(body)


SHORT = [
    "The museum is open from ten to six, and on Thursdays until nine. On Mondays it is closed.",
    "Water boils at 100 degrees Celsius at sea level, and at 68 degrees on the summit of Mount Everest.",
    "Die Bibliothek am Markt hat samstags von 10 bis 14 Uhr geöffnet.",
    "東京タワーは1958年に完成した高さ333メートルの電波塔である。",
    "The recipe needs two eggs, a cup of flour and a pinch of salt. Mix, rest for an hour, and fry in butter.",
]


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("text", SHORT)
@pytest.mark.parametrize(
    "root", ["<div id=root></div>", "<div id=main></div>", "<site-root></site-root>", ""]
)
def test_a_short_post_is_read_beside_what_scripts_fill(root: str, text: str, extractor: Extractor) -> None:
    notice = "<noscript>Please enable JavaScript for comments.</noscript>"
    assert text in read(
        f"{root}<article><p>{text}</p></article>{notice}<script src=a.js></script>", extractor
    )


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize(
    "around",
    [
        "Loading, please wait a moment.",
        "© 2024 Kettle Co. All rights reserved.",
        "Home",
        "<li>Home<li>Shop<li>About us",
    ],
)
def test_labels_around_an_empty_root_are_no_post(around: str, extractor: Extractor) -> None:
    with pytest.raises(Unreadable) as caught:
        read(f"<div id=root></div><div>{around}</div><script src=a.js></script>", extractor)
    assert caught.value.reason is SkipReason.NEEDS_JAVASCRIPT


@pytest.mark.parametrize("text", SHORT)
def test_short_pages_that_say_something_are_read(text: str) -> None:
    assert text in read(f"<h1>Notes</h1><p>{text}</p><script src=a.js></script>")


SENTENCES = [
    "Closed on Monday.",
    "Heute ist frei!",
    "图书馆今天关闭。",
    "本日休館です。",
    "오늘은 쉽니다.",
    "ห้องสมุดปิดวันนี้",
]


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_page_of_one_short_sentence_is_read(sentence: str, extractor: Extractor) -> None:
    assert read(f"<p>{sentence}</p>", extractor) == sentence


@pytest.mark.parametrize("text", ["42", "Home", "Hello World", "...", "Redirecting…"])
def test_page_without_a_sentence_is_empty(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(f"<p>{text}</p>")
    assert caught.value.reason is SkipReason.EMPTY


@pytest.mark.parametrize("extractor", Extractor)
def test_text_in_an_aside_is_read_beside_consent_requests(extractor: Extractor) -> None:
    consent = "<div class=cookie-consent><p>We and our 40 partners store cookies on your device. You may accept or manage your choices at any time.</p></div>"
    sentences = [
        "The lock opens for boats every hour between six in the morning and nine in the evening.",
        "Its two gates were cast in 1887, and were repaired after the flood of the following winter.",
        "A keeper lives beside it, who lends ropes and knows the depth of each basin by heart.",
    ]
    text = read(
        f"{consent}<aside><h1>The lock</h1>{''.join(f'<p>{line}</p>' for line in sentences)}</aside>",
        extractor,
    )
    assert all(sentence in text for sentence in sentences)


@pytest.mark.parametrize(
    "attributes", ['role="dialog" aria-modal="true"', 'id="cookie-notice"', 'class="cmp-root"']
)
@pytest.mark.parametrize("times", [1, 6])
def test_short_article_is_read_without_the_request_for_consent_beside_it(attributes: str, times: int) -> None:
    ask = (
        "<p>We and our 212 partners store cookies on your device to measure ads. You can accept all, or manage settings, "
        "and some vendors claim a legitimate interest.</p>"
    )
    lock = "The lock has two basins of equal length. It was built of granite in the year of the flood, and it has never frozen over in a winter."
    html = f"<body><div {attributes}>{ask * times}<button>Reject all</button></div><main><h1>The lock</h1><p>{lock}</p></main>"
    document = Document(
        url="https://x.example/a", status=200, media_type="text/html", charset="utf-8", body=html.encode()
    )
    text = extract(document).text
    assert lock in text
    assert "partners" not in text


LEAD = '<meta http-equiv="refresh" content="0; url=new/page.html">'


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize(
    "body",
    [
        f'{LEAD}<p>Redirecting to... <a href="new/page.html">new/page.html</a>.</p>',
        "<META content=\"5;URL='new/page.html'\" HTTP-EQUIV=Refresh><p>This page has moved. You should be sent on at once.</p>",
        f"{LEAD}<script>location.replace('new/page.html' + location.hash)</script>",
    ],
)
def test_page_that_only_leads_elsewhere_is_told(body: str, extractor: Extractor) -> None:
    with pytest.raises(Unreadable, match=r"moved: the page only leads to new/page\.html"):
        read(body, extractor)


LOCK = "<main><h1>The lock</h1><p>It has two basins of equal length, and has never frozen over.</p></main>"


@pytest.mark.parametrize(
    "body",
    [
        '<meta http-equiv="refresh" content="60">' + LOCK,
        '<meta http-equiv="refresh" content="5; url=/?again">' + LOCK,
        '<meta http-equiv="refresh" content="300; url=/elsewhere">' + LOCK,
        "<noscript>" + LEAD + "</noscript>" + LOCK,
        "<!--[if lt IE 9]>" + LEAD + "<![endif]-->" + LOCK,
        LEAD + LOCK.replace("</p>", " Its keeper lends ropes." * 20 + "</p>"),
    ],
)
def test_page_that_is_loaded_again_or_has_a_text_is_read(body: str) -> None:
    assert "two basins of equal length" in read(body)


def test_page_of_frames_names_their_pages() -> None:
    frames = '<frameset cols="20%,80%"><frame src="menu.html"><frame src="main.html"><noframes><body>Your browser has no frames.</body></noframes></frameset>'
    document = Document(
        url="https://x.example/",
        status=200,
        media_type="text/html",
        charset=None,
        body=f"<html>{frames}</html>".encode(),
    )
    with pytest.raises(Unreadable, match=r"only leads to its frames menu\.html, main\.html"):
        extract(document)
