"""The answer as an HTML page for printing or pasting. It has no script and loads nothing."""

import html
from collections import Counter
from itertools import pairwise

from markdown_it import MarkdownIt

from core.config.prices import Prices
from core.features.share.answer_export import answer_document, heading_anchor
from core.run.state import Run
from core.text.sanitize import one_line

_STYLE = (
    "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif;color:#1c1c1c}"
    "blockquote{margin:0;padding-left:1rem;border-left:3px solid #ccc;color:#444}pre{overflow:auto}"
    "@media print{body{margin:0;max-width:none}a{color:inherit}h3{break-after:avoid}}"
)


def answer_page(run: Run, prices: Prices) -> bytes:
    """Return `answer_document` as HTML with linked citations."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    tokens = parser.parse(answer_document(run, prices))
    counts: Counter[str] = Counter()
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = heading_anchor(heading.content)
            opening.attrSet("id", f"{anchor}-{counts[anchor]}" if counts[anchor] else anchor)
            counts[anchor] += 1
    body = parser.renderer.render(tokens, parser.options, {})
    title = html.escape(one_line(run.question, 1000))
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    ).encode("utf-8", "replace")
