"""Continue tokens: their form, and what is said of damaged ones."""

import base64
import contextlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.errors import StatusError
from kinepy_server.read.continue_token import ContinueToken, decode_token, encode_token

V1 = "(version meta.k8s.io/v1)"


def wrapped(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def refusal(token: str) -> str:
    with pytest.raises(StatusError) as caught:
        decode_token(token)
    assert caught.value.code == 400
    return caught.value.message.removeprefix("invalid continue token: continue key is not valid: ")


def test_a_token_has_the_form_that_tools_decode() -> None:
    token = encode_token(ContinueToken(12, b"ns/c2\x00"))
    assert "=" not in token
    plain = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    assert orjson.loads(plain) == {"v": "meta.k8s.io/v1", "rv": 12, "start": "ns/c2\0"}


@given(
    st.one_of(st.none(), st.integers(1, 2**63 - 1)),
    st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5})?\x00", fullmatch=True),
)
def test_a_token_comes_back_as_it_went(revision: int | None, start: str) -> None:
    token = ContinueToken(revision, start.encode())
    assert decode_token(encode_token(token)) == token


def test_a_leading_slash_and_any_negative_revision_are_taken() -> None:
    assert decode_token(wrapped('{"v":"meta.k8s.io/v1","rv":-5,"start":"/a\\u0000"}')) == ContinueToken(
        None, b"a\x00"
    )


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("%%", "illegal base64 data at input byte 0"),
        ("abcde", "illegal base64 data at input byte 4"),
        ("ab==", "illegal base64 data at input byte 2"),
        (wrapped("hello"), "invalid character 'h' looking for beginning of value"),
        (wrapped('{"v":"meta.k8s.io/v1","rv":5,"st'), "unexpected end of JSON input"),
        (wrapped("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (
            wrapped('{"v":"meta.k8s.io/v1","rv":"5"}'),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        ),
        (
            wrapped('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}'),
            f"incorrect encoded start resourceVersion {V1}",
        ),
        (wrapped('{"v":"meta.k8s.io/v1","rv":5,"start":""}'), f"encoded start key empty {V1}"),
        (
            wrapped('{"v":"meta.k8s.io/v9","rv":5}'),
            "server does not recognize this encoded version meta.k8s.io/v9",
        ),
        (wrapped('{"v":"meta.k8s.io/v1","rv":5,"start":"../x\\u0000"}'), "../x\0"),
        (wrapped('{"v":"meta.k8s.io/v1","rv":5,"start":"a//b"}'), "a//b"),
    ],
)
def test_a_damaged_token_is_told_in_the_original_words(token: str, message: str) -> None:
    assert refusal(token) == message


@given(st.text(max_size=40))
def test_any_text_is_a_token_or_a_400(token: str) -> None:
    with contextlib.suppress(StatusError):
        decode_token(token)
