"""From the text of an expression to its tokens."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kinepy_server.cel.errors import CompileError, Issue
from kinepy_server.cel.values import INT_MAX, UINT_MAX, UInt
from kinepy_server.schema.go_numbers import whole_number


class Token(NamedTuple):
    """`kind` is `literal`, `ident`, `quoted` (an identifier in backticks), `end`, or the symbol itself."""

    kind: str
    value: Any
    offset: int
    text: str


_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\n\f]+|//[^\n]*)+)
    |(?P<string>(?:[bB][rR]?|[rR][bB]?)?(?:\"{3}|'{3}|"|'))
    |(?P<hex>0[xX][0-9a-fA-F]+[uU]?)
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>[0-9]+[uU]?)
    |(?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<symbol>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.ASCII,
)
_LITERALS = {"true": True, "false": False, "null": None}
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SIMPLE |= {character: character for character in "\\?\"'`"}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))",
    re.DOTALL,
)


def tokens_of(source: str) -> list[Token]:
    """All tokens, with one of kind `end` last. Raises CompileError."""
    return list(_tokens(source))


def _tokens(source: str) -> Iterator[Token]:
    offset = 0
    while offset < len(source):
        match = _TOKEN.match(source, offset)
        if match is None:
            text = f"Syntax error: token recognition error at: '{source[offset]}'"
            raise CompileError(source, [Issue(offset, text)])
        kind, text = match.lastgroup, match.group()
        start, offset = offset, match.end()
        if kind == "string":
            value, offset = _string(source, start, opening=text)
            yield Token("literal", value, start, source[start:offset])
        elif kind in ("hex", "int"):
            yield Token("literal", _integer(source, start, text=text), start, text)
        elif kind == "float":
            yield Token("literal", float(text), start, text)
        elif kind == "ident":
            word = text in _LITERALS
            symbol = "in" if text == "in" else "literal" if word else "ident"
            yield Token(symbol, _LITERALS[text] if word else text, start, text)
        elif kind == "quoted":
            yield Token("quoted", text[1:-1], start, text)
        elif kind == "symbol":
            yield Token(text, text, start, text)
    yield Token("end", None, len(source), "<EOF>")


def _integer(source: str, offset: int, *, text: str) -> int:
    unsigned = text[-1] in "uU"
    # The parser joins a minus sign to the number after it, so one more is allowed here.
    digits, high = text.rstrip("uU"), UINT_MAX if unsigned else INT_MAX + 1
    number = int(digits, 16) if text[1:2] in ("x", "X") else whole_number(digits, high=high)
    if number is None or number > high:
        kind = "uint" if unsigned else "int"
        raise CompileError(source, [Issue(offset, f"Syntax error: invalid {kind} literal")])
    return UInt(number) if unsigned else number


def _string(source: str, start: int, *, opening: str) -> tuple[str | bytes, int]:
    prefix = opening.rstrip("\"'").lower()
    quote = opening[len(prefix) :]
    raw, is_bytes = "r" in prefix, "b" in prefix
    position = body = start + len(opening)
    while not source.startswith(quote, position):
        if position >= len(source) or (len(quote) == 1 and source[position] in "\r\n"):
            text = f"Syntax error: token recognition error at: '{source[start:]}'"
            raise CompileError(source, [Issue(start, text)])
        position += 1 if raw or source[position] != "\\" else 2
    content, end = source[body:position], position + len(quote)
    if is_bytes:
        return content.encode() if raw else _unescaped_bytes(source, start, content=content), end
    return content if raw else _unescaped(source, start, content=content), end


def _unescaped(source: str, start: int, *, content: str) -> str:
    if "\\" not in content:
        return content

    def replaced(match: re.Match[str]) -> str:
        *codes, octal, simple = match.groups()
        if octal:
            return chr(int(octal, 8))
        code = next((int(found, 16) for found in codes if found), None)
        if code is not None and (code > 0x10FFFF or 0xD800 <= code < 0xE000):
            raise CompileError(source, [Issue(start, "Syntax error: invalid unicode code point")])
        return chr(code) if code is not None else _simple(source, start, character=simple)

    return _ESCAPE.sub(replaced, content)


def _unescaped_bytes(source: str, start: int, *, content: str) -> bytes:
    parts, position = bytearray(), 0
    for match in _ESCAPE.finditer(content):
        parts += content[position : match.start()].encode()
        small, large, _, _, octal, simple = match.groups()
        position = match.end()
        if small or large:
            parts.append(int(small or large, 16))
        elif octal:
            parts.append(int(octal, 8))
        else:
            parts += _simple(source, start, character=simple).encode()
    return bytes(parts + content[position:].encode())


def _simple(source: str, start: int, *, character: str | None) -> str:
    found = _SIMPLE.get(character or "")
    if found is None:
        raise CompileError(source, [Issue(start, "Syntax error: unable to unescape string")])
    return found
