"""The macros: what looks like a call, but has variables or does not evaluate its argument."""

from collections.abc import Callable, Mapping, Sequence

from kinepy_server.cel.nodes import Comprehension, Ident, Node, OptionalMap, Select


class NotAllowed(Exception):
    """The arguments are not what the macro takes; `offset` tells where."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.offset = offset


MethodMacro = Callable[[str, Node, Sequence[Node]], Node]
GlobalMacro = Callable[[int, Sequence[Node]], Node]
_SAME_KIND = {"existsOne": "exists_one", "map": "transformList", "filter": "filter"}


def _has(offset: int, args: Sequence[Node]) -> Node:
    (operand,) = args
    if not isinstance(operand, Select) or operand.optional:
        raise NotAllowed(offset, "invalid argument to has() macro")
    return Select(offset, operand.operand, operand.name, test=True)


def _variable(node: Node) -> str:
    if not isinstance(node, Ident):
        raise NotAllowed(node.offset, "argument must be a simple name")
    return node.name


def _over_elements(name: str, target: Node, args: Sequence[Node]) -> Node:
    variable, *exprs = args
    return Comprehension(target.offset, _SAME_KIND.get(name, name), target, [_variable(variable)], exprs)


def _over_entries(name: str, target: Node, args: Sequence[Node]) -> Node:
    first, second, *exprs = args
    names = [_variable(first), _variable(second)]
    if names[0] == names[1]:
        raise NotAllowed(second.offset, f"duplicate variable name: {names[0]}")
    return Comprehension(target.offset, _SAME_KIND.get(name, name), target, names, exprs)


def _optional_map(name: str, target: Node, args: Sequence[Node]) -> Node:
    variable, expr = args
    return OptionalMap(target.offset, target, _variable(variable), expr, flat=name == "optFlatMap")


GLOBAL_MACROS: Mapping[tuple[str, int], GlobalMacro] = {("has", 1): _has}
"""Name and number of arguments -> macro."""

METHOD_MACROS: Mapping[tuple[str, int], MethodMacro] = {
    **dict.fromkeys(
        [
            ("all", 2),
            ("exists", 2),
            ("exists_one", 2),
            ("existsOne", 2),
            ("map", 2),
            ("map", 3),
            ("filter", 2),
        ],
        _over_elements,
    ),
    **dict.fromkeys([("all", 3), ("exists", 3), ("existsOne", 3), ("exists_one", 3)], _over_entries),
    **dict.fromkeys(
        [
            (name, count)
            for name in ("transformList", "transformMap", "transformMapEntry")
            for count in (3, 4)
        ],
        _over_entries,
    ),
    **dict.fromkeys([("optMap", 2), ("optFlatMap", 2)], _optional_map),
}
