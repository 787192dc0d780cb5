"""The hostile texts that the browser's tests and those of exported files share."""

from tests.browser.payloads import PAYLOADS, TOGETHER


def test_the_payloads_fill_each_batch_and_no_two_are_alike() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) == 4 * TOGETHER
