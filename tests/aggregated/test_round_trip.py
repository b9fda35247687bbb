"""What a host's front proxy says of a user is what the server behind it understands."""

from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.aggregation.headers import identity
from kinepy_server.auth.delegated.authenticator import NamedUsers
from kinepy_server.auth.delegated.trust import RequestHeader
from kinepy_server.auth.user import User, authenticated

SAID = RequestHeader(uid_headers=("X-Remote-Uid",))
_VISIBLE = st.characters(min_codepoint=0x21, exclude_categories=("Cs", "Cc", "Z"))
TEXTS = st.text(_VISIBLE | st.sampled_from(", ;%"), min_size=1, max_size=20).filter(
    lambda text: text == text.strip()
)
KEYS = TEXTS.map(str.lower).filter(lambda key: key == key.lower())
USERS = st.builds(
    authenticated,
    TEXTS,
    st.lists(TEXTS, max_size=4, unique=True),
    uid=st.just("") | TEXTS,
    extra=st.dictionaries(KEYS, st.lists(TEXTS, min_size=1, max_size=3).map(tuple), max_size=3),
)


@given(USERS)
def test_every_user_comes_through_whole(user: User) -> None:
    headers = [(name.lower(), value) for name, value in identity(user)]
    assert NamedUsers(SAID).user(headers) == user
