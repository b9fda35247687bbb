"""The key that signs the tokens of service accounts, and JSON Web Tokens with it (ES256)."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from kinepy_server.auth.files import locked, write_private
from kinepy_server.auth.jwt import ALGORITHM, BadToken, decode_base64, decode_json, encode_base64

KEY_FILE = "sa.key"
_NUMBER_BYTES = 32


class BadSigningKey(Exception):
    """The key's file cannot be used; the text is one line and says what to do."""


class SigningKey:
    """Signs and verifies tokens."""

    def __init__(self, private: ec.EllipticCurvePrivateKey) -> None:
        self._private, self._public = private, private.public_key()
        spki = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.id = encode_base64(hashlib.sha256(spki).digest())
        """Names the key in tokens and in the published set of keys."""
        self._head = encode_base64(orjson.dumps({"alg": ALGORITHM, "kid": self.id}))

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A token that holds claims."""
        text = f"{self._head}.{encode_base64(orjson.dumps(claims))}"
        r, s = utils.decode_dss_signature(self._private.sign(text.encode(), ec.ECDSA(SHA256())))
        signature = r.to_bytes(_NUMBER_BYTES, "big") + s.to_bytes(_NUMBER_BYTES, "big")
        return f"{text}.{encode_base64(signature)}"

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token that this key signed. What they say is not judged. Raises `BadToken`."""
        text, _, signature = token.rpartition(".")
        head, dot, body = text.partition(".")
        if not dot or "." in body:
            raise BadToken("not three parts")
        header = decode_json(head)
        # The algorithm is this key's, whatever a token would like it to be.
        if header.get("alg") != ALGORITHM or header.get("kid", self.id) != self.id or "crit" in header:
            raise BadToken("signed otherwise")
        raw = decode_base64(signature)
        if len(raw) != 2 * _NUMBER_BYTES:
            raise BadToken("no signature")
        r, s = int.from_bytes(raw[:_NUMBER_BYTES], "big"), int.from_bytes(raw[_NUMBER_BYTES:], "big")
        try:
            self._public.verify(utils.encode_dss_signature(r, s), text.encode("ascii"), ec.ECDSA(SHA256()))
        except (InvalidSignature, UnicodeEncodeError):
            raise BadToken("signed by another key") from None
        return decode_json(body)

    def published(self) -> dict[str, str]:
        """The public key as a JSON Web Key."""
        numbers = self._public.public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self.id,
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": encode_base64(numbers.x.to_bytes(_NUMBER_BYTES, "big")),
            "y": encode_base64(numbers.y.to_bytes(_NUMBER_BYTES, "big")),
        }

    def pem(self) -> str:
        """The private key, for its file."""
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()


def new_signing_key() -> SigningKey:
    """A key that nobody has yet."""
    return SigningKey(ec.generate_private_key(ec.SECP256R1()))


def ensure_signing_key(folder: Path) -> SigningKey:
    """The key kept in a folder, made under the folder's lock when it is absent, so that replicas share one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / KEY_FILE
    with locked(folder / ".lock"):
        if not path.exists():
            write_private(path, new_signing_key().pem())
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except ValueError as error:
        raise BadSigningKey(
            f"{path} is no private key: put the key back, or remove it for a new one"
        ) from error
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.curve.name != ec.SECP256R1.name:
        raise BadSigningKey(f"{path} is to be a key of the curve P-256: remove it for a new one")
    return SigningKey(private)
