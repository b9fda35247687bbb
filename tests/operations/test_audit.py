"""The audit of dependencies: what has an advisory fails, what could not be compared is never taken for good."""

import json

import pytest

from tests.tools.audit import Verdict, lines_of, main, verdict_of

GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {
    "name": "bad",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "description": ""}],
}
OWN = {"name": "own", "skip_reason": "Dependency not found on PyPI and could not be audited: own (1.0)"}


def report(*packages: object) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_an_advisory_is_told_with_the_version_that_fixes_it() -> None:
    verdict = verdict_of(report(GOOD, BAD, OWN), "Found 1 known vulnerability")
    assert verdict == Verdict(2, ["own"], ["bad 2.0: PYSEC-1, fixed in 2.1"])
    assert "VULNERABLE: bad 2.0" in lines_of(verdict)[1]


def test_what_is_sound_is_counted() -> None:
    assert lines_of(verdict_of(report(GOOD), "")) == ["audit: 1 packages compared"]


@pytest.mark.parametrize(
    ("output", "errors"),
    [("", "Traceback\nConnectionError: no way"), (report(), ""), (report(OWN), ""), ("{}", ""), ("", "")],
)
def test_a_service_that_cannot_be_used_is_not_taken_for_a_sound_result(output: str, errors: str) -> None:
    (line,) = lines_of(verdict_of(output, errors))
    assert line.startswith("audit: NOTHING WAS COMPARED")


@pytest.mark.parametrize(
    ("verdict", "code", "strict"),
    [(Verdict(1), 0, 0), (Verdict(1, found=["bad"]), 1, 1), (Verdict(0, problem="away"), 0, 1)],
)
def test_only_an_advisory_fails_unless_all_must_be_known(
    verdict: Verdict, code: int, strict: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.tools.audit.audit", lambda *_, **__: verdict)
    assert (main([]), main(["--strict"])) == (code, strict)
