import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.urls import addresses_in, canonical_url, without_addresses


@pytest.mark.parametrize(
    "same",
    [
        "http://example.org/a/b",
        "https://www.example.org/a/b/",
        "HTTPS://WWW.Example.ORG:443/a/b#part",
        "http://example.org:80/a/./c/../b",
        "  https://example.org/a/b?utm_source=x&fbclid=1&mc_eid=2  ",
        "https://example.org./a/%62?",
        "https://example.org/a/b?UTM_Campaign=spring&gclid=#top",
    ],
)
def test_spellings_of_one_address_have_one_key(same):
    assert canonical_url(same) == "https://example.org/a/b"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://example.org/?b=2&a=1", "http://example.org?a=1&b=2"),
        ("https://example.org/q?t=a+b", "https://example.org/q?t=a%20b"),
        ("https://example.org/caf%c3%a9", "https://example.org/café"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example"),
        ("http://[2001:DB8::1]:80/x", "https://[2001:db8::1]/x"),
    ],
)
def test_equal_addresses_are_folded(first, second):
    assert canonical_url(first) == canonical_url(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://example.org/A", "https://example.org/a"),
        ("https://example.org/?id=1", "https://example.org/?id=2"),
        ("https://example.org/?a=1&a=2", "https://example.org/?a=2&a=1"),
        ("https://example.org:8080/", "https://example.org/"),
        ("https://example.org/a%2Fb", "https://example.org/a/b"),
        ("https://example.org/a+b", "https://example.org/a%20b"),
        ("https://example.org/?ref=main", "https://example.org/"),
        ("https://reader@example.org/", "https://example.org/"),
        ("https://www.com/", "https://com/"),
        ("https://example.org/a//b", "https://example.org/a/b"),
    ],
)
def test_addresses_that_may_differ_stay_apart(first, second):
    assert canonical_url(first) != canonical_url(second)


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "hello",
        "//example.org/x",
        "mailto:a@example.org",
        "http://",
        "http://[::1",
        "http://a b/",
        "http://x:99999/",
    ],
)
def test_garbage_comes_back_without_surrounding_white_space(garbage):
    assert canonical_url(f" {garbage}\n") == garbage


hosts = st.sampled_from(
    ["example.org", "www.www.a.example", "WWW.com", "münchen.example", "127.0.0.1", "[::1]", "ﬀ.de"]
)
pieces = st.text(st.sampled_from("aB1/.%2eEfF?&=+;:@ \\é🙂\ud800#~_-"), max_size=30)
addresses = st.builds(
    "{}://{}{}{}?{}#{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    hosts,
    st.sampled_from(["", ":80", ":443", ":8080", ":", ":x"]),
    pieces.map(lambda text: "/" + text),
    pieces,
    pieces,
)


@given(st.one_of(addresses, st.text(), st.text().map(lambda text: "http://" + text)))
def test_the_key_of_a_key_is_itself(url):
    assert canonical_url(canonical_url(url)) == canonical_url(url)


plain = st.text(st.sampled_from("aB1/.%2eF&=+;:@é_-"), max_size=20)


@given(hosts, plain, plain, st.sampled_from(["utm_source=a", "gclid=1", "_ga=2.1", "MC_CID=x"]))
def test_tracking_parameters_never_change_the_key(host, path, query, tracking):
    assert canonical_url(f"http://{host}/{path}?{query}&{tracking}") == canonical_url(
        f"http://{host}/{path}?{query}"
    )


@pytest.mark.parametrize(
    ("text", "address", "rest"),
    [
        ("What does https://a.example/x_(y)?, say", "https://a.example/x_(y)", "What does ?, say"),
        ("Sum up (https://a.example/b.html).", "https://a.example/b.html", "Sum up ."),
        ("The [page](https://a.example/c) on it", "https://a.example/c", "The [page] on it"),
        ("总结https://a.example/b，谢谢", "https://a.example/b", "总结，谢谢"),
        ("**HTTPS://a.example/?q=[1]**", "HTTPS://a.example/?q=[1]", "****"),
        ("It is http://, or //a.example.", None, "It is http://, or //a.example."),
    ],
)
def test_addresses_in_a_text_end_before_its_punctuation(text: str, address: str | None, rest: str) -> None:
    assert addresses_in(text) == ((address,) if address else ())
    assert without_addresses(text) == rest
