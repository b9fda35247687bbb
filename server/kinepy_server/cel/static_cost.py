"""What evaluating an expression costs whatever its data is; loops count without their turns."""

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

LIST_COST, MAP_COST, OBJECT_COST = 10, 30, 40


def static_cost(node: Node) -> int:
    """The cost of a part: one for each name, member and call, more for what is created."""
    if isinstance(node, Const):
        return 0
    if isinstance(node, Ident):
        return 1
    if isinstance(node, Select):
        return 1 + static_cost(node.operand)
    if isinstance(node, Call):
        target = 0 if node.target is None else static_cost(node.target)
        if node.name == "_?_:_":
            test, yes, no = map(static_cost, node.args)
            return 1 + test + max(yes, no)
        return 1 + target + sum(map(static_cost, node.args))
    if isinstance(node, ListLiteral):
        return LIST_COST + sum(static_cost(item) for item, _ in node.items)
    if isinstance(node, MapLiteral):
        return MAP_COST + sum(static_cost(key) + static_cost(value) for key, value, _ in node.entries)
    if isinstance(node, ObjectLiteral):
        return OBJECT_COST + sum(static_cost(value) for _, _, value, _ in node.fields)
    if isinstance(node, Comprehension):
        return 2 + static_cost(node.source)
    assert isinstance(node, OptionalMap)
    return 2 + static_cost(node.source) + static_cost(node.expr)
