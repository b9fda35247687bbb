"""Numbers of thousands of digits, and digits of other scripts: Python's int() raises, the API says what is wrong."""

from collections.abc import Iterator
from typing import Any, Protocol

import httpx
import pytest

from kinepy_server.cel import CompileError, EvaluationError, compile_expression
from kinepy_server.custom.columns import printed
from kinepy_server.custom.jsonpath import BadPath, parse_jsonpath
from kinepy_server.schema.go_numbers import whole_number

LONG = "9" * 5000
APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
LABELS = {"app": "a"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Server(Protocol):
    """What these tests need of the plugin's fixture."""

    url: str


@pytest.fixture
def http(kinepy_server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=kinepy_server.url, timeout=20, trust_env=False) as client:
        yield client


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+7", 7),
        ("-9223372036854775808", -(1 << 63)),
        ("0" * 5000 + "12", 12),
        ("9223372036854775808", None),
        (LONG, None),
        ("-", None),
        ("", None),
        (" 1", None),
        ("1_0", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_whole_numbers_are_those_of_64_bits_in_ascii_digits(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("path", [f".a[{LONG}]", ".a[-]", ".a[:-]", "1" + "0" * 400])
def test_a_column_with_a_senseless_number_ends_the_columns(path: str) -> None:
    with pytest.raises(BadPath):
        parse_jsonpath(path)
    columns, _ = printed([{"name": "Odd", "type": "string", "jsonPath": path}])
    assert [column.name for column in columns] == ["Name"]


def test_a_large_number_in_a_path_is_one_with_a_fraction() -> None:
    assert parse_jsonpath("9223372036854775808")({}) == [9223372036854775808.0]
    assert parse_jsonpath(f".a[{'0' * 5000}1]")({"a": [1, 2]}) == [2]


@pytest.mark.parametrize(
    "text",
    [
        f"uint('{LONG}')",
        f"int('{LONG}')",
        f"semver('1.2.{LONG}')",
        f"semver('1.2.3-{LONG}')",
        f"semver('{LONG}', true)",
        f"duration('{LONG}s')",
        "duration('2562048h')",
        f"'%.{LONG}f'.format([1.0])",
    ],
)
def test_a_number_that_no_type_holds_is_an_error_of_its_expression(text: str) -> None:
    with pytest.raises(EvaluationError):
        compile_expression(text, {}).evaluate({})


def test_a_literal_that_no_type_holds_is_an_error_of_the_expression() -> None:
    with pytest.raises(CompileError, match="invalid int literal"):
        compile_expression(LONG, {})
    with pytest.raises(CompileError, match="invalid uint literal"):
        compile_expression(f"{LONG}u", {})
    assert compile_expression(f"duration('0.{LONG}s') < duration('1s')", {}).evaluate({})[0] is True


def deployment(unavailable: str) -> dict[str, Any]:
    """One of which so many may be away."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable}}
    spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, "strategy": strategy}
    return {"metadata": {"name": "d"}, "spec": spec}


@pytest.mark.parametrize("share", [f"{LONG}%", "101%", "²%", "٣%"])
def test_a_senseless_percentage_is_refused(http: httpx.Client, share: str) -> None:
    answer = http.post(f"{APPS}/deployments", json=deployment(share))
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")
    causes = answer.json()["details"]["causes"]
    assert {cause["field"] for cause in causes} == {"spec.strategy.rollingUpdate.maxUnavailable"}


def test_a_schedule_of_long_numbers_is_refused(http: httpx.Client) -> None:
    spec = {"schedule": f"{LONG} * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}
    answer = http.post(f"{BATCH}/cronjobs", json={"metadata": {"name": "c"}, "spec": spec})
    assert answer.status_code == 422
    assert f'strconv.Atoi: parsing "{LONG}": value out of range' in answer.text.replace("\\", "")


def test_a_resource_version_that_is_no_number_of_64_bits_is_none_on_create(http: httpx.Client) -> None:
    for index, text in enumerate((LONG, "18446744073709551616", "٣")):
        metadata = {"name": f"v{index}", "resourceVersion": text}
        answer = http.post("/api/v1/namespaces/default/configmaps", json={"metadata": metadata})
        assert answer.status_code == 201


def test_a_period_of_grace_out_of_range_is_refused(http: httpx.Client) -> None:
    answer = http.delete("/api/v1/namespaces/default/pods/p", params={"gracePeriodSeconds": "9" * 30})
    assert answer.status_code == 400
    assert answer.json()["message"] == f'strconv.ParseInt: parsing "{"9" * 30}": value out of range'
