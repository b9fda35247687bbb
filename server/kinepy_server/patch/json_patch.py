"""JSON patch (RFC 6902), with the deviations of the original's implementation (PATCH-4).

`replace` of a missing member adds it; `test` of a missing member against null holds; indexes may be
negative; the whole document cannot be addressed; what is copied in total is bounded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from kinepy_server.resources.resource import JsonObject

COPIED_BYTES_MAX = 3 * 1024 * 1024
_MISSING = object()
_SORTED = orjson.OPT_SORT_KEYS

Operation: TypeAlias = Mapping[str, Any]


class PatchFailed(ValueError):
    """The patch does not apply to this document."""


@dataclass(slots=True)
class _Run:
    document: JsonObject
    copied_bytes: int = 0

    def parent(self, pointer: Any) -> tuple[Any, str]:
        """The container that a pointer's last token addresses a member of."""
        if not isinstance(pointer, str) or not pointer.startswith("/"):
            raise PatchFailed(f"bad path {pointer!r}")
        *above, last = (_unescaped(token) for token in pointer[1:].split("/"))
        node: Any = self.document
        for token in above:
            node = _member(node, token)
        if not isinstance(node, dict | list):
            raise PatchFailed(f"missing path {pointer!r}")
        return node, last


def apply_json_patch(document: JsonObject, operations: Sequence[Operation]) -> JsonObject:
    """`document`, changed in place. Raises PatchFailed; the document is then of no use any more."""
    run = _Run(document)
    for operation in operations:
        apply = _OPERATIONS.get(operation.get("op", ""))
        if apply is None:
            raise PatchFailed(f"unknown operation {operation.get('op')!r}")
        apply(run, operation)
    return run.document


def _add(run: _Run, operation: Operation) -> None:
    _insert(*run.parent(operation.get("path")), _copy(operation.get("value")))


def _remove(run: _Run, operation: Operation) -> None:
    node, token = run.parent(operation.get("path"))
    _take(node, token)


def _replace(run: _Run, operation: Operation) -> None:
    node, token = run.parent(operation.get("path"))
    value = _copy(operation.get("value"))
    if isinstance(node, list):
        node[_index(token, len(node))] = value
    else:
        node[token] = value


def _move(run: _Run, operation: Operation) -> None:
    node, token = run.parent(operation.get("from"))
    value = _take(node, token)
    _insert(*run.parent(operation.get("path")), value)


def _copy_operation(run: _Run, operation: Operation) -> None:
    node, token = run.parent(operation.get("from"))
    encoded = orjson.dumps(_member(node, token))
    run.copied_bytes += len(encoded)
    if run.copied_bytes > COPIED_BYTES_MAX:
        raise PatchFailed(f"the patch copies more than {COPIED_BYTES_MAX} bytes")
    _insert(*run.parent(operation.get("path")), orjson.loads(encoded))


def _test(run: _Run, operation: Operation) -> None:
    node, token = run.parent(operation.get("path"))
    found = node.get(token) if isinstance(node, dict) else _member(node, token)
    if orjson.dumps(found, option=_SORTED) != orjson.dumps(operation.get("value"), option=_SORTED):
        raise PatchFailed(f"test of {operation.get('path')!r} failed")


_OPERATIONS: Mapping[Any, Callable[[_Run, Operation], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy_operation,
    "test": _test,
}


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def _member(node: Any, token: str) -> Any:
    if isinstance(node, list):
        return node[_index(token, len(node))]
    found = node.get(token, _MISSING) if isinstance(node, dict) else _MISSING
    if found is _MISSING:
        raise PatchFailed(f"missing member {token!r}")
    return found


def _take(node: Any, token: str) -> Any:
    found = _member(node, token)
    del node[_index(token, len(node)) if isinstance(node, list) else token]
    return found


def _insert(node: Any, token: str, value: Any) -> None:
    if isinstance(node, dict):
        node[token] = value
    elif token == "-":
        node.append(value)
    else:
        node.insert(_index(token, len(node) + 1), value)


def _index(token: str, length: int) -> int:
    digits = token[1:] if token.startswith("-") else token
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        raise PatchFailed(f"bad index {token!r}")
    index = int(token)
    if not -length <= index < length:
        raise PatchFailed(f"index {token} is out of range")
    return index + length if index < 0 else index


def _copy(value: Any) -> Any:
    # The operations may be applied again to a newer state, so the document must not share parts with them.
    return orjson.loads(orjson.dumps(value)) if isinstance(value, dict | list) else value
