"""Signatures of exported files: who has signed, what does not fit, and keys that cannot be used."""

import base64
import io
import re
import zipfile
from pathlib import Path

import pytest

from core.errors import BadInput
from core.export.bundle import from_bundle
from core.export.formats import export
from core.export.one_file import file_signer
from core.export.signature import key_id, new_key, public_key, signed_by, trusted_keys
from tests.export.synthetic_runs import synthetic_run
from tests.export.test_bundle import BUNDLE, RECORDED
from tests.services.command_line import openquery


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "key.pem"
    new_key(file)
    return file


def entry_of(bundle: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return archive.read(name)


def with_entry(bundle: bytes, name: str, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()} | {name: content}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for entry, body in files.items():
            archive.writestr(entry, body)
    return file.getvalue()


def test_a_key_is_its_owners_alone_and_is_not_overwritten(key: Path) -> None:
    assert key.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="exists"):
        new_key(key)


def test_a_signed_bundle_opens_with_the_key_that_signed_it_and_is_the_same_each_time(key: Path) -> None:
    signed = export(RECORDED, ".zip", signing_key=str(key))
    assert signed == export(RECORDED, ".zip", signing_key=str(key))
    assert from_bundle(signed).signer == public_key(key)
    assert from_bundle(BUNDLE).signer == ""
    assert export(RECORDED, ".md", signing_key="nowhere") == export(RECORDED, ".md")


def test_a_signature_of_another_bundle_or_a_damaged_one_is_refused(key: Path) -> None:
    signature = entry_of(export(RECORDED, ".zip", signing_key=str(key)), "signature.json")
    other = export(RECORDED, ".offsets.zip")
    with pytest.raises(BadInput, match="does not fit"):
        from_bundle(with_entry(other, "signature.json", signature))
    short = base64.b64encode(bytes(31))
    for damage in (
        b"",
        b"{}",
        b"[]",
        b"null",
        signature[:-9],
        b'{"key":"%b","signature":""}' % short,
        b"[" * 900,
    ):
        with pytest.raises(BadInput):
            from_bundle(with_entry(BUNDLE, "signature.json", damage or b" "))


def test_base64_with_bits_that_no_byte_has_is_refused(key: Path) -> None:
    bundle = export(RECORDED, ".zip", signing_key=str(key))
    signature = entry_of(bundle, "signature.json")
    for ending in re.finditer(rb'.(?==+")', signature):
        again = (
            signature[: ending.start()] + bytes([signature[ending.start()] + 1]) + signature[ending.end() :]
        )
        with pytest.raises(BadInput):
            from_bundle(with_entry(bundle, "signature.json", again))


def test_names_come_from_trusted_keys_and_from_nothing_else(key: Path) -> None:
    public = public_key(key)
    trusted = trusted_keys(f" Editorial office = {public} , ")
    assert signed_by(public, trusted) == f"Signed by Editorial office (key {key_id(public)})."
    assert "none of the trusted keys" in signed_by(public, {})
    assert signed_by("", trusted).startswith("Not signed")
    for wrong in (public, f"={public}", "Ada=abc", "Ada", "Ada=ü"):
        with pytest.raises(BadInput, match="NAME=KEY"):
            trusted_keys(wrong)


def test_every_byte_of_a_run_in_one_file_is_checked(key: Path) -> None:
    recorded = type(RECORDED)(run=synthetic_run(60))
    html = export(recorded, ".html", signing_key=str(key))
    assert file_signer(html) == public_key(key)
    assert file_signer(export(recorded, ".html")) == ""
    outside = [html.index(b"<meta charset"), html.index(b"<p>This file"), html.index(b"</html>")]
    for place in (*range(0, len(html), len(html) // 50), *outside):
        changed = html[:place] + bytes([html[place] ^ 1]) + html[place + 1 :]
        with pytest.raises(BadInput):
            file_signer(changed)
    script = b'<script id="part-x">alert(1)</script>'
    for mark in (b"<head>", b"<body>", b"</html>"):
        with pytest.raises(BadInput, match="changed after it was written: file"):
            file_signer(html.replace(mark, mark + script))


@pytest.mark.parametrize(
    "content", [None, b"", b"secret words", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_key_that_cannot_be_used_is_told_without_what_is_in_it(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "key.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadInput) as refused:
        export(RECORDED, ".zip", signing_key=str(file))
    assert "openquery key new" in refused.value.hint and "secret" not in str(refused.value)


@pytest.mark.slow
def test_a_person_signs_in_one_openquery_and_another_tells_by_whom(tmp_path: Path) -> None:
    key, run = tmp_path / "key.pem", tmp_path / "run.zip"
    run.write_bytes(BUNDLE)
    made = openquery(tmp_path, "key", "new", str(key))
    assert openquery(tmp_path, "key", "show", str(key)).out == made.out
    signing = {"OPENQUERY_SIGNING_KEY": str(key)}
    for name in ("signed.zip", "signed.html"):
        out = str(tmp_path / name)
        assert openquery(tmp_path, "export", str(run), "--out", out, **signing).code == 0
        opened = openquery(tmp_path, "open", out, OPENQUERY_TRUSTED_KEYS=f"Ada={made.out.strip()}")
        assert "Signed by Ada" in opened.err and opened.code == 0
    assert "Not signed" in openquery(tmp_path, "open", str(run)).err
