"""Database URLs."""

import pytest

from kinepy.drivers.url import parse_url
from kinepy.errors import BadDatabaseUrl


@pytest.mark.parametrize(
    ("url", "kind", "target"),
    [
        ("sqlite:///data/kinepy.db", "sqlite", "data/kinepy.db"),
        ("sqlite:////var/kinepy.db", "sqlite", "/var/kinepy.db"),
        ("sqlite:///:memory:", "sqlite", ":memory:"),
        ("postgresql://u:p@h:5432/n", "postgres", "postgresql://u:p@h:5432/n"),
        ("postgres://h/n", "postgres", "postgresql://h/n"),
        ("postgresql+asyncpg://h/n?sslmode=require", "postgres", "postgresql://h/n?sslmode=require"),
        ("postgresql://a:1,b:2/n", "postgres", "postgresql://a:1,b:2/n"),
        ("postgresql://[::1]:5432/n", "postgres", "postgresql://[::1]:5432/n"),
    ],
)
def test_a_url_names_a_database(url: str, kind: str, target: str) -> None:
    parsed = parse_url(url)
    assert (parsed.kind, parsed.target) == (kind, target)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "kinepy.db",
        "mysql://h/n",
        "sqlite:kinepy.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///a.db?mode=ro",
        "postgresql://h",
        "postgresql://h/",
        "postgresql://h:port/n",
        "postgresql://[::1/n",
    ],
)
def test_a_bad_url_is_refused_with_the_good_forms(url: str) -> None:
    with pytest.raises(BadDatabaseUrl) as raised:
        parse_url(url)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("url", ["postgresql://u:secret@h/n", "postgresql://h/n?user=u&password=secret"])
def test_a_password_is_never_shown(url: str) -> None:
    parsed = parse_url(url)
    assert "secret" not in parsed.shown
    assert "secret" not in repr(parsed)
    assert "h" in parsed.shown


def test_a_refusal_does_not_show_the_password() -> None:
    with pytest.raises(BadDatabaseUrl) as raised:
        parse_url("postgresql://u:secret@h/")
    assert "secret" not in str(raised.value)
