"""Numbers and dates in HTTP headers."""

import time
from email.utils import formatdate

from core.text.http_headers import attachment, header_date, header_number, retry_after


def test_wait_is_read_as_seconds_or_date() -> None:
    assert retry_after("30") == 30
    assert retry_after(" 1.5 ") == 1.5
    in_a_minute = retry_after(formatdate(time.time() + 60, usegmt=True))
    assert in_a_minute is not None and 55 < in_a_minute <= 60
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    for written, seconds in (("6m0s", 360), ("500ms", 0.5), ("1 minute, 30 seconds", 90), ("2h", 7200)):
        assert retry_after(written) == seconds
    for nonsense in (
        "3 bananas",
        "s",
        "1m2",
        "6m 0s 0s 0s 0s 0s",
        None,
        "",
        "soon",
        "-5",
        "1e9",
        "٣",
        "inf",
        "nan",
    ):
        assert retry_after(nonsense) is None


def test_a_number_of_any_length_is_finite() -> None:
    assert header_number("9" * 5_000) == 1e18


def test_a_date_without_a_zone_is_universal_time() -> None:
    assert header_date("Wed, 21 Oct 2015 07:28:00") == header_date("Wed, 21 Oct 2015 07:28:00 GMT")


def test_a_name_of_a_file_stays_between_its_quotes() -> None:
    sent = attachment('Größe "1"\r\nX: y/ä.pdf')["Content-Disposition"]
    assert sent.startswith('attachment; filename="Gr__e _1___X_ y__.pdf"; ')
    assert sent.isascii() and sent.isprintable()
    assert sent.endswith("UTF-8''Gr%C3%B6%C3%9Fe%20%221%22%0D%0AX%3A%20y%2F%C3%A4.pdf")
