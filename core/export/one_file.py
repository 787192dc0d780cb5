"""A run as one HTML file that needs no server and no network: data, script, style and fonts, each with its digest.

Nothing of a run is HTML in it. Data are JSON without `<`, which the script draws as elements and text nodes after
it has compared every part with the manifest. The file's own policy lets a browser run and apply the parts with these
digests and load nothing.
"""

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from core.config.settings import ROOT
from core.export.run_parts import run_parts
from core.run.state import Run
from core.text.sanitize import encodable, one_line

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    "digest.js",
    "dom.js",
    "ranking.js",
    "texts.js",
    "plots.js",
    "table.js",
    "knobs.js",
    "views.js",
    "app.js",
)
FONTS = {"Inter": "inter-latin.woff2", "Source Serif 4": "source-serif-4-latin.woff2"}


def one_file(run: Run, *, full_texts: bool = True) -> str:
    """The HTML file of a run, in whatever state it is.

    Without `full_texts` it holds of the pages only the passages of the context and what stands around them; the
    others are still ranked, but cannot be read.
    """
    script, style, fonts = _script(), _style(), _fonts()
    data = {name: _json(value) for name, value in run_parts(run, full_texts=full_texts).items()}
    digests = {
        name: _sha256(text).hex()
        for name, text in {**data, "style": style, "fonts": fonts, "script": script}.items()
    }
    manifest = {"parts": digests}
    title = escape(one_line(encodable(run.question), 300))
    blocks = "\n".join(
        f'<script type="application/json" id="part-{name}">{text}</script>'
        for name, text in {**data, "manifest": _json(manifest)}.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script, style, fonts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title} · OpenQuery run</title>
<style id="part-style">{style}</style>
<style id="part-fonts">{fonts}</style>
</head>
<body>
<div class="wrap" id="page">
<main>
<h1 class="question" dir="auto">{title}</h1>
<p>This file shows its run with a script of its own, which fetches nothing. If you read this, scripts are off, or the
script was changed and the browser refuses it.</p>
</main>
</div>
{blocks}
<script id="part-script">{script}</script>
</body>
</html>
"""


def _policy(script: str, *styles: str) -> str:
    allowed = " ".join(f"'sha256-{_base64(style)}'" for style in styles)
    return (
        f"default-src 'none'; script-src 'sha256-{_base64(script)}'; style-src {allowed}; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> str:
    """JSON that no text in it can end: `<` is escaped, and with it every tag and comment."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _base64(text: str) -> str:
    return base64.b64encode(_sha256(text)).decode()


@cache
def _script() -> str:
    return "\n".join((ASSETS / name).read_text("utf-8") for name in SCRIPTS)


@cache
def _style() -> str:
    return (ASSETS / "one_file.css").read_text("utf-8")


@cache
def _fonts() -> str:
    def face(family: str, file: str) -> str:
        data = base64.b64encode((ROOT / "static" / file).read_bytes()).decode()
        source = f"url(data:font/woff2;base64,{data}) format('woff2')"
        return f"@font-face{{font-family:'{family}';font-weight:200 900;src:{source}}}"

    return "\n".join(face(family, file) for family, file in FONTS.items())
