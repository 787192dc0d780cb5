"""Which addresses a stranger may send us to."""

import ipaddress
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.web.networks import AddressAllowlist, address_is_public
from core.adapters.web.safe_url import PORTS, check_address, check_redirect, check_url
from core.errors import BadInput
from core.model import SkipReason, Unreadable

REFUSED = {
    # schemes
    "ftp://example.com/": "another scheme",
    "file:///etc/passwd": "a file",
    "javascript:alert(1)": "a script",
    "data:text/html,hi": "data",
    "ws://example.com/": "a socket",
    "gopher://example.com:80/_x": "gopher",
    "example.com/page": "no scheme",
    "//example.com/page": "no scheme, only slashes",
    "http:/example.com/": "one slash",
    "http:///example.com/": "three slashes",
    "": "nothing",
    # what is not a host
    "http://user@example.com/": "a user",
    "http://user:word@example.com/": "a user and a password",
    "http://example.com@127.0.0.1/": "a host posing as a user",
    "http://example.com\\@127.0.0.1/": "a backslash",
    "http://example.com/a\\b": "a backslash in the path",
    "http://exa%6dple.com/": "an encoded host",
    "http://127.0.0.1%2f@example.com/": "an encoded slash",
    "http://exam ple.com/": "a space",
    "http://example.com\t.evil.com/": "a tab",
    "http://example.com/\r\nHost: evil.com": "a header smuggled in",
    "http://example\u200b.com\u00a0/": "invisible characters",
    "http://-example.com/": "a label that begins with a hyphen",
    "http://example..com/": "an empty label",
    "http://example.com../": "two trailing dots",
    "http://" + "a" * 64 + ".com/": "a label that is too long",
    "http://" + "a." * 130 + "com/": "a name that is too long",
    "http://example.com/" + "a" * 5000: "an address that is too long",
    # ports
    "http://example.com:22/": "ssh",
    "http://example.com:6379/": "redis",
    "http://example.com:0/": "no port",
    "http://example.com:/": "an empty port",
    "http://example.com:74705/": "a port that would wrap",
    "http://example.com:080/": "a port with a leading zero",
    "http://example.com:8o/": "a port with a letter",
    "http://example.com:٨٠/": "a port in other digits",
    # numbers in place of names
    "http://2130706433/": "decimal",
    "http://0x7f000001/": "hexadecimal",
    "http://0x7f.0.0.1/": "hexadecimal parts",
    "http://0177.0.0.1/": "octal parts",
    "http://127.1/": "two parts",
    "http://127.0.1/": "three parts",
    "http://1.2.3.4.5/": "five parts",
    "http://256.1.1.1/": "a part above 255",
    "http://①②⑦.⓪.⓪.①/": "circled digits",
    "http://１２７．０．０．１/": "wide digits",
    "http://127。0。0。1/": "ideographic dots",
    # addresses that are not public
    "http://127.0.0.1/": "loopback",
    "http://127.255.0.7:8080/": "all of loopback",
    "http://127.0.0.1./": "loopback with a dot",
    "http://0.0.0.0/": "unspecified",
    "http://10.1.2.3/": "private",
    "http://172.31.255.1/": "private",
    "http://192.168.1.1/": "private",
    "http://169.254.169.254/latest/meta-data/": "a cloud's metadata",
    "http://100.100.100.200/": "another cloud's metadata",
    "http://168.63.129.16/": "a third cloud's agent",
    "http://198.18.0.1/": "benchmarking",
    "http://192.0.2.1/": "documentation",
    "http://224.0.0.1/": "multicast",
    "http://255.255.255.255/": "broadcast",
    "http://[::1]/": "loopback",
    "http://[::]/": "unspecified",
    "http://[0:0:0:0:0:0:0:1]/": "loopback in full",
    "http://[::ffff:127.0.0.1]/": "mapped loopback",
    "http://[::ffff:a9fe:a9fe]/": "mapped metadata",
    "http://[::127.0.0.1]/": "compatible loopback",
    "http://[64:ff9b::7f00:1]/": "loopback behind NAT64",
    "http://[64:ff9b:1::808:808]/": "a local NAT64 prefix",
    "http://[2002:7f00:1::]/": "6to4",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/": "Teredo",
    "http://[fe80::1]/": "link-local",
    "http://[fe80::1%25eth0]/": "link-local with a zone",
    "http://[fec0::1]/": "site-local",
    "http://[fd00:ec2::254]/": "a cloud's metadata",
    "http://[ff02::1]/": "multicast",
    "http://[2001:db8::1]/": "documentation",
    "http://[2a00:1450:4001:81b:0:5efe:7f00:1]/": "loopback inside ISATAP",
    "http://[::1": "a bracket left open",
    "http://[::g]/": "no address",
    "http://[127.0.0.1]/": "IPv4 in brackets",
    "http://::1/": "IPv6 without brackets",
    # names that are never public
    "http://localhost/": "this machine",
    "http://LOCALHOST.:8080/": "this machine, loudly",
    "http://printer/": "a name without a dot",
    "http://app.localhost/": "this machine",
    "http://metadata.google.internal/": "a cloud's metadata",
    "http://nas.local/": "the local network",
    "http://router.home.arpa/": "the home network",
}


@pytest.mark.parametrize("url", REFUSED, ids=lambda url: REFUSED[url])
def test_addresses_off_the_public_web_are_refused(url: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        check_url(url)
    assert refusal.value.reason is SkipReason.BLOCKED
    assert refusal.value.detail


ACCEPTED = {
    "http://example.com": "http://example.com/",
    "HTTPS://Example.COM/A": "https://example.com/A",
    "https://example.com./a": "https://example.com/a",
    "https://example.com:443/": "https://example.com/",
    "http://example.com:443/": "http://example.com:443/",
    "https://example.com:8443/x": "https://example.com:8443/x",
    "http://example.com?q=1": "http://example.com/?q=1",
    "http://example.com/#part": "http://example.com/",
    "  https://example.com/a\n": "https://example.com/a",
    "https://bücher.example/ü?ö=ß": "https://xn--bcher-kva.example/%C3%BC?%C3%B6=%C3%9F",
    "https://пример.рф/": "https://xn--e1afmkfd.xn--p1ai/",
    "https://example.com/a b|c": "https://example.com/a%20b%7Cc",
    "https://example.com/%2e%2e/a%20b": "https://example.com/%2e%2e/a%20b",
    "https://my_blog.example.com/": "https://my_blog.example.com/",
    "http://8.8.8.8/": "http://8.8.8.8/",
    "https://[2606:4700::1111]/": "https://[2606:4700::1111]/",
    "https://[2606:4700:0:0:0:0:0:1111]:8443/": "https://[2606:4700::1111]:8443/",
    "https://example.com/path@here:80": "https://example.com/path@here:80",
    "https://1.example.com/": "https://1.example.com/",
}


@pytest.mark.parametrize("url", ACCEPTED)
def test_public_addresses_get_one_spelling(url: str) -> None:
    assert check_url(url).url == ACCEPTED[url]


@given(st.text(max_size=60))
def test_any_text_is_either_judged_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.com/{text}", f"http://example.com:{text}/"):
        try:
            target = check_url(url)
        except Unreadable as refusal:
            assert refusal.reason is SkipReason.BLOCKED
        else:
            assert target.port in PORTS
            assert target.url.isascii() and target.url.isprintable() and " " not in target.url


@given(st.from_regex(r"https?://[a-z0-9.@:\[\]%/\\?#_-]{1,40}", fullmatch=True))
def test_what_is_judged_is_what_others_parse(url: str) -> None:
    """Confusion between parsers is how guards are passed: another parser must see the same host and port."""
    try:
        target = check_url(url)
    except Unreadable:
        return
    parts = urlsplit(target.url)
    assert (parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]) == (
        target.host,
        target.port,
    )
    assert check_url(target.url) == target


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_in_every_disguise(address: ipaddress.IPv4Address) -> None:
    public = address_is_public(address)
    assert address_is_public(f"::ffff:{address}") == public
    assert (
        address_is_public(ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address)))
        == public
    )
    if public:
        assert address.is_global


@given(st.ip_addresses(v=6))
def test_a_public_ipv6_address_is_global_unicast(address: ipaddress.IPv6Address) -> None:
    inside = address.ipv4_mapped or (address in ipaddress.ip_network("64:ff9b::/96"))
    if address_is_public(address) and not inside:
        assert address.is_global and address in ipaddress.ip_network("2000::/3")
        assert not address.sixtofour and not address.teredo


@pytest.mark.parametrize(
    "network",
    [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "fc00::/7",
        "fe80::/10",
    ],
)
def test_both_ends_of_a_forbidden_range_are_forbidden(network: str) -> None:
    ends = ipaddress.ip_network(network)
    assert not address_is_public(ends[0])
    assert not address_is_public(ends[-1])


@pytest.mark.parametrize(
    "neighbour", ["9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "128.0.0.0"]
)
def test_the_neighbours_of_forbidden_ranges_are_public(neighbour: str) -> None:
    assert address_is_public(neighbour)


def test_what_is_no_address_is_not_public() -> None:
    assert not address_is_public("example.com")


class TestRedirects:
    base = check_url("https://example.com/a/b?c")

    def test_relative_and_absolute_locations_are_followed(self) -> None:
        assert check_redirect(self.base, "d").url == "https://example.com/a/d"
        assert check_redirect(self.base, "/d?e#f").url == "https://example.com/d?e"
        assert check_redirect(self.base, "//example.org/x").url == "https://example.org/x"
        assert (
            check_redirect(self.base, "https://example.org:8443/ü x").url
            == "https://example.org:8443/%C3%BC%20x"
        )

    def test_https_never_becomes_http(self) -> None:
        with pytest.raises(Unreadable) as refusal:
            check_redirect(self.base, "http://example.com/a")
        assert refusal.value.reason is SkipReason.REDIRECTS
        assert check_redirect(check_url("http://example.com/"), "https://example.com/").scheme == "https"

    @pytest.mark.parametrize(
        "location",
        [
            "http://127.0.0.1/",
            "ws://example.com/",
            "//localhost/",
            "javascript:x",
            "\\\\evil.com",
            "http://[bad",
        ],
    )
    def test_the_target_is_judged_anew(self, location: str) -> None:
        with pytest.raises(Unreadable) as refusal:
            check_redirect(check_url("http://example.com/"), location)
        assert refusal.value.reason is SkipReason.BLOCKED


class TestResolvedAddresses:
    def test_public_addresses_may_be_connected_to(self) -> None:
        assert str(check_address("93.184.215.14", "example.com", 443)) == "93.184.215.14"

    @pytest.mark.parametrize(
        "ip", ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%eth0", "nonsense", "64:ff9b::a00:1"]
    )
    def test_a_public_name_may_not_lead_inside(self, ip: str) -> None:
        with pytest.raises(Unreadable) as refusal:
            check_address(ip, "example.com", 443)
        assert refusal.value.reason is SkipReason.BLOCKED

    def test_the_port_is_judged_too(self) -> None:
        with pytest.raises(Unreadable):
            check_address("93.184.215.14", "example.com", 25)


class TestAllowlist:
    def test_none_are_open_by_default(self) -> None:
        assert not AddressAllowlist.parse("")

    def test_a_hole_opens_exactly_one_address_and_port(self) -> None:
        allowlist = AddressAllowlist.parse("127.0.0.1:9001")
        assert check_url("http://127.0.0.1:9001/x", allowlist).port == 9001
        for url in (
            "http://127.0.0.1:9002/",
            "http://127.0.0.1/",
            "http://127.0.0.2:9001/",
            "http://localhost:9001/",
        ):
            with pytest.raises(Unreadable):
                check_url(url, allowlist)

    def test_a_network_is_open_on_every_port(self) -> None:
        allowlist = AddressAllowlist.parse("10.0.0.0/8")
        assert check_url("http://10.2.3.4:5000/", allowlist).host == "10.2.3.4"
        assert str(check_address("10.2.3.4", "wiki.example.com", 5000, allowlist)) == "10.2.3.4"
        with pytest.raises(Unreadable):
            check_url("http://192.168.0.1:5000/", allowlist)
        with pytest.raises(Unreadable):
            check_address("93.184.215.14", "wiki.example.com", 5000, allowlist)

    def test_a_named_host_is_trusted_wherever_it_resolves_to(self) -> None:
        allowlist = AddressAllowlist.parse("wiki:8080, [::1]:8000")
        assert check_url("http://wiki:8080/", allowlist).host == "wiki"
        assert str(check_address("192.168.0.9", "wiki", 8080, allowlist)) == "192.168.0.9"
        assert check_url("http://[0:0::1]:8000/", allowlist).host == "::1"

    def test_they_read_back_as_written(self) -> None:
        text = "127.0.0.1:9001, [::1]:8000, 10.0.0.0/8"
        assert str(AddressAllowlist.parse(text)) == text
        assert AddressAllowlist.parse(str(AddressAllowlist.parse(text))) == AddressAllowlist.parse(text)

    @pytest.mark.parametrize(
        "text",
        ["127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "::1:80", "10.0.0.1/8", "10.0.0.0/40", ":80", "a:b"],
    )
    def test_nonsense_is_named_and_explained(self, text: str) -> None:
        with pytest.raises(BadInput) as fault:
            AddressAllowlist.parse(f"127.0.0.1:9001, {text}")
        assert text in fault.value.message
        assert fault.value.hint
