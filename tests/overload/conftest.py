"""Thousands of connections need thousands of open files."""

import resource

import pytest

WATCHES = 10_000
FILES = WATCHES + 1000


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where so many files may not be open, the tests that need them are left out, and a line says so."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    left_out = [item for item in items if item.get_closest_marker("many_files")]
    if left_out and most != resource.RLIM_INFINITY and most < FILES:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        config.get_terminal_writer().line(
            f"\n{FILES} open files are not allowed here: {len(left_out)} tests are left out"
        )
