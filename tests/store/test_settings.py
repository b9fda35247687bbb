"""Settings with which a store could not work are refused when they are made."""

import math
from dataclasses import fields
from typing import Any

import pytest

from kinepy import Settings
from kinepy.settings import MAY_BE_ZERO

NUMBERS = [field.name for field in fields(Settings) if isinstance(field.default, int | float)]


def settings_with(name: str, value: float) -> Settings:
    """The defaults, but for one number."""
    changed: dict[str, Any] = {name: value}
    return Settings(**changed)


@pytest.mark.parametrize("value", [-1, math.nan])
@pytest.mark.parametrize("name", NUMBERS)
def test_no_number_is_negative_or_none(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} is {value}: it must be "):
        settings_with(name, value)


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - MAY_BE_ZERO))
def test_zero_is_refused_where_nothing_could_be_done_with_it(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is 0: it must be more than 0$"):
        settings_with(name, 0)


@pytest.mark.parametrize("name", sorted(MAY_BE_ZERO))
def test_zero_is_none_of_it(name: str) -> None:
    assert getattr(settings_with(name, 0), name) == 0
