"""JSON errors in the words of the original's parser. Used only after a body has been refused or doubted."""

import re
from typing import Any

END = "unexpected end of JSON input"
SPACE = re.compile(r"[ \t\r\n]*")
STRING = re.compile(r'[^"\\\x00-\x1f]*')
DIGITS = re.compile(r"[0-9]*")
HEX = "0123456789abcdefABCDEF"
DEPTH_MAX = 200
"""Deeper values are refused: nothing in the API nests like that, and what is accepted must be encodable."""
TOO_DEEP = "exceeded max depth"


class _Problem(Exception):
    pass


def kind_of(value: Any) -> str:
    """How decode errors call a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    for python, name in ((str, "string"), (int, "number"), (float, "number"), (list, "array")):
        if isinstance(value, python):
            return name
    return "object"


def too_deep(value: Any) -> bool:
    """Whether a value nests deeper than anything that is accepted. Costs a step per container."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > DEPTH_MAX:
            return True
        members = [m for inner in level for m in (inner.values() if isinstance(inner, dict) else inner)]
        level = [member for member in members if isinstance(member, dict | list)]
    return False


def syntax_problem(body: bytes) -> str:
    """What is wrong with a JSON text; empty when it is well formed."""
    text = body.decode("utf-8", "replace")
    try:
        end = _space(text, _value(text, _space(text, 0), 0))
        if end < len(text):
            raise _bad(text, end, "after top-level value")
    except _Problem as problem:
        return str(problem)
    return ""


def _value(text: str, at: int, depth: int) -> int:
    if depth > DEPTH_MAX:
        raise _Problem(TOO_DEEP)
    if at >= len(text):
        raise _Problem(END)
    first = text[at]
    if first == "{":
        return _object(text, at + 1, depth + 1)
    if first == "[":
        return _array(text, at + 1, depth + 1)
    if first == '"':
        return _string(text, at + 1)
    if first in "-0123456789":
        return _number(text, at)
    for literal in ("true", "false", "null"):
        if first == literal[0]:
            return _literal(text, at, literal)
    raise _bad(text, at, "looking for beginning of value")


def _object(text: str, at: int, depth: int) -> int:
    at = _space(text, at)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        at = _space(text, at)
        if text[at : at + 1] != '"':
            raise _bad(text, at, "looking for beginning of object key string")
        at = _space(text, _string(text, at + 1))
        if text[at : at + 1] != ":":
            raise _bad(text, at, "after object key")
        at = _space(text, _value(text, _space(text, at + 1), depth))
        if text[at : at + 1] == "}":
            return at + 1
        if text[at : at + 1] != ",":
            raise _bad(text, at, "after object key:value pair")
        at += 1


def _array(text: str, at: int, depth: int) -> int:
    at = _space(text, at)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        at = _space(text, _value(text, _space(text, at), depth))
        if text[at : at + 1] == "]":
            return at + 1
        if text[at : at + 1] != ",":
            raise _bad(text, at, "after array element")
        at += 1


def _string(text: str, at: int) -> int:
    while True:
        at = _end(STRING, text, at)
        found = text[at : at + 1]
        if found == '"':
            return at + 1
        if found != "\\":
            raise _bad(text, at, "in string literal")
        at += 1
        if text[at : at + 1] == "u":
            for place in range(at + 1, at + 5):
                if place >= len(text) or text[place] not in HEX:
                    raise _bad(text, place, "in \\u hexadecimal character escape")
            at += 4
        elif at >= len(text) or text[at] not in '"\\/bfnrt':
            raise _bad(text, at, "in string escape code")
        at += 1


def _number(text: str, at: int) -> int:
    if text[at] == "-":
        at = _need_digit(text, at + 1, "in numeric literal")
    at = at + 1 if text[at] == "0" else _end(DIGITS, text, at)
    if text[at : at + 1] == ".":
        at = _end(DIGITS, text, _need_digit(text, at + 1, "after decimal point in numeric literal"))
    if text[at : at + 1] in ("e", "E"):
        at += 1
        if text[at : at + 1] in ("+", "-"):
            at += 1
        at = _end(DIGITS, text, _need_digit(text, at, "in exponent of numeric literal"))
    return at


def _need_digit(text: str, at: int, where: str) -> int:
    if at >= len(text) or text[at] not in "0123456789":
        raise _bad(text, at, where)
    return at


def _literal(text: str, at: int, literal: str) -> int:
    for offset, expected in enumerate(literal):
        if text[at + offset : at + offset + 1] != expected:
            raise _bad(text, at + offset, f"in literal {literal} (expecting {_quote(expected)})")
    return at + len(literal)


def _space(text: str, at: int) -> int:
    return _end(SPACE, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _bad(text: str, at: int, where: str) -> _Problem:
    if at >= len(text):
        return _Problem(END)
    return _Problem(f"invalid character {_quote(text[at])} {where}")


def _quote(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    escapes = {
        "\\": "\\\\",
        "\n": "\\n",
        "\t": "\\t",
        "\r": "\\r",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\v": "\\v",
    }
    if character in escapes:
        return f"'{escapes[character]}'"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\x{ord(character):02x}'" if ord(character) < 0x80 else f"'\\u{ord(character):04x}'"
