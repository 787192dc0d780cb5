"""The parts of a run in one file: sizes, digests, and what of the pages is in it."""

import hashlib
import json
import re
from dataclasses import fields

import pytest

from core.config.knobs import RankKnobs
from core.errors import BadInput
from core.features.share.html_export import check_file, html_export
from tests.features.share.synthetic_runs import synthetic_run

MOST_BYTES = 5_000_000
PART = re.compile(
    r'<(?:script|style)(?: type="application/json")? id="part-(\w+)">(.*?)</(?:script|style)>', re.DOTALL
)


def parts(html: str) -> dict[str, str]:
    return dict(PART.findall(html))


def test_file_of_500_passages_has_at_most_five_megabytes() -> None:
    assert len(html_export(synthetic_run(500, width=1024)).encode()) <= MOST_BYTES


def test_manifest_digests_every_part_and_no_part_holds_tags() -> None:
    found = parts(html_export(synthetic_run(60)))
    manifest = json.loads(found.pop("manifest"))
    page = manifest["parts"].pop("page")
    assert page != manifest["file"]
    assert manifest["parts"] == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in found.items()
    }
    assert {"run", "ranking", "texts", "map", "script", "style"} <= found.keys()
    assert all("<" not in found[name] for name in ("run", "ranking", "texts", "map"))


def test_file_offers_every_ranking_knob_and_its_script_follows_each() -> None:
    found = parts(html_export(synthetic_run(60)))
    offered = {control["name"]: control for control in json.loads(found["run"])["controls"]}
    text_around = "surroundings"  # of pages, whose whole texts the file does not have
    assert offered.keys() == {field.name for field in fields(RankKnobs)} - {text_around}
    missing = [name for name in offered if f"knobs.{name}" not in found["script"]]
    assert not missing, f"write the rule of {missing} in core/features/share/assets/ranking.js"
    assert offered["per_page"]["labels"] == {"-1": "auto", "0": "no limit"}


def test_full_texts_can_be_left_out_and_the_context_stays() -> None:
    run = synthetic_run(60)
    assert run.index is not None
    found = parts(html_export(run, full_texts=False))
    pieces = [piece for page in json.loads(found["texts"])["pages"] for _, piece in page["pieces"]]
    held = [any(passage.text in piece for piece in pieces) for passage in run.index.passages]
    assert all(any(source.passage.text in piece for piece in pieces) for source in run.sources)
    assert not all(held)
    assert parts(html_export(run))["ranking"] == found["ranking"]


def test_every_byte_is_compared_with_the_manifest() -> None:
    html = html_export(synthetic_run(60)).encode()
    check_file(html)
    outside = [html.index(b"<meta charset"), html.index(b"<p>This file"), html.index(b"</html>")]
    for place in (*range(0, len(html), len(html) // 50), *outside):
        with pytest.raises(BadInput):
            check_file(html[:place] + bytes([html[place] ^ 1]) + html[place + 1 :])
    script = b'<script id="part-x">alert(1)</script>'
    for mark in (b"<head>", b"<body>", b"</html>"):
        with pytest.raises(BadInput, match="changed after it was written: file"):
            check_file(html.replace(mark, mark + script))


@pytest.mark.parametrize("signature", ["null", '{"algorithm":"Ed25519","key":"x","signature":"y"}'])
def test_file_of_an_earlier_version_is_checked_without_its_signature(signature: str) -> None:
    """Earlier versions had one more block, which no digest covered."""
    html = html_export(synthetic_run(60))
    block = '<script type="application/json" id="part-signature">'
    html = html.replace('<script id="part-script">', f'{block}</script>\n<script id="part-script">')
    emptied = PART.sub(lambda part: part[0].replace(part[2], "") if part[2] else part[0], html)
    wanted = hashlib.sha256(emptied.encode()).hexdigest()
    html = html.replace(json.loads(parts(html)["manifest"])["file"], wanted).replace(block, block + signature)
    check_file(html.encode())
    with pytest.raises(BadInput, match="changed after it was written: run"):
        check_file(html.replace('id="part-run">{', 'id="part-run">{ ').encode())
