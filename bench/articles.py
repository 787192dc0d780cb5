"""Seeded web pages: an article of its own words inside the boilerplate that real pages carry."""

import random


def _listed(text: str) -> list[str]:
    return text.split()


_NOUNS = _listed("""
bridge river harbour signal engine valley market winter island station archive tower garden copper timber
cable pump valve canal quarry furnace orchard glacier meadow lantern barley ferry kiln loom reservoir salt
cement girder rivet sluice boiler compass anchor rudder sail granite chalk clay wheat hop wool linen dye
turbine rotor bearing gasket filter membrane sensor meter gauge ledger tariff charter parish council guild
surveyor engineer mason miller weaver farmer pilot keeper inspector historian
""")
_VERBS = _listed("""
carried measured repaired flooded replaced recorded lowered raised tested opened closed drained widened
surveyed strengthened inspected abandoned restored extended powered cooled heated sheltered supplied
""")
_ADJECTIVES = _listed("""
narrow northern brittle seasonal heavy hidden early costly reliable shallow rusted western fragile steady
modern crowded quiet remote damp frozen local public ancient temporary
""")
_LINKS = _listed("although while because before after until whereas since once")

_STYLE = "\n".join(
    f".block-{n}{{margin:{n}px 0;padding:{n % 7}px;color:#3{n % 10}4;border-top:1px solid #e{n % 10}e}}"
    for n in range(150)
)
_SCRIPT = (
    "window.layers=[" + ",".join(f'{{"id":{n},"slot":"unit-{n}","lazy":true}}' for n in range(260)) + "];"
)


def words(draw: random.Random, count: int) -> str:
    """A line of `count` different words."""
    return " ".join(draw.sample(_NOUNS + _ADJECTIVES, count))


def sentence(draw: random.Random) -> str:
    def clause() -> str:
        return (
            f"the {draw.choice(_ADJECTIVES)} {draw.choice(_NOUNS)} of the {draw.choice(_NOUNS)} "
            f"{draw.choice(_VERBS)} the {draw.choice(_NOUNS)} in {draw.randint(1820, 2020)}"
        )

    text = clause()
    if draw.random() < 0.6:
        text = f"{text} {draw.choice(_LINKS)} {clause()}"
    return f"{text[0].upper()}{text[1:]}."


def page(seed: str, *, paragraphs: int = 16) -> bytes:
    """An HTML document of about 65 kB, whose article has some 10,000 characters at the default length."""
    draw = random.Random(seed)
    title = words(draw, 5).capitalize()
    article = []
    for n in range(paragraphs):
        if n % 5 == 4:
            article.append(f"<h2>{words(draw, 4).capitalize()}</h2>")
        text = " ".join(sentence(draw) for _ in range(draw.randint(3, 8)))
        article.append(f'<p>{text} <a href="/topic/{n}">{words(draw, 2)}</a>.</p>')
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} | The Daily Ledger</title>
<meta name="description" content="{sentence(draw)}"><meta name="author" content="A. Correspondent">
<meta property="og:title" content="{title}"><meta property="og:site_name" content="The Daily Ledger">
<meta property="article:published_time" content="2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}T08:00:00Z">
<style>{_STYLE}</style><script>{_SCRIPT}</script></head>
<body class="page single">
<div class="site-top"><div class="menu-wrap"><ul class="menu">{_links(draw, 60, "menu")}</ul></div></div>
<div class="layout"><div class="column wide"><div class="entry"><h1 class="entry-title">{title}</h1>
<div class="entry-meta">By <span class="byline">A. Correspondent</span></div>
<div class="entry-content">{"".join(article)}</div></div>
<div class="responses"><h3>Responses</h3>{_comments(draw)}</div></div>
<div class="column narrow"><h3>Most read</h3><ul class="widget">{_links(draw, 80, "related")}</ul></div></div>
<div class="site-bottom"><ul>{_links(draw, 60, "footer")}</ul><p>All rights reserved.</p></div>
<script>{_SCRIPT}</script></body></html>""".encode()


def _links(draw: random.Random, count: int, kind: str) -> str:
    return "".join(
        f'<li class="{kind}-item block-{n}"><a href="/{kind}/{n}"><span>{words(draw, 3)}</span></a></li>'
        for n in range(count)
    )


def _comments(draw: random.Random) -> str:
    return "".join(
        f'<div class="comment block-{n}"><span class="comment-author">Reader {n}</span>'
        f'<p class="comment-text">{words(draw, 9)}</p></div>'
        for n in range(20)
    )
