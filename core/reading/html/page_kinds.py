"""The kind of a page, by weighted signs. The signs are in its address, its markup and its declarations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from core.reading.html.text_blocks import Block
from core.reading.page_parts.block_words import SAYS, Matrix

_TYPE = re.compile(r"""@type["']\s*:\s*\[?\s*["'](?:https?://schema\.org/)?(\w{3,40})""")
_ITEM_TYPE = re.compile(r"""itemtype\s*=\s*["']?https?://(?:www\.)?schema\.org/(\w{3,40})""")
_OG_TYPE = re.compile(r"""og:type["'][^>]{0,40}content\s*=\s*["']([\w.:]{3,30})""")
_OG_TYPE_AFTER = re.compile(r"""([\w.:]{3,30})["'][^>"']{0,20}property\s*=\s*["']og:type""")
_TYPES = {
    "DiscussionForumPosting": "forum", "QAPage": "forum", "Question": "question", "Answer": "answer", "Comment": "comment",
    "Product": "product", "ProductGroup": "product", "Offer": "offer", "AggregateOffer": "offer", "Review": "review",
    "AggregateRating": "rating", "Book": "product", "SoftwareApplication": "product", "VideoGame": "product", "Course": "course",
    "ItemList": "list", "CollectionPage": "collection", "OfferCatalog": "list", "SearchResultsPage": "list", "ListItem": "list item",
    "Article": "article", "NewsArticle": "article", "BlogPosting": "article", "Recipe": "article", "ReportageNewsArticle": "article",
    "TechArticle": "technical article", "APIReference": "technical article", "HowTo": "how-to", "FAQPage": "faq",
    "Service": "service", "LocalBusiness": "business", "ProfessionalService": "service", "MedicalBusiness": "business",
    "Dentist": "business", "LegalService": "service", "BreadcrumbList": "breadcrumb", "JobPosting": "job", "Event": "event",
    "Blog": "blog", "WebSite": "site", "Organization": "organization", "Person": "person", "WebPage": "page",
}  # fmt: skip
_PATHS = {
    "forum": r"forum|thread|topic|discussion|viewtopic|showthread|community|/t/\S*\d|board|/comments/",
    "question": r"question|answers|/q/|\bask\b|stackexchange|stackoverflow|quora",
    "product": r"/products?/|/dp/|/p/|/itm/|/item|/pd/|/prod|\.p\.|/sku|/app/\d|/shop/.+/.+",
    "collection": r"/collections?/|/category|/categories|/c/|/shop\b|/browse|/store|/catalog|/search|/b/|-c-\d|/departments?",
    "documentation": r"\bdocs?\b|documentation|/api|reference|manual|guide|tutorial|/wiki|/help|/learn|/man/|handbook|readthedocs|/support|/kb",
    "article": r"/blog|/news|/article|/story|/post|/20[012]\d/|/opinion|/magazine|recipe",
    "service": r"service|solution|pricing|/about|consult|insurance|plans|packages|/care|treatment|lawyer|repair",
    "listing": r"/jobs?|/tags?/|/topics?/|/list|directory|/courses?|events|programs|/best-|/top-|paths|archive|resources",
}
_GENERATORS = {
    "forum": "discourse vbulletin phpbb xenforo invision flarum nodebb vanilla mybb",
    "documentation": "docusaurus sphinx mkdocs gitbook mintlify readme.io vitepress doxygen docfx mediawiki",
    "shop": "shopify woocommerce magento bigcommerce prestashop demandware",
    "wordpress": "wordpress wp-content",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in _PATHS.items()}
_MOST_REASONS = 3
_CLASSES = re.compile(
    "comment|post|reply|message|answer|product|price|card|item|docs|toc|review|service|author"
)
_REASONS = {
    "type": "its data say {}", "types": "its data say {} several times", "og": "it calls itself {}", "path": "its address looks like {}",
    "generator": "it is made with software for {}", "said": "it speaks of {}", "class": "parts of it are named {}",
}  # fmt: skip


def page_signs(html: str, url: str, blocks: Sequence[Block], said: Matrix) -> dict[str, float]:
    """Return the signs of a page by name, from 0 (absent) to 1."""
    head = html[:600_000]
    signs: dict[str, float] = {}
    types = Counter(_TYPES.get(name, "") for pattern in (_TYPE, _ITEM_TYPE) for name in pattern.findall(head))
    for name, number in types.items():
        if name:
            signs[f"type {name}"] = 1.0
            if number >= 3:
                signs[f"types {name}"] = 1.0
    place = head.find("og:type")
    around = head[max(place - 90, 0) : place + 120] if place >= 0 else ""
    if match := _OG_TYPE.search(around) or _OG_TYPE_AFTER.search(around):
        signs[f"og {match[1].lower()}"] = 1.0
    split = urlsplit(url)
    path = f"{split.netloc}{split.path}?{split.query}".lower()
    for name, pattern in _PATTERNS.items():
        signs[f"path {name}"] = float(pattern.search(path) is not None)
    signs["path worded"] = float(
        split.path.rpartition("/")[2].count("-") >= 4
        or split.path.rstrip("/").rpartition("/")[2].count("-") >= 4
    )
    signs["path numbered"] = float(re.search(r"\d{4,}", split.path) is not None)
    opening = head[:60_000].lower()
    for name, words in _GENERATORS.items():
        signs[f"generator {name}"] = float(any(word in opening for word in words.split()))
    texts = [block.text for block in blocks]
    sizes = sum(map(len, texts)) or 1
    numbers = dict(zip((*SAYS, "money", "years"), said.sum(0), strict=True))
    for name, number in numbers.items():
        for limit in (1, 5, 20):
            signs[f"said {name} {limit}"] = float(number >= limit)
    tags = Counter(block.element.tag for block in blocks)
    links = sum(block.linked for block in blocks) / sizes
    prose = sum(
        len(text)
        for block, text in zip(blocks, texts, strict=True)
        if len(text) > 120 and block.linked * 3 < len(text)
    )
    long = sum(len(text) > 200 for text in texts)
    steps: dict[str, tuple[float, tuple[float, ...]]] = {
        "links": (links, (0.1, 0.2, 0.35, 0.5, 0.7)), "prose": (prose / sizes, (0.1, 0.3, 0.5, 0.7)),
        "code": (tags["pre"], (1, 3, 8)), "tables": (tags["table"], (1, 3)), "items": (tags["li"], (20, 60, 150)),
        "headings": (sum(tags[f"h{n}"] for n in range(1, 7)), (3, 8, 16, 32)), "h1": (tags["h1"], (1, 2)), "h3": (tags["h3"], (4, 12)), "paragraphs": (tags["p"], (5, 15, 40)),
        "blocks": (len(blocks), (60, 150, 300, 600)), "size": (sizes, (2_000, 6_000, 15_000, 40_000)), "long": (long, (2, 5, 12, 30)), "definitions": (tags["dd"], (3,)),
    }  # fmt: skip
    for name, (value, limits) in steps.items():
        for step in limits:
            signs[f"{name} {step}"] = float(value >= step)
    names = Counter(
        name
        for element in {
            block.element.getparent() for block in blocks if block.element.getparent() is not None
        }
        for name in set(_CLASSES.findall((element.get("class") or "").lower()))
    )
    for name, number in names.items():
        for limit in (1, 5, 15):
            signs[f"class {name} {limit}"] = float(number >= limit)
    return signs


def reason(weights: Mapping[str, float]) -> str:
    """Return the three signs with the most weight for a kind, in readable form.

    `weights` has the signs of the page.
    """
    reasons: dict[str, None] = {}
    for name in sorted(weights, key=lambda name: -weights[name]):
        group, _, rest = name.partition(" ")
        if weights[name] <= 0 or len(reasons) == _MOST_REASONS:
            break
        value = rest.rstrip("0123456789. ")
        if group in _REASONS and value and (group != "path" or value in _PATHS):
            reasons[_REASONS[group].format(value)] = None
    return "; ".join(reasons)
