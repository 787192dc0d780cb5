"""A run as one HTML file that needs no server and no network.

It has data, script, style, fonts and page, each with its digest.

Data of a run are never HTML. They are JSON without `<`, which the script draws as elements and text nodes after it has
compared every part with the manifest. The file's policy lets a browser run and apply only the parts with these digests,
and load nothing.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from core.config.settings import ROOT
from core.errors import BadInput
from core.features.share.run_parts import run_parts
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
_PART = re.compile(rb'(<(?:script|style)[^>]* id="part-([a-z]+)">)(.*?)(</(?:script|style)>)', re.DOTALL)
_DOCTYPE, _NODES = "<!doctype html>\n", "html HTML"
"""The text before the document's element, and the names of its nodes."""
FONTS = {"Inter": "inter-latin.woff2", "Source Serif 4": "source-serif-4-latin.woff2"}


def html_export(run: Run, *, full_texts: bool = True) -> str:
    """Return the HTML file of a run in any state.

    Without `full_texts`, page texts are reduced to the passages of the context and their surroundings. The other
    passages are still ranked, but cannot be read.
    """
    styles = {"style": _style(), "fonts": _fonts()}
    data = {name: _json(value) for name, value in run_parts(run, full_texts=full_texts).items()}
    parts = {**styles, **data, "script": _script()}
    title, policy = one_line(encodable(run.question), 300), _policy(parts["script"], *styles.values())
    markup = _document(title, policy, dict.fromkeys((*parts, "manifest"), ""))
    shown = f"<title>{escape(_title(title), quote=False)}</title>"
    around = markup.removeprefix(_DOCTYPE).replace(shown, "<title></title>", 1)
    manifest = {
        "parts": {
            **{name: _sha256(text).hex() for name, text in parts.items()},
            "page": _sha256("\n".join((_NODES, _title(title), around))).hex(),
        },
        "file": _sha256(markup).hex(),
    }
    return _document(title, policy, {**parts, "manifest": _json(manifest)})


def _document(title: str, policy: str, parts: Mapping[str, str]) -> str:
    """Return the HTML with these parts. It is serialized as in a browser, because the script compares all of it."""
    question = escape(title, quote=False)
    styles = "\n".join(f'<style id="part-{name}">{parts[name]}</style>' for name in ("style", "fonts"))
    blocks = "\n".join(
        f'<script type="application/json" id="part-{name}">{text}</script>'
        for name, text in parts.items()
        if name not in ("style", "fonts", "script")
    )
    return f"""{_DOCTYPE}<html lang="en"><head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(_title(title), quote=False)}</title>
{styles}
</head><body>
<div class="wrap" id="page">
<main>
<h1 class="question" dir="auto">{question}</h1>
<p>This file shows its run with a script of its own, which fetches nothing. If you read this, scripts are off, or the
script was changed and the browser refuses it.</p>
</main>
</div>
{blocks}
<script id="part-script">{parts["script"]}</script></body></html>"""


def _title(question: str) -> str:
    return f"{question} · OpenQuery run"


def is_html_export(document: bytes) -> bool:
    """Whether a document looks like the HTML file of a run."""
    return document.startswith(b"<!doctype html>")


def check_file(html: bytes) -> None:
    """Compare every byte of a run's HTML file with its manifest.

    The file checks itself too, but a forger of the file can also change that check. Signatures of earlier versions are
    not checked.

    Raises:
        BadInput: when it is another kind of file, or was changed.
    """
    parts = {name.decode(): text for _, name, text, _ in _PART.findall(html)}
    document = parts.pop("manifest", b"")
    parts.pop("signature", None)
    actual = {name: hashlib.sha256(text).hexdigest() for name, text in parts.items()}
    actual["file"] = hashlib.sha256(_PART.sub(rb"\1\4", html)).hexdigest()
    try:
        manifest = json.loads(document)
        listed = {**manifest["parts"], "file": manifest["file"]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadInput("The file is no run in one file: its manifest cannot be read.") from error
    changed = sorted(name for name in {*listed, *actual} - {"page"} if listed.get(name) != actual.get(name))
    if changed:
        raise BadInput(
            f"The file was changed after it was written: {', '.join(changed)[:200]}.",
            hint="Ask the sender for the file again.",
        )


def _policy(script: str, *styles: str) -> str:
    allowed = " ".join(f"'sha256-{_base64(style)}'" for style in styles)
    return (
        f"default-src 'none'; script-src 'sha256-{_base64(script)}'; style-src {allowed}; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> str:
    """Return JSON that contains no tag or comment, because `<` is escaped."""
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
    return (ASSETS / "html_export.css").read_text("utf-8")


@cache
def _fonts() -> str:
    def face(family: str, file: str) -> str:
        data = base64.b64encode((ROOT / "static" / file).read_bytes()).decode()
        source = f"url(data:font/woff2;base64,{data}) format('woff2')"
        return f"@font-face{{font-family:'{family}';font-weight:200 900;src:{source}}}"

    return "\n".join(face(family, file) for family, file in FONTS.items())
