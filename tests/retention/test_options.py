"""Rules of retention on the command line."""

import pytest

from kinepy import Settings
from kinepy_server.cli.plan import apply_settings, with_retention
from kinepy_server.cli.problems import Problem


def test_rules_are_added_to_those_of_the_settings() -> None:
    settings, _ = apply_settings(["retention=/a/=1h 7d"])
    assert settings.retention == ("/a/=1h", "7d")
    assert with_retention(settings, ["/b/=last"]).retention == ("/a/=1h", "7d", "/b/=last")


def test_a_bad_rule_is_one_line_that_says_how_to_write_it() -> None:
    with pytest.raises(Problem, match="retention: '1w' is no retention: write an age"):
        with_retention(Settings(), ["/a/=1w"])
    with pytest.raises(Problem, match="write an age"):
        apply_settings(["retention=/a/=never"])
