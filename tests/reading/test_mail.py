"""E-mail messages and mailboxes are read with who wrote to whom and when, and each text once."""

import time
from email.message import EmailMessage

import pytest

from core.model import Article, Document, Unreadable
from core.reading import extract
from core.reading.file_types import MAIL, kind_of

WORDS = "Die Mühle mahlt wieder, und der Müller grüßt."
MORE = "The second wheel turns from May on."


def read(name: str, body: bytes) -> Article:
    kind = kind_of(name, body)
    return extract(Document(url=name, status=200, media_type=kind, charset=None, body=body))


def mail(text: str = WORDS, encoding: str = "quoted-printable", subject: str = "Grüße") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Änne Müller <a@mill.example>"
    message["To"] = "office@weir.example"
    message["Date"] = "Fri, 03 May 2024 10:00:00 +0200"
    message["Subject"] = subject
    message.set_content(text, cte=encoding)
    return message


@pytest.mark.parametrize("encoding", ["quoted-printable", "base64", "8bit"])
def test_message_is_read_with_its_header_whatever_its_encoding(encoding: str) -> None:
    article = read("mail.eml", b"\xef\xbb\xbf" + mail(encoding=encoding).as_bytes())
    head = "From: Änne Müller\nTo: office@weir.example\nDate: 2024-05-03\nSubject: Grüße"
    assert article.text == f"{head}\n\n{WORDS}"
    assert (article.title, article.author, article.date) == ("Grüße", "Änne Müller", "2024-05-03")
    assert article.language == "de"


def test_text_is_read_once_and_attached_files_are_counted() -> None:
    message = mail(MORE)
    message.add_alternative(f"<p style='display:none'>Hidden.</p><p>{MORE}</p>", subtype="html")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="wheel.png")
    article = read("mail.eml", message.as_bytes())
    assert article.text.count(MORE) == 1
    assert article.left_out == "1 attached file was not read"


def test_html_is_read_where_the_plain_form_says_little() -> None:
    message = mail("See the other form.")
    message.add_alternative(f"<p style='display:none'>Hidden.</p><p>{MORE}</p><p>{WORDS}</p>", subtype="html")
    article = read("mail.eml", message.as_bytes())
    assert article.text.endswith(f"\n\n{MORE}\n\n{WORDS}")
    assert "Hidden." in article.hidden


def test_page_saved_with_its_parts_is_read_as_a_page() -> None:
    message = EmailMessage()
    message["Snapshot-Content-Location"] = "https://mill.example/wheel"
    message.set_content(
        f"<title>The wheel</title><nav>Home</nav><article><h1>The wheel</h1><p>{MORE}</p><p>{WORDS}</p></article>",
        subtype="html",
        cte="quoted-printable",
        charset="iso-8859-1",
    )
    message.add_related(b"p { color: red }", maintype="text", subtype="css", cid="css@mill")
    for name in ("page.mht", "page.mhtml"):
        article = read(name, message.as_bytes())
        assert article.title == "The wheel"
        assert f"{MORE}\n\n{WORDS}" in article.text
        assert "color" not in article.text
    with pytest.raises(Unreadable, match="without HTML"):
        read("page.mhtml", mail().as_bytes())


def test_message_within_a_message_is_read() -> None:
    message = mail("See below.", subject="Fwd: Wheel")
    message.add_attachment(mail(MORE, "base64", "Wheel"))
    article = read("mail.eml", message.as_bytes())
    assert [name for _, name in article.sections] == ["Fwd: Wheel", "Wheel"]
    assert article.text.endswith(MORE)


def test_messages_of_a_mailbox_are_sections() -> None:
    texts = [WORDS, f"{MORE}\n\nFrom the weir one hears it.", MORE]
    messages = [mail(text, subject=f"Message {number}").as_bytes() for number, text in enumerate(texts)]
    messages[1] = messages[1].replace(b"\nFrom the", b"\n>From the")
    article = read(
        "box.mbox",
        b"".join(b"From a@mill.example Fri May  3 10:00:00 2024\n" + each + b"\n\n" for each in messages),
    )
    assert [name for _, name in article.sections] == ["Message 0", "Message 1", "Message 2"]
    assert "\nFrom the weir" in article.text


def test_odd_heads_and_charsets_are_read() -> None:
    body = "Subject: Grüße\r\nFrom: =?x-none?Q?A?= <a@b.example>\r\nTo: =?utf-ü?Q?B?=\r\nDate: soon\r\nContent-Type: text/plain; charset=iso-8859-666\r\n\r\n"
    article = read("a.eml", (body + WORDS).encode())
    assert (article.title, article.date) == ("Grüße", "")
    assert article.text.endswith(WORDS)


def test_message_of_parts_within_parts_is_refused_at_once() -> None:
    began = time.process_time()
    parts = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(3_000))
    with pytest.raises(Unreadable):
        extract(Document(url="a.eml", status=200, media_type=MAIL, charset=None, body=parts.encode()))
    assert time.process_time() - began < 5


def test_text_that_begins_like_a_mailbox_is_a_text() -> None:
    assert read("notes.txt", f"From: the mill\n{MORE}".encode()).text == f"From: the mill\n{MORE}"


def test_table_of_a_message_names_its_columns() -> None:
    table = "<table><tr><th>Month</th><th>Rent</th></tr><tr><td>May</td><td>400</td></tr></table>"
    markup = f"<p>As agreed<sup>1</sup>:</p>{table}<ol><li>Pay</li><li>Wait</li></ol>"
    body = f"From: a@example.org\nSubject: Rent\nContent-Type: text/html; charset=utf-8\n\n{markup}".encode()
    assert read("rent.eml", body).text.endswith("As agreed¹:\n\nMonth: May; Rent: 400\n\n1. Pay\n2. Wait")
