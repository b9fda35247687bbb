"""What a certificate is worth, and what a front proxy's headers say."""

import pytest

from kinepy.clock import SystemClock
from kinepy_server.auth.actions import Action
from kinepy_server.auth.chains import BadTrust, Bundle, Chain
from kinepy_server.auth.delegated.authenticator import NAMED_BYTES_MAX, NamedUsers
from kinepy_server.auth.delegated.questions import CONTROLLED_BYTES_MAX, is_short, question
from kinepy_server.auth.delegated.trust import (
    Judged,
    RequestHeader,
    Trust,
    request_header_of,
)
from kinepy_server.auth.front_proxy import new_front_proxy
from kinepy_server.auth.setup import Security
from kinepy_server.auth.user import User
from tests.aggregated.authority import DAY, Authority, Shown

PROXIES, CLIENTS = Authority("proxies"), Authority("clients")
HERE = RequestHeader(ca=PROXIES.pem, allowed_names=("proxy",), uid_headers=("X-Remote-Uid",))


def judged(shown: Shown, *above: Authority, later_days: float = 0, trust: Trust | None = None) -> Judged:
    """What is thought of a chain that the handshake has verified up to these authorities."""
    if trust is None:
        trust = Trust()
        trust.follow_proxy(HERE)
        trust.follow_clients(CLIENTS.pem)
    ders = tuple(der for one in above for der in Shown(one.key, (one.certificate,)).ders)
    now_us = SystemClock().now_us() + round(later_days * DAY.total_seconds() * 1e6)
    return trust.judge(Chain((*shown.ders, *ders)), now_us=now_us)


def test_a_front_proxy_is_known_by_its_authority_and_its_name() -> None:
    assert judged(PROXIES.issue("proxy"), PROXIES).front_proxy
    assert judged(PROXIES.issue("other"), PROXIES) == Judged(False, None, True)
    assert not judged(CLIENTS.issue("proxy"), CLIENTS).front_proxy


def test_any_name_will_do_where_none_is_asked_for() -> None:
    trust = Trust()
    trust.follow_proxy(RequestHeader(ca=PROXIES.pem))
    assert judged(PROXIES.issue("whoever"), PROXIES, trust=trust).front_proxy


def test_where_no_authority_is_trusted_there_is_no_front_proxy() -> None:
    assert judged(PROXIES.issue("proxy"), PROXIES, trust=Trust()) == Judged(False, None, False)


def test_a_certificate_is_worth_nothing_after_its_time() -> None:
    shown = PROXIES.issue("proxy")
    assert judged(shown, PROXIES, later_days=0.9).front_proxy
    assert judged(shown, PROXIES, later_days=1.1) == Judged(False, None, True)


def test_a_chain_may_have_certificates_between() -> None:
    between = Authority("between", by=CLIENTS)
    assert judged(between.issue("jane", "devs"), between, CLIENTS).user is not None
    # Verified by the one between alone, which is the clients' authority's own.
    assert judged(between.issue("jane"), between).user is not None


def test_another_certificate_of_the_same_authority_will_do() -> None:
    renewed = Authority("proxies", key=PROXIES.key)
    assert judged(PROXIES.issue("proxy"), renewed).front_proxy


def test_an_authority_of_the_same_name_is_another_authority() -> None:
    forged = Authority("proxies")
    assert judged(forged.issue("proxy"), forged) == Judged(False, None, True)


def test_one_authority_may_vouch_for_both() -> None:
    trust = Trust()
    trust.follow_proxy(HERE)
    trust.follow_clients(PROXIES.pem)
    assert judged(PROXIES.issue("proxy"), PROXIES, trust=trust).front_proxy
    user = judged(PROXIES.issue("jane"), PROXIES, trust=trust).user
    assert user is not None and user.name == "jane"


def test_a_user_s_certificate_names_the_user_and_its_groups() -> None:
    user = judged(CLIENTS.issue("jane", "devs", "ops"), CLIENTS).user
    assert user is not None
    assert (user.name, user.groups) == ("jane", ("devs", "ops", "system:authenticated"))
    assert list(user.extra) == ["authentication.kubernetes.io/credential-id"]


def test_a_certificate_without_a_name_is_nobody_s() -> None:
    assert judged(CLIENTS.issue("", "devs"), CLIENTS).user is None


def test_what_is_no_certificate_is_not_trusted_and_what_was_before_is() -> None:
    trust = Trust()
    trust.follow_proxy(HERE)
    with pytest.raises(BadTrust):
        trust.follow_proxy(RequestHeader(ca="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
    assert judged(PROXIES.issue("proxy"), PROXIES, trust=trust).front_proxy
    assert not Bundle("  ")


def test_the_host_says_names_as_lists_of_json() -> None:
    data = {"requestheader-allowed-names": '["a","b"]', "requestheader-username-headers": '["X-U"]'}
    said = request_header_of(data)
    assert (said.allowed_names, said.username_headers, said.group_headers) == (("a", "b"), ("X-U",), ())
    with pytest.raises(BadTrust):
        request_header_of({"requestheader-allowed-names": "a,b"})


def told(*headers: tuple[str, str], said: RequestHeader = HERE) -> User | None:
    """Whom headers name, the first time and the second."""
    raw = [(name.lower().encode(), value.encode()) for name, value in (*headers, ("Accept", "*/*"))]
    users = NamedUsers(said)
    first, again = users.user(raw), users.user(raw)
    assert first is again
    return first


def test_the_first_header_with_a_name_names_the_user() -> None:
    said = RequestHeader(username_headers=("X-First", "X-Second"))
    assert told(("X-Second", "b"), ("X-First", "a"), said=said) == User("a", ("system:authenticated",))
    assert told(("X-Second", "b"), ("X-First", ""), said=said) == User("b", ("system:authenticated",))
    assert told(("X-Remote-User", "c"), said=said) is None


def test_every_group_header_counts_and_empty_ones_do_not() -> None:
    user = told(("X-Remote-User", "u"), *(("X-Remote-Group", name) for name in ("a", "", "b, c", "é")))
    assert user is not None and user.groups == ("a", "b, c", "é", "system:authenticated")


def test_who_is_not_authenticated_is_not_called_so() -> None:
    nobody = told(("X-Remote-User", "system:anonymous"), ("X-Remote-Group", "system:unauthenticated"))
    assert nobody == User("system:anonymous", ("system:unauthenticated",))


def test_keys_of_extra_are_escaped_and_in_small_letters() -> None:
    user = told(
        ("X-Remote-User", "u"),
        ("X-Remote-Extra-Acme.com%2fProject", "p1"),
        ("X-Remote-Extra-acme.com%2Fproject", "p2"),
        ("X-Remote-Extra-Bad%zz", "x"),
    )
    assert user is not None
    assert user.extra == {"acme.com/project": ("p1", "p2"), "bad%zz": ("x",)}


def test_the_uid_is_read_where_it_is_asked_for() -> None:
    headers = (("X-Remote-User", "u"), ("X-Remote-Uid", "7"))
    read, unread = told(*headers), told(*headers, said=RequestHeader())
    assert read is not None and unread is not None and (read.uid, unread.uid) == ("7", "")


def test_a_user_of_whom_much_is_said_is_known_but_not_kept() -> None:
    users = NamedUsers(RequestHeader(ca="PEM"))
    short = [(b"x-remote-user", b"ann")]
    long = [*short, (b"x-remote-extra-scopes", b"s" * NAMED_BYTES_MAX)]
    assert users.user(short) is users.user(list(short))
    first, second = users.user(long), users.user(long)
    assert first == second
    assert first is not second


def test_an_answer_to_a_long_question_is_not_kept() -> None:
    user = User("ann", ("g" * CONTROLLED_BYTES_MAX,))
    listing = Action("list", "", "pods", namespace="default")
    long = "a in (" + ",".join(f"v{number}" for number in range(CONTROLLED_BYTES_MAX)) + ")"
    assert is_short(question(user, listing, query={"labelSelector": ["a=b"]}))
    assert not is_short(question(user, listing, query={"labelSelector": [long]}))
    assert not is_short(question(user, Action("get", "", "", path="/" + "x" * 20_000, is_resource=False)))


def test_keys_and_tokens_are_not_shown() -> None:
    proxy = new_front_proxy()
    assert "PRIVATE KEY" in proxy.chain
    assert "PRIVATE KEY" not in repr(proxy)
    assert "s3cret" not in repr(Security(users={"s3cret": User("ann", ())}))
