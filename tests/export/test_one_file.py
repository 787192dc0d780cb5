"""The parts of a run in one file: sizes, digests, and what of the pages is in it."""

import hashlib
import json
import re

from core.export.one_file import one_file
from tests.export.synthetic_runs import synthetic_run

MOST_BYTES = 5_000_000
PART = re.compile(
    r'<(?:script|style)(?: type="application/json")? id="part-(\w+)">(.*?)</(?:script|style)>', re.DOTALL
)


def parts(html: str) -> dict[str, str]:
    return dict(PART.findall(html))


def test_a_file_of_500_passages_has_at_most_five_megabytes() -> None:
    assert len(one_file(synthetic_run(500, width=1024)).encode()) <= MOST_BYTES


def test_the_manifest_has_the_digest_of_every_part_and_no_part_holds_a_tag() -> None:
    found = parts(one_file(synthetic_run(60)))
    manifest = json.loads(found.pop("manifest"))
    assert found.pop("signature") == "null"
    page = manifest["parts"].pop("page")
    assert page != manifest["file"]
    assert manifest["parts"] == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in found.items()
    }
    assert {"run", "ranking", "texts", "map", "script", "style"} <= found.keys()
    assert all("<" not in found[name] for name in ("run", "ranking", "texts", "map"))


def test_full_texts_can_be_left_out_and_the_context_stays() -> None:
    run = synthetic_run(60)
    assert run.index is not None
    found = parts(one_file(run, full_texts=False))
    pieces = [piece for page in json.loads(found["texts"])["pages"] for _, piece in page["pieces"]]
    held = [any(passage.text in piece for piece in pieces) for passage in run.index.passages]
    assert all(any(source.passage.text in piece for piece in pieces) for source in run.sources)
    assert not all(held)
    assert parts(one_file(run))["ranking"] == found["ranking"]
