"""Expressions have the values that the language's reference implementations give them."""

from typing import Any

import pytest

from kinepy_server.cel import CompileError, EvaluationError, compile_expression
from kinepy_server.cel.types import DYN


def value_of(text: str, **variables: Any) -> Any:
    """The value of an expression over variables of unknown type."""
    return compile_expression(text, dict.fromkeys(variables, DYN)).evaluate(variables)[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dyn(1) == 1.0 && dyn(1) == 1u", True),
        ("dyn(true) == 1", False),
        ("[dyn(1)] == [1.0]", True),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("1 < 2 == true", True),
        ("1 - -1", 2),
        ("-9223372036854775808", -(2**63)),
        ("1 + 2 * 3 - 4 / 2", 5),
        ("size('é😀') + size([1]) + size({'a': 1})", 4),
        ("false && 1 / 0 > 0", False),
        ("1 / 0 > 0 || true", True),
        ("[0, 1].exists(x, 1 / x > 0)", True),
        ("[1, 2, 3].exists_one(x, x > 1)", False),
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", True),
        ("[1, 2].exists(i, v, i == 1 && v == 2)", True),
        ("[5, 6].transformList(i, v, i + v)", [5, 7]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("{'a': 1}.transformMapEntry(k, v, {v: k})", {1: "a"}),
        ("'\\x41\\u0042\\103\\n'", "ABC\n"),
        (r"r'\d'", "\\d"),
        ("int('12') + int(3u) + int(4.9)", 19),
        ("string(1e21)", "1e+21"),
        ("string(123456789.125)", "1.23456789125e+08"),
        ("string(1.0)", "1"),
        ("type('a') == string", True),
        ("timestamp('2020-02-29T12:00:00Z').getHours('America/New_York')", 7),
        ("timestamp('2020-02-29T12:00:00Z').getDayOfWeek()", 6),
        ("string(timestamp('2020-02-29T12:00:00Z') + duration('1h'))", "2020-02-29T13:00:00Z"),
        ("duration('1h30m').getMinutes()", 90),
        ("{'a': {'b': 1}}.?a.?b.value()", 1),
        ("{'a': 1}.?b.orValue(2)", 2),
        ("{'a': 1}[?'b'].hasValue()", False),
        ("optional.of(1).optMap(x, x + 1).value()", 2),
        ("[?optional.of(1), ?optional.none()]", [1]),
    ],
)
def test_an_expression_has_its_value(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'hello'.lastIndexOf('l')", 3),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'hello'.substring(1, 3)", "el"),
        ("'HeLLo é'.lowerAscii()", "hello é"),
        ("'%s %d %.1f %x %%'.format(['a', 1, 1.5, 255])", "a 1 1.5 ff %"),
        ("'%s'.format([{'b': 1, 'a': 'x'}])", "{a: x, b: 1}"),
        ("'ab12cd34'.findAll('[0-9]+')", ["12", "34"]),
        ("'abc'.find('[0-9]')", ""),
        ("[3, 1, 2].max() + [1, 2].sum()", 6),
        ("[1, 2, 2].isSorted() && [1, 2, 1].lastIndexOf(1) == 2", True),
        ("[3, 1, 2].sort() + [1, 1].distinct()", [1, 2, 3, 1]),
        ("sets.equivalent([1, 2], [2, 1, 1])", True),
        ("url('https://u@[::1]:80/a b?q=1').getHostname()", "::1"),
        ("url('https://a.b:80/x?q=1&q=2').getQuery()", {"q": ["1", "2"]}),
        ("isURL('no url')", False),
        ("ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1')", True),
        ("isIP('01.2.3.4') || isCIDR('1.2.3.4/33')", False),
        ("ip.isCanonical('2001:DB8::1')", False),
        ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", True),
        ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
        ("quantity('1k').add(20).asInteger()", 1020),
        ("isQuantity('1x')", False),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("semver('v1.2', true).minor()", 2),
        ("format.dns1123Label().validate('UP').hasValue()", True),
        ("format.named('uuid').hasValue()", True),
    ],
)
def test_a_function_of_the_libraries_has_its_value(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("self.b", "no such key: b"),
        ("self.l[5]", "index out of bounds: 5"),
        ("1 / 0", "division by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("5u - 6u", "unsigned integer overflow"),
        ("self.a + 'x'", "no such overload"),
        ("optional.none().value()", "optional.none() dereference"),
    ],
)
def test_an_expression_without_a_value_says_why(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value_of(text, self={"a": 1, "l": []})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 == 1.0", "1:3: found no matching overload for '_==_' applied to '(int, double)'"),
        ("x", "1:1: undeclared reference to 'x' (in container '')"),
        ("f(1)", "1:2: undeclared reference to 'f' (in container '')"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("1 +", "1:4: Syntax error: mismatched input '<EOF>' expecting"),
        ("'a'.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"),
        ("'abc", "Syntax error: token recognition error"),
        ("(" * 1000, "expression recursion limit exceeded"),
        ("a" + ".a" * 1000, "expression recursion limit exceeded"),
    ],
)
def test_what_does_not_compile_says_where(text: str, problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(text, {})
    assert problem in str(caught.value)
