"""Posts of a thread and comments, each of which is a section of the article, headed by its author and its day."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice

import lxml.html

from core.reading.html.text_blocks import page_blocks
from core.reading.normalization import clean_line, normalize

_TYPE = re.compile(r"(?:Comment|Answer|Question|DiscussionForumPosting|SocialMediaPosting)\s*$")
_CLASS = re.compile(
    r"(?:^|\s)(?:post|comment|message|reply|answer|cpost|tpost|postcontainer|ipsentry|comment-node)(?:$|\s)",
    re.IGNORECASE,
)
_AUTHOR = re.compile(r"(?:^|[\s_-])(?:author|user-?name|creator|poster)(?:$|[\s_-])", re.IGNORECASE)
_MAX_POSTS, _FIRST_TEXTS = 2_000, 4
_MIN_CHARACTERS = 12
"""Characters of the first text of a post by which it is found in the article."""


@dataclass(slots=True, eq=False)
class Post:
    """A post: who wrote it, on which day, and its first texts."""

    around: Post | None
    author: str = ""
    date: str = ""
    texts: list[str] = field(default_factory=list)


def html_posts(tree: lxml.html.HtmlElement) -> tuple[Post, ...]:
    """The posts in a tree, in their order: what schema.org's types or usual classes say are posts, if two or more have
    an author or a day. The texts of one without them belong to the one around it."""
    posts: dict[Post, None] = {}
    nearest: dict[lxml.html.HtmlElement, Post | None] = {}
    for element in tree.iter():
        around = nearest.get(element.getparent())
        names = f"{element.get('class') or ''} {element.get('itemprop') or ''}"
        if _TYPE.search(element.get("itemtype") or "") or _CLASS.search(element.get("class") or ""):
            posts[around := Post(around)] = None
        nearest[element] = around
        if around is None:
            continue
        if not around.author and _AUTHOR.search(names):
            texts = (
                text for text in element.itertext() if len(text.strip()) > 1
            )  # a letter stands for a picture
            around.author = clean_line(next(texts, element.get("content")), 60)
        if not around.date and (
            day := element.get("datetime") or ("date" in names and element.get("content"))
        ):
            around.date = clean_line(day, 10)
    if sum(bool(post.author or post.date) for post in posts) < 2:
        return ()
    for block in page_blocks(tree):
        post = nearest.get(block.element)
        while post is not None and not (post.author or post.date):
            post = post.around
        if post is not None and len(block.text) >= _MIN_CHARACTERS and len(post.texts) < _FIRST_TEXTS:
            post.texts.append(normalize(block.text[:200]).partition("\n")[0])
    return tuple(islice((post for post in posts if post.texts), _MAX_POSTS))


def post_sections(text: str, posts: tuple[Post, ...]) -> tuple[tuple[int, str], ...]:
    """Where the posts begin in a text, each with its heading; of a post that is not in it nothing."""
    sections: list[tuple[int, str]] = []
    done = 0
    for post in posts:
        for words in post.texts:
            start = text.find(words, done)
            line = text.rfind("\n", 0, max(start, 0)) + 1
            if start >= 0 and line >= done and not any(map(str.isalnum, text[line:start])):
                sections.append((line, ", ".join(filter(None, (post.author, post.date)))))
                done = start + len(words)
                break
    return tuple(sections)
