"""The types of all parts of an expression, and which variable each name means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kinepy_server.cel.errors import CompileError, Issue
from kinepy_server.cel.functions import functions
from kinepy_server.cel.nodes import (
    Call,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    ObjectLiteral,
    OptionalMap,
    Select,
)
from kinepy_server.cel.operator_types import OPERATORS
from kinepy_server.cel.signatures import NAMESPACES, Overload
from kinepy_server.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    UINT,
    Bindings,
    Type,
    filled,
    fits,
    joined,
    list_of,
    map_of,
    optional_of,
)
from kinepy_server.cel.values import UInt

_CONSTANTS = {bool: BOOL, int: INT, UInt: UINT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL}
TYPE_NAMES = frozenset(
    ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
)
_TYPE = Type("type")
Scope = Mapping[str, tuple[int, Type]]
MadeTypes: TypeAlias = Callable[[str], Type | None]


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression: its type, how many slots its variables need, which variables it reads."""

    node: Node
    type: Type
    slots: int
    used: frozenset[str]


def check(
    source: str, node: Node, variables: Mapping[str, Type], *, made: MadeTypes = lambda name: None
) -> Checked:
    """Note the types in the node. Variables stand in slots from 1 on, in their order; `made` knows the types of
    objects that the expression may make. Raises CompileError."""
    checker = _Checker(made)
    scope = {name: (slot, kind) for slot, (name, kind) in enumerate(variables.items(), 1)}
    checker.slots = len(scope) + 1
    checker.outer = frozenset(slot for slot, _ in scope.values())
    kind = checker.visit(node, scope)
    if checker.issues:
        raise CompileError(source, sorted(checker.issues, key=lambda issue: issue.offset))
    return Checked(node, kind, checker.slots, frozenset(checker.used))


class _Checker:
    def __init__(self, made: MadeTypes) -> None:
        self._made = made
        self.issues: list[Issue] = []
        self.slots = 1
        self._mixed = 0
        """In how many calls whose lists may hold values of different types."""
        self.used: set[str] = set()
        self.outer: frozenset[int] = frozenset()
        self._visitors: Mapping[type, Callable[[Any, Scope], Type]] = {
            Const: lambda node, _: _CONSTANTS[type(node.value)],
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            ObjectLiteral: self._object,
            Comprehension: self._comprehension,
            OptionalMap: self._optional_map,
        }

    def visit(self, node: Node, scope: Scope) -> Type:
        """The type of a part, noted in it."""
        node.type = self._visitors[type(node)](node, scope)
        return node.type

    def _problem(self, offset: int, text: str) -> Type:
        self.issues.append(Issue(offset, text))
        return DYN

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _ident(self, node: Ident, scope: Scope) -> Type:
        found = scope.get(node.name)
        if found is None:
            if node.name in TYPE_NAMES:
                return _TYPE
            return self._problem(node.offset, f"undeclared reference to '{node.name}' (in container '')")
        node.slot, kind = found
        if node.slot in self.outer:
            self.used.add(node.name)
        return kind

    def _select(self, node: Select, scope: Scope) -> Type:
        operand = self.visit(node.operand, scope)
        through = operand.name == "optional_type"
        holder = operand.params[0] if through and operand.params else operand
        node.key = node.name
        kind = self._member(node, holder)
        if node.test:
            return BOOL
        return optional_of(kind) if through or node.optional else kind

    def _member(self, node: Select, holder: Type) -> Type:
        if holder.fields is not None:
            field = holder.fields.get(node.name)
            if field is None:
                return self._problem(node.offset, f"undefined field '{node.name}'")
            node.key = field.key
            return field.type
        if holder.name == "map":
            return holder.params[1]
        if holder.is_dynamic:
            return DYN
        return self._problem(node.offset, f"type '{holder}' does not support field selection")

    def _call(self, node: Call, scope: Scope) -> Type:
        target = node.target
        if isinstance(target, Ident) and self._is_namespace(target.name) and target.name not in scope:
            node.name, node.target, target = f"{target.name}.{node.name}", None, None
        formats = node.name == "format" and target is not None
        self._mixed += formats
        args = [self.visit(arg, scope) for arg in ([target, *node.args] if target is not None else node.args)]
        self._mixed -= formats
        if node.name in OPERATORS:
            return self._result(node, args, OPERATORS[node.name])
        found = functions().get(f".{node.name}" if target is not None else node.name)
        if found is None:
            return self._problem(node.offset, f"undeclared reference to '{node.name}' (in container '')")
        return self._result(node, args, found)

    def _is_namespace(self, name: str) -> bool:
        # Where no operation of a patch can be made, nobody needs to write its path.
        return name in NAMESPACES and (name != "jsonpatch" or self._made("JSONPatch") is not None)

    def _result(self, node: Call, args: Sequence[Type], overloads: Sequence[Overload]) -> Type:
        chosen, result = [], None
        for overload in overloads:
            bound: Bindings = {}
            if len(overload.params) == len(args) and all(
                fits(given, wanted, bound) for given, wanted in zip(args, overload.params, strict=True)
            ):
                chosen.append(overload)
                kind = filled(overload.result, bound)
                result = kind if result is None or result == kind else DYN
        node.overloads = chosen
        if result is not None:
            return result
        if node.target is not None:
            given = f"{args[0]}.({', '.join(map(str, args[1:]))})"
        else:
            given = f"({', '.join(map(str, args))})"
        return self._problem(
            node.offset, f"found no matching overload for '{node.name}' applied to '{given}'"
        )

    def _list(self, node: ListLiteral, scope: Scope) -> Type:
        kind: Type | None = None
        for item, optional in node.items:
            kind = self._together(kind, self._entry(item, scope, optional=optional), item.offset)
        return list_of(DYN if kind is None else kind)

    def _entry(self, item: Node, scope: Scope, *, optional: bool) -> Type:
        kind = self.visit(item, scope)
        if not optional or kind.is_dynamic:
            return kind
        if kind.name != "optional_type":
            return self._problem(item.offset, f"expected type 'optional_type({kind})' but found '{kind}'")
        return kind.params[0]

    def _together(self, known: Type | None, kind: Type, offset: int) -> Type:
        if known is None:
            return kind
        both = joined(known, kind)
        if both is None and self._mixed:
            return DYN
        if both is None:
            return self._problem(offset, f"expected type '{known}' but found '{kind}'")
        return both

    def _map(self, node: MapLiteral, scope: Scope) -> Type:
        key_kind: Type | None = None
        value_kind: Type | None = None
        for key, value, optional in node.entries:
            key_kind = self._together(key_kind, self.visit(key, scope), key.offset)
            value_kind = self._together(
                value_kind, self._entry(value, scope, optional=optional), value.offset
            )
        return map_of(DYN if key_kind is None else key_kind, DYN if value_kind is None else value_kind)

    def _object(self, node: ObjectLiteral, scope: Scope) -> Type:
        kind = self._made(node.name)
        for offset, name, value, optional in node.fields:
            given = self._entry(value, scope, optional=optional)
            field = None if kind is None or kind.fields is None else kind.fields.get(name)
            if kind is not None and field is None:
                self._problem(offset, f"undefined field '{name}'")
            elif field is not None and not fits(given, field.type, {}):
                text = f"expected type of field '{name}' is '{field.type}' but provided type is '{given}'"
                self._problem(offset, text)
        if kind is None:
            return self._problem(node.offset, f"undeclared reference to '{node.name}' (in container '')")
        return kind

    def _comprehension(self, node: Comprehension, scope: Scope) -> Type:
        source = self.visit(node.source, scope)
        kinds = self._variables(source, node)
        node.slots = [self._slot() for _ in node.names]
        inner = {**scope, **dict(zip(node.names, zip(node.slots, kinds, strict=False), strict=True))}
        results = [self.visit(expr, inner) for expr in node.exprs]
        tests = results if node.kind in ("all", "exists", "exists_one", "filter") else results[:-1]
        for expr, kind in zip(node.exprs, tests, strict=False):
            if kind != BOOL and not kind.is_dynamic:
                self._problem(expr.offset, f"expected type 'bool' but found '{kind}'")
        return self._comprehended(node, source, kinds, results[-1])

    def _comprehended(  # noqa: PLR0917 what a macro's type depends on
        self, node: Comprehension, source: Type, kinds: Sequence[Type], result: Type
    ) -> Type:
        if node.kind in ("all", "exists", "exists_one"):
            return BOOL
        if node.kind in ("filter", "sortBy"):
            return source if source.name == "list" else list_of(kinds[0])
        if node.kind == "transformList":
            return list_of(result)
        if node.kind == "transformMap":
            return map_of(kinds[0], result)
        return result if result.name == "map" else map_of(DYN, DYN)

    def _variables(self, source: Type, node: Comprehension) -> Sequence[Type]:
        if source.name == "list":
            element = source.params[0]
            return [element] if len(node.names) == 1 else [INT, element]
        if source.name == "map":
            return source.params
        if not source.is_dynamic:
            text = f"expression of type '{source}' cannot be range of a comprehension (must be list, map, or dynamic)"
            self._problem(node.source.offset, text)
        return [DYN, DYN]

    def _optional_map(self, node: OptionalMap, scope: Scope) -> Type:
        source = self.visit(node.source, scope)
        if source.name != "optional_type" and not source.is_dynamic:
            name = "optFlatMap" if node.flat else "optMap"
            return self._problem(
                node.offset, f"found no matching overload for '{name}' applied to '{source}.()'"
            )
        node.slot = self._slot()
        value = source.params[0] if source.params else DYN
        result = self.visit(node.expr, {**scope, node.name: (node.slot, value)})
        if not node.flat:
            return optional_of(result)
        if result.name != "optional_type" and not result.is_dynamic:
            return self._problem(
                node.expr.offset, f"expected type 'optional_type({result})' but found '{result}'"
            )
        return result
