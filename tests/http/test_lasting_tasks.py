"""A task that others rely on does not fail in silence."""

import asyncio

import pytest

from kinepy_server.lasting import in_background


async def _ends_with(error: Exception | None) -> None:
    if error is not None:
        raise error


async def test_the_failure_of_a_lasting_task_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    task = in_background(_ends_with(ValueError("broken")), name="following")
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert "the task following has failed" in caplog.text
    assert "ValueError: broken" in caplog.text


async def test_the_end_of_a_lasting_task_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    ended, cancelled = in_background(_ends_with(None), name="a"), in_background(asyncio.sleep(60), name="b")
    cancelled.cancel()
    await asyncio.wait([ended, cancelled])
    await asyncio.sleep(0)
    assert caplog.text == ""
