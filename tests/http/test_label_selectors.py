"""Label selectors against the recorded texts and against a plain reading of their meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.read.selectors.labels import LabelSelectorError, parse_labels

KEYS = ("a", "b", "x.io/c")
VALUES = ("", "p", "q", "5", "-7", "10")
LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
SPACE = st.sampled_from(("", " ", "\t "))


def naive(term: tuple[str, str, list[str]], labels: dict[str, str]) -> bool:
    """What one term means, in the plainest words."""
    key, operator, values = term
    if operator == "exists":
        return key in labels
    if operator == "absent":
        return key not in labels
    if operator in ("=", "==", "in"):
        return key in labels and labels[key] in values
    if operator in ("!=", "notin"):
        return key not in labels or labels[key] not in values
    try:
        value, bound = int(labels.get(key, "none")), int(values[0])
    except ValueError:
        return False
    return value > bound if operator == ">" else value < bound


@st.composite
def terms(draw: st.DrawFn) -> tuple[str, tuple[str, str, list[str]]]:
    """A term as text and as its meaning."""
    key, space = draw(st.sampled_from(KEYS)), draw(SPACE)
    operator = draw(st.sampled_from(("exists", "absent", "=", "==", "!=", ">", "<", "in", "notin")))
    if operator in ("exists", "absent"):
        return f"{space}{'!' * (operator == 'absent')}{space}{key}", (key, operator, [])
    if operator in (">", "<"):
        value = draw(st.sampled_from(("5", "0", "12")))
        return f"{key}{space}{operator}{space}{value}", (key, operator, [value])
    allowed = st.sampled_from(("", "p", "q", "5"))
    if operator in ("in", "notin"):
        values = draw(st.lists(allowed, min_size=1, max_size=3))
        return f"{key} {operator} ({space}{f'{space},'.join(values)})", (key, operator, values)
    value = draw(allowed)
    return f"{key}{space}{operator}{space}{value}", (key, operator, [value])


@given(st.lists(terms(), min_size=1, max_size=3), LABELS)
def test_a_selector_means_what_its_terms_mean_together(
    written: list[tuple[str, tuple[str, str, list[str]]]], labels: dict[str, str]
) -> None:
    selector = parse_labels(",".join(text for text, _ in written))
    assert selector is not None
    assert selector.matches(labels) == all(naive(term, labels) for _, term in written)


@given(st.text(alphabet="ab=!<>(), in/.-\0é", max_size=12), LABELS)
def test_any_text_is_a_selector_or_a_named_error(text: str, labels: dict[str, str]) -> None:
    try:
        selector = parse_labels(text)
    except LabelSelectorError:
        return
    assert selector is None or selector.matches(labels) in (True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b,,n", "found ',', expected: identifier after ','"),
        ("a=b,", "found '', expected: identifier after ','"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("==", "found '==', expected: !, identifier, or 'end of string'"),
        ("env in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("env in a", "unable to parse requirement: found 'a' expected: '('"),
        ("env=a b", "found 'b', expected: ',' or 'end of string'"),
        ("env inn (a)", "unable to parse requirement: found 'inn', expected: in, notin, =, ==, !=, gt, lt"),
        (
            "n>abc",
            "unable to parse requirement: values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, the value"
            " must be an integer",
        ),
        (
            f"env={'v' * 64}",
            f'unable to parse requirement: values[0][env]: Invalid value: "{"v" * 64}": must be no more than 63'
            " bytes",
        ),
    ],
)
def test_a_bad_selector_is_told_in_the_original_words(text: str, message: str) -> None:
    with pytest.raises(LabelSelectorError) as caught:
        parse_labels(text)
    assert str(caught.value) == message


def test_an_empty_selector_selects_everything() -> None:
    assert parse_labels("") is None
    assert parse_labels("  ") is None
