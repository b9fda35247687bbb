"""JSON bodies: fast for good ones, exact about bad ones."""

import json
import re
from typing import Any

import orjson

from kinepy_server.schema.go_json import DEPTH_MAX, TOO_DEEP, syntax_problem, too_deep

_SURROGATES = re.compile("[\ud800-\udfff]")


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. Raises ValueError with the original's text.

    Bytes that are no UTF-8 and halves of surrogate pairs become replacement characters, as there.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_strange(body)
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and too_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def _parse_strange(body: bytes) -> Any:
    problem = syntax_problem(body)
    if problem:
        raise ValueError(problem)
    return _scrubbed(json.loads(body.decode("utf-8", "replace")))


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_SURROGATES.sub("\ufffd", key): _scrubbed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_scrubbed(member) for member in value]
    return value
