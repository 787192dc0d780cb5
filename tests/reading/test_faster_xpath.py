"""Rewritten XPath expressions select what the original ones select."""

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from core.reading.html.trafilatura_calls import article_text, faster_path

_NAMESPACES = {"re": "http://exslt.org/regular-expressions"}
_EXPRESSIONS = (
    ".//*[self::div or self::p][re:test(@class, '^share|(?:^| )hidden')]",
    ".//*[re:test(@id|@class, 'share')]",
    ".//div[not(re:test(@class, 'share'))]",
    ".//*[self::div or self::span][re:test(@class, 'SHARE', 'i') or @id='b'][1]",
    "(.//*[self::div or self::span][re:test(@id, '^b')])[1]|.//p",
    "//*[self::div or self::p][not(.//span) or re:test(@class, 'share')]|//section",
    ".//*[self::div or self::body][@class]",
    ".//p[re:test(@class, '|x')]",
    ".//p[re:test(., 'one')]",
)
_ELEMENTS = st.lists(
    st.tuples(
        st.sampled_from(["div", "p", "span", "section", "/div", "/span"]),
        st.lists(
            st.tuples(
                st.sampled_from(["class", "id"]),
                st.sampled_from(["", "share", "a hidden", "Share", "b", "'\n"]),
            ),
            unique_by=lambda attribute: attribute[0],
        ),
    ),
    max_size=20,
)


@pytest.mark.parametrize("expression", _EXPRESSIONS)
@given(elements=_ELEMENTS)
def test_rewritten_expression_selects_the_same_elements(
    expression: str, elements: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    tags = [
        " ".join([f"<{tag}", *(f'{name}="{value}"' for name, value in attributes)])
        for tag, attributes in elements
    ]
    tree = lxml.html.document_fromstring(f"<body>{''.join(f'{tag}>one' for tag in tags)}</body>")
    path = etree.XPath(expression, namespaces=_NAMESPACES)
    assert faster_path(path)(tree) == path(tree)


def test_no_path_of_trafilatura_calls_python_for_each_element() -> None:
    from trafilatura import xpaths

    article_text(lxml.html.document_fromstring("<p>one"), "https://a.example/", fast=True)
    paths = [path for value in vars(xpaths).values() if isinstance(value, list) for path in value]
    assert len(paths) > 20
    assert not [path.path for path in paths if "re:test" in path.path]
