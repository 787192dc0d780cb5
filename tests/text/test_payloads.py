"""The hostile texts that the browser's tests and those of exported files share."""

from tests.browser.payloads import PAYLOADS


def test_no_two_payloads_are_alike() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 68
