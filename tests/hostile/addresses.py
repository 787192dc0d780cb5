"""Addresses and names that must not be fetched, in every spelling; nothing may be connected to for them."""

from core.model import SkipReason
from tests.hostile.case import Case
from tests.hostile.words import PROSE
from tests.loopback import Reply, html


def _blocked(group: str, **urls: str) -> tuple[Case, ...]:
    return tuple(
        Case(group, name.replace("_", " "), SkipReason.BLOCKED, url=url, visits=0)
        for name, url in urls.items()
    )


T = "{port}"
"""The port at which both the web and the trap listen."""

ADDRESSES = (
    *_blocked(
        "Addresses that are no web pages",
        a_file="file:///etc/passwd",
        ftp="ftp://files.example/a",
        gopher="gopher://127.0.0.2:6379/_SET%20a%20b",
        a_script="javascript:alert(1)",
        data="data:text/html,<p>hello</p>",
        a_web_socket="ws://127.0.0.2:" + T + "/",
        a_dictionary="dict://127.0.0.2:6379/info",
        no_scheme="//127.0.0.2:" + T + "/",
        only_a_name="intranet",
        nothing=" ",
    ),
    *_blocked(
        "Addresses that mislead readers of addresses",
        user_and_password="http://public.example:pw@127.0.0.2:" + T + "/",
        a_name_before_the_at="http://127.0.0.1:" + T + "@127.0.0.2:" + T + "/",
        a_backslash="http://127.0.0.1:" + T + "\\@127.0.0.2:" + T + "/",
        a_backslash_for_a_slash="http:\\\\127.0.0.2:" + T + "/",
        an_encoded_host="http://127.0.0.%32:" + T + "/",
        a_tab_in_the_host="http://127.0.0.\t2:" + T + "/",
        a_line_end_in_the_path="http://127.0.0.1:" + T + "/a\r\nHost: evil",
        a_null_byte="http://127.0.0.1:" + T + "\0.public.example/",
        a_blank_in_the_host="http://127.0.0.1 .example:" + T + "/",
        a_hash_in_the_authority="http://127.0.0.2:" + T + "#@public.example/",
        a_question_mark_in_the_authority="http://127.0.0.2:" + T + "?@public.example/",
        an_endless_address="http://127.0.0.1:" + T + "/" + "a" * 5000,
        two_ports="http://127.0.0.1:" + T + ":80/",
        a_bracket_too_many="http://[::1]]:" + T + "/",
        a_name_in_brackets="http://[localhost]:" + T + "/",
    ),
    *_blocked(
        "This machine, in every spelling",
        by_name="http://localhost:" + T + "/",
        by_a_name_below="http://a.localhost:" + T + "/",
        by_its_other_name="http://ip6-localhost:" + T + "/",
        another_of_its_addresses="http://127.0.0.2:" + T + "/",
        another_of_its_ports="http://127.0.0.1:9/",
        with_a_final_dot="http://127.0.0.2.:" + T + "/",
        with_two_final_dots="http://127.0.0.2..:" + T + "/",
        as_one_number="http://2130706434:" + T + "/",
        in_octal="http://0177.0.0.2:" + T + "/",
        in_hexadecimal="http://0x7f.0.0.2:" + T + "/",
        as_one_hexadecimal_number="http://0x7f000002:" + T + "/",
        in_one_long_hexadecimal_number="http://0x4141417f000002:" + T + "/",
        shortened="http://127.2:" + T + "/",
        with_leading_zeros="http://127.000.000.002:" + T + "/",
        with_a_number_that_overflows="http://127.0.0.258:" + T + "/",
        in_wide_digits="http://１２７.０.０.２:" + T + "/",
        in_circled_digits="http://①②⑦.⓪.⓪.②:" + T + "/",
        with_ideographic_dots="http://127。0。0。2:" + T + "/",
        with_a_soft_hyphen="http://127.0.0\xad.2:" + T + "/",
        in_wide_letters="http://ｌｏｃａｌｈｏｓｔ:" + T + "/",
        as_ipv6="http://[::1]:" + T + "/",
        unspecified="http://0.0.0.0:" + T + "/",
        as_zero="http://0:" + T + "/",
        unspecified_as_ipv6="http://[::]:" + T + "/",
        mapped="http://[::ffff:127.0.0.2]:" + T + "/",
        mapped_in_hexadecimal="http://[::ffff:7f00:2]:" + T + "/",
        compatible="http://[::127.0.0.2]:" + T + "/",
        translated_by_nat64="http://[64:ff9b::7f00:2]:" + T + "/",
        translated_locally="http://[64:ff9b:1::7f00:2]:" + T + "/",
        through_6to4="http://[2002:7f00:2::1]:" + T + "/",
        through_teredo="http://[2001:0:7f00:2::1]:" + T + "/",
        through_isatap="http://[2606:4700::5efe:127.0.0.2]:" + T + "/",
        with_a_zone="http://[fe80::1%25lo]:" + T + "/",
    ),
    *_blocked(
        "Networks that are not public",
        private_10="http://10.0.0.1/",
        private_172_16="http://172.16.0.1/",
        private_192_168="http://192.168.0.1/",
        link_local="http://169.254.1.1/",
        cloud_metadata="http://169.254.169.254/latest/meta-data/",
        container_metadata="http://169.254.170.2/v2/credentials/",
        metadata_by_name="http://metadata.google.internal/computeMetadata/v1/",
        metadata_in_shared_space="http://100.100.100.200/latest/",
        a_cloud_host_agent="http://168.63.129.16/",
        benchmarking="http://198.18.0.1/",
        documentation="http://203.0.113.7/",
        protocol_assignments="http://192.0.0.1/",
        multicast="http://224.0.0.1/",
        broadcast="http://255.255.255.255/",
        reserved="http://240.0.0.1/",
        unique_local="http://[fd00::1]/",
        site_local="http://[fec0::1]/",
        link_local_as_ipv6="http://[fe80::1]/",
        multicast_as_ipv6="http://[ff02::1]/",
        documentation_as_ipv6="http://[2001:db8::1]/",
        discard_only="http://[100::1]/",
        mapped_metadata="http://[::ffff:a9fe:a9fe]/",
    ),
    *_blocked(
        "Names and ports that are not public",
        a_name_without_dots="http://intranet/",
        a_local_name="http://printer.local/",
        an_internal_name="http://wiki.internal/",
        a_home_name="http://nas.home.arpa/",
        an_onion_name="http://kettlekettlekettle.onion/",
        a_name_that_is_none="http://-.example/",
        an_empty_label="http://a..example/",
        a_long_label="http://" + "a" * 64 + ".example/",
        a_name_that_is_no_idna="http://xn--a.example\u3002xn--\u00e9/",
        a_forbidden_idna_sign="http://exa\u2488mple.com/",
        mail="http://public.example:25/",
        secure_shell="http://public.example:22/",
        a_data_store="http://public.example:6379/",
        a_port_that_wraps_around="http://public.example:74705/",
        port_zero="http://public.example:0/",
        a_port_with_a_zero="http://public.example:080/",
        a_negative_port="http://public.example:-1/",
        a_port_in_wide_digits="http://public.example:８０/",
    ),
)

HELLO = html(f"<p>{PROSE}</p>")
_NAME = "rebind.example"


def _name(
    name: str, *answers: tuple[str, ...], reason: SkipReason | None = SkipReason.BLOCKED, visits: int = 0
) -> Case:
    moved = Reply(status=302, headers={"Location": "/hello", "Connection": "close"})
    return Case(
        "Names that lead inside",
        name,
        reason,
        url=f"http://{_NAME}:{T}/{'moved' if len(answers) > 1 else 'hello'}",
        routes={"/hello": HELLO, "/moved": moved},
        names={_NAME: answers},
        visits=visits,
    )


NAMES = (
    _name("to this machine", ("127.0.0.2",)),
    _name("to this machine as IPv6", ("::1",)),
    _name("to an address that may and one that may not", ("127.0.0.1", "127.0.0.2")),
    _name("to the metadata of a cloud", ("169.254.169.254",)),
    _name("to a mapped address", ("::ffff:127.0.0.2",)),
    _name("to a NAT64 address", ("64:ff9b::7f00:2",)),
    _name("to a 6to4 address", ("2002:7f00:2::1",)),
    _name("to something that is no address", ("kettle",)),
    _name("elsewhere when asked again (rebinding)", ("127.0.0.1",), ("127.0.0.2",), visits=1),
    _name("nowhere", reason=SkipReason.NETWORK),
    _name("to where it may (for comparison)", ("127.0.0.1",), reason=None, visits=1),
)
