"""JSON patch (RFC 6902), with the deviations of the original's implementation (PATCH-4).

`replace` of a missing member adds it; `test` of a missing member against null holds; indexes may be
negative; the whole document cannot be addressed; what is copied in total is bounded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.go_json import TOO_DEEP, too_deep

COPIED_BYTES_MAX = 3 * 1024 * 1024
_MISSING = object()
_MISSING_VALUE = "missing value"
_INDEX_DIGITS_MAX = 18
_SORTED = orjson.OPT_SORT_KEYS

Operation: TypeAlias = Mapping[str, Any]


class PatchFailed(ValueError):
    """The patch does not apply to this document. The text is the original's."""


class TestFailed(PatchFailed):
    """An operation found another value than it was to find."""


class _NoIndex(PatchFailed):
    """What should address an element is no number."""


@dataclass(slots=True)
class _Run:
    document: JsonObject
    copied_bytes: int = 0

    def place(self, pointer: Any, missing: str) -> tuple[Any, str]:
        """The container that a pointer's last token addresses a member of. Raises PatchFailed if there is none."""
        if not isinstance(pointer, str):
            raise PatchFailed(f"{missing}: {_MISSING_VALUE}")
        *above, last = (_unescaped(token) for token in pointer.removeprefix("/").split("/"))
        node: Any = self.document
        try:
            for token in above:
                node = _member(node, token)
        except PatchFailed:
            node = None
        if not isinstance(node, dict | list) or not pointer.startswith("/"):
            raise PatchFailed(f"{missing}: {_MISSING_VALUE}")
        return node, last


def apply_json_patch(document: JsonObject, operations: Sequence[Operation]) -> JsonObject:
    """`document`, changed in place. Raises PatchFailed; the document is then of no use any more."""
    run, deepens = _Run(document), False
    for operation in operations:
        name = operation.get("op", "")
        apply = _OPERATIONS.get(name) if isinstance(name, str) else None
        if apply is None:
            raise PatchFailed(f"Unexpected kind: {name}")
        apply(run, operation)
        deepens = deepens or name in _DEEPENING
    if deepens and too_deep(run.document):
        raise PatchFailed(TOO_DEEP)
    return run.document


@contextmanager
def _while(doing: str) -> Iterator[None]:
    """Say what failed."""
    try:
        yield
    except PatchFailed as error:
        raise PatchFailed(f"{doing}: {error}") from None


def _add(run: _Run, operation: Operation) -> None:
    path = operation.get("path")
    node, token = run.place(path, f'add operation does not apply: doc is missing path: "{path}"')
    with _while(f"error in add for path: '{path}'"):
        _insert(node, token, _copy(operation.get("value")))


def _remove(run: _Run, operation: Operation) -> None:
    path = operation.get("path")
    node, token = run.place(path, f'remove operation does not apply: doc is missing path: "{path}"')
    with _while(f"error in remove for path: '{path}'"):
        _take(node, token)


def _replace(run: _Run, operation: Operation) -> None:
    path = operation.get("path")
    node, token = run.place(path, f"replace operation does not apply: doc is missing path: {path}")
    value = _copy(operation.get("value"))
    if isinstance(node, dict):
        node[token] = value
        return
    try:
        index = _index(token, len(node))
    except PatchFailed:
        text = f"replace operation does not apply: doc is missing key: {path}: {_MISSING_VALUE}"
        raise PatchFailed(text) from None
    node[index] = value


def _move(run: _Run, operation: Operation) -> None:
    source, path = operation.get("from"), operation.get("path")
    node, token = run.place(source, f"move operation does not apply: doc is missing from path: {source}")
    with _while(f"error in move for path: '{path}'"):
        value = _take(node, token)
    node, token = run.place(path, f"move operation does not apply: doc is missing destination path: {path}")
    with _while(f"error in move for path: '{path}'"):
        _insert(node, token, value)


def _copy_operation(run: _Run, operation: Operation) -> None:
    source, path = operation.get("from"), operation.get("path")
    node, token = run.place(source, f"copy operation does not apply: doc is missing from path: {source}")
    with _while(f"error in copy for from: '{source}'"):
        encoded = _encoded(_member(node, token))
    run.copied_bytes += len(encoded)
    if run.copied_bytes > COPIED_BYTES_MAX:
        raise PatchFailed(f"the patch copies more than {COPIED_BYTES_MAX} bytes")
    node, token = run.place(path, f"copy operation does not apply: doc is missing destination path: {path}")
    with _while("error while adding value during copy"):
        _insert(node, token, orjson.loads(encoded))


def _test(run: _Run, operation: Operation) -> None:
    path = operation.get("path")
    node, token = run.place(path, f"test operation does not apply: is missing path: {path}")
    with _while(f"error in test for path: '{path}'"):
        found = node.get(token) if isinstance(node, dict) else _member(node, token)
    if _encoded(found) != _encoded(operation.get("value")):
        raise TestFailed(f"testing path {path} failed: test failed")


def _encoded(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=_SORTED)
    except orjson.JSONEncodeError:
        # What some operations have made is nested deeper than anything that is accepted.
        raise PatchFailed(TOO_DEEP) from None


_DEEPENING = frozenset(("add", "replace", "move", "copy"))
_OPERATIONS: Mapping[str, Callable[[_Run, Operation], None]] = {
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
        raise PatchFailed(f"Unable to remove nonexistent key: {token}: {_MISSING_VALUE}")
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
        try:
            index = _index(token, len(node) + 1)
        except _NoIndex as error:
            raise PatchFailed(f"value was not a proper array index: '{token}': {error}") from None
        node.insert(index, value)


def _is_index(token: str) -> bool:
    digits = token[1:] if token[:1] in ("-", "+") else token
    return digits.isascii() and digits.isdecimal() and len(digits) <= _INDEX_DIGITS_MAX


def _index(token: str, length: int) -> int:
    if not _is_index(token):
        raise _NoIndex(f'strconv.Atoi: parsing "{token}": invalid syntax')
    index = int(token)
    if not -length <= index < length:
        raise PatchFailed(f"Unable to access invalid index: {token}: invalid index")
    return index + length if index < 0 else index


def _copy(value: Any) -> Any:
    # The operations may be applied again to a newer state, so the document must not share parts with them.
    return orjson.loads(orjson.dumps(value)) if isinstance(value, dict | list) else value
