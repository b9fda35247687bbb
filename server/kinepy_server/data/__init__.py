"""The product's own tables of the built-in types, written by `tests/tools/generate_data.py`."""

from functools import cache
from importlib.resources import files
from typing import Any

import orjson


@cache
def table(name: str) -> dict[str, Any]:
    """The table in `<name>.json`, read once."""
    content: dict[str, Any] = orjson.loads(files(__name__).joinpath(f"{name}.json").read_bytes())
    return content
