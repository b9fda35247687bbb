"""YAML 1.1 bodies and answers, read as the original's parser reads them.

The original turns YAML into JSON first; so keys become texts, times stay texts, and `y` is a boolean. An
alias stands for a copy; how much all copies together may hold is bounded.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Self

import orjson
import yaml

from kinepy_server.schema.go_json import TOO_DEEP, too_deep

NODES_MAX = 1_000_000
"""Nodes of a document with every alias expanded."""
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**64
_DECIMAL_DIGITS_MAX = 20

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """The parser with the resolution of plain scalars of go-yaml."""

    yaml_implicit_resolvers: Mapping[str, Any] = {}


_TAG = "tag:yaml.org,2002:"
_TRUE_WORDS = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE_WORDS = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")

for _kind, _pattern, _first in (
    ("bool", "|".join(_TRUE_WORDS + _FALSE_WORDS), "yYtToOnNfF"),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]*|[1-9][0-9_]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(f"(?:{_pattern})\\Z"), list(_first))


class YamlError(ValueError):
    """The text is no YAML that could be JSON; the message is worded as the original's."""


def parse_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The JSON value of the first document, and its repeated keys as `line N: key "k" already set in map`.

    Of a repeated key the last value counts. Nothing in the value is shared.
    """
    if isinstance(body, ParsedBody):
        return body.parsed()
    repeated: list[str] = []
    try:
        loader = _Loader(body.decode("utf-8", "replace"))
        try:
            node = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
        if node is None:
            return None, []
        _check_size(node)
        value = _value(node, repeated)
        if too_deep(value):
            raise yaml.YAMLError(TOO_DEEP)
    except yaml.YAMLError as error:
        raise YamlError(f"error converting YAML to JSON: yaml: {_told(error)}") from None
    except RecursionError:
        raise YamlError(f"error converting YAML to JSON: yaml: {TOO_DEEP}") from None
    return value, repeated


class ParsedBody(bytes):
    """A body together with what parsing it gives, which was found out before: see `parse_yaml`."""

    _found: bytes | str

    @classmethod
    def of(cls, body: bytes) -> Self:
        """Parse a body, now."""
        made = cls(body)
        try:
            made._found = orjson.dumps(parse_yaml(body))
        except YamlError as error:
            made._found = str(error)
        return made

    def parsed(self) -> tuple[Any, list[str]]:
        """The value, one of its own for each call, and the repeated keys. Raises YamlError."""
        if isinstance(self._found, str):
            raise YamlError(self._found)
        value, repeated = orjson.loads(self._found)
        return value, repeated


def _told(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error).partition("\n")[0]
    # The original counts from 0, in its scanner from 1, and does not tell line 0.
    marks = (error.context_mark, error.problem_mark)
    line = next((mark.line for mark in marks if mark is not None and mark.line), 0)
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"line {line}: {error.problem}" if line else str(error.problem)


def _check_size(root: yaml.Node) -> None:
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is not None:
            if known == 0:
                raise yaml.YAMLError("anchor value contains itself")
            return known
        sizes[id(node)] = 0
        total = 1
        if isinstance(node, yaml.MappingNode):
            total += sum(size(key) + size(value) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            total += sum(map(size, node.value))
        if total > NODES_MAX:
            raise yaml.YAMLError("document contains excessive aliasing")
        sizes[id(node)] = total
        return total

    size(root)


def _value(node: yaml.Node, repeated: list[str]) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, repeated)
    if isinstance(node, yaml.SequenceNode):
        return [_value(member, repeated) for member in node.value]
    return _scalar(node)


def _mapping(node: yaml.MappingNode, repeated: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if key_node.tag == f"{_TAG}merge":
            for source in _merge_sources(value_node):
                merged = _mapping(source, repeated) | merged
            continue
        key = _key(key_node)
        if key in made:
            repeated.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
        made[key] = _value(value_node, repeated)
    return merged | made if merged else made


def _merge_sources(node: yaml.Node) -> list[yaml.MappingNode]:
    sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not all(isinstance(source, yaml.MappingNode) for source in sources):
        raise yaml.YAMLError("map merge requires map or sequence of maps as the value")
    return list(sources)


def _key(node: yaml.Node) -> str:
    key = _scalar(node) if isinstance(node, yaml.ScalarNode) else node
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return str(key)
    raise yaml.YAMLError("unsupported map key")


def _scalar(node: yaml.Node) -> Any:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return text in _TRUE_WORDS
        case "int":
            return _integer(text)
        case "float":
            return _float(text)
        case "str" | "merge" | "timestamp":
            return text
        case tag:
            raise yaml.YAMLError(f"cannot decode !!{tag}")


def _integer(text: str) -> int | float | str:
    """As the original: what 64 bits cannot hold is a float when it is decimal, and else the text it is."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.lstrip("+"))
    digits = digits.replace("_", "")
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        digits = f"0o{digits[1:]}"
    is_decimal = not digits.startswith("0")
    if is_decimal and len(digits) > _DECIMAL_DIGITS_MAX:
        return _float(text.replace("_", ""))
    number = sign * int(digits, 0)
    if _INTEGER_MIN <= number < _INTEGER_MAX:
        return number
    return float(number) if is_decimal else text


def _float(text: str) -> float | str:
    number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if math.isfinite(number):
        return number
    if text[-1].isdigit() or text[-1] == ".":
        return text  # too large for a float: the original leaves it the text it is
    raise yaml.YAMLError(f"json: unsupported value: {text}")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes texts that YAML 1.1 would read as something else in quotes."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def yaml_of_json(body: bytes) -> bytes:
    """A JSON answer as YAML, keys in order."""
    text: bytes = yaml.dump(
        orjson.loads(body),
        Dumper=_Dumper,
        encoding="utf-8",
        allow_unicode=True,
        sort_keys=True,
        width=2**31 - 1,
    )
    return text
