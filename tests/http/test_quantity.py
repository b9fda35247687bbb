"""Quantities are shown in their canonical form, which means the same number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.schema.quantity import MILLI, BadQuantity, canonical, quantity_value

RECORDED = {
    "+1": "+1", ".5": "500m", "0": "0", "0.5": "500m", "001": "001", "1.5Gi": "1536Mi", "1000000": "1M", "1000m": "1",
    "1024Ki": "1Mi", "12345678901234567890": "12345678901234567890", "1E": "1E", "1e-3": "1e-3", "1e3": "1e3",
    "5.": "5.", "1 ": "1", "1Ei": "1Ei", "2048": "2048", "1n": "1n", "0.0001": "100u",
}  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), RECORDED.items())
def test_the_canonical_form_is_the_recorded_one(text: str, shown: str) -> None:
    assert canonical(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("0.0001", "1m"), ("1n", "1m"), ("1u", "1m"), ("0.1m", "1m")])
def test_amounts_of_resources_are_rounded_up_to_thousandths(text: str, shown: str) -> None:
    assert canonical(text, finest=MILLI) == shown


@pytest.mark.parametrize(
    "text", ["", "x", "1K", "1ki", "1e", "--1", "1.2.3", "1e99999", "1" * 1001, "1e" + "9" * 5000]
)
def test_what_is_no_quantity_is_a_named_error(text: str) -> None:
    with pytest.raises(BadQuantity):
        canonical(text)


@pytest.mark.parametrize(
    "text", ["1" + "0" * 500, "9" * 1000, "1e1000", "-1e-1000", "9" * 1000 + "e999", "1." + "3" * 998]
)
def test_large_numbers_are_taken_whole(text: str) -> None:
    shown = canonical(text)
    assert canonical(shown) == shown
    assert abs(quantity_value(shown) - quantity_value(text)) <= quantity_value("1n")


@given(
    st.from_regex(r"-?[0-9]{1,12}(\.[0-9]{1,6})?", fullmatch=True),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"]),
)
def test_the_canonical_form_keeps_the_number_and_itself(digits: str, suffix: str) -> None:
    shown = canonical(digits + suffix)
    assert abs(quantity_value(shown) - quantity_value(digits + suffix)) <= quantity_value("1n")
    assert canonical(shown) == shown
