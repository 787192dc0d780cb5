from bench.extraction import UNFINISHED, LabelledPage, Reading, limited

PAGE = LabelledPage("1", b"<p>Slow</p>", "https://pages.example/")


def test_a_page_that_takes_too_long_is_left_and_the_next_one_is_read():
    def endless(_: LabelledPage) -> Reading:
        while True:
            try:
                sum(range(100))
            except Exception:
                continue

    assert limited(endless, 0.05)(PAGE) == Reading(refused=UNFINISHED, seconds=0.05)
    assert limited(lambda page: Reading(page.id), 0.05)(PAGE) == Reading("1")
