"""Ed25519 signatures (RFC 8032) of exported files: of the digest of a manifest, which has the digests of all else.

A signature says which key has signed. The public key beside it proves nothing by itself, since anybody can make a key
and sign with it: whose it is, say the trusted keys of whoever opens the file.
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from core.errors import BadInput
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_ALGORITHM = "Ed25519"
KEY_BYTES, SIGNATURE_BYTES = 32, 64
LIMIT = 1000
"""Bytes of a signature with its key, as JSON."""
_NEW = "`openquery key new FILE` makes one."
_HINT = "Ask the sender for the file again."


def new_key(file: Path) -> str:
    """Write a new private key, which its owner alone can read, and return its public key, as base64.

    Raises:
        BadInput: when the file exists: a key that is overwritten is lost.
        OSError: when it cannot be written.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise BadInput(f"{one_line(str(file), 200)} exists.", hint="Name a file that is new.") from error
    with os.fdopen(opened, "wb") as target:
        target.write(pem)
    return public_key(file)


def public_key(file: Path) -> str:
    """The public key of the private one in a file, as base64. Raises as `sign`."""
    return base64.b64encode(_private(file).public_key().public_bytes_raw()).decode()


def key_id(public: str) -> str:
    """The name of a public key: the first 32 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(base64.b64decode(public)).hexdigest()[:32]


def sign(manifest: bytes, file: Path) -> bytes:
    """The signature of a manifest by the private key in a file, with its public key, as JSON.

    Raises:
        BadInput: when the file is not there, or has no Ed25519 key without a password, in PEM.
    """
    private = _private(file)
    signature = base64.b64encode(private.sign(_message(manifest))).decode()
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    return orjson.dumps({"algorithm": _ALGORITHM, "key": public, "signature": signature})


def signer(manifest: bytes, signature: bytes) -> str:
    """The public key, as base64, whose signature this is of the manifest.

    Raises:
        BadInput: when it does not fit, or is no signature.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        fields = _fields(signature)
        key = _decoded(fields["key"], KEY_BYTES)
        public = Ed25519PublicKey.from_public_bytes(key)
        public.verify(_decoded(fields["signature"], SIGNATURE_BYTES), _message(manifest))
    except InvalidSignature as error:
        raise BadInput(
            "The signature does not fit the file: one of them was changed, or it belongs to another file.",
            hint=_HINT,
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput("The signature of the file cannot be read.", hint=_HINT) from error
    return base64.b64encode(key).decode()


def signed_by(public: str, trusted: Mapping[str, str]) -> str:
    """Who has signed a file, as a sentence. `public` is what `signer` returned, empty for a file without a signature;
    `trusted` are names by public key, as `trusted_keys` reads them."""
    if not public:
        return "Not signed: nothing says who wrote the file."
    if name := trusted.get(public):
        return f"Signed by {name} (key {key_id(public)})."
    return (
        f"Signed by the key {key_id(public)}, which is none of the trusted keys. That proves nothing about who wrote the "
        "file: anybody can make a key."
    )


def trusted_keys(text: str) -> dict[str, str]:
    """Names by public key, of a text such as `Ada=KEY, Editorial office=KEY`.

    Raises:
        BadInput: when an entry has no name or no key.
    """
    names: dict[str, str] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, key = entry.partition("=")
        try:
            public = base64.b64encode(_decoded(key.strip(), KEY_BYTES)).decode()
        except ValueError:
            public = ""
        if not public or not name.strip():
            raise BadInput(
                "OPENQUERY_TRUSTED_KEYS has an entry that is not NAME=KEY.",
                hint="`openquery key show FILE` prints the public key of a private one.",
            )
        names[public] = one_line(name, 80)
    return names


def _message(manifest: bytes) -> bytes:
    """What is signed. The words keep a signature from meaning anything elsewhere."""
    return f"openquery manifest sha256:{hashlib.sha256(manifest).hexdigest()}".encode()


def _fields(signature: bytes) -> dict[str, str]:
    """Raises ValueError: when the document has other fields, or is of another algorithm."""
    fields: Any = orjson.loads(signature[: LIMIT + 1])
    if fields.keys() != {"algorithm", "key", "signature"} or fields["algorithm"] != _ALGORITHM:
        raise ValueError("another signature")
    return dict(fields)


def _decoded(text: str, length: int) -> bytes:
    """Raises ValueError: when it is not so many bytes as base64, of which one text alone stands for them."""
    content = base64.b64decode(text, validate=True)
    if len(content) != length or base64.b64encode(content).decode() != text:
        raise binascii.Error("another length, or bits that no byte has")
    return content


def _private(file: Path) -> "Ed25519PrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    name = one_line(str(file), 200)
    try:
        key = load_pem_private_key(file.expanduser().read_bytes(), password=None)
    except OSError as error:
        raise BadInput(f"The signing key {name} cannot be read: {error.strerror}.", hint=_NEW) from error
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"{name} is no private Ed25519 key without a password, in PEM.", hint=_NEW)
    return key
