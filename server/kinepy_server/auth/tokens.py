"""Bearer tokens: the admin's own, and a file of them."""

import csv
import secrets
from collections.abc import Callable, Mapping
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path

from kinepy_server.auth.files import write_private
from kinepy_server.auth.user import User, authenticated

TOKEN_BYTES = 32
DIGEST_BYTES = 32


class BadTokenFile(Exception):
    """The token file cannot be used; the text is one line and says what to do."""


def token_digest() -> Callable[[str], bytes]:
    """A function from tokens to digests, under a key that lives as long as it.

    Whoever does not know the key cannot choose a token for its digest, so that nothing is learnt from the time in
    which digests are looked up or compared.
    """
    key = secrets.token_bytes(DIGEST_BYTES)

    def digest(token: str) -> bytes:
        return blake2b(token.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES, key=key).digest()

    return digest


class TokenUsers:
    """Users by token. The tokens themselves are not kept."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._digest = token_digest()
        digests = ((self._digest(token), user) for token, user in users.items())
        self._users = {digest: (digest, user) for digest, user in digests}

    def user(self, token: str) -> User | None:
        """The user of a token, in a time that tells nothing of the tokens that there are."""
        digest = self._digest(token)
        known, user = self._users.get(digest, (b"", None))
        return user if compare_digest(known, digest) else None


def admin_token(path: Path) -> str:
    """The admin's token, made on first use and kept, so that kubeconfig files that were copied stay good."""
    try:
        token = path.read_text().strip()
    except FileNotFoundError:
        token = ""
    except UnicodeDecodeError as error:
        raise BadTokenFile(f"{path} is no text: remove it, and another token is made") from error
    # Digits only: a token that began with a dash would be taken for an option in `--token TOKEN`.
    token = token or secrets.token_hex(TOKEN_BYTES)
    write_private(path, token + "\n")
    return token


def token_file(path: Path) -> Mapping[str, User]:
    """Users by token, from lines of `token,user,uid[,"group1,group2"]`, the form that kube-apiserver reads."""
    try:
        text = path.read_text()
    except OSError as error:
        raise BadTokenFile(f"cannot read the token file {path}: {error.strerror}") from error
    users: dict[str, User] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        fields = [field.strip() for field in row]
        if not any(fields) or fields[0].startswith("#"):
            continue
        if len(fields) < 3 or not fields[0] or not fields[1]:
            raise BadTokenFile(
                f'{path}, line {number}: write token,user,uid or token,user,uid,"group1,group2"'
            )
        groups = [group.strip() for group in fields[3].split(",")] if len(fields) > 3 and fields[3] else []
        users[fields[0]] = authenticated(fields[1], groups, uid=fields[2])
    return users
