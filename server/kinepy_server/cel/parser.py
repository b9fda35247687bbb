"""From tokens to the parts of an expression, by precedence climbing."""

from collections.abc import Sequence

from kinepy_server.cel.errors import CompileError, Issue
from kinepy_server.cel.macros import GLOBAL_MACROS, METHOD_MACROS, NotAllowed
from kinepy_server.cel.nodes import Call, Const, Ident, ListLiteral, MapLiteral, Node, ObjectLiteral, Select
from kinepy_server.cel.tokens import Token, tokens_of
from kinepy_server.cel.values import INT_MAX

DEPTH_MAX, CHAIN_MAX = 50, 150
"""How deep parentheses and calls may nest, and how many operators or members may follow each other."""
LENGTH_MAX = 100_000
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_STRENGTHS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 0),
    **dict.fromkeys(("+", "-"), 1),
    **dict.fromkeys(("*", "/", "%"), 2),
}
_NAMES = {"in": "@in"}
_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null',"
    " NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def parse(source: str) -> Node:
    """The parts of an expression. Raises CompileError."""
    if len(source) > LENGTH_MAX:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {LENGTH_MAX}"
        raise CompileError(source, [Issue(0, text)])
    parser = _Parser(source)
    node = parser.expression()
    parser.end()
    return node


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens: Sequence[Token] = tokens_of(source)
        self._position = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._position]

    def _error(self, offset: int, text: str) -> CompileError:
        return CompileError(self._source, [Issue(offset, text)])

    def _take(self, kind: str) -> Token | None:
        token = self._next
        if token.kind != kind:
            return None
        self._position += 1
        return token

    def _expect(self, kind: str) -> Token:
        token = self._take(kind)
        if token is None:
            raise self._unexpected(f"'{kind}'" if kind != "ident" else "IDENTIFIER")
        return token

    def _unexpected(self, wanted: str) -> CompileError:
        token = self._next
        why = "mismatched" if token.kind == "end" or not wanted.startswith("'") else "extraneous"
        return self._error(token.offset, f"Syntax error: {why} input '{token.text}' expecting {wanted}")

    def end(self) -> None:
        """Nothing may follow."""
        if self._next.kind != "end":
            raise self._unexpected("<EOF>")

    def expression(self) -> Node:
        """A whole expression, with its `? :`."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._error(self._next.offset, f"expression recursion limit exceeded: {DEPTH_MAX}")
        node = self._logical("||", "&&")
        if (question := self._take("?")) is not None:
            yes = self._logical("||", "&&")
            self._expect(":")
            node = Call(question.offset, "_?_:_", None, [node, yes, self.expression()])
        self._depth -= 1
        return node

    def _logical(self, symbol: str, inner: str) -> Node:
        terms, offsets = [self._logical(inner, "") if inner else self._binary(0)], []
        while (token := self._take(symbol)) is not None:
            offsets.append(token.offset)
            terms.append(self._logical(inner, "") if inner else self._binary(0))
        return _balanced(f"_{symbol}_", terms, offsets)

    def _binary(self, weakest: int) -> Node:
        """Operators that bind at least as strongly as `weakest`."""
        node = self._unary()
        for _ in range(CHAIN_MAX):
            token = self._next
            strength = _STRENGTHS.get(token.kind, -1)
            if strength < weakest:
                return node
            self._position += 1
            name = _NAMES.get(token.kind, f"_{token.kind}_")
            node = Call(token.offset, name, None, [node, self._binary(strength + 1)])
        raise self._error(self._next.offset, f"expression recursion limit exceeded: {CHAIN_MAX}")

    def _unary(self) -> Node:
        token = self._next
        if token.kind not in ("!", "-"):
            return self._member()
        count = 0
        while self._take(token.kind) is not None:
            count += 1
        following = self._next
        literal = following.value if following.kind == "literal" else None
        negative = token.kind == "-" and type(literal) in (int, float)
        node = self._member(negative=negative)
        if (count - negative) % 2 == 0:
            return node
        return Call(token.offset, f"{token.kind}_", None, [node])

    def _member(self, *, negative: bool = False) -> Node:
        node = self._primary(negative=negative)
        for _ in range(CHAIN_MAX):
            if (dot := self._take(".")) is not None:
                node = self._selected(node, dot)
            elif (bracket := self._take("[")) is not None:
                optional = self._take("?") is not None
                name = "_[?_]" if optional else "_[_]"
                node = Call(bracket.offset, name, None, [node, self.expression()])
                self._expect("]")
            elif self._next.kind == "{" and (type_name := _dotted(node)):
                node = self._object(type_name)
            else:
                return node
        raise self._error(self._next.offset, f"expression recursion limit exceeded: {CHAIN_MAX}")

    def _selected(self, operand: Node, dot: Token) -> Node:
        optional = self._take("?") is not None
        token = self._take("quoted") or self._expect("ident")
        opening = None if optional or token.kind == "quoted" else self._take("(")
        if opening is None:
            return Select(dot.offset, operand, token.value, optional=optional)
        args = self._arguments(")")
        macro = METHOD_MACROS.get((token.value, len(args)))
        if macro is None:
            return Call(opening.offset, token.value, operand, args)
        try:
            return macro(token.value, operand, args)
        except NotAllowed as error:
            raise self._error(error.offset, str(error)) from None

    def _arguments(self, closing: str) -> list[Node]:
        args: list[Node] = []
        if self._take(closing) is not None:
            return args
        args.append(self.expression())
        while self._take(",") is not None:
            args.append(self.expression())
        self._expect(closing)
        return args

    def _primary(self, *, negative: bool) -> Node:
        token = self._next
        self._position += 1
        if token.kind == "literal":
            return Const(token.offset, self._number(token, negative=negative))
        if token.kind == "(":
            node = self.expression()
            self._expect(")")
            return node
        if token.kind == "[":
            return self._list(token)
        if token.kind == "{":
            return self._map(token)
        if token.kind == ".":
            token = self._expect("ident")
            return self._named(token)
        if token.kind == "ident":
            return self._named(token)
        self._position -= 1
        raise self._error(token.offset, f"Syntax error: mismatched input '{token.text}' expecting {_STARTS}")

    def _number(self, token: Token, *, negative: bool) -> object:
        value = -token.value if negative else token.value
        if type(value) is int and value > INT_MAX:
            raise self._error(token.offset, "Syntax error: invalid int literal")
        return value

    def _named(self, token: Token) -> Node:
        name: str = token.value
        if name in RESERVED:
            raise self._error(token.offset, f"Syntax error: reserved identifier: {name}")
        opening = self._take("(")
        if opening is None:
            return Ident(token.offset, name)
        args = self._arguments(")")
        macro = GLOBAL_MACROS.get((name, len(args)))
        if macro is None:
            return Call(opening.offset, name, None, args)
        try:
            return macro(opening.offset, args)
        except NotAllowed as error:
            raise self._error(error.offset, str(error)) from None

    def _list(self, opening: Token) -> Node:
        items: list[tuple[Node, bool]] = []
        while self._next.kind != "]":
            optional = self._take("?") is not None
            items.append((self.expression(), optional))
            if self._take(",") is None:
                break
        self._expect("]")
        return ListLiteral(opening.offset, items)

    def _map(self, opening: Token) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        while self._next.kind != "}":
            optional = self._take("?") is not None
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression(), optional))
            if self._take(",") is None:
                break
        self._expect("}")
        return MapLiteral(opening.offset, entries)

    def _object(self, name: str) -> Node:
        opening = self._expect("{")
        fields: list[tuple[int, str, Node, bool]] = []
        while self._next.kind != "}":
            optional = self._take("?") is not None
            field = self._take("quoted") or self._expect("ident")
            colon = self._expect(":")
            fields.append((colon.offset, field.value, self.expression(), optional))
            if self._take(",") is None:
                break
        self._expect("}")
        return ObjectLiteral(opening.offset, name, fields)


def _dotted(node: Node) -> str:
    """The name that identifiers with dots between them are; empty for anything else."""
    if isinstance(node, Ident):
        return node.name
    if not isinstance(node, Select) or node.optional or node.test:
        return ""
    above = _dotted(node.operand)
    return f"{above}.{node.name}" if above else ""


def _balanced(name: str, terms: Sequence[Node], offsets: Sequence[int]) -> Node:
    """Many terms as a tree that is not deep."""
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) - 1) // 2
    left = _balanced(name, terms[: middle + 1], offsets[:middle])
    right = _balanced(name, terms[middle + 1 :], offsets[middle + 1 :])
    return Call(offsets[middle], name, None, [left, right])
