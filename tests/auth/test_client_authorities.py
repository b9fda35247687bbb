"""Which client certificates are good after their authorities have been replaced, and when time has passed."""

import ssl
from datetime import timedelta

from kinepy.clock import SystemClock
from kinepy_server.auth.certificates import CertificateUsers
from tests.aggregated.authority import DAY, Authority, Shown

CONTEXT = ssl.create_default_context()
FIRST, SECOND = Authority("first"), Authority("second")


class Later(SystemClock):
    """A clock that is set on by the test."""

    by = timedelta()

    def now_us(self) -> int:
        return super().now_us() + round(self.by.total_seconds() * 1e6)


def known(users: CertificateUsers, shown: Shown, *above: Authority) -> bool:
    """Whether who shows a certificate, verified by those above it, is known."""
    good, user = users.user((*shown.ders, *(ssl.PEM_cert_to_DER_cert(each.pem) for each in above)))
    return good and user is not None


def attached(*bundles: str, clock: SystemClock | None = None) -> CertificateUsers:
    """After these, one after the other."""
    users = CertificateUsers(clock or SystemClock())
    for bundle in bundles:
        users.attach(CONTEXT, bundle)
    return users


def test_who_is_known_stays_so_where_authorities_are_added() -> None:
    jane = FIRST.issue("jane")
    assert known(attached(FIRST.pem), jane, FIRST)
    assert known(attached(FIRST.pem, FIRST.pem + SECOND.pem), jane, FIRST)
    assert not known(attached(FIRST.pem, FIRST.pem + SECOND.pem, SECOND.pem), jane, FIRST)


def test_a_session_that_is_kept_is_good_by_the_chain_of_its_handshake() -> None:
    middle = Authority("middle", by=FIRST)
    jane = middle.issue("jane")
    users = attached(FIRST.pem)
    assert known(users, jane, middle, FIRST)
    users.attach(CONTEXT, FIRST.pem + SECOND.pem)
    assert known(users, jane)
    users.attach(CONTEXT, SECOND.pem)
    assert not known(users, jane)


def test_a_new_handshake_by_another_way_counts() -> None:
    middle = Authority("middle", by=FIRST)
    again = Authority("middle", by=SECOND, key=middle.key)
    jane = middle.issue("jane")
    users = attached(FIRST.pem)
    assert known(users, jane, middle, FIRST)
    users.attach(CONTEXT, SECOND.pem)
    assert not known(users, jane)
    assert known(users, jane, again, SECOND)


def test_a_client_s_own_certificate_may_be_the_authority() -> None:
    """OpenSSL, as the original, takes what is in the bundle itself."""
    one, other = FIRST.issue("jane"), FIRST.issue("joe")
    pems = [ssl.DER_cert_to_PEM_cert(shown.ders[0]) for shown in (one, other)]
    users = attached(pems[0])
    assert known(users, one)
    users.attach(CONTEXT, pems[1])
    assert not known(users, one)
    assert known(users, other)


def test_an_authority_whose_time_is_over_ends_what_it_has_signed() -> None:
    clock = Later()
    users = attached(FIRST.pem, clock=clock)
    jane = FIRST.issue("jane", until=100 * DAY)
    assert known(users, jane, FIRST)
    clock.by = 50 * DAY
    assert not known(users, jane, FIRST)


def test_a_certificate_that_cannot_be_read_is_nobody_s() -> None:
    assert attached(FIRST.pem).user((b"rubbish",)) == (False, None)
