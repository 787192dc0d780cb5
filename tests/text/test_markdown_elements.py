"""Markdown as elements: the allowed tags and texts, and nothing else."""

from typing import Any

from core.text.markdown.elements import TAGS, elements
from core.text.markdown.tokens import LIMIT


def tags(tree: list[Any]) -> set[str]:
    nodes = [node for node in tree if isinstance(node, dict) and "tag" in node]
    return {node["tag"] for node in nodes}.union(*(tags(node["in"]) for node in nodes))


def test_blocks_emphasis_and_citations_keep_their_form() -> None:
    text = "# Head\n\nA **bold** word [2][9].\n\n3. one\n4. two\n"
    assert elements(text, {2}) == [
        {"tag": "h3", "in": ["Head"]},
        {
            "tag": "p",
            "in": [
                "A ",
                {"tag": "strong", "in": ["bold"]},
                " word",
                {"cite": 2},
                {"tag": "s", "in": [" [9]"]},
                ".",
            ],
        },
        {"tag": "ol", "in": [{"tag": "li", "in": ["one"]}, {"tag": "li", "in": ["two"]}], "start": 3},
    ]


def test_html_links_and_images_are_words() -> None:
    text = '<img src=x onerror="a()"> [go](javascript:a()) ![see](https://a.example/x.png)\n\n<script>a()</script>'
    tree = elements(text, {1})
    assert tags(tree) <= set(TAGS.values()) | {"code", "pre", "br", "hr"}
    assert '<img src=x onerror="a()"> ' in str(tree)
    assert all("href" not in str(node) and "src'" not in str(node) for node in tree)


def test_table_stays_one_and_is_cut_with_a_note() -> None:
    (table,) = elements("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert tags([table]) == {"table", "thead", "tbody", "tr", "th", "td"}
    assert "Cut here" in str(elements("word " * LIMIT)[-1])
