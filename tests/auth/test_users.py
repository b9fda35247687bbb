"""Who asks: tokens, and what counts as none."""

import base64
from pathlib import Path

import pytest

from kinepy_server.auth.authenticate import ADMIN, NOBODY, Authenticator, EveryoneIsAdmin
from kinepy_server.auth.tokens import BadTokenFile, TokenUsers, admin_token, token_file
from kinepy_server.auth.user import authenticated

JANE = authenticated("jane", ["dev"], uid="u1")
authenticate = Authenticator({"s3cret": JANE})


def websocket(token: bytes) -> dict[str, str]:
    """The headers of a browser's websocket."""
    encoded = base64.urlsafe_b64encode(token).decode().rstrip("=")
    return {
        "sec-websocket-protocol": f"base64.binary.k8s.io, base64url.bearer.authorization.k8s.io.{encoded}"
    }


@pytest.mark.parametrize("header", ["Bearer s3cret", "bearer s3cret", " Bearer s3cret "])
def test_the_right_token_is_its_user(header: str) -> None:
    assert authenticate({"authorization": header}) == JANE
    assert JANE.groups == ("dev", "system:authenticated")


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer s3cre", "Bearer S3cret", "Bearer wrong s3cret"])
def test_a_wrong_token_is_refused(header: str) -> None:
    assert authenticate({"authorization": header}) is None


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer  s3cret", "Basic eDp5", "s3cret"])
def test_no_token_is_anonymous(header: str | None) -> None:
    assert authenticate({} if header is None else {"authorization": header}) == NOBODY


def test_a_browser_sends_its_token_as_a_websocket_protocol() -> None:
    assert authenticate(websocket(b"s3cret")) == JANE
    assert authenticate(websocket(b"wrong")) is None
    assert authenticate(websocket(b"")) == NOBODY
    assert authenticate({"sec-websocket-protocol": "base64.binary.k8s.io"}) == NOBODY
    assert authenticate({"sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.\xe9"}) == NOBODY


def test_insecure_takes_everybody_for_the_admin() -> None:
    assert EveryoneIsAdmin()({"authorization": "Bearer wrong"}) == ADMIN


def test_the_admins_token_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    token = admin_token(path)
    assert len(token) >= 40
    assert admin_token(path) == token
    assert token.isalnum()  # so that it can stand behind an option of a command
    assert path.read_text() == token + "\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_token_file_has_lines_as_the_original_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('# users\nt1,jane,u1\n\nt2, bob ,u2,"dev,ops"\n')
    users = token_file(path)
    assert users["t1"] == authenticated("jane", uid="u1")
    assert users["t2"] == authenticated("bob", ["dev", "ops"], uid="u2")


@pytest.mark.parametrize("line", ["t1", "t1,jane", ",jane,u1", "t1,,u1"])
def test_a_bad_token_file_says_where_it_is_bad(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text(f"t0,x,y\n{line}\n")
    with pytest.raises(BadTokenFile, match=r"tokens.csv, line 2: write token,user,uid"):
        token_file(path)


def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTokenFile, match=r"cannot read the token file .*: No such file or directory"):
        token_file(tmp_path / "none")


def test_tokens_are_known_by_digests_under_a_key_that_nobody_else_has() -> None:
    one, other = (TokenUsers({"token": ADMIN}) for _ in range(2))
    assert (one.user("token"), one.user("toke"), one.user("token "), one.user("")) == (
        ADMIN,
        None,
        None,
        None,
    )
    assert one.user("t\udcff\u00e9") is None
    assert set(one._users).isdisjoint(other._users)
    assert "token" not in repr(one._users)
